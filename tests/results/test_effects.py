from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from agent_trials.results.effects import as_delivered, bound, paired_difference
from agent_trials.results.numbers import mean
from agent_trials.results.rows import Missing, Row, log_ratios, task_means
from paired_rows import one_pair_each, paired_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

VALUES = st.one_of(
    st.none(),
    st.integers(-50, 50),
    st.decimals(-5, 5, places=3),
    st.builds(Missing, st.just(0), st.just(1)),
)
TABLES = st.dictionaries(
    st.sampled_from("abcdefghij"),
    st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=3),
    min_size=1,
    max_size=6,
)


def test_the_headline_weighs_tasks_and_not_pairs() -> None:
    """A task whose pairs were all delivered must not outweigh one that lost some."""
    rows = paired_rows({"often": [(0, 1), (0, 1), (0, 1)], "once": [(0, -1), (None, 5), (5, None)]})

    found = paired_difference(rows)

    assert found.mean == 0
    assert found.pair_mean == Fraction(1, 2)
    assert found.median == 1
    assert found.task_median == 0
    assert (found.pairs, found.tasks) == (4, 2)
    assert found.by_task == {"often": 1, "once": -1}


def test_a_pair_with_a_missing_value_is_no_pair() -> None:
    found = paired_difference(one_pair_each([None, Missing(0, 1)]))

    assert (found.pairs, found.mean, found.median) == (0, None, None)


def test_differences_of_money_are_exact() -> None:
    found = paired_difference(paired_rows({"a": [(Decimal("0.1"), Decimal("0.3"))]}))

    assert found.mean == Fraction(1, 5)


def test_a_value_that_is_not_above_zero_has_no_ratio() -> None:
    """Leaving the pair out would call an arm that used no tool infinitely better, silently."""
    assert log_ratios(paired_rows({"a": [(1, 2)], "b": [(0, 3)]})) is None
    assert log_ratios(paired_rows({"a": [(1, 2)], "b": [(None, 3)]})) is not None


def test_bounds_put_every_missing_value_at_both_ends() -> None:
    rows = paired_rows({"a": [(1, None)], "b": [(None, 0)], "c": [(None, None)]})

    found = bound(rows, 0, 1)

    assert (found.lower, found.upper) == (Fraction(-1 - 1 - 1, 3), Fraction(0 + 0 + 1, 3))
    assert (found.missing_control, found.missing_treatment) == (2, 2)


def test_bounds_use_what_is_known_of_a_missing_value() -> None:
    rows = paired_rows({"a": [(Decimal(1), Missing(Decimal("0.5"), Decimal("0.75")))]})

    found = bound(rows)

    assert (found.lower, found.upper) == (Fraction(-1, 2), Fraction(-1, 4))


def test_a_missing_value_without_limit_leaves_that_side_open() -> None:
    """An unknown cost has no upper bound; a number there would compare as better."""
    found = bound(paired_rows({"a": [(3, None)], "b": [(3, 1)]}))

    assert (found.lower, found.upper) == (Fraction(-5, 2), None)


@given(
    st.lists(st.tuples(st.sampled_from([0, 1, None]), st.sampled_from([0, 1, None])), max_size=5)
)
def test_bounds_hold_whatever_the_missing_outcomes_were(
    pairs: list[tuple[int | None, int | None]],
) -> None:
    rows = paired_rows({f"t{at % 2}": pairs[at % 2 :: 2] for at in range(min(2, len(pairs)))})
    found = bound(rows, 0, 1)

    reached = {paired_difference(filled).mean for filled in _fillings(rows)}

    assert (found.lower, found.upper) == (
        (min(reached), max(reached)) if reached != {None} else (None, None)  # type: ignore[type-var]
    )


def test_as_delivered_counts_pairs_with_the_treatment_used_and_says_how_many() -> None:
    used, unused, unknown = one_pair_each([3, 100, 100])
    rows = (used, _with(unused, delivered=False), _with(unknown, delivered=None))

    found = as_delivered(rows)

    assert found.difference.mean == 3
    assert (found.adoption.successes, found.adoption.trials, found.unknown) == (1, 2, 1)


@given(TABLES)
def test_exchanging_the_arms_negates_every_figure(
    table: dict[str, list[tuple[object, object]]],
) -> None:
    rows = paired_rows(table)  # type: ignore[arg-type] # drawn values
    there, back = paired_difference(rows), paired_difference([row.swapped() for row in rows])

    for name in ("mean", "pair_mean", "median", "task_median"):
        assert getattr(back, name) == _negated(getattr(there, name))
    limits, mirrored = bound(rows, 0, 1), bound([row.swapped() for row in rows], 0, 1)
    assert (mirrored.lower, mirrored.upper) == (_negated(limits.upper), _negated(limits.lower))


@given(TABLES, st.randoms())
def test_the_order_of_the_rows_changes_nothing(
    table: dict[str, list[tuple[object, object]]], random: object
) -> None:
    rows = list(paired_rows(table))  # type: ignore[arg-type] # drawn values
    expected = paired_difference(rows)
    random.shuffle(rows)  # type: ignore[attr-defined] # a random.Random

    assert paired_difference(rows) == expected


@given(TABLES, st.integers(1, 1000))
def test_another_unit_scales_every_figure(
    table: dict[str, list[tuple[object, object]]], factor: int
) -> None:
    rows = paired_rows(table)  # type: ignore[arg-type] # drawn values
    scaled = paired_rows(
        {
            task: [(_times(c, factor), _times(t, factor)) for c, t in of]
            for task, of in table.items()
        }
    )
    before, after = paired_difference(rows), paired_difference(scaled)

    assert after.mean == (None if before.mean is None else before.mean * factor)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)), min_size=1, max_size=6))
def test_exchanging_the_arms_negates_logarithms_exactly(pairs: list[tuple[int, int]]) -> None:
    rows = paired_rows({f"t{at}": [pair] for at, pair in enumerate(pairs)})
    there, back = log_ratios(rows), log_ratios([row.swapped() for row in rows])

    assert there is not None
    assert back is not None
    assert mean(task_means(back).values()) == _negated(mean(task_means(there).values()))


def _fillings(rows: Sequence[Row]) -> list[list[Row]]:
    options = [
        [
            _with(row, control=control, treatment=treatment)
            for control in ([0, 1] if row.control is None else [row.control])
            for treatment in ([0, 1] if row.treatment is None else [row.treatment])
        ]
        for row in rows
    ]
    return [list(chosen) for chosen in product(*options)]


def _with(row: Row, **changes: object) -> Row:
    return Row(**{**row.__dict__, **changes})


def _negated(value: Fraction | None) -> Fraction | None:
    return None if value is None else -value


def _times(value: object, factor: int) -> int | Decimal | None:
    return value * factor if isinstance(value, int | Decimal) else None
