"""What an [evaluation] needs, and what a file of rows gives a study."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import evaluated_ledgers as mended
import toy_benchmark as toy
from agent_trials.errors import StudyError
from agent_trials.session import statements
from agent_trials.study import manifest, rows
from agent_trials.study.task_source import unfilled

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = {
    "resolved is not registered": ({'["resolved", "cost_usd"]': '["cost_usd"]'}, "endpoints"),
    "two attempts of an instance": (
        {"repetitions = 1": "repetitions = 2"}, "one patch for each instance and arm",
    ),
    "an instance twice": ({'"t__calc-2"': '"t__calc-1"'}, "name each instance once"),
    "a task of no instance": ({'instance = "t__calc-2"\n': ""}, "add the benchmark's instance_id"),
    "predictions that nobody is told": ({'"{predictions}"': '"x"'}, r"is not told \{predictions\}"),
    "a run id that nobody is told": ({'"{run_id}"': '"x"'}, r"is not told \{run_id\}"),
    "a parameter that is none": ({'dataset = "{rows}"': 'dataset = "{row}"'}, r"\{row\} is no"),
}  # fmt: skip


@pytest.mark.parametrize(("replaced", "what"), BROKEN.values(), ids=BROKEN)
def test_an_evaluation_that_cannot_be_is_refused(
    tmp_path: Path, replaced: dict[str, str], what: str
) -> None:
    with pytest.raises(StudyError, match=what):
        mended.study(tmp_path / "mended", replaced)


def test_resolved_is_no_endpoint_where_nothing_is_evaluated(tmp_path: Path) -> None:
    text = mended.study(tmp_path / "mended").folder.joinpath("study.toml").read_text("utf-8")
    begin, end = text.index("[evaluation]"), text.index("[repositories.one]")
    (tmp_path / "mended" / "study.toml").write_text(text[:begin] + text[end:], encoding="utf-8")
    with pytest.raises(StudyError, match="'resolved' is no endpoint"):
        manifest.load(tmp_path / "mended")


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> toy.Benchmark:
    """Return the toy benchmark."""
    return toy.make(tmp_path_factory.mktemp("toy"))


@pytest.fixture
def study(tmp_path: Path, benchmark: toy.Benchmark) -> manifest.Study:
    """Return the agent-task study over the toy benchmark; its lock holds no statement."""
    return manifest.load(toy.study(tmp_path / "toy_task", benchmark))


def test_versions_that_the_lock_pins_with_its_tasks_are_the_evaluations(
    study: manifest.Study,
) -> None:
    path = study.folder / "study.toml"
    path.write_text(path.read_text("utf-8").replace('"toy-1"', '"toy-2"'), encoding="utf-8")
    with pytest.raises(StudyError, match="'toy-2' is not what the lock of the tasks is pinned to"):
        manifest.load(study.folder)


def test_statements_come_with_the_rows_for_the_studys_own_task_too(
    study: manifest.Study, benchmark: toy.Benchmark
) -> None:
    filled = statements.stated(study, {"rows": str(benchmark.rows)})
    asked = {task.id: task.question for task in filled.manifest.tasks}

    assert unfilled(study.manifest)
    assert not unfilled(filled.manifest)
    assert "add() is off by one" in asked["toy-calc-1"]
    assert "last() is not last" in asked["toy-words-2"]


def test_without_rows_a_study_stays_unfilled_and_its_parameter_missing(
    study: manifest.Study,
) -> None:
    assert statements.stated(study, {}) is study
    assert study.manifest.parameters["rows"].default is None


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"base_commit": "0" * 40}, "base_commit of toy__calc-1 is"),
        ({"problem_statement": ""}, "has no problem_statement"),
        ({"instance_id": "toy__calc-9"}, "has no row toy__calc-1"),
    ],
    ids=["another commit", "no statement", "no row"],
)
def test_rows_that_are_not_those_of_the_lock_are_refused(
    tmp_path: Path, study: manifest.Study, benchmark: toy.Benchmark,
    change: dict[str, str], what: str,
) -> None:  # fmt: skip
    first, *others = benchmark.rows.read_text("utf-8").splitlines()
    path = tmp_path / "rows.jsonl"
    lines = [json.dumps({**json.loads(first), **change}), *others]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(StudyError, match=what):
        statements.stated(study, {"rows": str(path)})


def test_the_statement_of_the_studys_own_task_is_missed(
    tmp_path: Path, study: manifest.Study, benchmark: toy.Benchmark
) -> None:
    lines = [
        line for line in benchmark.rows.read_text("utf-8").splitlines() if toy.SMOKE not in line
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(StudyError, match=f"has no statement of {toy.SMOKE}"):
        statements.stated(study, {"rows": str(path)})


def test_gold_patches_are_read_from_rows_of_every_kind(
    tmp_path: Path, benchmark: toy.Benchmark
) -> None:
    found = rows.patches(benchmark.rows)
    bare = tmp_path / "rows.json"
    bare.write_text('[{"instance_id": "a", "repo": "b"}]', encoding="utf-8")

    assert "-    return a + b + 1" in found["toy__calc-1"]
    with pytest.raises(StudyError, match="has no patch of a"):
        rows.patches(bare)
