"""What of a trial with checkers keeps a verdict from being reached."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agent_trials.results.judgement import _owed, _undecided

ARMS = {"plain", "review"}


def record(*turns: dict[str, Any], arm: str = "plain", **manifest: Any) -> Any:  # noqa: ANN401 - fields by name
    """Return as much of a ledger as is looked at: one attempt with these turns."""
    attempt = SimpleNamespace(turns=turns, cell=SimpleNamespace(arm=arm))
    fields = {"follow_up": object(), "tree": object(), **manifest}
    frozen = SimpleNamespace(manifest=SimpleNamespace(**fields))
    return SimpleNamespace(frozen=frozen, attempts=[attempt])


def checked(passed: bool | None) -> dict[str, Any]:  # noqa: FBT001 - a verdict
    return {"checker": {"passed": passed}}


FAILED, PASSED, NOT_LOOKED = checked(False), checked(True), checked(None)  # noqa: FBT003 - verdicts


@pytest.mark.parametrize(
    ("turns", "owed", "undecided"),
    [
        ((FAILED,), 1, 0),
        ((FAILED, FAILED), 0, 0),
        ((PASSED,), 0, 0),
        ((NOT_LOOKED,), 0, 1),
        ((FAILED, NOT_LOOKED), 0, 1),
        (({"checker": None},), 0, 1),
        ((), 0, 0),
    ],
    ids=[
        "no follow-up", "followed up", "passed at once", "not looked at", "not looked at again",
        "interrupted before a check", "not run",
    ],
)  # fmt: skip
def test_an_owed_turn_and_a_tree_without_a_verdict_are_seen(
    turns: tuple[dict[str, Any], ...], owed: int, undecided: int
) -> None:
    assert _owed(record(*turns), ARMS) == owed
    assert _undecided(record(*turns), ARMS) == undecided


def test_a_study_without_follow_ups_or_trees_owes_nothing() -> None:
    assert _owed(record(FAILED, follow_up=None), ARMS) == 0
    assert _undecided(record(NOT_LOOKED, tree=None), ARMS) == 0


def test_another_comparisons_arm_is_not_counted() -> None:
    assert _owed(record(FAILED, arm="third"), ARMS) == 0
    assert _undecided(record(NOT_LOOKED, arm="third"), ARMS) == 0
