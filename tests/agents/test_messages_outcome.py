from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials import canonical
from agent_trials.agents import messages_outcome as outcome
from agent_trials.agents import metering
from agent_trials.agents.messages_outcome import Course
from agent_trials.agents.metering import Meter, Rates
from agent_trials.records import Secret, Status
from asking import KEY, MODEL, request

IN_ORDER = [
    (Status.INTERRUPTED, [outcome.INTERRUPTED]),
    (Status.TIMED_OUT, [outcome.DEADLINE, outcome.REQUEST_TIMEOUT]),
    (
        Status.FAILED,
        ["http-307", "http-400", "http-529", outcome.CONNECTION_LOST, outcome.MALFORMED_RESPONSE],
    ),
    (
        Status.INVALID_SETUP,
        [
            outcome.MCP_SERVER_FAILED,
            outcome.MCP_TOOLS_MISSING,
            outcome.FOREIGN_TOOL_CALL,
            outcome.TREATMENT_LOST,
        ],
    ),
    (
        Status.INVALID_COST,
        [
            metering.USAGE_LOST,
            metering.USAGE_INVALID,
            metering.USAGE_ABOVE_CEILING,
            metering.USAGE_CACHED,
            outcome.FOREIGN_MODEL,
        ],
    ),
    (Status.BUDGET_EXCEEDED, [outcome.DOES_NOT_FIT]),
    (Status.INCOMPLETE, [outcome.TURN_LIMIT, outcome.OUTPUT_LIMIT, outcome.CONTEXT_LIMIT]),
    (Status.FAILED, [outcome.REFUSAL, outcome.UNEXPECTED_STOP]),
]
CODES = [(rank, status, code) for rank, (status, codes) in enumerate(IN_ORDER) for code in codes]


def course() -> Course:
    meter = Meter(Decimal("0.10"), Rates(Decimal("0.50"), Decimal("2.50")), 1024)
    return Course(request("http://127.0.0.1:1"), meter, Secret(KEY))


@given(st.lists(st.sampled_from(CODES), max_size=6))
def test_the_first_rank_that_applies_is_the_status(found: list[tuple[int, Status, str]]) -> None:
    """Law: design's order holds whatever else was found, and in whatever order."""
    expected = min(found)[1] if found else Status.COMPLETED

    assert outcome.status_of(code for _, _, code in found) is expected


def test_a_code_without_a_rank_is_a_bug() -> None:
    """Guard: an unranked problem would let an attempt pass as completed."""
    with pytest.raises(RuntimeError, match="new-problem"):
        outcome.status_of(["new-problem"])


def test_every_problem_is_kept_once_and_its_detail_stays_private() -> None:
    one = course()
    one.add("http-500", "private words")
    one.add("http-500", "more")
    one.add(outcome.DEADLINE)
    result = outcome.result(one)

    assert result.observation.problems == ("http-500", "deadline")
    assert result.observation.status is Status.TIMED_OUT
    assert result.private["problems"][0] == {"code": "http-500", "detail": "private words"}
    assert "private words" not in str(result.observation)


def test_an_attempt_that_asked_nothing_cost_nothing_and_measured_nothing() -> None:
    one = course()
    one.add(outcome.MCP_SERVER_FAILED)
    seen = outcome.result(one).observation

    assert seen.status is Status.INVALID_SETUP
    assert seen.problems == (outcome.MCP_SERVER_FAILED,)
    assert seen.cost_usd is None
    assert seen.charged_usd == seen.cost_upper_usd == Decimal(0)
    assert (seen.input_tokens, seen.output_tokens, seen.wall_time_ms) == (None, None, None)
    assert (seen.turns, seen.tool_calls, seen.usage_complete) == (0, 0, False)


def test_a_request_without_an_answer_is_lost_usage_with_bounds_for_the_cost() -> None:
    one = course()
    one.meter.settle(one.meter.open(100), {"usage": {"input_tokens": 10, "output_tokens": 4}})
    one.meter.open(100)
    one.add(outcome.CONNECTION_LOST)
    seen = outcome.result(one).observation

    assert seen.status is Status.FAILED
    assert seen.problems == (outcome.CONNECTION_LOST, metering.USAGE_LOST)
    assert seen.cost_usd is None
    assert seen.cost_lower_usd == Decimal("0.000015")
    assert seen.cost_upper_usd == seen.charged_usd == Decimal("0.000015") + Decimal("0.006756")
    assert (seen.input_tokens, seen.usage_complete) == (10, False)


def test_a_measured_cost_needs_no_bounds_and_says_what_it_is() -> None:
    one = course()
    one.meter.settle(one.meter.open(100), {"usage": {"input_tokens": 10, "output_tokens": 4}})
    seen = outcome.result(one).observation

    assert seen.status is Status.COMPLETED
    assert seen.cost_usd == seen.charged_usd == Decimal("0.000015")
    assert (seen.cost_lower_usd, seen.cost_upper_usd) == (None, None)
    assert seen.cost_basis == "upper-rates; not a billed amount"
    canonical.dumps(seen.to_json())


def test_incomplete_attempts_have_bounds_although_all_usage_is_known() -> None:
    one = course()
    one.meter.settle(one.meter.open(100), {"usage": {"input_tokens": 10, "output_tokens": 4}})
    one.add(outcome.TURN_LIMIT)
    seen = outcome.result(one).observation

    assert seen.cost_usd is None
    assert seen.cost_lower_usd == seen.cost_upper_usd == Decimal("0.000015")


@pytest.mark.parametrize(
    ("errors", "lost"),
    [([], False), ([False], False), ([True, False], False), ([True], True), ([True, True], True)],
    ids=["not called", "worked", "worked once", "failed", "always failed"],
)
def test_the_treatment_is_lost_when_every_call_of_it_failed(
    errors: list[bool], *, lost: bool
) -> None:
    """Guard: a lost treatment must never be counted as one; an unused one is none."""
    one = course()
    one.calls.mcp_results += errors

    assert (outcome.TREATMENT_LOST in outcome.result(one).observation.problems) is lost


def test_words_of_the_provider_are_published_only_if_they_look_like_words() -> None:
    """Attack: a provider, or a model that names its tools, could publish private text."""
    one = course()

    assert one.word(MODEL) == MODEL
    assert one.word("a sentence with spaces") == "other"
    assert one.word("x" * 129) == "other"
    assert one.word(KEY) == "other"
    assert one.word(None) is None
    assert one.word(["x"]) is None


def test_the_key_is_in_nothing_that_leaves() -> None:
    """Attack: an endpoint that echoes the key in an error, an answer or a tool's arguments."""
    tricky = 'sk"\\/0123456789'
    for key in (KEY, tricky):
        one = course()
        one.secret = Secret(key)
        one.answer = f"the key is {key}"
        one.answered_by = one.stop_reason = key
        one.add("http-401", f"no such key: {key}")
        one.transcript.append({"response": key, "request": {"messages": [key]}})
        result = outcome.result(one)

        written = repr(result) + result.artifacts["transcript"].decode("ascii")
        assert key not in written
        assert canonical.dumps(key)[1:-1] not in written.encode("ascii")
        assert str(result.private).count(outcome.REMOVED) == 2
        assert result.artifacts["transcript"].count(outcome.REMOVED.encode("ascii")) == 2
        assert key not in repr(one)


def test_the_paths_of_this_machine_are_not_in_the_observation() -> None:
    seen = outcome.result(course()).observation

    assert str(Path.cwd()) not in str(seen)
