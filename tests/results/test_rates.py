from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from agent_trials.results.numbers import rounded
from agent_trials.results.rates import (
    NORMAL_QUANTILE_AS_WRITTEN,
    normal_quantile,
    planned_and_scored,
    wilson,
)


@pytest.mark.parametrize(
    ("successes", "trials", "lower", "upper"),
    [
        (81, 263, "0.2553", "0.3662"),
        (15, 148, "0.0624", "0.1605"),
        (0, 20, "0.0000", "0.1611"),
        (1, 29, "0.0061", "0.1718"),
    ],
)
def test_wilson_agrees_with_published_intervals(
    successes: int, trials: int, lower: str, upper: str
) -> None:
    """R. G. Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3."""
    found = wilson(successes, trials)

    assert found.lower is not None
    assert found.upper is not None
    assert f"{found.lower:.4f}" == lower
    assert f"{found.upper:.4f}" == upper


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_agrees_with_statsmodels(counts: tuple[int, int]) -> None:
    successes, trials = counts
    lower, upper = proportion_confint(successes, trials, alpha=0.05, method="wilson")
    found = wilson(successes, trials)

    assert float(found.lower or 0) == pytest.approx(lower, rel=1e-5, abs=1e-12)
    assert float(found.upper or 0) == pytest.approx(upper, rel=1e-5, abs=1e-12)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_failures_have_the_mirrored_interval(counts: tuple[int, int]) -> None:
    successes, trials = counts
    there, back = wilson(successes, trials), wilson(trials - successes, trials)

    assert float(back.lower or 0) == pytest.approx(1 - float(there.upper or 0), abs=2e-6)
    assert Decimal(0) <= (there.lower or Decimal(0)) <= (there.upper or Decimal(0)) <= 1


@pytest.mark.parametrize("trials", range(1, 41))
def test_never_and_always_touch_the_ends_exactly(trials: int) -> None:
    """As floats, five trials without a success have a lower end of 3e-17."""
    assert wilson(0, trials).lower == 0
    assert wilson(trials, trials).upper == 1


def test_the_quantile_is_exact_unless_the_tables_of_seed_003_are_wanted() -> None:
    assert rounded(normal_quantile()) == Decimal("1.95996")

    exact, written = wilson(36, 48), wilson(36, 48, quantile=NORMAL_QUANTILE_AS_WRITTEN)

    assert exact.lower == Decimal("0.612156")
    assert written.lower == Decimal("0.612154")


def test_no_trial_has_no_rate() -> None:
    """0 of 0 is missing, and no 0 that would compare as worse."""
    found = wilson(0, 0)

    assert (found.rate, found.lower, found.upper) == (None, None, None)


@pytest.mark.parametrize(("successes", "trials"), [(2, 1), (-1, 1)])
def test_refuses_counts_that_cannot_be(successes: int, trials: int) -> None:
    with pytest.raises(RuntimeError, match="trials"):
        wilson(successes, trials)


def test_states_the_rate_over_planned_and_over_scored_attempts() -> None:
    """B12: blocked is missing in one specification and counted in another; both are shown."""
    found = planned_and_scored([True, True, False, None, None])

    assert (found.planned.rate, found.scored.rate) == (Fraction(2, 5), Fraction(2, 3))
