"""The one writer of grades: a grading's money is reserved and settled as an attempt's is.

A grade is settled and its record written in one append, so that no grade stands without its
record. A grading that the rubric decides without asking anybody costs nothing and has the record
alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.errors import CellTakenError, ReservationRefusedError
from agent_trials.ledger import admission, announcements
from agent_trials.ledger.admission import BUDGET
from agent_trials.ledger.announcements import Announcement
from agent_trials.ledger.budget import PENDING
from agent_trials.ledger.events import Event
from agent_trials.ledger.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from agent_trials.ledger.budget import Grade, Totals


@dataclass(frozen=True, kw_only=True)
class Graded:
    """What one grading came to.

    ``outcome`` is ``pending`` where nothing valid came back; ``reason`` is then its code.
    ``public`` goes into the line, ``private`` (JSON values, bytes as artifacts) beside the ledger.
    """

    outcome: str
    reason: str | None = None
    charged_usd: Decimal = money.ZERO
    public: Mapping[str, Any] = field(default_factory=dict)
    private: Mapping[str, Any] = field(default_factory=dict)


class GradeJournal(Journal):
    """A run's hand on a ledger whose attempts are being graded; made by ``reopen``."""

    def reserve_grade(self, grade: Grade, amount: Decimal, **public: str) -> None:
        """Set a grading's money aside; when this returns, the adjudicator may be asked.

        Args:
            grade: blind id, and which grader.
            amount: the most that it may cost, USD.
            public: further fields of the line.

        Raises:
            ReservationRefusedError: it does not fit under the cap; the run is stopped.
            CellTakenError: it was graded before, or is being graded.
            RunStoppedError: the run is over.
        """
        if amount <= 0:
            raise RuntimeError(f"a reservation of {amount} USD")
        item = _item(grade)
        with self._writer.locked() as appender:
            self._must_be_current(item)
            admission.must_go_on(self._state, item)
            if reason := self._state.grade_taken(grade):
                raise CellTakenError(f"{item} refused: {reason}; nothing was started")
            totals = self._state.totals()
            if amount > totals.available:
                self._write(appender, announcements.stop(BUDGET, None))
                available = max(totals.available, money.ZERO)
                raise ReservationRefusedError(
                    item, needed=amount, available=available, cap=totals.cap
                )
            fields = {**_named(grade), "amountUsd": money.text(amount), **public}
            self._write(appender, Announcement(Event.GRADE_RESERVED, fields))

    def settle_grade(self, grade: Grade, graded: Graded) -> Totals:
        """Record what a reserved grading came to: its charge and, if it is valid, its record.

        Raises:
            RuntimeError: it is not reserved.
        """
        fields = {
            **_named(grade),
            "chargedUsd": money.text(money.charge(graded.charged_usd)),
            "outcome": graded.outcome,
            "reason": graded.reason,
        }
        with self._writer.locked() as appender:
            if (self.run, grade) not in self._state.unsettled:
                raise RuntimeError(f"{_item(grade)} is not reserved")
            if graded.outcome == PENDING:
                fields |= graded.public
                self._write(appender, Announcement(Event.GRADE_SETTLED, fields, graded.private))
            else:
                settled = Announcement(Event.GRADE_SETTLED, fields)
                self._write(appender, settled, _record(grade, graded))
            return self._state.totals()

    def record_grade(self, grade: Grade, graded: Graded) -> Totals:
        """Write a grade that cost nothing, since nobody was asked."""
        with self._writer.locked() as appender:
            self._must_be_current(_item(grade))
            admission.must_go_on(self._state, _item(grade))
            self._write(appender, _record(grade, graded))
            return self._state.totals()


def _record(grade: Grade, graded: Graded) -> Announcement:
    fields = {**_named(grade), "outcome": graded.outcome, **graded.public}
    return Announcement(Event.ADJUDICATED, fields, graded.private)


def _named(grade: Grade) -> dict[str, Any]:
    blind_id, grader = grade
    return {"blindId": blind_id, "grader": grader}


def _item(grade: Grade) -> str:
    return f"{grade[0]} ({grade[1]})"
