"""Grades by attempt, from the lines and the openings of the blind ids alone."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

import ledgers
from agent_trials.ledger.grade_journal import Graded, GradeJournal
from agent_trials.ledger.outcomes import Outcome, parse
from agent_trials.records import AttemptResult, Status
from agent_trials.results.grades import grades

if TYPE_CHECKING:
    from pathlib import Path

ONE = Decimal("0.01")
FIRST, SECOND = "adjudicator", "second-adjudicator"
STATUSES = (Status.COMPLETED, Status.INCOMPLETE, Status.TIMED_OUT, Status.FAILED)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a ledger with one attempt of each status, and blind ids id-0 to id-3."""
    plan, path = ledgers.plan(), tmp_path / "ledger.jsonl"
    journal = ledgers.create(path)
    for number, (attempt, status) in enumerate(zip(plan, STATUSES, strict=True)):
        journal.admit_and_reserve(attempt, ledgers.pair_of(attempt, plan), ledgers.AMOUNT)
        result = ledgers.result("0.1", status)
        private = {**result.private, "blindId": f"id-{number}"}
        journal.settle(attempt, AttemptResult(result.observation, private, result.artifacts))
    journal.close()
    return path


def grade(path: Path, given: dict[str, str], **rules: object) -> None:
    """Grade the completed attempt; the outcome by grader."""
    graders = [{"grader": name} for name in given]
    opening = ledgers.opening(attempts=0, job="adjudicate", graders=graders, **rules)
    journal = GradeJournal.reopen(path, opening=opening, private={}, clock=ledgers.clock())
    for grader, outcome in given.items():
        journal.reserve_grade(("id-0", grader), ONE)
        reason = "not-one-object" if outcome == "pending" else None
        journal.settle_grade(("id-0", grader), Graded(outcome=outcome, reason=reason))
    journal.close()


def outcomes(path: Path) -> list[tuple[str | None, str | None]]:
    return [(row.outcome and row.outcome.value, row.reason) for row in grades(path).rows]


def test_what_did_not_complete_is_incomplete_or_blocked(path: Path) -> None:
    assert outcomes(path) == [
        (None, "not-graded"),
        ("incomplete", "incomplete"),
        ("blocked", "timed-out"),
        ("blocked", "failed"),
    ]


def test_a_study_may_count_a_time_out_as_a_result(path: Path) -> None:
    grade(path, {FIRST: "correct"}, counted=["timed-out"])

    found = grades(path).rows
    assert [row.score for row in found] == [Decimal(1), Decimal(0), Decimal(0), None]


def test_a_pending_grade_says_why(path: Path) -> None:
    grade(path, {FIRST: "pending"})

    assert outcomes(path)[0] == (None, "not-one-object")


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("missing", (None, "graders-disagree")), ("first", ("correct", None)),
     ("lower", ("incorrect", None))],
)  # fmt: skip
def test_the_registered_rule_decides_a_disagreement(
    path: Path, rule: str, expected: tuple[str | None, str | None]
) -> None:
    grade(path, {FIRST: "correct", SECOND: "incorrect"}, disagreement=rule)

    assert outcomes(path)[0] == expected
    assert grades(path).both() == (("correct", "incorrect"),)


def test_one_of_two_graders_is_not_enough(path: Path) -> None:
    """The other's silence would otherwise decide for the one that answered."""
    grade(path, {FIRST: "correct", SECOND: "pending"}, disagreement="first")

    assert outcomes(path)[0] == (None, "not-one-object")


def test_without_the_opening_of_a_blind_id_nobody_knows_whose_a_grade_is(path: Path) -> None:
    grade(path, {FIRST: "correct"})
    (path.parent / f"{path.name}.private" / "openings.jsonl").write_bytes(b"")

    assert outcomes(path)[0] == (None, "blind-id-not-opened")


def test_names_of_the_other_contract_are_known() -> None:
    assert parse("success") is Outcome.CORRECT
    assert parse("excellent") is None
