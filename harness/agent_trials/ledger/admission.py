"""Whether an attempt may start: the decision over a state, before anything is written.

``fold`` holds the lines that come of it to the same rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_trials import money
from agent_trials.errors import CellTakenError, RunStoppedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    from agent_trials.ledger.budget import State
    from agent_trials.records import Cell, PlannedAttempt

BUDGET = "budget"
OVERSHOOT = "overshoot"


@dataclass(frozen=True)
class Granted:
    """The attempt may be reserved; ``admitted`` are the cells to hold money for first, if any."""

    admitted: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Refused:
    """The money does not fit. ``available`` is 0 where an overshoot has taken all and more."""

    reason: str
    needed: Decimal
    available: Decimal


def decide(
    state: State,
    planned: PlannedAttempt,
    pair: Sequence[PlannedAttempt],
    amounts: Mapping[str, Decimal],
) -> Granted | Refused:
    """Return whether the latest run may reserve the attempt, and its pair before it.

    ``amounts`` is what an attempt reserves, by arm.

    Raises:
        RunStoppedError: the run is stopped or closed.
        CellTakenError: the cell was reserved before, and the policy allows no other.
    """
    cell, amount = planned.cell, amounts[planned.cell.arm]
    must_go_on(state, cell.item)
    if reason := state.taken(cell):
        raise CellTakenError(f"{cell.item} refused: {reason}; nothing was started")
    available = state.totals().available
    if state.stands_alone(cell):
        return Granted() if amount <= available else _refused(BUDGET, amount, available)
    hold = state.holds.get(planned.pair)
    if hold is None:
        cells = tuple(each.cell for each in pair if _is_begun_by_pair(state, each.cell))
        if cell not in cells:
            raise RuntimeError(f"{cell.item} is not in its own pair")
        needed = money.total(*(amounts[each.arm] for each in cells))
        return Granted(cells) if needed <= available else _refused(BUDGET, needed, available)
    if cell not in hold.cells or not hold.is_part(cell, amount):
        raise RuntimeError(f"{cell.item} is not what its pair was admitted with")
    if available < 0:
        return _refused(OVERSHOOT, amount, money.total(available, amount))
    return Granted()


def _is_begun_by_pair(state: State, cell: Cell) -> bool:
    return state.taken(cell) is None and not state.stands_alone(cell)


def must_go_on(state: State, item: str) -> None:
    """Refuse in a run that is over.

    Raises:
        RunStoppedError: the run is stopped or closed.
    """
    run = state.run
    if run.stop is not None:
        raise RunStoppedError(f"{item} blocked: the run was stopped before ({run.stop.reason})")
    if run.closed_at is not None:
        raise RunStoppedError(f"{item} blocked: the run is closed")


def _refused(reason: str, needed: Decimal, available: Decimal) -> Refused:
    return Refused(reason, needed, max(available, money.ZERO))
