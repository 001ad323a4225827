from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_trials.results.analysis import Standing, analyse, analyse_endpoint, geometric_ratio
from agent_trials.results.hypotheses import holm
from agent_trials.results.statistics import Interval, NoInterval
from paired_rows import one_pair_each, paired_rows


def test_only_what_is_registered_is_not_exploratory() -> None:
    names = ("turns", "cost_usd", "tool_calls", "correctness")
    rows = {name: one_pair_each([1, 2, 3]) for name in names}

    found = analyse(rows, primary=["correctness"], secondary=["cost_usd"])

    assert [(one.endpoint, one.standing) for one in found] == [
        ("correctness", Standing.PRIMARY),
        ("cost_usd", Standing.SECONDARY),
        ("turns", Standing.EXPLORATORY),
        ("tool_calls", Standing.EXPLORATORY),
    ]


def test_holm_goes_over_the_secondary_endpoints_alone() -> None:
    rows = {
        "correctness": one_pair_each([1] * 6),
        "cost_usd": one_pair_each([1, 2, 3, 4, 5, 6]),
        "tool_calls": one_pair_each([1, 2, 3, 4, 5, -6]),
        "turns": one_pair_each([1, 2, 3, 4, 5, 6]),
    }

    found = {
        one.endpoint: one
        for one in analyse(rows, primary=["correctness"], secondary=["cost_usd", "tool_calls"])
    }

    tests = {name: found[name].sign_flip for name in ("cost_usd", "tool_calls")}
    expected = holm({name: test.p if test else None for name, test in tests.items()})
    assert {name: found[name].holm_p for name in expected} == expected
    assert (found["turns"].holm_p, found["correctness"].holm_p) == (None, None)


def test_a_registered_endpoint_without_rows_stays_and_still_counts() -> None:
    """Dropping it would hide that it was registered, and ease the others."""
    rows = {"cost_usd": one_pair_each([1, 2, 3, 4, 5, 6])}

    primary, cost, tools = analyse(
        rows, primary=["correctness"], secondary=["cost_usd", "tool_calls"]
    )

    assert (primary.difference.mean, primary.sign_flip, tools.holm_p) == (None, None, None)
    assert cost.holm_p == 2 * Fraction(2, 2**6)


def test_without_p_values_none_is_computed() -> None:
    """Seed 004 forbids them: what does not exist cannot be quoted."""
    rows = {"correctness": paired_rows({"a": [(0, 1), (0, 1)], "b": [(0, 1), (1, 1)]})}

    (found,) = analyse(rows, primary=["correctness"], p_values=False)

    assert (found.sign_flip, found.mcnemar, found.position.test, found.holm_p) == (None,) * 4
    assert found.difference.mean == Fraction(3, 4)


def test_correctness_is_bounded_by_0_and_1_and_cost_only_from_below() -> None:
    rows = paired_rows({"a": [(1, None)]})

    right, cost = (analyse_endpoint(name, rows).bounds for name in ("correctness", "cost_usd"))

    assert right.lower == -1
    assert right.upper == 0
    assert cost.lower == -1
    assert cost.upper is None


def test_mcnemar_is_for_correctness() -> None:
    rows = one_pair_each([1, 1, 0])

    assert analyse_endpoint("correctness", rows).mcnemar is not None
    assert analyse_endpoint("turns", rows).mcnemar is None


def test_a_ratio_is_the_geometric_mean_over_tasks() -> None:
    rows = paired_rows({"a": [(1, 2), (1, 2), (1, 2)], "b": [(8, 4)], "c": [(1, None)]})

    found = geometric_ratio(rows)

    assert found.ratio == 1
    assert isinstance(found.interval, NoInterval)


def test_a_ratio_s_interval_is_on_its_own_scale() -> None:
    rows = paired_rows({f"t{at}": [(10, 10 + at)] for at in range(1, 12)})

    found = geometric_ratio(rows)

    assert isinstance(found.interval, Interval)
    assert found.ratio is not None
    assert Decimal(1) < found.interval.lower < found.ratio < found.interval.upper < Decimal(2)


@pytest.mark.parametrize(
    ("pair", "reason"), [((0, 3), "not above zero"), ((None, 3), "no complete pair")]
)
def test_says_why_there_is_no_ratio(pair: tuple[int | None, int], reason: str) -> None:
    found = geometric_ratio(paired_rows({"a": [pair]}))

    assert found.ratio is None
    assert found.reason is not None
    assert reason in found.reason


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), min_size=1, max_size=10))
def test_exchanging_the_arms_turns_the_analysis_round(pairs: list[tuple[int, int]]) -> None:
    rows = paired_rows({f"t{at}": [pair] for at, pair in enumerate(pairs)})
    there = analyse_endpoint("turns", rows)
    back = analyse_endpoint("turns", [row.swapped() for row in rows])

    assert back.difference.mean == -(there.difference.mean or 0)
    assert back.sign_flip == there.sign_flip
    assert back.position.effect == there.position.effect
    turned = 1 / float(there.ratio.ratio or 1)
    assert float(back.ratio.ratio or 0) == pytest.approx(turned, rel=1e-4)
