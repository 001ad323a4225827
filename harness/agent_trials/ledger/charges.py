"""What a settlement must at least charge, from the figures that stand beside it in the line.

Rules (one sentence each; ``problem`` returns the one that is broken):
    an attempt whose every request is metered is charged no more than its reservation
    ... and no less than its cost, as far as that is known
    a completed attempt is charged no less than its reported and its computed cost
    ... or its reservation, where neither is known
    any other attempt is charged no less than its reservation and every cost known of it
For a follow-up turn the costs in the line are that turn's own, not the session's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.ledger import shapes
from agent_trials.records import Status

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

METERED = frozenset({"http", "gateway"})
_COSTS = ("cliReportedCostUsd", "computedCostUsd", "costUsd", "costLowerUsd")


def problem(observation: Mapping[str, Any], reservation: Decimal) -> str | None:
    """Return what is wrong with the charge of a settlement; None if nothing.

    Raises:
        KeyError, TypeError, ValueError, MoneyError: a field is missing or garbled.
    """
    status = Status(observation["status"])
    charged = shapes.amount(observation, "chargedUsd")
    known = [
        shapes.amount(observation, name) for name in _COSTS if observation.get(name) is not None
    ]
    if shapes.text(observation, "transport") in METERED:
        if charged > reservation:
            return f"a metered attempt charges {charged} USD, above its reservation {reservation}"
        least = max(known, default=money.ZERO)
    elif status is Status.COMPLETED:
        least = max(known, default=reservation)
    else:
        least = max([reservation, *known])
    if charged < least:
        return f"it charges {charged} USD where {least} USD is the least ({status.value})"
    return None
