from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from agent_trials.results.report_reviews import MOST_CHARACTERS, public
from agent_trials.results.reviewed_rows import parsed, reviewed_turns, reviews, turn
from agent_trials.study.settings import ReviewSettings, SideCostSettings

NAMES = ReviewSettings(event="REVIEW", continued="GO-ON", wall_field="ms", scope_field="scope")
SIDE = SideCostSettings(
    path="{home}/events", event="COST", cost_field="usd", soft_cap_usd=Decimal("0.25"), max_calls=2
)
COST = {"event": "COST", "usd": "0.04"}
LOST = {"event": "COST", "usd": None}
GO_ON = {"event": "GO-ON"}


def review(**other: object) -> dict[str, Any]:
    return {
        "event": "REVIEW", "judgement": "correct", "goal_ids": ["G1"], "goals": ["G1", "G2"],
        "evidence_ids": ["E1"], "evidence": ["E1"], "reason": "G1 is missing", "ms": 12,
        "scope": "whole-request", **other,
    }  # fmt: skip


def test_a_review_is_read_under_the_names_that_the_study_registers() -> None:
    (found,) = reviews([COST, review(), GO_ON], NAMES, SIDE)

    assert (found.judgement, found.delivered, found.cites_validly) == ("correct", True, True)
    assert (found.cost, found.wall_ms) == (Decimal("0.04"), 12)
    assert (found.reason, found.scope) == ("G1 is missing", "whole-request")


def test_what_made_the_agent_go_on_belongs_to_the_review_before_it() -> None:
    found = reviews([GO_ON, review(), review(), GO_ON, review()], NAMES, SIDE)

    assert [each.delivered for each in found] == [False, True, False]


@pytest.mark.parametrize("usd", [None, "much", -1, True, "NaN", [1]], ids=str)
def test_a_cost_that_is_none_is_missing(usd: object) -> None:
    (found,) = reviews([{"event": "COST", "usd": usd}, review()], NAMES, SIDE)

    assert found.cost is None


def test_a_review_whose_event_of_cost_never_came_has_none() -> None:
    first, second = reviews([COST, review(), review()], NAMES, SIDE)

    assert (first.cost, second.cost) == (Decimal("0.04"), None)


def test_values_of_other_types_are_nothing_and_no_error() -> None:
    """The file is the product's; whatever stands in it must not end a report."""
    odd = review(goal_ids="G1", evidence_ids=[1], reason=5, ms="slow", goals=None)

    (found,) = reviews([odd], NAMES, SIDE)

    assert (found.goal_ids, found.evidence_ids, found.cites_validly) == ((), (), False)
    assert (found.reason, found.wall_ms) == (None, None)


def test_lines_that_are_no_objects_are_passed_over() -> None:
    assert parsed(b'{"a": 1.10}\n[1]\nnonsense\n\n{"b": 2}\n') == (
        {"a": Decimal("1.10")},
        {"b": 2},
    )


def observation(stops: tuple[bool, ...] = (), *, passed: bool = True) -> dict[str, Any]:
    return {
        "status": "completed",
        "costUsd": "0.10",
        "checker": {"passed": passed, "groups": {"r01": passed}},
        "stops": [
            {"stop": at, "atMs": 1000 * at, "passed": each, "groups": {"r01": each}}
            for at, each in enumerate(stops, 1)
        ],
        "inputTokens": 7,
    }


def test_the_kth_review_is_of_the_kth_stop() -> None:
    both = reviews([review(), GO_ON, review(judgement="on_track")], NAMES)

    found = turn(observation((False, True)), both)

    said = [(stop.passed, stop.review and stop.review.judgement) for stop in found.stops]
    assert said == [(False, "correct"), (True, "on_track")]
    assert [stop.wall_ms_after for stop in found.stops] == [1000, None]
    assert found.stops[0].failed == ("r01",)


def test_a_review_beyond_the_stops_is_kept_apart() -> None:
    found = turn(observation((True,)), reviews([review(), review(reason="late")], NAMES))

    assert [each.reason for each in found.extra_reviews] == ["late"]


def test_what_the_ledger_charged_for_the_product_is_known_without_its_events() -> None:
    found = turn({**observation(), "sideCosts": {"chargedUsd": "0.29"}}, ())

    assert found.side_cost == Decimal("0.29")


def test_what_was_not_measured_is_missing() -> None:
    found = turn({**observation(), "costUsd": None, "stops": None, "checker": None}, ())

    assert (found.cost, found.passed, found.stops, found.failed) == (None, None, (), ())
    assert (found.tokens["input_tokens"], found.tokens["output_tokens"]) == (7, None)


def test_turns_of_one_attempt_come_together() -> None:
    place = {"task": "t1", "arm": "review", "repetition": 1}
    rows = [
        {**place, "turn": 1, "observation": observation(passed=False), "sideEvents": [review()]},
        {**place, "turn": 2, "observation": observation(), "sideEvents": []},
        {**place, "arm": "plain", "turn": 1, "observation": observation(), "sideEvents": []},
    ]

    found = reviewed_turns(rows, NAMES)

    assert [(each.arm, len(each.turns), each.passed) for each in found] == [
        ("review", 2, True),
        ("plain", 1, True),
    ]


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("see /tmp/t-5/app/x.py now", "see [path] now"),
        ("/home/user/notes.md", "[path]"),
        ("src/app.py and a/b", "src/app.py and a/b"),
        ("either/or, 1/2", "either/or, 1/2"),
        ("two\nlines\x1b[31m", "two lines [31m"),
        (None, None),
    ],
    ids=["a path", "a home", "relative paths", "slashes", "control characters", "no reason"],
)
def test_a_reason_is_shown_without_paths_of_the_machine(
    reason: str | None, shown: str | None
) -> None:
    assert public(reason) == shown


def test_a_reason_does_not_go_on_for_ever() -> None:
    assert len(public("x" * 100_000) or "") == MOST_CHARACTERS
