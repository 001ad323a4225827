from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import DescrStatsW

from agent_trials.results.statistics import (
    EquivalenceClass,
    Interval,
    NoInterval,
    _whole_numbers,
    bca_interval,
    equivalence,
    one_sided_bound,
    t_interval,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

DARWIN = tuple(
    Fraction(eighths, 8) for eighths in (49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48)
)
"""Crossed minus self-fertilised maize, inches (Darwin 1876)."""

SLEEP = tuple(Fraction(tenths, 10) for tenths in (12, 24, 13, 13, 0, 10, 18, 8, 46, 14))
"""Extra hours of sleep, one drug minus the other (Student 1908)."""

MEANS = st.lists(st.integers(-40, 40).map(lambda n: Fraction(n, 4)), min_size=8, max_size=14)


def bounds(found: Interval | NoInterval) -> tuple[float, float]:
    assert isinstance(found, Interval)
    return float(found.lower), float(found.upper)


@pytest.mark.parametrize(
    ("means", "level", "published"),
    [
        (DARWIN, "0.95", (0.003899, 5.229434)),
        (SLEEP, "0.95", (0.7001142, 2.4598858)),
    ],
    ids=["Darwin's maize", "Student's sleep"],
)
def test_t_interval_agrees_with_published_figures(
    means: Sequence[Fraction], level: str, published: tuple[float, float]
) -> None:
    """As R's t.test prints them; Fisher (1935), section 17, gives t = 2.148 for the first."""
    assert bounds(t_interval(means, level=Decimal(level))) == pytest.approx(published, rel=1e-4)


def test_bca_agrees_with_scipy() -> None:
    """Untied means, in the ascending order that the interval is drawn in."""
    ordered = sorted(DARWIN)
    expected = stats.bootstrap(
        (np.array([float(value) for value in ordered]),),
        np.mean,
        method="BCa",
        rng=np.random.Generator(np.random.PCG64(11)),
    ).confidence_interval

    assert sorted(-value for value in DARWIN) < ordered
    assert bounds(bca_interval(DARWIN, seed=11)) == pytest.approx(tuple(expected), rel=1e-4)


def test_bca_agrees_with_its_formula() -> None:
    """Efron and Tibshirani (1993), equations 14.9 to 14.15, over resamples drawn elsewhere."""
    means = [0.2, 0.4, 0.1, 0.9, 3.5, 0.3, 1.1, 0.6, 0.5, 2.2]
    drawing = random.Random(3)  # noqa: S311 - a simulation, no secret
    expected = bca_by_hand(means, drawing, 40_000)

    found = bounds(bca_interval([Fraction(str(mean)) for mean in means], seed=5))

    width = expected[1] - expected[0]
    assert found == pytest.approx(expected, abs=width * 0.03)


def bca_by_hand(means: list[float], drawing: random.Random, resamples: int) -> tuple[float, float]:
    """Return the 95 % interval of the mean."""
    n, centre, normal = len(means), math.fsum(means) / len(means), NormalDist()
    drawn = sorted(math.fsum(drawing.choices(means, k=n)) / n for _ in range(resamples))
    below = sum(one < centre - 1e-9 for one in drawn) + sum(one <= centre + 1e-9 for one in drawn)
    bias = normal.inv_cdf(below / (2 * resamples))
    left_out = [(math.fsum(means) - mean) / (n - 1) for mean in means]
    middle = math.fsum(left_out) / n
    cubes = math.fsum((middle - one) ** 3 for one in left_out)
    squares = math.fsum((middle - one) ** 2 for one in left_out)
    acceleration = cubes / (6 * squares**1.5)

    def end(z: float) -> float:
        share = normal.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))
        return drawn[min(resamples - 1, int(share * resamples))]

    return end(normal.inv_cdf(0.025)), end(normal.inv_cdf(0.975))


@pytest.mark.parametrize(
    ("means", "reason"),
    [
        ([Fraction(n) for n in range(7)], "7 tasks"),
        ([Fraction(n % 2) for n in range(12)], "2 distinct differences"),
        ([Fraction(1)] * 9, "1 distinct differences"),
        ([], "0 tasks"),
    ],
)
def test_too_few_tasks_or_differences_have_no_bootstrap_interval(
    means: list[Fraction], reason: str
) -> None:
    """Of so little a bootstrap makes a confident, far too narrow interval."""
    found = bca_interval(means)

    assert isinstance(found, NoInterval)
    assert reason in found.reason


def test_eight_tasks_with_three_differences_have_one() -> None:
    means = [Fraction(n % 3) for n in range(8)]

    assert isinstance(bca_interval(means), Interval)


@settings(max_examples=15, deadline=None)
@given(MEANS, st.randoms())
def test_bca_sees_neither_the_order_of_tasks_nor_which_arm_is_which(
    means: list[Fraction], shuffling: random.Random
) -> None:
    assume(sorted(means) != sorted(-mean for mean in means))
    there = bca_interval(means, seed=1)
    changed = [-mean for mean in means]
    shuffling.shuffle(changed)

    back = bca_interval(changed, seed=1)

    if isinstance(there, NoInterval):
        assert there == back
    else:
        assert isinstance(back, Interval)
        assert (back.lower, back.upper) == (-there.upper, -there.lower)


@settings(max_examples=15, deadline=None)
@given(MEANS, st.integers(1, 10**12), st.integers(1, 10**12))
def test_bca_keeps_ties_in_every_unit(means: list[Fraction], top: int, bottom: int) -> None:
    """As float means, 0.1 + 0.2 and 0.3 would fall on two sides of the observed mean."""
    factor = Fraction(top, bottom)
    there, scaled = bca_interval(means), bca_interval([mean * factor for mean in means])

    if isinstance(there, Interval):
        expected = [float(Fraction(bound) * factor) for bound in (there.lower, there.upper)]
        assert bounds(scaled) == pytest.approx(tuple(expected), rel=1e-4, abs=1e-9 * float(factor))


def test_means_of_any_fineness_become_whole_numbers_that_a_float_adds_exactly() -> None:
    """Else the sum would depend on the order of the tasks, and on the machine that adds."""
    means = [Fraction(10**9 + at, 10**9 + 7 * at + 1) * 10**6 for at in range(50)]

    whole, scale = _whole_numbers(means)

    assert sum(map(abs, whole)) < 2**53
    assert [one / scale for one in whole] == pytest.approx([float(mean) for mean in means])


def test_bca_numbers_stay_what_they_were() -> None:
    """Same ledger, same numbers: a new scipy or numpy that changes them must be noticed."""
    found = bca_interval(DARWIN, seed=0)

    assert isinstance(found, Interval)
    assert (found.lower, found.upper) == (Decimal("-0.198240"), Decimal("4.52500"))


@given(
    st.lists(st.integers(-1000, 1000).map(lambda n: Fraction(n, 8)), min_size=2, max_size=12),
    st.integers(1, 500),
)
def test_equivalence_agrees_with_statsmodels(means: list[Fraction], margin: int) -> None:
    assume(len(set(means)) > 1)
    described = DescrStatsW([float(mean) for mean in means])
    p_value, _, _ = described.ttost_mean(-margin, margin)
    lower, upper = described.tconfint_mean(alpha=0.10)

    found = equivalence(means, margin)

    assert float(found.p_equivalence or 0) == pytest.approx(p_value, rel=1e-4, abs=1e-12)
    assert bounds(found.interval) == pytest.approx((lower, upper), rel=1e-4, abs=1e-6)
    inside = found.outcome in {
        EquivalenceClass.EQUIVALENT,
        EquivalenceClass.DIFFERENT_WITHIN_MARGIN,
    }
    assert inside == (p_value < 0.05) or p_value == pytest.approx(0.05, rel=1e-4)


@pytest.mark.parametrize(
    ("means", "margin", "outcome"),
    [
        ([1, -1, 2, -2, 1, -1, 0, 1], 3, EquivalenceClass.EQUIVALENT),
        ([5, 6, 7, 5, 6, 7, 5, 6], 3, EquivalenceClass.DIFFERENT),
        ([5, 6, 7, 5, 6, 7, 5, 6], 9, EquivalenceClass.DIFFERENT_WITHIN_MARGIN),
        ([9, -9, 8, -8, 7, -7, 5, 1], 3, EquivalenceClass.INCONCLUSIVE),
        ([2, 2, 2, 2, 2, 2, 2, 2], 3, EquivalenceClass.NO_VARIANCE),
        ([0, 0, 0, 0], 3, EquivalenceClass.NO_VARIANCE),
        ([1], 3, EquivalenceClass.NO_VARIANCE),
        ([], 3, EquivalenceClass.NO_VARIANCE),
    ],
)
def test_the_classes_of_equivalence_are_kept_apart(
    means: list[int], margin: int, outcome: EquivalenceClass
) -> None:
    found = equivalence(map(Fraction, means), margin)

    assert found.outcome is outcome
    assert equivalence([Fraction(-mean) for mean in means], margin).outcome is outcome


def test_an_interval_that_touches_the_margin_is_not_inside() -> None:
    interval = t_interval(SLEEP)
    assert isinstance(interval, Interval)

    at, beyond = equivalence(SLEEP, interval.upper), equivalence(SLEEP, interval.upper * 2)

    assert at.outcome is EquivalenceClass.DIFFERENT
    assert beyond.outcome is EquivalenceClass.DIFFERENT_WITHIN_MARGIN


@pytest.mark.parametrize("margin", [0, -1])
def test_refuses_a_margin_that_is_none(margin: int) -> None:
    with pytest.raises(RuntimeError, match="margin"):
        equivalence([Fraction(1), Fraction(2)], margin)


def test_equivalence_is_claimed_falsely_no_more_often_than_its_level() -> None:
    """The true difference is the margin itself: every claim of equivalence is false."""
    drawing, studies = np.random.default_rng(20261130), 1500
    false = 0
    for _ in range(studies):
        means = [Fraction(round(1000 * (1 + x)), 1000) for x in drawing.standard_normal(9) * 0.8]
        outcome = equivalence(means, 1).outcome
        false += outcome in {EquivalenceClass.EQUIVALENT, EquivalenceClass.DIFFERENT_WITHIN_MARGIN}

    assert false / studies <= 0.05 + 3 * (0.05 * 0.95 / studies) ** 0.5


@pytest.mark.parametrize(("tasks", "bound"), [(1, "-0.95"), (10, "-0.258866"), (20, "-0.139108")])
def test_tasks_that_do_not_vary_still_leave_room_for_a_loss(tasks: int, bound: str) -> None:
    """All right in both arms: the rule of three, 1 - 0.05^(1/n) for n without an event."""
    assert one_sided_bound([Fraction(0)] * tasks) == Decimal(bound)


def test_the_one_sided_bound_is_the_lower_end_of_the_two_sided_interval() -> None:
    interval = t_interval(SLEEP)

    assert isinstance(interval, Interval)
    assert one_sided_bound(SLEEP) == interval.lower > 0
    assert one_sided_bound([]) is None


def test_the_one_sided_bound_is_never_below_what_can_be() -> None:
    assert one_sided_bound([Fraction(0), Fraction(-1)]) == -1
