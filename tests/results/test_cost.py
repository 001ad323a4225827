from __future__ import annotations

import operator
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.results.cost import (
    Comparison,
    CostOutcome,
    CostPerCorrect,
    Tag,
    at_most,
    cost_per_correct,
    ratio,
)

ATTEMPTS = st.lists(
    st.builds(
        CostOutcome,
        st.one_of(st.none(), st.decimals(0, 5, places=2)),
        st.sampled_from([True, True, True, False, False, None]),
    ),
    max_size=6,
)


def figure(*attempts: tuple[str | None, bool | None]) -> CostPerCorrect:
    return cost_per_correct(
        CostOutcome(None if cost is None else Decimal(cost), correct) for cost, correct in attempts
    )


KNOWN = figure(("0.10", True), ("0.20", True), ("0.30", False))
LOWER = figure(("0.10", True), (None, False))
INFINITE = figure(("0.10", False), ("0.20", False))
MISSING = figure((None, True))
CHEAPER = figure(("0.10", True))


def test_every_known_cost_counts_whatever_became_of_the_attempt() -> None:
    """002 left the money of timed-out attempts out, and the figure came out too low."""
    assert (KNOWN.tag, KNOWN.amount) == (Tag.KNOWN, Fraction(3, 10))


@pytest.mark.parametrize(
    ("found", "tag"),
    [
        (figure(), Tag.MISSING),
        (figure((None, True), (None, False)), Tag.MISSING),
        (figure(("1", None), ("1", False)), Tag.MISSING),
        (figure((None, False), (None, False)), Tag.MISSING),
        (figure(("1", False), (None, False)), Tag.INFINITE),
        (figure(("1", True), (None, False)), Tag.LOWER_BOUND),
        (figure(("1", True)), Tag.KNOWN),
    ],
    ids=[
        "no attempt",
        "no known cost",
        "not graded yet",
        "no known cost and none correct",
        "none correct and a cost missing",
        "a cost missing",
        "all known",
    ],
)
def test_missing_comes_before_infinite_before_lower_bound(found: CostPerCorrect, tag: Tag) -> None:
    assert found.tag is tag
    assert (found.amount is None) == (tag in {Tag.MISSING, Tag.INFINITE})


def test_two_infinities_are_not_comparable_so_that_no_threshold_holds() -> None:
    """As floats inf <= 0.85 * inf is true, and two arms without a success would pass the clause."""
    assert at_most(INFINITE, INFINITE, Decimal("0.85")) is Comparison.NOT_COMPARABLE


@pytest.mark.parametrize("other", [KNOWN, LOWER, INFINITE, MISSING])
def test_a_missing_figure_never_compares_as_better(other: CostPerCorrect) -> None:
    assert at_most(MISSING, other) is Comparison.NOT_COMPARABLE
    assert at_most(other, MISSING) is Comparison.NOT_COMPARABLE


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (CHEAPER, KNOWN, Comparison.HOLDS),
        (KNOWN, CHEAPER, Comparison.FAILS),
        (INFINITE, KNOWN, Comparison.FAILS),
        (KNOWN, INFINITE, Comparison.HOLDS),
        (LOWER, KNOWN, Comparison.NOT_COMPARABLE),
        (KNOWN, LOWER, Comparison.NOT_COMPARABLE),
        (CHEAPER, LOWER, Comparison.HOLDS),
        (figure(("9", True), (None, True)), KNOWN, Comparison.FAILS),
    ],
)
def test_compares_only_as_far_as_the_tags_let_it_be_known(
    one: CostPerCorrect, other: CostPerCorrect, expected: Comparison
) -> None:
    assert at_most(one, other) is expected


@given(ATTEMPTS, ATTEMPTS, st.sampled_from([Decimal("0.85"), Decimal(1), Decimal(2)]))
def test_what_holds_holds_whatever_the_missing_costs_were(
    one: list[CostOutcome], other: list[CostOutcome], factor: Decimal
) -> None:
    """Fill every missing cost with small and large ones: no filling contradicts a comparison."""
    found = at_most(cost_per_correct(one), cost_per_correct(other), factor)

    filled = {
        at_most(
            cost_per_correct(_filled(one, cost_one)),
            cost_per_correct(_filled(other, cost_other)),
            factor,
        )
        for cost_one, cost_other in product((Decimal(0), Decimal(1000)), repeat=2)
    }
    assert found is Comparison.NOT_COMPARABLE or filled == {found}


def test_there_is_a_ratio_of_known_figures_alone() -> None:
    assert ratio(CHEAPER, KNOWN) == Fraction(1, 3)
    for one, other in ((LOWER, KNOWN), (KNOWN, LOWER), (INFINITE, KNOWN), (MISSING, KNOWN)):
        assert ratio(one, other) is None
    assert ratio(KNOWN, figure(("0", True))) is None


def test_a_reader_sees_the_tag() -> None:
    assert [str(one) for one in (KNOWN, LOWER, INFINITE, MISSING)] == [
        "0.3",
        "at least 0.1",
        "infinite",
        "missing",
    ]


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
def test_figures_have_no_order_of_their_own(compare: object) -> None:
    """Only ``at_most`` knows the tags; a bare < would let a missing figure win."""
    with pytest.raises(TypeError):
        compare(MISSING, KNOWN)  # type: ignore[operator] # the attack


def _filled(attempts: list[CostOutcome], cost: Decimal) -> list[CostOutcome]:
    return [
        CostOutcome(cost if attempt.cost is None else attempt.cost, attempt.correct)
        for attempt in attempts
    ]
