from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from agent_trials.results.cost import Tag
from agent_trials.results.reviewed import Review, Stop, run_cost
from agent_trials.results.reviewed_arms import arm_figures, drops
from reviewed_rows import PLAIN, REVIEWER, asks, attempt, ended, repaired, turn

SOFT_CAP = Decimal("0.25")


def test_a_run_costs_its_turns_and_its_reviews() -> None:
    stop = Stop(passed=False, review=asks(cost=Decimal("0.07")))
    of = attempt("t1", REVIEWER, turn("0.30", stop, passed=False), turn("0.20", passed=True))

    assert run_cost(of, SOFT_CAP) == Fraction("0.57")


def test_a_review_of_unknown_cost_counts_its_soft_cap() -> None:
    stop = Stop(passed=False, review=asks(cost=None))
    of = attempt("t1", REVIEWER, turn("0.30", stop, passed=True))

    assert run_cost(of, SOFT_CAP) == Fraction("0.55")


def test_a_review_that_left_no_snapshot_costs_all_the_same() -> None:
    of = attempt("t1", REVIEWER, turn("0.30", passed=True, extra_reviews=(asks(),)))

    assert run_cost(of, SOFT_CAP) == Fraction("0.35")


@pytest.mark.parametrize(
    ("charged", "reviews", "whole"),
    [("0.30", (asks(cost=Decimal("0.10")),), "0.60"), ("0.30", (), "0.60"),
     ("0.10", (asks(cost=Decimal("0.10")), asks(cost=None)), "0.65")],
    ids=["a call that brought no review", "events withheld", "a review without its event of cost"],
)  # fmt: skip
def test_every_call_of_the_product_is_in_the_cost_of_a_run_once(
    charged: str, reviews: tuple[Review, ...], whole: str
) -> None:
    first = turn("0.20", passed=False, extra_reviews=reviews, side_cost=Decimal(charged))
    of = attempt("t1", REVIEWER, first, turn("0.10", passed=True))

    assert run_cost(of, SOFT_CAP) == Fraction(whole)
    on_reviews = arm_figures([of], REVIEWER, soft_cap=SOFT_CAP).on_reviews
    assert on_reviews == Fraction(whole) - Fraction("0.30")


def test_a_turn_of_unknown_cost_makes_the_cost_unknown() -> None:
    """A sum without it would be too low, and reads like a measurement."""
    of = attempt("t1", PLAIN, turn("0.30", passed=False), turn(None, passed=True))

    assert run_cost(of, SOFT_CAP) is None
    assert arm_figures([of], PLAIN, soft_cap=SOFT_CAP).per_correct.tag is Tag.MISSING


def test_what_is_known_of_a_run_of_unknown_cost_is_spent() -> None:
    """Its other turn was paid for, and so was the product."""
    killed = turn(None, passed=False, extra_reviews=(asks(cost=Decimal("0.07")),))
    of = attempt("t1", REVIEWER, killed, turn("0.20", passed=True))

    assert arm_figures([of], REVIEWER, soft_cap=SOFT_CAP).spent == Fraction("0.27")


def test_an_attempt_that_was_not_run_is_no_part_of_any_figure() -> None:
    of = [ended("t1", PLAIN, passed=True), attempt("t2", PLAIN)]

    found = arm_figures(of, PLAIN, soft_cap=SOFT_CAP)

    assert run_cost(of[1], SOFT_CAP) is None
    assert (found.attempts, found.passes, found.undecided) == (1, 1, 0)
    assert str(found.per_correct) == "0.1"


def test_the_figures_of_an_arm_are_its_own() -> None:
    of = [
        ended("t1", PLAIN, passed=True, first=True),
        repaired("t1"),
        ended("t2", REVIEWER, passed=True),
        ended("t3", REVIEWER, passed=False),
    ]

    found = arm_figures(of, REVIEWER, soft_cap=SOFT_CAP)

    assert (found.attempts, found.passes, found.first_passes, found.follow_ups) == (3, 2, 1, 2)
    assert (found.reviews, found.uncosted, found.on_reviews) == (1, 0, Fraction("0.05"))
    assert found.spent == Fraction("0.30")
    assert str(found.per_correct) == "0.15"
    assert found.tokens["cache_read_input_tokens"] == 500
    assert (found.tool_calls, found.wall_ms) == (15, 5000)


def test_a_sum_with_a_missing_part_is_missing() -> None:
    of = [attempt("t1", PLAIN, turn("0.1", passed=True, tokens={"input_tokens": 3}))]

    found = arm_figures(of, PLAIN, soft_cap=SOFT_CAP)

    assert found.tokens["input_tokens"] == 3
    assert found.tokens["output_tokens"] is None


def test_every_requirement_is_listed_with_what_lacked_it_first_and_in_the_end() -> None:
    of = [
        ended("t1", PLAIN, passed=False),
        attempt("t1", REVIEWER, turn("0.1", passed=False), turn("0.1", passed=True)),
    ]

    found = drops(of, [PLAIN, REVIEWER])

    assert [(each.requirement, each.arm, each.first, each.final) for each in found] == [
        ("R1", PLAIN, 1, 1),
        ("R1", REVIEWER, 1, 0),
        ("R2", PLAIN, 0, 0),
        ("R2", REVIEWER, 0, 0),
    ]
