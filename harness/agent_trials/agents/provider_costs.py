"""What a provider's tokens come to at configured rates, and what is charged for its attempt.

Rules:
    a cost is derived only where rates are configured and the provider itself counted both tokens
    cost = ((input - cached) x rate + cached x cached rate + output x rate) / 1,000,000, where
    cached is at most input, with 8 decimals; it is no assertion about a vendor's bill
    input plus output is ``providerTokenCostUnits``: tokens, never money
    an attempt is charged its reservation, or at least that; where the study says ``priced``, a
    completed one is charged its derived cost, if there is one
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING

from agent_trials import money
from agent_trials.records import Status

if TYPE_CHECKING:
    from agent_trials.agents.provider_reply import Reply

BY_PROVIDER = "provider"
"""The word of a reply whose tokens the provider itself counted."""
Rates = tuple[Decimal, Decimal, Decimal]
_PLACES = Decimal("1e-8")


def cost(reply: Reply, rates: Rates | None) -> Decimal | None:
    """Return the derived cost, USD, None where it cannot be derived."""
    tokens, output = reply.input_tokens, reply.output_tokens
    if rates is None or reply.counted_by != BY_PROVIDER or tokens is None or output is None:
        return None
    cached = min(reply.cached_input_tokens or 0, tokens)
    counted = ((tokens - cached, rates[0]), (cached, rates[1]), (output, rates[2]))
    total = money.total(*(money.times(rate, count) for count, rate in counted))
    return (total / money.MILLION).quantize(_PLACES, rounding=ROUND_HALF_EVEN)


def units(reply: Reply) -> int | None:
    """Return the provider's own count of tokens, input and output, None where one is missing."""
    if reply.counted_by != BY_PROVIDER or None in (reply.input_tokens, reply.output_tokens):
        return None
    return (reply.input_tokens or 0) + (reply.output_tokens or 0)


def charge(
    status: Status, derived: Decimal | None, reservation: Decimal, *, priced: bool
) -> Decimal:
    """Return what counts against the cap, USD."""
    known = derived if derived is not None else money.ZERO
    if status is Status.COMPLETED and priced and derived is not None:
        return money.charge(derived)
    return money.charge(max(reservation, known))
