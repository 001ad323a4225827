"""Money as decimals: read from text, rounded in one direction, never a float.

Rules, each with one function:
    a study's amounts are decimal text                      -> parse
    a provider's float is read as Decimal(repr(x)), 12 places, half-even  -> from_provider
    what is charged is rounded up to 9 places               -> charge
    what is a limit is rounded down to 6 places             -> limit
    sums are exact, whatever the caller's decimal context   -> total, minus, times
    what is written is plain decimal text, no exponent      -> text
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

from agent_trials.errors import MoneyError

ZERO = Decimal(0)
MILLION = Decimal(1_000_000)
LARGEST = Decimal(1_000_000_000)
_WRITTEN = re.compile(r"[0-9]{1,10}(\.[0-9]{1,18})?")
_EXACT = Context(prec=60)


def parse(written: object) -> Decimal:
    """Return the amount that a text such as ``"0.10"`` states, in USD.

    Raises:
        MoneyError: it is not text of digits with at most one point (a number, a sign, an exponent,
            nan and inf are none), or it is above a thousand million.
    """
    if isinstance(written, Decimal) and written.is_finite() and written >= 0:
        return written
    if not isinstance(written, str) or not _WRITTEN.fullmatch(written.strip()):
        raise MoneyError(f'{written!r} is no amount; write digits with a point, such as "0.10"')
    amount = Decimal(written.strip())
    if amount > LARGEST:
        raise MoneyError(f"{written!r} is above {LARGEST:,} USD; write a smaller amount")
    return amount


def parse_positive(written: object) -> Decimal:
    """Return an amount above zero, in USD.

    Raises:
        MoneyError: as ``parse``, or the amount is zero.
    """
    amount = parse(written)
    if amount == 0:
        raise MoneyError(f'{written!r} is not above zero; write a positive amount, such as "1"')
    return amount


def from_provider(number: object) -> Decimal | None:
    """Return a provider's figure in USD, half-even at 12 places, or None where it is no valid cost.

    A cost is valid when it is a finite number that is not negative; booleans are no numbers.
    """
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    value = Decimal(repr(number))
    if not value.is_finite() or value < 0 or value > LARGEST:
        return None
    return value.quantize(Decimal("1e-12"), rounding=ROUND_HALF_EVEN, context=_EXACT)


def charge(amount: Decimal) -> Decimal:
    """Return the amount rounded up to 9 places: what counts against the cap is never too small."""
    return amount.quantize(Decimal("1e-9"), rounding=ROUND_CEILING, context=_EXACT)


def limit(amount: Decimal) -> Decimal:
    """Return the amount rounded down to 6 places: what a provider may spend is never too large."""
    return amount.quantize(Decimal("1e-6"), rounding=ROUND_FLOOR, context=_EXACT)


def total(*amounts: Decimal) -> Decimal:
    """Return the exact sum of the amounts; zero of none."""
    whole = ZERO
    for amount in amounts:
        whole = _EXACT.add(whole, amount)
    return whole


def minus(amount: Decimal, other: Decimal) -> Decimal:
    """Return the exact difference, which may be below zero."""
    return _EXACT.subtract(amount, other)


def times(amount: Decimal, count: int) -> Decimal:
    """Return the exact product of an amount and a whole number."""
    return _EXACT.multiply(amount, Decimal(count))


def text(amount: Decimal) -> str:
    """Return plain decimal text without exponent or trailing zeros (``"0.1"``, ``"0"``)."""
    plain = format(amount, "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
