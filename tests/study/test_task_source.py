"""Tasks that come from a benchmark's lock are tasks like any others."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from agent_trials.errors import StudyError
from agent_trials.study import archive, archived, manifest, task_lock, task_source
from agent_trials.study.folder import read_folder
from agent_trials.study.rows import Rows
from agent_trials.study.selection import Instance
from agent_trials.study.task_lock import Pins, TaskLock

if TYPE_CHECKING:
    from pathlib import Path

PROMPT = "Make the tests pass.\n\n{problem_statement}\n"
SOURCE = """
[task_source]
lock = "tasks.lock.json"
prompt = "PROMPT.md"
url = "https://code.example/{repo}"
"""
FIRST = Instance("Some_org__a.b-1", "Some_org/a.b", "1" * 40, None, "It {breaks}.", "1.0")
SECOND = Instance("some_org__c-22", "some_org/c", "2" * 40, None, None, "2.0")
LOCK = TaskLock("d", "test", (FIRST, SECOND), Pins("rows.jsonl", "sha256:00"))


@pytest.fixture
def sourced(folder: Path) -> Path:
    """Return a study that takes two more tasks from a lock."""
    text = (folder / "study.toml").read_text("utf-8")
    (folder / "study.toml").write_text(text + SOURCE, "utf-8")
    (folder / "PROMPT.md").write_text(PROMPT, "utf-8")
    task_lock.write(folder / "tasks.lock.json", LOCK)
    return folder


def test_gives_the_study_a_task_and_a_repository_per_instance(sourced: Path) -> None:
    loaded = manifest.load(sourced).manifest
    first, second = loaded.tasks[-2:]

    assert (first.repository, second.repository) == (first.id, second.id)
    assert (first.id, first.instance) == ("some-org-a-b-1", "Some_org__a.b-1")
    assert first.question == "Make the tests pass.\n\nIt {breaks}."
    assert loaded.repositories[first.id].url == "https://code.example/Some_org/a.b"
    assert loaded.repositories[second.id].pin == "2" * 40
    assert task_source.unfilled(loaded) == ("some-org-c-22",)


def test_a_ledgers_archive_gives_the_same_tasks(sourced: Path) -> None:
    """The report is made from the ledger alone, wherever the folder is by then."""
    kept = archive.archive(sourced), archive.key_archive(sourced)
    read = archived.read(*kept, folder_digest=read_folder(sourced).digest)

    assert read.manifest == manifest.load(sourced).manifest


def test_lock_and_prompt_are_part_of_the_freeze(sourced: Path) -> None:
    before = read_folder(sourced).digest
    (sourced / "PROMPT.md").write_text(f"Now. {PROMPT}", "utf-8")

    assert read_folder(sourced).digest != before


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        (
            "PROMPT.md",
            "{problem_statement}",
            "",
            "holds {problem_statement} 0 times; write it once",
        ),
        ("study.toml", '"PROMPT.md"', '"P.md"', "'P.md' cannot be read"),
        ("study.toml", '"PROMPT.md"', '"../P.md"', "a file that lies beside the manifest"),
        ("study.toml", '"tasks.lock.json"', '"other"', "agent-trials select ROWS --into FILE"),
        ("tasks.lock.json", '"test"', '"train"', "restore the file as it was made"),
        ("tasks.lock.json", "{", "", "no valid JSON"),
    ],
)
def test_says_what_keeps_the_tasks_away(
    sourced: Path, file: str, old: str, new: str, says: str
) -> None:
    text = (sourced / file).read_text("utf-8")
    assert old in text
    (sourced / file).write_text(text.replace(old, new, 1), "utf-8")

    with pytest.raises(StudyError) as caught:
        manifest.load(sourced)
    assert says in str(caught.value)
    assert {each.where for each in caught.value.problems} <= {
        "valid_study/study.toml: task_source.lock", "valid_study/study.toml: task_source.prompt",
    }  # fmt: skip


def test_an_instance_without_a_base_commit_is_named(sourced: Path) -> None:
    (sourced / "tasks.lock.json").unlink()
    bare = dataclasses.replace(SECOND, base_commit=None)
    task_lock.write(sourced / "tasks.lock.json", dataclasses.replace(LOCK, instances=(bare,)))

    with pytest.raises(StudyError, match="some_org__c-22 has no base_commit in the lock"):
        manifest.load(sourced)


def filled(sourced: Path, *rows: Instance) -> str:
    study = manifest.load(sourced).manifest
    full = task_source.fill(study, Rows(rows, "sha256:00"), LOCK, "rows.jsonl")
    assert not task_source.unfilled(full)
    return full.tasks[-1].question


def test_takes_a_statement_that_the_lock_does_not_hold_from_the_rows(sourced: Path) -> None:
    row = dataclasses.replace(SECOND, problem_statement="It fails.")

    assert filled(sourced, FIRST, row) == "Make the tests pass.\n\nIt fails."


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"base_commit": "3" * 40}, "base_commit of some_org__c-22 is '3333"),
        ({"repo": "a/b"}, "the lock has 'some_org/c'"),
        ({"version": None}, "version of some_org__c-22 is None"),
        ({"problem_statement": None}, "some_org__c-22 has no problem_statement"),
        ({"instance_id": "x"}, "has no row some_org__c-22"),
    ],
)
def test_refuses_rows_of_another_benchmark(
    sourced: Path, change: dict[str, str | None], says: str
) -> None:
    row = dataclasses.replace(SECOND, **{"problem_statement": "It fails.", **change})  # type: ignore[arg-type]

    with pytest.raises(StudyError) as caught:
        filled(sourced, FIRST, row)
    assert says in str(caught.value)
