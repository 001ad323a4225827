"""What is believed of an attempt's cost, and what is charged; one thing broken at a time."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from agent_trials.agents import transcript
from agent_trials.agents.cli_prices import Tokens
from agent_trials.agents.cli_rules import Expected, ProcessFacts
from agent_trials.agents.cli_usage import SessionTotals, same_model, usage
from agent_trials.records import Status
from recordings import events, expected, recording, stdout_of

DONE = ProcessFacts(exit_code=0)
MODEL = "claude-haiku-5-5"
FOREIGN = "claude-sonnet-5-5"


def _result(lines: list[dict[str, Any]]) -> dict[str, Any]:
    return lines[-1]


def _entry(lines: list[dict[str, Any]]) -> dict[str, Any]:
    entry: dict[str, Any] = _result(lines)["modelUsage"][MODEL]
    return entry


def _read(
    lines: list[dict[str, Any]], wanted: Expected | None = None, process: ProcessFacts = DONE
) -> transcript.Reading:
    return transcript.read(stdout_of(lines), process, wanted or expected())


@pytest.mark.parametrize(
    "cost",
    [None, -1, -0.0001, "0.1", True, [], {}, float("inf"), 1e300],
    ids=str,
)
def test_a_reported_cost_that_is_none_is_invalid(cost: object) -> None:
    lines = events("success-repo")
    _result(lines)["total_cost_usd"] = cost

    stdout = stdout_of(lines).replace(b"Infinity", b"1e999")
    reading = transcript.read(stdout, DONE, expected())

    assert reading.status is Status.INVALID_COST
    assert reading.codes == ("reported-cost-invalid",)
    assert reading.costs.reported is None
    assert reading.charged_usd == expected().reservation_usd


@pytest.mark.parametrize("name", ["inputTokens", "outputTokens", "cacheReadInputTokens",
                                  "cacheCreationInputTokens"])  # fmt: skip
@pytest.mark.parametrize("value", [None, -1, 1.5, "5", True, 10**13], ids=str)
def test_a_missing_or_invalid_count_is_an_invalid_cost(name: str, value: object) -> None:
    lines = events("success-repo")
    _entry(lines)[name] = value

    reading = _read(lines)

    assert reading.status is Status.INVALID_COST
    assert "counts-invalid" in reading.codes
    assert reading.costs.computed is None


@pytest.mark.parametrize(
    "written",
    [None, [], {}, {"input_tokens": -1, "output_tokens": 1}, {"input_tokens": 1}],
    ids=str,
)
def test_an_invalid_usage_of_the_process_is_an_invalid_cost(written: object) -> None:
    lines = events("success-repo")
    _result(lines)["usage"] = written

    assert "counts-invalid" in _read(lines).codes


@pytest.mark.parametrize("found", [None, {}, [], "x"], ids=str)
def test_no_usage_by_model_is_an_invalid_cost(found: object) -> None:
    lines = events("success-repo")
    _result(lines)["modelUsage"] = found

    reading = _read(lines)

    assert reading.status is Status.INVALID_COST
    assert "model-usage-missing" in reading.codes


@pytest.mark.parametrize("basis", [None, "unknown", "estimate", 1], ids=str)
def test_a_cost_that_is_not_by_the_list_is_invalid(basis: object) -> None:
    """A version that does not know the model prices it at forty times its list price."""
    lines = events("success-repo")
    _entry(lines)["costBasis"] = basis

    reading = _read(lines)

    assert reading.status is Status.INVALID_COST
    assert reading.codes == ("cost-basis-not-list",)


@pytest.mark.parametrize(
    ("total", "agrees"),
    [(0.000432, True), (0.001728, True), (0.00043199, False), (0.00172801, False), (0, False)],
)
def test_reported_and_computed_cost_agree_within_a_factor_of_two(
    total: float, *, agrees: bool
) -> None:
    lines = events("success-repo")
    _result(lines)["total_cost_usd"] = total

    reading = _read(lines)

    assert (reading.status is Status.COMPLETED) is agrees
    assert ("costs-disagree" in reading.codes) is not agrees


def _renamed(lines: list[dict[str, Any]], place: str, name: str) -> list[dict[str, Any]]:
    """Let another model name stand in one place of a valid recording."""
    message = next(line["message"] for line in lines if line["type"] == "assistant")
    usage_by_model = _result(lines)["modelUsage"]
    if place == "message":
        message["model"] = name
    elif place == "modelUsage":
        usage_by_model[name] = usage_by_model.pop(MODEL)
    elif place == "second modelUsage":
        usage_by_model[name] = dict(usage_by_model[MODEL], inputTokens=0, outputTokens=0,
                                    cacheReadInputTokens=0, cacheCreationInputTokens=0)  # fmt: skip
    elif place == "canonicalModel":
        usage_by_model[MODEL]["canonicalModel"] = name
    elif place == "fallback":
        lines.insert(2, {"type": "system", "subtype": "model_fallback", "fallback_model": name})
    else:
        start = {"type": "message_start", "message": dict(message, model=name)}
        lines.insert(1, {"type": "stream_event", "event": start})
    return lines


PLACES = [
    "message", "modelUsage", "second modelUsage", "canonicalModel", "fallback", "message_start",
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_foreign_model_anywhere_is_an_invalid_cost(place: str) -> None:
    reading = _read(_renamed(events("success-repo"), place, FOREIGN))

    assert reading.status is Status.INVALID_COST
    assert "foreign-model" in reading.codes
    assert not reading.usage_complete


@pytest.mark.parametrize("place", PLACES)
def test_a_dated_name_of_the_same_model_is_not_foreign(place: str) -> None:
    reading = _read(_renamed(events("success-repo"), place, f"{MODEL}-20261007"))

    assert reading.status is Status.COMPLETED, reading.findings
    assert reading.charged_usd == Decimal("0.000864")


@pytest.mark.parametrize("place", [one for one in PLACES if one != "canonicalModel"])
def test_the_clis_own_messages_name_no_model(place: str) -> None:
    reading = _read(_renamed(events("success-repo"), place, "<synthetic>"))

    assert ("foreign-model" in reading.codes) == (place in {"modelUsage", "second modelUsage"})


@pytest.mark.parametrize(
    ("name", "model", "same"),
    [
        (MODEL, MODEL, True),
        (f"{MODEL}-20261007", MODEL, True),
        (MODEL, f"{MODEL}-20261007", True),
        (f"{MODEL}-20261007", f"{MODEL}-20261007", True),
        (f"{MODEL}-20261101", f"{MODEL}-20261007", False),
        ("claude-haiku-4-5-20251001", MODEL, False),
        (f"{MODEL}-fast", MODEL, False),
        (f"{MODEL}-2026100", MODEL, False),
        (f"x{MODEL}", MODEL, False),
        ("", MODEL, False),
    ],
)
def test_a_dated_name_is_the_same_model_and_another_date_is_not(
    name: str, model: str, *, same: bool
) -> None:
    assert same_model(name, model) is same


def test_an_alias_stands_for_the_one_model_that_the_session_resolved_it_to() -> None:
    wanted = expected()
    alias = type(wanted)(**{**vars(wanted), "model": "haiku"})

    assert _read(events("success-repo"), alias).status is Status.COMPLETED
    assert (
        "foreign-model"
        in _read(_renamed(events("success-repo"), "message", "claude-haiku-4-5"), alias).codes
    )
    assert "model-differs" in _read(events("unknown-model"), alias).codes


def test_usage_is_counted_once_for_each_message_however_many_blocks_it_has() -> None:
    reading = _read(events("success-thinking"))

    assert len(reading.costs.shown) == 2


def test_a_stream_cut_after_its_start_shows_in_the_totals_only() -> None:
    """The cut request is charged, and no event tells of it."""
    lines = events("success-repo")
    for counts, name in ((_entry(lines), "inputTokens"), (_result(lines)["usage"], "input_tokens")):
        counts[name] += 4_000
    _result(lines)["total_cost_usd"] = 0.001264

    reading = _read(lines)

    assert reading.status is Status.COMPLETED
    assert reading.charged_usd == Decimal("0.001264")


def test_a_sub_agents_requests_are_in_the_totals_although_not_in_the_usage() -> None:
    """The totals by model are priced; the process's own usage lacks what a sub-agent used."""
    reading = _read(events("subagent"))

    assert reading.costs.tokens is not None
    assert reading.costs.tokens.input == 6_000
    assert reading.costs.computed is not None
    assert reading.costs.computed.charged == Decimal("0.00063")


def test_web_searches_are_priced() -> None:
    """Three searches cost thirty times the tokens of this attempt: without them nothing agrees."""
    lines = events("success-repo")
    _entry(lines)["webSearchRequests"] = 3
    _result(lines)["total_cost_usd"] = 0.030864

    reading = _read(lines)

    assert reading.status is Status.COMPLETED
    assert reading.charged_usd == Decimal("0.030864")


def test_a_surcharge_of_a_tenth_agrees() -> None:
    """``inference_geo: us`` is billed at 1.1 times the list."""
    lines = events("success-repo")
    _result(lines)["total_cost_usd"] = 0.0009504

    assert _read(lines).charged_usd == Decimal("0.0009504")


def test_a_write_attributed_only_in_part_costs_the_hourly_rate_for_the_rest() -> None:
    lines = events("cache-unattributed")
    for line in lines:
        message = line.get("message", line)
        if "usage" in message:
            message["usage"]["cache_creation"] = {"ephemeral_5m_input_tokens": 1000}
    wanted = expected(reservation=Decimal(5))

    reading = _read(lines, wanted)

    assert reading.charged_usd == Decimal("0.000725")


def test_the_response_over_the_limit_counts_with_its_own_cache_writes() -> None:
    """The usage of the process lacks it, so that the life of its writes is known by no one."""
    lines = events("budget-exceeded-final-answer")
    _entry(lines)["cacheCreationInputTokens"] = 10_000
    _result(lines)["total_cost_usd"] = 0.015515

    reading = _read(lines, expected(reservation=Decimal("0.001")), ProcessFacts(exit_code=1))

    assert reading.status is Status.BUDGET_EXCEEDED
    assert reading.charged_usd == Decimal("0.015515")


def test_a_first_turn_far_above_the_limit_is_charged_in_full() -> None:
    """Overshoot is one response: a limit of 0.02 and a spend of 0.19 were seen."""
    lines = events("budget-exceeded-mid")
    _entry(lines).update(inputTokens=360_000, outputTokens=4_000)
    for line in lines:
        if line["type"] == "assistant":
            line["message"]["usage"]["input_tokens"] = 180_000
    _result(lines)["total_cost_usd"] = 0.19

    reading = _read(lines, expected(reservation=Decimal("0.02")), ProcessFacts(exit_code=1))

    assert reading.status is Status.BUDGET_EXCEEDED
    assert reading.charged_usd == Decimal("0.19")


def test_what_a_killed_process_was_seen_to_spend_is_charged_above_its_reservation() -> None:
    """Without a result the requests in the stream are the only evidence, and a sure one."""
    stdout = recording("partial-messages-tiers").stdout
    cut = stdout[: stdout.index(b'{"duration_api_ms"')]
    wanted = expected(reservation=Decimal("0.01"))

    reading = transcript.read(cut, ProcessFacts(exit_code=-9, timed_out=True), wanted)

    assert reading.status is Status.TIMED_OUT
    assert reading.charged_usd == Decimal("0.07505")
    assert reading.costs.reported is None


def test_the_final_counts_of_a_request_replace_those_of_its_start() -> None:
    """Also where the end states its output alone."""
    lines = events("partial-messages-tiers")
    for line in lines:
        event = line.get("event", {})
        if event.get("type") == "message_delta":
            event["usage"] = {"output_tokens": event["usage"]["output_tokens"]}

    shown = _read(lines, expected(reservation=Decimal(5))).costs.shown

    assert [request.tokens.output for request in shown.values()] == [100, 200]
    assert [request.tokens.prompt for request in shown.values()] == [60_000, 112_000]
    assert all(request.output_known for request in shown.values())


def test_where_nothing_agrees_the_dearest_figure_is_charged() -> None:
    lines = events("tier-crossing-false-invalid")
    _result(lines)["total_cost_usd"] = 0.001

    reading = _read(lines, expected(reservation=Decimal("0.01")))

    assert reading.status is Status.INVALID_COST
    assert reading.charged_usd == Decimal("0.28815")


FIRST = SessionTotals(Decimal("0.000864"), Tokens(
    input=240, output=60, cache_read=1000, write_1h=4000))  # fmt: skip


@pytest.mark.parametrize("prior", [FIRST, SessionTotals(FIRST.cost_usd)], ids=["counts", "cost"])
def test_a_resumed_turn_costs_what_the_session_grew_by(prior: SessionTotals) -> None:
    """The CLI's total and its usage by model are cumulative; adding turns counts one twice."""
    reading = _read(events("resume-2-followup"), expected(prior=prior))

    assert reading.status is Status.COMPLETED
    assert reading.charged_usd == Decimal("0.000432")
    assert reading.costs.tokens == Tokens(input=120, output=30, cache_read=500, write_1h=2000)


def test_what_a_killed_turn_cost_is_in_the_total_of_the_next_and_counted_once() -> None:
    """It printed no result: what it used is what the session used beyond this process."""
    prior = SessionTotals(None, charged_usd=Decimal("0.10"))
    reading = _read(events("resume-2-followup"), expected(prior=prior))

    assert reading.status is Status.COMPLETED
    assert reading.charged_usd == Decimal("0.000432")
    assert reading.costs.session_usd == Decimal("0.001296")


def test_a_killed_turn_whose_record_was_lost_is_not_in_the_next_ones_total() -> None:
    """After SIGKILL nobody knows what the session cost."""
    reading = _read(events("resume-1-first"), expected(prior=SessionTotals(None)))

    assert reading.charged_usd == Decimal("0.000864")
    assert reading.costs.session_usd is None


def test_a_killed_turn_hides_no_response_over_the_limit_of_the_next() -> None:
    """The process's usage lacks it: no more is taken from the total than was charged before."""
    lines = events("budget-exceeded-final-answer")
    _entry(lines).update(inputTokens=90_340, outputTokens=9_070, cacheReadInputTokens=1000,
                         cacheCreationInputTokens=4000)  # fmt: skip
    _result(lines)["total_cost_usd"] = 0.014379
    prior = SessionTotals(None, charged_usd=Decimal("0.001"))

    reading = _read(
        lines, expected(prior=prior, reservation=Decimal("0.001")), ProcessFacts(exit_code=1)
    )

    assert reading.status is Status.BUDGET_EXCEEDED
    assert reading.charged_usd == Decimal("0.013379")


def test_the_reading_of_a_turn_is_where_the_next_one_starts_from() -> None:
    first = _read(events("resume-1-first"))

    assert first.costs.session == FIRST


def test_a_session_whose_record_was_lost_is_not_cumulative() -> None:
    """After SIGKILL the second process reports its own cost alone, even above the first's."""
    lines = events("resume-1-first")
    prior = SessionTotals(Decimal("0.0005"), Tokens(input=100, output=10))

    reading = _read(lines, expected(prior=prior))

    assert reading.charged_usd == Decimal("0.000864")


def test_a_total_below_the_earlier_one_is_no_continuation() -> None:
    prior = SessionTotals(Decimal("0.5"), Tokens(input=10**6, output=10))

    reading = _read(events("resume-2-followup"), expected(prior=prior))

    assert reading.charged_usd == Decimal("0.001296")


def test_a_first_turn_that_cost_nothing_changes_nothing() -> None:
    prior = SessionTotals(Decimal(0), Tokens())

    assert _read(events("resume-1-first"), expected(prior=prior)).charged_usd == Decimal("0.000864")


def test_the_response_over_the_limit_of_a_resumed_turn_is_in_the_difference() -> None:
    """The process's usage lacks it: the session's growth is what is priced."""
    lines = events("budget-exceeded-final-answer")
    _entry(lines).update(inputTokens=90_340, outputTokens=9_070, cacheReadInputTokens=1000,
                         cacheCreationInputTokens=4000)  # fmt: skip
    _result(lines)["total_cost_usd"] = 0.014379

    reading = _read(
        lines, expected(prior=FIRST, reservation=Decimal("0.001")), ProcessFacts(exit_code=1)
    )

    assert reading.status is Status.BUDGET_EXCEEDED
    assert reading.charged_usd == Decimal("0.013515")
    assert reading.costs.computed is not None
    assert reading.costs.computed.charged == Decimal("0.013515")


def test_a_resumed_turn_over_its_limit_is_no_invalid_cost_without_the_earlier_counts() -> None:
    """What cannot be priced cannot disagree: the growth of the reported cost is charged."""
    lines = events("budget-exceeded-final-answer")
    _entry(lines).update(inputTokens=90_340, outputTokens=9_070, cacheReadInputTokens=1000,
                         cacheCreationInputTokens=4000)  # fmt: skip
    _result(lines)["total_cost_usd"] = 0.014379
    earlier = SessionTotals(Decimal("0.000864"))

    reading = _read(
        lines, expected(prior=earlier, reservation=Decimal("0.001")), ProcessFacts(exit_code=1)
    )

    assert reading.status is Status.BUDGET_EXCEEDED
    assert reading.charged_usd == Decimal("0.013515")
    assert reading.costs.computed is None
    assert not reading.usage_complete


def test_counts_of_an_api_message_are_whole_and_add_up() -> None:
    written = {"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 5,
               "cache_creation": {"ephemeral_1h_input_tokens": 3}}  # fmt: skip

    assert usage(written) == Tokens(input=1, output=2, write_1h=3, write_unattributed=2)
    assert usage({**written, "cache_creation_input_tokens": 2}) is None
    assert usage({**written, "cache_read_input_tokens": None}) is not None
    assert usage({**written, "cache_read_input_tokens": -1}) is None
