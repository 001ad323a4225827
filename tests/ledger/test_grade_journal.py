"""A grading's money is reserved before anybody is asked, under the cap of the attempts."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

import ledgers
from agent_trials.errors import CellTakenError, ReservationRefusedError, RunStoppedError
from agent_trials.ledger.chain import read
from agent_trials.ledger.grade_journal import Graded, GradeJournal
from agent_trials.results.summary import verify

if TYPE_CHECKING:
    from pathlib import Path

GRADE = ("00ff00ff00ff00ff", "adjudicator")
CORRECT = Graded(outcome="correct", charged_usd=Decimal("0.02"), private={"record": {"a": 1}})
PENDING = Graded(outcome="pending", reason="not-one-object", charged_usd=Decimal("0.02"))


@pytest.fixture
def journal(tmp_path: Path) -> GradeJournal:
    """Return a hand on a ledger whose attempts took 0.2 USD of 1."""
    path = tmp_path / "ledger.jsonl"
    first = ledgers.create(path)
    ledgers.run_all(first, ledgers.plan())
    first.close()
    return GradeJournal.reopen(
        path, opening=ledgers.opening(attempts=0), private={}, clock=ledgers.clock()
    )


def test_reserves_settles_and_writes_the_record_in_one_chain(journal: GradeJournal) -> None:
    journal.reserve_grade(GRADE, Decimal("0.1"))
    reserved = journal.totals().reserved
    totals = journal.settle_grade(GRADE, CORRECT)
    journal.close()

    assert reserved == Decimal("0.1")
    assert totals.spent == Decimal("0.22")
    events = [(line.event, line.fields.get("outcome")) for line in read(journal.path)]
    assert events[-4:] == [
        ("grade-reserved", None),
        ("grade-settled", "correct"),
        ("adjudicated", "correct"),
        ("run-closed", None),
    ]
    assert verify(journal.path).opened > 0


def test_refuses_what_does_not_fit_and_stops(journal: GradeJournal) -> None:
    with pytest.raises(ReservationRefusedError):
        journal.reserve_grade(GRADE, Decimal("0.81"))
    with pytest.raises(RunStoppedError):
        journal.reserve_grade(GRADE, Decimal("0.01"))

    assert journal.stopped is not None
    assert journal.totals().reserved == 0


def test_a_valid_grade_is_not_asked_for_twice_and_a_pending_one_is(journal: GradeJournal) -> None:
    """The second answer of a grader that one did not like would be a choice of grades."""
    journal.reserve_grade(GRADE, Decimal("0.1"))
    with pytest.raises(CellTakenError):
        journal.reserve_grade(GRADE, Decimal("0.1"))
    journal.settle_grade(GRADE, PENDING)
    journal.reserve_grade(GRADE, Decimal("0.1"))
    journal.settle_grade(GRADE, CORRECT)
    with pytest.raises(CellTakenError):
        journal.reserve_grade(GRADE, Decimal("0.1"))

    assert [line.event for line in read(journal.path)].count("adjudicated") == 1


def test_settles_only_what_is_reserved(journal: GradeJournal) -> None:
    with pytest.raises(RuntimeError, match="not reserved"):
        journal.settle_grade(GRADE, CORRECT)
