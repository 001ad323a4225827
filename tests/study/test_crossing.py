"""What goes together in a schedule cannot be told apart afterwards, whatever is computed."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.study.crossing import Crossing, cross


def table(*pairs: tuple[str, str]) -> Crossing:
    """Return the crossing of models and categories that met so."""
    return cross([{"model": model, "category": each} for model, each in pairs], "model", "category")


CROSSED = tuple(product(("low", "high"), ("a", "b", "c")))


@pytest.mark.parametrize(
    ("crossing", "told"),
    [
        (table(*CROSSED), "equally"),
        (table(*CROSSED, *CROSSED), "equally"),
        (table(*CROSSED, ("low", "a")), "unequally"),
        (table(("low", "a"), ("low", "b"), ("high", "b"), ("high", "c")), "unequally"),
        (table(("low", "a"), ("low", "b"), ("high", "c"), ("high", "d")), "not"),
        (table(("low", "a"), ("mid", "a"), ("high", "b")), "partly"),
    ],
    ids=["every cell once", "every cell twice", "one cell more", "a chain", "apart", "one apart"],
)
def test_what_no_chain_of_shared_levels_joins_is_confounded(crossing: Crossing, told: str) -> None:
    assert crossing.told == told


def test_the_groups_say_what_goes_with_what() -> None:
    crossing = table(("low", "a"), ("high", "b"), ("low", "c"), ("high", "d"))

    assert crossing.groups == ((("low",), ("a", "c")), (("high",), ("b", "d")))


def test_a_late_link_joins_two_groups() -> None:
    crossing = table(("low", "a"), ("high", "b"), ("low", "b"))

    assert crossing.groups == ((("low", "high"), ("a", "b")),)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("wxyz")), min_size=1))
def test_the_groups_of_any_table_divide_its_levels(pairs: list[tuple[str, str]]) -> None:
    crossing = table(*pairs)

    assert sorted(level for one, _ in crossing.groups for level in one) == sorted(crossing.levels)
    assert sorted(other for _, two in crossing.groups for other in two) == sorted(crossing.others)
    for level, other in pairs:
        assert sum(level in one and other in two for one, two in crossing.groups) == 1
