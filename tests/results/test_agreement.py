from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from agent_trials.results.agreement import agreement, blinding_index

if TYPE_CHECKING:
    from agent_trials.results.agreement import BlindingIndex


def test_kappa_agrees_with_a_textbook() -> None:
    """Fleiss, Levin and Paik, Statistical Methods for Rates and Proportions, table 18.1."""
    table = {
        ("psychotic", "psychotic"): 75,
        ("psychotic", "neurotic"): 1,
        ("psychotic", "organic"): 4,
        ("neurotic", "psychotic"): 5,
        ("neurotic", "neurotic"): 4,
        ("neurotic", "organic"): 1,
        ("organic", "organic"): 10,
    }

    found = agreement(pair for pair, times in table.items() for _ in range(times))

    assert (found.share, found.pairs) == (Fraction(89, 100), 100)
    assert found.kappa == Fraction(23, 34)
    assert round(float(found.kappa), 2) == 0.68


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=2, max_size=40))
def test_kappa_agrees_with_statsmodels(grades: list[tuple[str, str]]) -> None:
    found = agreement(grades)
    assume(found.kappa is not None)
    table = [[grades.count((one, other)) for other in "abc"] for one in "abc"]

    assert found.kappa is not None
    assert float(found.kappa) == pytest.approx(cohens_kappa(table, return_results=False))
    assert agreement((other, one) for one, other in grades) == found


def test_kappa_is_missing_where_chance_explains_everything() -> None:
    """0 / 0: both said correct throughout, which is full agreement and says nothing beyond."""
    found = agreement([("correct", "correct")] * 4)

    assert found.share == 1
    assert found.kappa is None


def test_counts_what_only_one_of_them_graded() -> None:
    found = agreement([("correct", None), (None, "partial"), ("correct", "partial")])

    assert (found.pairs, found.unpaired, found.agreed) == (1, 2, 0)
    assert found.share == 0
    assert agreement([(None, None)]).share is None


@pytest.mark.parametrize(
    ("found", "published"),
    [
        (
            blinding_index(right=82, wrong=25, undecided=170, level=Decimal("0.9")),
            (0.21, 0.15, 0.26),
        ),
        (
            blinding_index(right=29, wrong=27, undecided=83, level=Decimal("0.9")),
            (0.01, -0.07, 0.10),
        ),
    ],
    ids=["lovastatin", "placebo"],
)
def test_blinding_index_agrees_with_its_paper(
    found: BlindingIndex, published: tuple[float, float, float]
) -> None:
    """The CRISP trial, Bang, Ni and Davis (2004), tables 7 and 8 (both one-sided 95 % limits)."""
    assert found.index is not None
    assert found.lower is not None
    assert found.upper is not None
    rounded = tuple(round(float(one), 2) for one in (found.index, found.lower, found.upper))
    assert rounded == published


@pytest.mark.parametrize(("right", "wrong", "end"), [(9, 1, 1), (1, 9, -1)])
def test_blinding_interval_is_clipped(right: int, wrong: int, end: int) -> None:
    found = blinding_index(right=right, wrong=wrong)

    assert end in {found.lower, found.upper}


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
def test_exchanging_right_and_wrong_mirrors_the_index(right: int, wrong: int, unsure: int) -> None:
    there = blinding_index(right=right, wrong=wrong, undecided=unsure)
    back = blinding_index(right=wrong, wrong=right, undecided=unsure)

    if there.guesses == 0:
        assert (there.index, there.lower, there.upper) == (None, None, None)
    else:
        assert back.index == -(there.index or 0)
        assert back.lower == -(there.upper or 0)
        assert -1 <= (there.lower or 0) <= (there.upper or 0) <= 1


def test_refuses_negative_guesses() -> None:
    with pytest.raises(RuntimeError, match="negative"):
        blinding_index(right=-1, wrong=2)
