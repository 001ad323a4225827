from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.results.confounders import position_effect, warmth_effect
from agent_trials.results.rows import Row, differences
from paired_rows import one_pair_each, paired_rows


def counterbalanced(effect: int, of_second: int, tasks: int = 4) -> tuple[Row, ...]:
    rows = paired_rows({f"t{at}": [(0, 0)] * 3 for at in range(tasks)})
    return tuple(
        replace(
            row,
            control=of_second if row.treatment_first else 0,
            treatment=effect + (0 if row.treatment_first else of_second),
        )
        for row in rows
    )


@given(st.integers(-9, 9), st.integers(-9, 9))
def test_separates_the_treatment_from_running_second(effect: int, of_second: int) -> None:
    found = position_effect(differences(counterbalanced(effect, of_second)))

    assert found.effect == of_second
    assert found.balanced == effect
    assert found.tasks_with_both == 4
    assert (found.pairs_first, found.pairs_second) == (6, 6)


def test_the_test_of_order_is_over_tasks_with_both_orders() -> None:
    found = position_effect(differences(counterbalanced(0, 5)))

    assert found.test is not None
    assert found.test.p == Fraction(2, 2**4)


def test_one_order_alone_tells_nothing_of_order() -> None:
    rows = [row for row in counterbalanced(3, 5) if row.treatment_first]

    found = position_effect(differences(rows))

    assert (found.effect, found.balanced, found.test) == (None, None, None)
    assert found.treatment_first == -2


def test_pairs_of_unknown_order_are_left_out() -> None:
    rows = [replace(row, treatment_first=None) for row in counterbalanced(3, 5)]

    found = position_effect(differences(rows))

    assert (found.pairs_first, found.pairs_second, found.effect) == (0, 0, None)


def test_the_slope_over_warmth_agrees_with_least_squares() -> None:
    warmths = [(0.0, 0.5), (0.25, 0.5), (0.5, 0.25), (0.75, 0.75), (0.0, 1.0)]
    amounts = [7, 4, 9, -2, 11]
    rows = [
        replace(row, control_warmth=cold, treatment_warmth=warm)
        for row, (cold, warm) in zip(one_pair_each(amounts), warmths, strict=True)
    ]
    slope, start = np.polyfit([warm - cold for cold, warm in warmths], amounts, 1)

    found = warmth_effect(differences(rows))

    assert found.slope is not None
    assert found.at_equal_warmth is not None
    assert float(found.slope) == pytest.approx(slope)
    assert float(found.at_equal_warmth) == pytest.approx(start)
    assert (found.control_warmth, found.treatment_warmth) == (Fraction(3, 10), Fraction(3, 5))


@pytest.mark.parametrize(
    ("warmths", "reason"),
    [
        ([(0, 1), (0, 0), (None, 1)], "2 pairs with a measured warmth"),
        ([(0, 1), (0, 1), (0, 1)], "equally in every pair"),
        ([], "0 pairs"),
    ],
)
def test_says_why_there_is_no_slope(
    warmths: list[tuple[int | None, int | None]], reason: str
) -> None:
    rows = [
        replace(row, control_warmth=cold, treatment_warmth=warm)
        for row, (cold, warm) in zip(one_pair_each([1] * len(warmths)), warmths, strict=True)
    ]

    found = warmth_effect(differences(rows))

    assert found.slope is None
    assert found.reason is not None
    assert reason in found.reason


def test_a_line_through_thousands_of_different_shares_is_exact() -> None:
    """The differences are made to lie on a line, so that it must come out to the last digit."""
    rows = paired_rows({f"t{at}": [(0, 0)] for at in range(2_000)})
    warm = [
        replace(row, control_warmth=Fraction(0), treatment_warmth=share, treatment=3 * share - 7)
        for at, row in enumerate(rows)
        if (share := Fraction(at + 1, 2 * at + 5))
    ]

    found = warmth_effect(differences(warm))

    assert found.slope == 3
    assert found.at_equal_warmth == -7
