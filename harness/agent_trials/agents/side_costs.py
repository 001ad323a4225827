"""What an arm's product spent by itself, read from the file of events that it writes.

Rules:
    the lines count that were added in the turn: what stood there before it belongs to others
    a line that is no JSON object, or has another name, costs nothing, and is kept all the same
    an event without a valid cost is charged the soft cap that the study declares
    what is counted is charged, also beyond the calls that the turn reserved for
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.money import ZERO

if TYPE_CHECKING:
    from pathlib import Path

    from agent_trials.records import AttemptRequest, SideFile

MOST_BYTES = 8_000_000


@dataclass(frozen=True)
class SideCosts:
    """The lines of one turn, and what they cost, USD; ``known`` is the sum of stated costs."""

    raw: bytes
    calls: int
    missing: int
    known: Decimal
    charged: Decimal
    overshoot: Decimal
    truncated: bool
    declared: bool

    def to_json(self) -> dict[str, Any]:
        """Return the figures as an observation has them."""
        return {
            "declared": self.declared,
            "calls": self.calls,
            "missing": self.missing,
            "costUsd": money.text(self.known) if not self.missing else None,
            "knownUsd": money.text(self.known),
            "chargedUsd": money.text(self.charged),
            "overshootUsd": money.text(self.overshoot),
            "truncated": self.truncated,
        }


@dataclass(frozen=True)
class Mark:
    """The file, and how long it was before the turn."""

    path: Path
    size: int


def mark(request: AttemptRequest, folder: Path) -> Mark | None:
    """Return where the file ends before the turn; None where the arm has none.

    Args:
        request: the turn.
        folder: the workspace.
    """
    if request.side is None or request.surroundings is None:
        return None
    around = request.surroundings
    places = {
        "{tree}": folder,
        "{home}": around.home,
        "{config}": request.config_dir or around.config,
    }
    first, _, rest = request.side.path.partition("/")
    path = places[first] / rest
    return Mark(path, path.stat().st_size if path.is_file() else 0)


def read(side: SideFile, before: Mark) -> SideCosts:
    """Return what was added to the file since the mark."""
    data, truncated = _added(before)
    events = tuple(each for line in data.split(b"\n") if (each := _event(line)) is not None)
    costs = [_cost(each, side) for each in events if each.get(side.name_field) == side.event]
    known = money.total(*(cost for cost in costs if cost is not None))
    missing = sum(cost is None for cost in costs)
    charged = money.total(known, money.times(side.soft_cap_usd, missing))
    if truncated:
        charged = max(charged, side.reserved_usd)
    over = max(ZERO, money.minus(charged, side.reserved_usd))
    declared = side.max_calls > 0
    return SideCosts(data, len(costs), missing, known, charged, over, truncated, declared)


def _added(before: Mark) -> tuple[bytes, bool]:
    if not before.path.is_file():
        return b"", False
    with before.path.open("rb") as file:
        if before.path.stat().st_size >= before.size:
            file.seek(before.size)
        data = file.read(MOST_BYTES + 1)
    return data[:MOST_BYTES], len(data) > MOST_BYTES


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line, parse_float=Decimal)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _cost(event: dict[str, Any], side: SideFile) -> Decimal | None:
    """Return a stated cost; a number or text above or equal 0, None for anything else."""
    stated = event.get(side.cost_field)
    if isinstance(stated, bool) or not isinstance(stated, int | str | Decimal):
        return None
    try:
        found = Decimal(stated)
    except ArithmeticError:
        return None
    return money.charge(found) if found.is_finite() and found >= 0 else None
