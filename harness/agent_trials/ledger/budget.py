"""The budget: what a ledger's lines come to, and what the cap still leaves.

``fold.apply`` moves a ``State`` on by one line; nothing here reads a line or writes one.
An unsettled reservation is worth itself for ever. A hold is worth 0 once its run is closed or
another is opened; who knows that a run died without closing asks ``totals(is_open=False)``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.ledger import policy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    from agent_trials.ledger.policy import CellRecord, Policy
    from agent_trials.records import Cell

Grade = tuple[str, str]
"""A grade's name: blind id, and which of the registered graders."""
PENDING = "pending"
"""The outcome of a grade that may be reserved again."""


@dataclass(frozen=True)
class Totals:
    """The sums of a ledger, USD.

    ``prior`` is the spend of the ledgers before it, ``held`` what is kept for the rest of admitted
    pairs, ``cap`` the cumulative cap of the series. ``attempts`` were reserved so far.
    """

    spent: Decimal
    reserved: Decimal
    held: Decimal
    prior: Decimal
    cap: Decimal
    attempts: int

    @property
    def available(self) -> Decimal:
        """Return what the cap still leaves; below zero after an overshoot."""
        taken = money.total(self.prior, self.spent, self.reserved, self.held)
        return money.minus(self.cap, taken)

    @property
    def cap_exceeded(self) -> bool:
        """Return whether spend alone has passed the cap."""
        return money.total(self.prior, self.spent) > self.cap


@dataclass
class Hold:
    """An admitted pair: its cells that are not reserved yet, and the sum that it was admitted at.

    ``parts`` is what is kept for each cell; empty where every arm reserves the same, so that a part
    is ``total / count``.
    """

    cells: set[Cell]
    count: int
    total: Decimal
    amount: Decimal
    parts: Mapping[Cell, Decimal]

    @classmethod
    def of(cls, cells: Sequence[Cell], total: Decimal, parts: Sequence[Decimal] = ()) -> Hold:
        """Return the hold of a pair that has just been admitted."""
        waiting = set(cells)
        kept = dict(zip(cells, parts, strict=True)) if parts else {}
        return cls(waiting, len(waiting), total, total, kept)

    def is_part(self, cell: Cell, amount: Decimal) -> bool:
        """Return whether the amount is what was kept for the cell."""
        if self.parts:
            return self.parts.get(cell) == amount
        return money.times(amount, self.count) == self.total


@dataclass(frozen=True)
class Stop:
    """Why a run ended early: a code, and the cell that brought it about."""

    reason: str
    cell: Cell | None


@dataclass
class Run:
    """One run-opened … run-closed of the ledger.

    ``opening`` is the whole run-opened line; ``counts`` has refused and reserved attempts and the
    settled ones by status.
    """

    number: int
    opening: Mapping[str, Any]
    policy: Policy
    cap: Decimal
    prior: Decimal
    stop: Stop | None = None
    closed_at: str | None = None
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def is_over(self) -> bool:
        """Return whether nothing more may be reserved in it."""
        return self.stop is not None or self.closed_at is not None


@dataclass
class GradeRecord:
    """The latest reservation of a grade; ``outcome`` is None while it is not settled."""

    run: int
    outcome: str | None = None


@dataclass(frozen=True)
class EvaluationRecord:
    """The latest report of an arm or of a control: of which predictions, and its own digest."""

    predictions: str
    report: str


class State:
    """What the lines so far come to.

    Attributes:
        runs: every run, in order; the last one is the only one that may reserve.
        cells: every cell that was ever reserved.
        grades: every grade that was ever reserved.
        evaluations: the latest report of each arm and each control, by kind and name.
        holds: the latest run's admitted pairs.
        reruns: infrastructure reruns in place so far.
    """

    def __init__(self) -> None:
        self.spent = money.ZERO
        self.reserved = money.ZERO
        self.held = money.ZERO
        self.runs: list[Run] = []
        self.cells: dict[Cell, CellRecord] = {}
        self.grades: dict[Grade, GradeRecord] = {}
        self.evaluations: dict[tuple[str, str], EvaluationRecord] = {}
        self.holds: dict[int, Hold] = {}
        self.reruns = 0
        self._open: dict[tuple[int, Cell | Grade], Decimal] = {}

    @property
    def run(self) -> Run:
        """Return the latest run."""
        return self.runs[-1]

    @property
    def prior(self) -> Decimal:
        """Return the spend of the ledgers before this one, as the latest run states it."""
        return self.run.prior

    @property
    def cap(self) -> Decimal:
        """Return the cumulative cap, as the latest run states it."""
        return self.run.cap

    @property
    def unsettled(self) -> Mapping[tuple[int, Cell | Grade], Decimal]:
        """Return every open reservation by run and cell or grade, USD."""
        return self._open

    def totals(self, *, is_open: bool = True) -> Totals:
        """Return the sums; with no run open, holds are worth nothing."""
        held = self.held if is_open else money.ZERO
        attempts = sum(run.counts["reserved"] for run in self.runs)
        return Totals(self.spent, self.reserved, held, self.prior, self.cap, attempts)

    def taken(self, cell: Cell) -> str | None:
        """Return why the latest run may not reserve the cell; None if it may."""
        return policy.taken(
            self.run.policy, self.cells.get(cell), run=self.run.number, reruns=self.reruns
        )

    def stands_alone(self, cell: Cell) -> bool:
        """Return whether the cell is reserved without a hold: a later turn, a rerun in place."""
        record = self.cells.get(cell)
        return cell.turn > 1 or (record is not None and record.run == self.run.number)

    def grade_taken(self, grade: Grade) -> str | None:
        """Return why the latest run may not reserve the grade; None if it may."""
        record = self.grades.get(grade)
        if record is None or record.outcome == PENDING:
            return None
        if record.outcome is None:
            return "it is being graded" if record.run == self.run.number else None
        return f"it is graded: {record.outcome}"

    def hold(self, pair: int, hold: Hold) -> None:
        """Keep a pair's sum."""
        self.holds[pair] = hold
        self.held = money.total(self.held, hold.amount)

    def let_go(self, hold: Hold, amount: Decimal) -> None:
        """Take an amount out of a hold."""
        hold.amount = money.minus(hold.amount, amount)
        self.held = money.minus(self.held, amount)

    def drop_holds(self) -> None:
        """Forget the holds of a run that is over."""
        self.holds.clear()
        self.held = money.ZERO

    def set_aside(self, subject: Cell | Grade, amount: Decimal) -> None:
        """Open a reservation in the latest run."""
        self._open[self.run.number, subject] = amount
        self.reserved = money.total(self.reserved, amount)

    def spend(self, run: int, subject: Cell | Grade, charged: Decimal) -> None:
        """End an open reservation with what it came to."""
        self.reserved = money.minus(self.reserved, self._open.pop((run, subject)))
        self.spent = money.total(self.spent, charged)
