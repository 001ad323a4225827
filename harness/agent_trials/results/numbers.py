"""Exact numbers in, six significant digits out: what every figure of a report is made of.

Rules, each with one function:
    what is compared is a fraction, a float after rounding to 6 significant digits   -> exact
    a figure that came out of a float is rounded, half-even, to 6 significant digits -> rounded
    a figure is printed with 6 significant digits, plain, without exponent           -> text

Two programs that add floats in another order lose ties; two that add fractions agree.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Number: TypeAlias = int | Decimal | Fraction | float
"""What a measured value may be; a bool is none."""

SIGNIFICANT_DIGITS = 6
_LONG = 512
_ROUNDING = Context(prec=SIGNIFICANT_DIGITS, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX)


def exact(number: Number) -> Fraction:
    """Return the number as a fraction, a float after rounding it to 6 significant digits.

    Raises:
        TypeError: it is a bool or no number at all.
        RuntimeError: it is not finite.
    """
    if type(number) is Fraction:
        return number
    if isinstance(number, bool) or not isinstance(number, int | Decimal | Fraction | float):
        raise TypeError(f"{number!r} is no number; a value that was not measured is None")
    if not math.isfinite(number):
        raise RuntimeError(f"{number!r} is not finite; a value that was not measured is None")
    return Fraction(rounded(number) if isinstance(number, float) else number)


def rounded(number: Number) -> Decimal:
    """Return the number with 6 significant digits, half-even; zero has no sign."""
    if isinstance(number, Fraction):
        return _ROUNDING.divide(Decimal(number.numerator), Decimal(number.denominator))
    return _ROUNDING.plus(Decimal(number))


def text(number: Number) -> str:
    """Return the number as plain decimal text with 6 significant digits (``"0.03125"``)."""
    plain = format(rounded(number), "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def whole(values: Sequence[Fraction]) -> tuple[list[int], int]:
    """Return the values as whole numbers, and the scale that they were multiplied by (at least 1).

    Whole numbers add and compare many times faster than fractions, and as exactly.
    """
    ratios = [value.as_integer_ratio() for value in values]
    scale = math.lcm(*{denominator for _, denominator in ratios})
    return [numerator * (scale // denominator) for numerator, denominator in ratios], scale


def total(values: Sequence[Fraction]) -> Fraction:
    """Return the exact sum, of many denominators as of one.

    Amounts of money or of tokens share a small one, and are summed as whole numbers. Shares have
    each their own: the common denominator of thousands has tens of thousands of digits, which every
    single addition would carry; summed by halves only the last ones do.
    """
    return Fraction(*_sum([value.as_integer_ratio() for value in values]))


def mean(values: Iterable[Fraction]) -> Fraction | None:
    """Return the exact mean, None of nothing."""
    amounts = tuple(values)
    return total(amounts) / len(amounts) if amounts else None


def median(values: Iterable[Fraction]) -> Fraction | None:
    """Return the exact median, the mean of the middle two for an even count, None of nothing."""
    ordered = ascending(tuple(values))
    half = len(ordered) // 2
    return (ordered[half] + ordered[-half - 1]) / 2 if ordered else None


def ascending(values: Sequence[Fraction]) -> Sequence[Fraction]:
    """Return the values in ascending order, compared as whole numbers where they are short."""
    ratios = [value.as_integer_ratio() for value in values]
    scale = _common(ratios)
    if scale is None:
        return sorted(values)
    amounts = [numerator * (scale // denominator) for numerator, denominator in ratios]
    return [values[at] for at in sorted(range(len(amounts)), key=amounts.__getitem__)]


def variance(values: Iterable[Fraction]) -> Fraction | None:
    """Return the exact sample variance (divisor n - 1), None of fewer than two values."""
    amounts, scale = whole(tuple(values))
    n, total = len(amounts), sum(amounts)
    if n < 2:  # noqa: PLR2004 - one value has no spread
        return None
    squares = n * sum(amount * amount for amount in amounts) - total * total
    return Fraction(squares, n * (n - 1) * scale * scale)


def nearest_rank(values: Iterable[Number], percent: int = 95) -> Fraction | None:
    """Return the nearest-rank percentile, None of nothing.

    The value at index ``ceil(percent / 100 * n) - 1`` of the ascending values (seed 003), counted
    in integers: ``0.95 * n`` as a float is sometimes just above a whole number.

    Raises:
        RuntimeError: the percentage is not within 1 to 100.
    """
    if not 1 <= percent <= 100:  # noqa: PLR2004 - a percentage
        raise RuntimeError(f"a percentile of {percent}; use 1 to 100")
    ordered = ascending([exact(value) for value in values])
    return ordered[-(-percent * len(ordered) // 100) - 1] if ordered else None


def _sum(ratios: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the sum of fractions, each a numerator and a denominator, not reduced."""
    scale = _common(ratios)
    if scale is not None:
        return sum(above * (scale // below) for above, below in ratios), scale
    half = len(ratios) // 2
    (one, of_one), (other, of_other) = _sum(ratios[:half]), _sum(ratios[half:])
    return one * of_other + other * of_one, of_one * of_other


def _common(ratios: Sequence[tuple[int, int]]) -> int | None:
    """Return the common denominator; None where it is long and there is something to halve."""
    scale = 1
    for below in {below for _, below in ratios}:
        scale = math.lcm(scale, below)
        if scale.bit_length() > _LONG and len(ratios) > 1:
            return None
    return scale
