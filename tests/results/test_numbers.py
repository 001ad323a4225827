from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.results.numbers import (
    ascending,
    exact,
    mean,
    median,
    nearest_rank,
    rounded,
    text,
    total,
    variance,
)


def test_reads_decimals_and_counts_without_loss() -> None:
    assert exact(Decimal("0.000123456789")) == Fraction(123456789, 10**12)
    assert exact(12_345_678_901) == 12_345_678_901


def test_rounds_a_float_to_six_digits_before_it_is_compared() -> None:
    """0.1 + 0.2 and 0.3 are one value to a reader, and must be one value to a test."""
    assert exact(0.1 + 0.2) == exact(0.3) == Fraction(3, 10)
    assert exact(1234567.8) == 1_234_570


@pytest.mark.parametrize(
    "value", [math.inf, -math.inf, math.nan, Decimal("NaN"), Decimal("Infinity")]
)
def test_refuses_what_is_not_finite(value: Decimal | float) -> None:
    """An infinity that slipped in would win every comparison of costs."""
    with pytest.raises(RuntimeError, match="not finite"):
        exact(value)


@pytest.mark.parametrize("value", [True, None, "1"], ids=["bool", "missing", "text"])
def test_refuses_what_is_no_number(value: object) -> None:
    with pytest.raises(TypeError, match="no number"):
        exact(value)  # type: ignore[arg-type] # the attack


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Fraction(1, 32768), "0.0000305176"),
        (Fraction(2, 3), "0.666667"),
        (Fraction(-1, 3), "-0.333333"),
        (Fraction(12345675, 10), "1234570"),
        (0.5, "0.5"),
        (-0.0, "0"),
        (100, "100"),
        (Decimal("1e-30"), "0.000000000000000000000000000001"),
    ],
)
def test_prints_six_significant_digits_without_exponent(
    value: Fraction | Decimal | float, written: str
) -> None:
    assert text(value) == written


@given(st.fractions(max_denominator=10**9))
def test_rounding_is_symmetric_and_settled(value: Fraction) -> None:
    assert rounded(-value) == -rounded(value)
    assert rounded(rounded(value)) == rounded(value)
    assert abs(Fraction(rounded(value)) - value) <= abs(value) * Fraction(1, 10**5)


def test_the_median_of_an_even_count_is_the_middle() -> None:
    assert median([Fraction(3), Fraction(1), Fraction(2), Fraction(10)]) == Fraction(5, 2)
    assert median([Fraction(3), Fraction(1), Fraction(2)]) == 2


def test_nothing_has_no_mean_median_variance_or_percentile() -> None:
    assert mean([]) is None
    assert median([]) is None
    assert variance([Fraction(1)]) is None
    assert nearest_rank([]) is None


@pytest.mark.parametrize(("percent", "value"), [(5, 15), (30, 20), (40, 20), (50, 35), (100, 50)])
def test_nearest_rank_agrees_with_the_textbook(percent: int, value: int) -> None:
    """The worked example of the nearest-rank method: 15, 20, 35, 40, 50."""
    assert nearest_rank([35, 20, 15, 50, 40], percent) == value


@pytest.mark.parametrize("n", [1, 19, 20, 21, 50, 100, 120])
def test_a_percentile_is_the_smallest_value_with_that_share_at_or_below_it(n: int) -> None:
    """Brute force; as a float 0.07 * 100 is just above 7, and the rank would be one too high."""
    values = list(range(n))

    for percent in range(1, 101):
        wanted = next(v for v in values if Fraction(v + 1, n) >= Fraction(percent, 100))
        assert nearest_rank(values, percent) == wanted


@pytest.mark.parametrize("percent", [0, 101])
def test_refuses_a_percentage_that_is_none(percent: int) -> None:
    with pytest.raises(RuntimeError, match="percentile"):
        nearest_rank([1, 2], percent)


def test_sums_shares_of_thousands_of_denominators_exactly() -> None:
    """Carried through every addition, their common denominator made a report take minutes."""
    last = 20_000

    found = total([Fraction(1, n * (n + 1)) for n in range(1, last)])

    assert found == 1 - Fraction(1, last)


@given(st.lists(st.fractions()))
def test_sums_and_orders_as_fractions_do(values: list[Fraction]) -> None:
    assert total(values) == sum(values, Fraction(0))
    assert list(ascending(values)) == sorted(values)
