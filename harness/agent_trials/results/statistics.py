"""Intervals over task means, and equivalence: the one file that uses scipy.

Sources:
    BCa: B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap (1993), sections 14.3 and
        15.4, as scipy.stats.bootstrap implements it;
    two one-sided tests: D. J. Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15
        (1987) 657-680; classes: D. Lakens, Social Psychological and Personality Science 8 (2017)
        355-362.

What scipy gives is a float; it is rounded to 6 significant digits before anyone compares or
prints it. The random numbers are numpy's PCG64 of the given seed.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from agent_trials.results.hypotheses import SignFlip, sign_flip
from agent_trials.results.numbers import Number, exact, mean, rounded, variance, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

FEWEST_TASKS = 8
"""Below this many tasks no bootstrap interval is given."""

FEWEST_DISTINCT = 3
"""Below this many distinct differences of task means no bootstrap interval is given."""

RESAMPLES = 9_999
_LARGEST_WHOLE = 2**53
_MOST_DRAWN_AT_ONCE = 5_000_000


@dataclass(frozen=True)
class Interval:
    """A two-sided interval, bounds with 6 significant digits, in the unit of its values."""

    lower: Decimal
    upper: Decimal
    level: Decimal
    method: str


@dataclass(frozen=True)
class NoInterval:
    """Why there is no interval."""

    reason: str


class EquivalenceClass(StrEnum):
    """What two one-sided tests and a test of difference say together."""

    EQUIVALENT = "equivalent"
    DIFFERENT = "different"
    DIFFERENT_WITHIN_MARGIN = "different-within-margin"
    INCONCLUSIVE = "inconclusive"
    NO_VARIANCE = "no-variance"


@dataclass(frozen=True)
class Equivalence:
    """Whether the mean difference lies within a margin registered beforehand.

    ``p_equivalence`` is the larger p of the two one-sided t tests, ``difference`` the sign-flip
    test of no difference. There is neither where the task means do not vary.
    """

    outcome: EquivalenceClass
    margin: Fraction
    interval: Interval | NoInterval
    p_equivalence: Decimal | None
    difference: SignFlip | None


def bca_interval(
    means: Iterable[Fraction], *, seed: int = 0, level: Decimal = Decimal("0.95")
) -> Interval | NoInterval:
    """Return the task-clustered BCa bootstrap interval of the mean over tasks.

    Whole tasks are resampled, each with all of its repetitions, by their mean differences. These
    are brought to whole numbers before scipy sees them, so that equal means stay equal, and put in
    an order of their own, so that neither the order of the tasks nor which arm is called the
    treatment changes the numbers.

    Args:
        means: each task's mean pair difference.
        seed: of the resampling.
        level: the interval's level.
    """
    values = tuple(means)
    if len(values) < FEWEST_TASKS:
        return NoInterval(f"{len(values)} tasks, a bootstrap interval needs {FEWEST_TASKS}")
    if (distinct := len(set(values))) < FEWEST_DISTINCT:
        return NoInterval(
            f"{distinct} distinct differences of task means, a bootstrap interval needs"
            f" {FEWEST_DISTINCT}"
        )
    ordered, mirrored = sorted(values), sorted(-value for value in values)
    turned = mirrored > ordered
    lower, upper = _bootstrap(mirrored if turned else ordered, seed, level)
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return NoInterval("the bootstrap distribution is degenerate")
    if turned:
        lower, upper = -upper, -lower
    return Interval(rounded(lower), rounded(upper), level, "BCa bootstrap over tasks")


def t_interval(
    means: Iterable[Fraction], *, level: Decimal = Decimal("0.90")
) -> Interval | NoInterval:
    """Return Student's interval of the mean over tasks, none where they do not vary."""
    values = tuple(means)
    error = _standard_error(values)
    if error is None:
        return NoInterval(
            f"{len(values)} tasks, two are needed" if len(values) < 2 else "no variance at all"  # noqa: PLR2004
        )
    centre = float(mean(values) or 0)
    half = float(stats.t.ppf((1 + float(level)) / 2, len(values) - 1)) * error
    return Interval(rounded(centre - half), rounded(centre + half), level, "Student's t over tasks")


def equivalence(
    means: Iterable[Fraction],
    margin: Number,
    *,
    alpha: Decimal = Decimal("0.05"),
    seed: int = 0,
) -> Equivalence:
    """Return whether the mean over tasks lies within ``-margin`` to ``+margin``.

    The t interval of level ``1 - 2 * alpha`` (90 %) lies strictly inside the margin: inside. The
    sign-flip test over tasks gives ``p <= alpha``: significant. Inside and not significant is
    ``equivalent``, significant and not inside ``different``, both ``different-within-margin``,
    neither ``inconclusive``. Means that do not vary at all (one task does not) are
    ``no-variance``: no verdict.

    Args:
        means: each task's mean pair difference.
        margin: the registered margin, above 0, in the unit of the means.
        alpha: the level of each of the tests.
        seed: of the sign flips above 16 tasks.

    Raises:
        RuntimeError: the margin is not above 0.
    """
    values, allowed = tuple(means), exact(margin)
    if allowed <= 0:
        raise RuntimeError(f"a margin of {margin}; use one above 0")
    interval = t_interval(values, level=1 - 2 * alpha)
    if isinstance(interval, NoInterval):
        return Equivalence(EquivalenceClass.NO_VARIANCE, allowed, interval, None, None)
    test = sign_flip(values, seed=seed)
    outcome = _classes(
        inside=-allowed < Fraction(interval.lower) and Fraction(interval.upper) < allowed,
        significant=test is not None and test.p <= Fraction(alpha),
    )
    return Equivalence(outcome, allowed, interval, _p_equivalence(values, allowed), test)


def one_sided_bound(
    means: Iterable[Fraction], *, alpha: Decimal = Decimal("0.05"), least: Number = -1
) -> Decimal | None:
    """Return what the mean over tasks lies above, with one-sided confidence ``1 - alpha``.

    Student's bound. Where the task means do not vary it has no width, and the bound of a binomial
    share stands in: had more than ``1 - alpha^(1/t)`` of the tasks the least difference that there
    is, t tasks without one would be rarer than alpha (J. A. Hanley and A. Lippman-Hand, JAMA 249
    (1983) 1743-1745, "the rule of three").

    Args:
        means: each task's mean pair difference; None is returned of no task.
        alpha: one minus the confidence.
        least: the least that a task's difference can be (-1 for correctness).
    """
    values = tuple(means)
    centre, error = mean(values), _standard_error(values)
    if centre is None:
        return None
    if error is None:
        share = 1 - float(alpha) ** (1 / len(values))
        return rounded(float(centre) - share * float(centre - exact(least)))
    below = float(centre) - float(stats.t.isf(float(alpha), len(values) - 1)) * error
    return rounded(max(below, float(exact(least))))


def _classes(*, inside: bool, significant: bool) -> EquivalenceClass:
    if inside:
        return (
            EquivalenceClass.DIFFERENT_WITHIN_MARGIN if significant else EquivalenceClass.EQUIVALENT
        )
    return EquivalenceClass.DIFFERENT if significant else EquivalenceClass.INCONCLUSIVE


def _p_equivalence(values: Sequence[Fraction], margin: Fraction) -> Decimal | None:
    error, centre = _standard_error(values), mean(values)
    if error is None or centre is None:
        return None
    nearer = float(margin - abs(centre)) / error
    return rounded(float(stats.t.sf(nearer, len(values) - 1)))


def _standard_error(values: Sequence[Fraction]) -> float | None:
    spread = variance(values)
    return math.sqrt(spread / len(values)) if spread else None


def _bootstrap(ordered: Sequence[Fraction], seed: int, level: Decimal) -> tuple[float, float]:
    amounts, scale = _whole_numbers(ordered)
    values = np.array(amounts, dtype=np.float64)
    means = [block @ values / len(values) for block in _drawn(len(values), seed)]
    drawn: Any = _Resampled(np.concatenate(means))
    result = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=0,
        confidence_level=float(level),
        method="BCa",
        bootstrap_result=drawn,
    )
    found = result.confidence_interval
    return float(found.low) / scale, float(found.high) / scale


@dataclass(frozen=True)
class _Resampled:
    """What scipy takes of an earlier bootstrap."""

    bootstrap_distribution: NDArray[np.float64]


def _drawn(tasks: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield how often each task stands in each resample, some resamples at a time.

    Sums of whole numbers that a float holds are the same in any order, so that counting a task
    gives what resampling it would.
    """
    counts = _counts(tasks, seed)
    at_once = max(1, _MOST_DRAWN_AT_ONCE // tasks)
    for start in range(0, RESAMPLES, at_once):
        yield counts[start : start + at_once].astype(np.float64)


@functools.lru_cache(maxsize=1)
def _counts(tasks: int, seed: int) -> NDArray[np.uint16]:
    """Return the counts of the resamples that scipy would draw: the same for every endpoint."""
    generator = np.random.Generator(np.random.PCG64(seed))
    counts = np.empty((RESAMPLES, tasks), dtype=np.uint16)
    for row in counts:
        row[:] = np.bincount(generator.integers(0, tasks, tasks), minlength=tasks)
    return counts


def _whole_numbers(values: Sequence[Fraction]) -> tuple[list[int], float]:
    """Return the values as whole numbers whose sums a float holds exactly, and their scale."""
    amounts, scale = whole(values)
    largest = max(map(abs, amounts))
    if largest * len(amounts) < _LARGEST_WHOLE:
        return amounts, float(scale)
    # Too fine for a float: as fine as fits, the largest still below the limit.
    coarser = Fraction(_LARGEST_WHOLE // (2 * len(amounts)), largest)
    return [round(amount * coarser) for amount in amounts], float(scale * coarser)
