"""Which cells may be reserved again; a rerun plugin's second try never is."""

from __future__ import annotations

from typing import Any

import pytest

from agent_trials.ledger.policy import CellRecord, Policy, taken
from agent_trials.records import Status

NEVER, RECORDED, COMPLETED = "never", "skip-recorded", "skip-completed"


def record(run: int, status: str | None, **observation: Any) -> CellRecord:  # noqa: ANN401 - any field
    """Return a cell reserved in a run and settled so, or not settled."""
    found = CellRecord(run)
    if status is not None:
        found.settle(run, {"status": status, **observation})
    return found


def is_free(resume: str, found: CellRecord | None, *, run: int, reruns: int = 0) -> bool:
    """Return whether a study with one infrastructure rerun lets the run reserve the cell."""
    return taken(Policy(resume, 1), found, run=run, reruns=reruns) is None


@pytest.mark.parametrize("resume", [NEVER, RECORDED, COMPLETED])
def test_a_cell_that_was_never_reserved_is_free_in_the_first_run(resume: str) -> None:
    """Else nothing could begin."""
    assert is_free(resume, None, run=1)


@pytest.mark.parametrize(
    ("resume", "status", "free"),
    [
        (NEVER, None, False),
        (NEVER, "failed", False),
        (RECORDED, None, False),
        (RECORDED, "failed", False),
        (RECORDED, "completed", False),
        (COMPLETED, None, True),
        (COMPLETED, "failed", True),
        (COMPLETED, "interrupted", True),
        (COMPLETED, "completed", False),
    ],
)
def test_a_later_run_reserves_again_what_the_policy_says(
    resume: str, status: str | None, *, free: bool
) -> None:
    """``None`` is an attempt that was in flight when its run died: it stays charged."""
    assert is_free(resume, record(1, status, toolCalls=2), run=2) is free


def test_a_study_that_is_never_resumed_reserves_in_its_first_run_only() -> None:
    """A cell that was never begun is not begun later either."""
    assert not is_free(NEVER, None, run=2)
    assert is_free(RECORDED, None, run=2)


def test_a_cell_that_any_run_completed_is_not_reserved_again() -> None:
    """A worker of a dead run may settle after another run has reserved the cell."""
    found = CellRecord(2)
    found.settle(1, {"status": "completed"})

    assert found.infrastructure is None
    assert not is_free(COMPLETED, found, run=3)


@pytest.mark.parametrize(
    ("status", "tool_calls", "free"),
    [
        (Status.INVALID_SETUP, 5, True),
        (Status.FAILED, 0, True),
        (Status.FAILED, None, True),
        (Status.FAILED, 1, False),
        (Status.TIMED_OUT, 0, False),
        (Status.BUDGET_EXCEEDED, 0, False),
        (Status.INTERRUPTED, 0, False),
        (Status.COMPLETED, 0, False),
    ],
)
def test_only_an_infrastructure_failure_is_rerun_in_place(
    status: Status, tool_calls: int | None, *, free: bool
) -> None:
    """A wrong answer, a time-out, a used-up budget are results, whoever asks for them again."""
    found = record(1, status.value, toolCalls=tool_calls)

    assert is_free(NEVER, found, run=1) is free


def test_reruns_in_place_are_counted_over_the_whole_ledger() -> None:
    """The second infrastructure failure stops the study, whichever cell it strikes."""
    found = record(1, "invalid-setup")

    assert not is_free(NEVER, found, run=1, reruns=1)
    assert taken(Policy(NEVER, 0), found, run=1, reruns=0) is not None


def test_a_cell_in_flight_is_never_reserved_again_in_its_run() -> None:
    """Two agents on one cell would be paid twice."""
    assert not is_free(COMPLETED, record(1, None), run=1)


@pytest.mark.parametrize(
    "fields",
    [
        {"resume": "always", "infraReruns": 0},
        {"resume": "never", "infraReruns": -1},
        {"resume": "never", "infraReruns": "1"},
        {"resume": "never", "infraReruns": True},
    ],
)
def test_refuses_a_policy_that_is_not_known(fields: dict[str, Any]) -> None:
    """A word that this version does not know must not mean "anything goes"."""
    with pytest.raises((TypeError, ValueError), match=r"resume|infraReruns"):
        Policy.read(fields)
