"""Rates with their Wilson intervals; counts stand beside every rate.

Sources: E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
Journal of the American Statistical Association 22 (1927) 209-212.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from agent_trials.results.numbers import rounded

if TYPE_CHECKING:
    from collections.abc import Iterable

NORMAL_QUANTILE_AS_WRITTEN = Decimal("1.96")
"""The rounded normal quantile that the tables of seed 003 were made with."""

_DEFAULT_LEVEL = Decimal("0.95")


@dataclass(frozen=True)
class Rate:
    """Successes out of trials, with a Wilson interval; all None when there was no trial."""

    successes: int
    trials: int
    rate: Fraction | None
    lower: Decimal | None
    upper: Decimal | None


@dataclass(frozen=True)
class Rates:
    """The same successes over two denominators: all planned attempts, and those scored."""

    planned: Rate
    scored: Rate


def normal_quantile(level: Decimal = _DEFAULT_LEVEL) -> float:
    """Return z of a two-sided interval of this level: 1.959964 for 0.95.

    The quantile is exact to the last places of a float (Wichura's AS 241, in the standard library).
    """
    return NormalDist().inv_cdf((1 + float(level)) / 2)


def wilson(
    successes: int,
    trials: int,
    *,
    level: Decimal = _DEFAULT_LEVEL,
    quantile: Decimal | None = None,
) -> Rate:
    """Return a rate with its Wilson score interval.

    Args:
        successes: how often it happened.
        trials: out of how many; of 0 the rate is missing.
        level: the interval's level.
        quantile: the normal quantile to use in place of the exact one of the level
            (``NORMAL_QUANTILE_AS_WRITTEN`` for the tables of seed 003).

    Raises:
        RuntimeError: there are fewer trials than successes, or a negative count.
    """
    if not 0 <= successes <= trials:
        raise RuntimeError(f"{successes} successes in {trials} trials")
    if trials == 0:
        return Rate(0, 0, None, None, None)
    z = normal_quantile(level) if quantile is None else float(quantile)
    share, spread = successes / trials, z * z / trials
    centre = share + spread / 2
    half = z * sqrt(share * (1 - share) / trials + spread / (4 * trials))
    # Of no success the lower end is exactly 0, which a float misses and no rounding mends.
    lower = 0.0 if successes == 0 else (centre - half) / (1 + spread)
    upper = (centre + half) / (1 + spread)
    return Rate(successes, trials, Fraction(successes, trials), rounded(lower), rounded(upper))


def planned_and_scored(outcomes: Iterable[bool | None]) -> Rates:
    """Return the rate over all planned attempts and over those with an outcome.

    Args:
        outcomes: one for each planned attempt; None where it has none (blocked, not graded).
    """
    every = tuple(outcomes)
    scored = [outcome for outcome in every if outcome is not None]
    successes = sum(scored)
    return Rates(wilson(successes, len(every)), wilson(successes, len(scored)))
