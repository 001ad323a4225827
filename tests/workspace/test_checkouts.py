"""A checkout is refused before money is spent, with everything that is wrong with it at once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import repositories
from agent_trials.study.settings import CorpusFilter
from agent_trials.workspace import checkouts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agent_trials.errors import Problem

FILES = {"docs/install.md": "x", "docs/unlocking.md": "x", "index/a.json": "{}", "src/a.py": ""}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    repositories.commit(folder, FILES)
    return folder


def check(
    checkout: Path,
    *,
    pin: str | None = None,
    generated: Sequence[str] = (),
    sources: Sequence[str] = ("docs/install.md",),
) -> list[Problem]:
    return checkouts.check_checkout(
        "docs",
        checkout,
        pin=pin or repositories.git(checkout, "rev-parse", "HEAD"),
        generated_paths=generated,
        sources=sources,
        rules=CorpusFilter(),
    )


def test_a_clean_checkout_at_the_pin_has_no_problem(checkout: Path) -> None:
    assert check(checkout) == []


def test_a_missing_folder_or_one_without_git_names_the_command_that_makes_one(
    checkout: Path, tmp_path: Path
) -> None:
    (missing,) = check(tmp_path / "absent", pin="0" * 40)
    (inside,) = check(checkout / "docs", pin="0" * 40)

    assert missing.where == f"--root docs={tmp_path / 'absent'}"
    assert missing.what == "there is no such folder"
    assert inside.what == "it is not the top folder of a git checkout"
    assert "agent-trials prepare" in missing.remedy == inside.remedy


def test_another_commit_is_refused(checkout: Path) -> None:
    pin = repositories.git(checkout, "rev-parse", "HEAD")
    other = repositories.commit(checkout, {"docs/install.md": "y"})
    (problem,) = check(checkout, pin=pin)

    assert problem.what == f"HEAD is {other} and the study's pin is {pin}"
    assert problem.remedy == f"git checkout --detach {pin} there"


def test_a_pin_that_the_checkout_does_not_have_is_refused(checkout: Path) -> None:
    problems = check(checkout, pin="0" * 40)

    assert "HEAD is" in problems[0].what
    assert any("git fetch origin 0000" in problem.what for problem in problems)


def test_a_repository_without_a_commit_is_refused(tmp_path: Path) -> None:
    repositories.git(tmp_path, "init", "--quiet")
    (problem,) = check(tmp_path, pin="0" * 40)

    assert problem.what == "it has no commit"


@pytest.mark.parametrize(
    ("generated", "clean"),
    [
        ((), False),
        (("index",), True),
        (("index/",), True),
        (("index/a.json", "index/new"), True),
        (("index/a.json",), False),
        (("inde",), False),
        (("index/a",), False),
        (("docs",), False),
    ],
    ids=repr,
)
def test_only_declared_generated_paths_may_differ(
    checkout: Path, generated: Sequence[str], *, clean: bool
) -> None:
    """A fresh index that is tracked always dirties the tree; its neighbours stay frozen."""
    repositories.write(checkout, {"index/a.json": "[]", "index/new/b.json": "{}"})

    assert (check(checkout, generated=generated) == []) is clean


def test_names_some_of_many_dirty_paths(checkout: Path) -> None:
    repositories.write(checkout, {f"new/{number}.md": "" for number in range(8)})
    (problem,) = check(checkout)

    assert problem.what == (
        "the tree is not clean: new/0.md, new/1.md, new/2.md, new/3.md, new/4.md and 3 more"
    )
    assert "generated_paths" in problem.remedy


@pytest.mark.parametrize("path", ["", ".", "./", "/", "/docs", "..", "docs/../.."])
def test_a_generated_path_that_excuses_everything_is_refused(checkout: Path, path: str) -> None:
    repositories.write(checkout, {"docs/install.md": "changed"})
    problems = check(checkout, generated=[path])

    assert f"the generated path {path!r} is none inside the checkout" in problems[0].what
    assert "the tree is not clean" in problems[1].what


def test_a_missing_source_names_the_nearest_file(checkout: Path) -> None:
    near, far = check(checkout, sources=["docs/instal.md", "qqq", "docs/install.md"])

    assert (near.where, near.what) == ("docs:docs/instal.md", "the pin has no such file")
    assert near.remedy == "did you mean docs/install.md?"
    assert far.remedy == "correct the source in key.toml"


def test_a_source_is_looked_for_at_the_pin(checkout: Path) -> None:
    """One that only lies in the tree is not what the agent reads."""
    repositories.write(checkout, {"docs/new.md": ""})
    problems = check(checkout, sources=["docs/new.md", "docs"], generated=["docs/new.md"])

    assert [problem.what for problem in problems] == ["the pin has no such file"] * 2


def test_a_source_that_the_filter_hides_is_refused(checkout: Path) -> None:
    """The word "lock" stands in "unlocking": the task could not be solved, and nobody would see."""
    word, extension = check(checkout, sources=["docs/unlocking.md", "src/a.py"])

    assert "the agent cannot read this source: the word 'lock'" in word.what
    assert "extension" in extension.what
    assert "[workspace.filter]" in word.remedy


def test_a_source_without_its_bytes_is_refused(checkout: Path) -> None:
    blob = repositories.git(checkout, "rev-parse", "HEAD:src/a.py")
    (checkout / ".git/objects" / blob[:2] / blob[2:]).unlink()
    (problem,) = check(checkout)

    assert "the content of src/a.py is not in the repository" in problem.what


def test_a_source_with_other_bytes_than_its_id_says_is_refused(checkout: Path) -> None:
    """Git hands out what lies under the id without looking."""
    right, wrong = (
        checkout / ".git/objects" / blob[:2] / blob[2:]
        for name in ("docs/install.md", "index/a.json")
        for blob in [repositories.git(checkout, "rev-parse", f"HEAD:{name}")]
    )
    right.chmod(0o644)
    right.write_bytes(wrong.read_bytes())
    (problem,) = check(checkout)

    assert "docs/install.md" in problem.what
    assert "the repository is damaged" in problem.what


def test_tells_everything_at_once(checkout: Path) -> None:
    pin = repositories.git(checkout, "rev-parse", "HEAD")
    repositories.commit(checkout, {"docs/other.md": "y"})
    repositories.write(checkout, {"docs/install.md": "changed"})
    problems = check(checkout, pin=pin, sources=["docs/other.md"], generated=["/"])

    assert len(problems) == 4


def edit(folder: Path) -> None:
    repositories.write(folder, {"index/a.json": "[]"})


def add(folder: Path) -> None:
    repositories.write(folder, {"index/b.json": "{}"})


def rename(folder: Path) -> None:
    (folder / "index/a.json").rename(folder / "index/b.json")


def link(folder: Path) -> None:
    (folder / "index/a.json").rename(folder / "a.json")
    (folder / "index/a.json").symlink_to(folder / "a.json")


def clear(folder: Path) -> None:
    (folder / "index/a.json").unlink()


def test_the_generated_digest_is_that_of_paths_and_bytes(checkout: Path) -> None:
    before = checkouts.generated_digest(checkout, ["index", "absent"])
    os.utime(checkout / "index/a.json", (1, 1))
    repositories.write(checkout, {"docs/install.md": "changed", "indexes/a.json": ""})

    assert checkouts.generated_digest(checkout, ["absent", "index/a.json", "index"]) == before
    assert before.startswith("sha256:")


@pytest.mark.parametrize("change", [edit, add, rename, link, clear])
def test_the_generated_digest_betrays_a_change(
    checkout: Path, change: Callable[[Path], None]
) -> None:
    """What the server answers from is recorded, though it is not of the pin."""
    before = checkouts.generated_digest(checkout, ["index"])
    change(checkout)

    assert checkouts.generated_digest(checkout, ["index"]) != before
