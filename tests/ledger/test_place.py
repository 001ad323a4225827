"""Where a ledger may lie."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agent_trials.ledger import place

if TYPE_CHECKING:
    from pathlib import Path

    from agent_trials.errors import Problem


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder of the operator's own."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return home


def check_new(path: Path, *checkouts: Path, project: Path | None = None) -> list[Problem]:
    return place.check_new(path, checkouts=checkouts, project=project)


def one(problems: list[Problem]) -> str:
    [problem] = problems
    return str(problem)


def test_a_new_path_in_a_folder_of_ones_own_is_accepted(home: Path, tmp_path: Path) -> None:
    """Beside checkout and project, not inside."""
    assert check_new(home / "ledger.jsonl", tmp_path / "checkout", project=tmp_path / "p") == []


@pytest.mark.parametrize("taken", ["ledger.jsonl", "ledger.jsonl.run", "ledger.jsonl.private"])
def test_a_path_that_is_taken_is_refused(home: Path, taken: str) -> None:
    """What stands beside it belongs to another ledger; a dangling link is taken too."""
    (home / taken).symlink_to(home / "nowhere")

    assert one(check_new(home / "ledger.jsonl")) == (
        f"--ledger {home / taken}: it exists; give a new path; a ledger is never overwritten"
    )


def test_a_folder_that_is_missing_is_refused(home: Path) -> None:
    """The ledger's place is the operator's decision, so no folder is made."""
    problem = one(check_new(home / "runs" / "ledger.jsonl"))

    assert problem.endswith(f"the folder {home / 'runs'} does not exist; make it first")
    assert not (home / "runs").exists()


def test_a_path_inside_a_checkout_is_refused(home: Path) -> None:
    """The agent could read it, and a clean-up could remove it."""
    inside = home / "checkout" / "deep"
    inside.mkdir(parents=True)

    problem = one(check_new(inside / "ledger.jsonl", home / "other", home / "checkout"))

    assert f"it lies inside the checkout {home / 'checkout'}" in problem
    assert problem.endswith("give a path outside the project and every checkout")


def test_a_path_inside_the_project_is_refused(home: Path) -> None:
    """A private answer would be committed with the next ``git add``."""
    assert "inside the project" in one(check_new(home / "ledger.jsonl", project=home))


def test_a_path_inside_any_git_work_tree_is_refused(home: Path) -> None:
    """Also one that has nothing to do with the study; ``.git`` is a file in a linked work tree."""
    (home / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    (home / "sub").mkdir()

    assert f"inside the git work tree {home}" in one(check_new(home / "sub" / "ledger.jsonl"))


def test_a_way_round_by_a_link_is_seen(home: Path) -> None:
    """The file does not exist yet, so it is the folder that is resolved."""
    (home / "checkout").mkdir()
    (home / "innocent").symlink_to(home / "checkout")
    (home / "by-name").symlink_to(home / "checkout")

    found = one(check_new(home / "innocent" / "ledger.jsonl", home / "by-name"))
    assert "inside the checkout" in found


def test_a_way_round_by_dots_is_seen(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is taken from where the command runs."""
    (home / "checkout").mkdir()
    (home / "runs").mkdir()
    monkeypatch.chdir(home / "runs")
    relative = home.joinpath("runs").relative_to(home) / ".." / ".." / "checkout"

    assert "inside the checkout" in one(check_new(relative / "l.jsonl", home / "checkout"))


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_to_is_refused(home: Path, mode: int) -> None:
    """They could put another ledger in its place."""
    home.chmod(mode)

    problem = one(check_new(home / "ledger.jsonl"))

    assert f"others may write to its folder {home} (mode {mode:04o})" in problem
    assert "chmod go-w" in problem


def test_a_sticky_folder_is_accepted(home: Path) -> None:
    """In /tmp nobody can remove or rename what belongs to somebody else."""
    home.chmod(0o1777)

    assert check_new(home / "ledger.jsonl") == []


def test_every_problem_is_named_at_once(home: Path) -> None:
    """Three commands to find out three problems are two too many."""
    (home / "ledger.jsonl").touch()
    home.chmod(0o777)

    assert len(check_new(home / "ledger.jsonl", home, project=home)) == 3


def test_grading_needs_a_ledger_that_exists(home: Path) -> None:
    """And one that is a file."""

    def check(path: Path) -> list[Problem]:
        return place.check_existing(path, checkouts=[], project=None)

    (home / "folder").mkdir()
    (home / "ledger.jsonl").touch()
    (home / "link.jsonl").symlink_to(home / "ledger.jsonl")

    assert "it does not exist; give the ledger" in one(check(home / "none.jsonl"))
    assert "it is no regular file" in one(check(home / "folder"))
    assert check(home / "ledger.jsonl") == []
    assert check(home / "link.jsonl") == []


def test_an_existing_ledger_is_looked_for_where_it_really_lies(home: Path) -> None:
    """A link in a safe folder may lead into a checkout."""
    (home / "checkout").mkdir()
    (home / "checkout" / "ledger.jsonl").touch()
    (home / "link.jsonl").symlink_to(home / "checkout" / "ledger.jsonl")

    problems = place.check_existing(
        home / "link.jsonl", checkouts=[home / "checkout"], project=None
    )

    assert "inside the checkout" in one(problems)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere; run as another user")
def test_a_ledger_that_cannot_be_written_to_is_refused(home: Path) -> None:
    """Better now than after the first answer was paid for."""
    ledger = home / "ledger.jsonl"
    ledger.touch(mode=0o400)

    assert "cannot be written to" in one(place.check_existing(ledger, checkouts=[], project=None))
