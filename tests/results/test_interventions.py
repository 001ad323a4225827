from __future__ import annotations

from dataclasses import replace

import pytest

from agent_trials.results.interventions import credited, looked_again, missed, unnecessary
from agent_trials.results.reviewed import Review, Reviewed, Stop
from reviewed_rows import REVIEWER, asks, attempt, lets_pass, repaired, turn

FAILING = Stop(passed=False, failed=("R1",), review=asks())
PASSING = Stop(passed=True)


def one(*stops: Stop, passed: bool | None = True) -> Reviewed:
    return attempt("t1", REVIEWER, turn("0.1", *stops, passed=passed))


def test_a_repair_is_credited_with_its_reason_and_what_was_lacking() -> None:
    (repair,) = credited([repaired("t1")])

    assert (repair.task, repair.turn, repair.stop) == ("t1", 1, 1)
    assert (repair.reason, repair.failed) == ("R1 is not there", ("R1",))


@pytest.mark.parametrize(
    "stops",
    [
        (replace(FAILING, passed=True), PASSING),
        (replace(FAILING, passed=None), PASSING),
        (replace(FAILING, review=None), PASSING),
        (replace(FAILING, review=asks(judgement="unknown")), PASSING),
        (replace(FAILING, review=asks(goal_ids=())), PASSING),
        (replace(FAILING, review=asks(evidence_ids=())), PASSING),
        (replace(FAILING, review=asks(goal_ids=("R1", "R9"))), PASSING),
        (replace(FAILING, review=asks(evidence_ids=("E9",))), PASSING),
        (replace(FAILING, review=asks(known_goal_ids=frozenset())), PASSING),
        (replace(FAILING, review=asks(delivered=False)), PASSING),
        (FAILING, replace(PASSING, passed=False)),
        (FAILING, replace(PASSING, passed=None)),
        (PASSING, FAILING),
        (FAILING,),
    ],
    ids=[
        "the stop passes already",
        "nobody knows whether the stop passes",
        "no review",
        "the review does not ask for a correction",
        "no goal id",
        "no evidence id",
        "a goal id that was not offered",
        "an evidence id that was not offered",
        "no goal was offered",
        "not delivered",
        "the later stop fails",
        "nobody knows whether the later stop passes",
        "only an earlier stop passes",
        "no later stop",
    ],
)
def test_each_condition_of_a_credited_repair_is_needed(stops: tuple[Stop, ...]) -> None:
    assert credited([one(*stops)]) == ()


def test_a_repair_after_the_follow_up_is_nobodys_credit() -> None:
    """The user's nudge came in between; the review of the first turn cannot have done it."""
    of = attempt(
        "t1", REVIEWER, turn("0.1", FAILING, passed=False), turn("0.1", PASSING, passed=True)
    )

    assert credited([of]) == ()


def test_a_repair_within_the_follow_up_is_credited() -> None:
    of = attempt(
        "t1", REVIEWER, turn("0.1", passed=False), turn("0.1", FAILING, PASSING, passed=True)
    )

    assert [(each.turn, each.stop) for each in credited([of])] == [(2, 1)]


def test_two_reviews_before_one_passing_stop_are_one_repair() -> None:
    """Counted by review, a product that needs three attempts would look better than one."""
    later = replace(FAILING, review=asks(reason="still not"))

    (repair,) = credited([one(FAILING, later, PASSING)])

    assert repair.reason == "still not"


def test_an_intervention_at_a_passing_stop_is_unnecessary() -> None:
    stop = Stop(passed=True, review=asks(), agent_cost_after=None, wall_ms_after=4000)

    (found,) = unnecessary([one(stop, PASSING)])

    assert found.harmful is False
    assert found.reason == "R1 is not there"
    assert (str(found.review_cost), found.agent_cost) == ("0.05", None)
    assert (found.review_wall_ms, found.agent_wall_ms) == (900, 4000)


@pytest.mark.parametrize(
    ("passed", "harmful"), [(True, False), (False, True), (None, None)], ids=str
)
def test_it_is_harmful_when_the_final_tree_fails(
    passed: bool | None,  # noqa: FBT001 - parametrized
    harmful: bool | None,  # noqa: FBT001 - parametrized
) -> None:
    (found,) = unnecessary([one(Stop(passed=True, review=asks()), passed=passed)])

    assert found.harmful is harmful


def test_harm_that_the_follow_up_mends_is_none() -> None:
    of = attempt(
        "t1",
        REVIEWER,
        turn("0.1", Stop(passed=True, review=asks()), passed=False),
        turn("0.1", passed=True),
    )

    assert [each.harmful for each in unnecessary([of])] == [False]


@pytest.mark.parametrize(
    "stop",
    [
        Stop(passed=True, review=lets_pass()),
        Stop(passed=True, review=asks(delivered=False)),
        Stop(passed=False, review=asks()),
        Stop(passed=None, review=asks()),
        Stop(passed=True),
    ],
    ids=["on track", "not delivered", "a failing stop", "not decided", "no review"],
)
def test_nothing_else_is_an_unnecessary_intervention(stop: Stop) -> None:
    assert unnecessary([one(stop)]) == ()


@pytest.mark.parametrize("judgement", ["on_track", "unknown"])
def test_a_failing_stop_that_is_let_pass_is_missed(judgement: str) -> None:
    stop = Stop(passed=False, failed=("R2",), review=lets_pass(judgement=judgement))

    assert [each.failed for each in missed([one(stop, passed=False)])] == [("R2",)]


def test_a_passing_stop_or_one_that_was_objected_to_is_not_missed() -> None:
    assert missed([one(FAILING, Stop(passed=True, review=lets_pass()))]) == ()


@pytest.mark.parametrize(
    ("second", "again"),
    [
        ({"scope": "whole-request"}, True),
        ({"scope": "prior-feedback"}, False),
        ({"scope": "something else"}, None),
        ({"known_goal_ids": frozenset({"R1", "R2", "R3"})}, True),
        ({"known_goal_ids": frozenset({"R1"})}, False),
        ({"known_goal_ids": frozenset({"R2"})}, None),
        ({"known_goal_ids": frozenset()}, None),
    ],
    ids=[
        "it says so",
        "it says that it did not",
        "an unknown word",
        "all goals were offered again",
        "only the goal found wanting was offered",
        "another goal alone",
        "no goal is known",
    ],
)
def test_a_second_review_looked_at_the_whole_request_or_not(
    second: dict[str, str],
    again: bool | None,  # noqa: FBT001 - parametrized
) -> None:
    later = Stop(passed=False, review=asks(**second))

    assert looked_again(one(FAILING, later)) is again


def test_one_review_tells_nothing_of_a_second() -> None:
    assert looked_again(one(FAILING, PASSING)) is None


def test_a_review_of_another_user_turn_is_no_second_one() -> None:
    """After the follow-up there is something new to look at."""
    reviews: list[Review] = [asks(), asks(scope="prior-feedback")]
    turns = [turn("0.1", Stop(passed=False, review=review), passed=False) for review in reviews]

    assert looked_again(attempt("t1", REVIEWER, *turns)) is None
