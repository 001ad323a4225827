"""How an attempt ended: the order in which a status is decided, and the ends of the real CLI."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.agents import transcript
from agent_trials.agents.cli_rules import ProcessFacts
from agent_trials.records import Status
from recordings import events, expected, recording, stdout_of

if TYPE_CHECKING:
    from agent_trials.agents.transcript import Reading

DONE = ProcessFacts(exit_code=0)
ERROR = ProcessFacts(exit_code=1)
API_ERROR = {"is_error": True, "terminal_reason": "api_error"}


def _ended(fields: dict[str, Any], process: ProcessFacts = DONE) -> Reading:
    """Read a valid recording whose result says something else; None takes a field away."""
    lines = events("success-repo")
    result = {**lines[-1], **fields}
    lines[-1] = {name: value for name, value in result.items() if value is not None}
    return transcript.read(stdout_of(lines), process, expected())


PROVIDER_ERRORS: dict[str, dict[str, Any]] = {
    "HTTP 413": {**API_ERROR, "terminal_reason": "image_error", "api_error_status": 413},
    "prompt too long": {
        **API_ERROR, "terminal_reason": "prompt_too_long", "api_error_status": 400,
    },
    "connection reset": API_ERROR,
    "refusal": {**API_ERROR, "stop_reason": "refusal"},
    "compaction failed": {**API_ERROR, "terminal_reason": "blocking_limit"},
    "status with another subtype": {
        "is_error": True, "api_error_status": 529, "subtype": "error_during_execution",
        "result": None,
    },
}  # fmt: skip


@pytest.mark.parametrize("fields", PROVIDER_ERRORS.values(), ids=PROVIDER_ERRORS.keys())
def test_a_provider_error_is_failed_although_its_subtype_is_success(fields: dict[str, Any]) -> None:
    reading = _ended({"api_error_status": None, **fields}, ERROR)

    assert reading.status is Status.FAILED
    assert reading.codes[0] == "provider-error"
    assert reading.charged_usd == expected().reservation_usd


def test_a_provider_error_comes_before_what_it_hides() -> None:
    """An error before any reply has no usage and a synthetic message: neither is the finding."""
    lines = events("api-error-400")
    lines[0]["tools"] = []
    lines[0]["mcp_servers"] = [{"name": "x", "status": "failed"}]

    reading = transcript.read(stdout_of(lines), ERROR, expected())

    assert reading.status is Status.FAILED
    assert {"provider-error", "tools-missing", "model-usage-missing"} <= set(reading.codes)
    assert "foreign-model" not in reading.codes


@pytest.mark.parametrize(
    ("fields", "exit_code", "code"),
    [
        ({"subtype": "error_during_execution", "is_error": True, "result": None}, 0,
         "result-not-success"),
        ({"subtype": "error_max_turns", "is_error": True, "result": None}, 1,
         "result-not-success"),
        ({"subtype": "error_of_tomorrow", "is_error": True, "result": None}, 0,
         "result-not-success"),
        ({"subtype": None}, 0, "result-not-success"),
        ({"is_error": None}, 0, "result-is-error"),
        ({"is_error": "false"}, 0, "result-is-error"),
        ({"result": None}, 0, "no-answer"),
        ({"result": ["text"]}, 0, "no-answer"),
        ({}, 1, "exit-code"),
        ({}, -9, "exit-code"),
        ({}, None, "exit-code"),
    ],
    ids=["interrupted by someone else", "turns used up", "unknown subtype", "no subtype",
         "no is_error", "is_error a text", "no answer", "answer no text", "exit code 1",
         "killed after its result", "exit code unknown"],
)  # fmt: skip
def test_only_a_clean_success_is_completed(
    fields: dict[str, Any], exit_code: int | None, code: str
) -> None:
    """Neither the exit code nor the subtype alone tells: an interrupted run exits with 0."""
    reading = _ended(fields, ProcessFacts(exit_code=exit_code))

    assert reading.status is Status.FAILED
    assert code in reading.codes


@pytest.mark.parametrize(
    ("stdout", "exit_code", "status"),
    [
        (b"", 1, Status.FAILED),
        (b"", 0, Status.FAILED),
        (b"", -2, Status.FAILED),
        (b"\n\n", 0, Status.FAILED),
        (recording("terminated").stdout, 143, Status.FAILED),
        (recording("killed").stdout, -9, Status.FAILED),
        (recording("killed").stdout, 0, Status.FAILED),
        (recording("resume-not-found").stdout, 1, Status.FAILED),
        (recording("resume-not-found").stdout, 0, Status.INVALID_SETUP),
    ],
    ids=["a bad option", "nothing", "interrupted before init", "empty lines", "SIGTERM by another",
         "SIGKILL by another", "SIGINT while waiting for headers", "no session to resume",
         "no init and exit code 0"],
)  # fmt: skip
def test_what_ends_by_itself_without_a_result_is_failed(
    stdout: bytes, exit_code: int, status: Status
) -> None:
    reading = transcript.read(stdout, ProcessFacts(exit_code=exit_code), expected(mcp=True))

    assert reading.status is status
    assert reading.charged_usd == expected().reservation_usd


ORDER: list[tuple[Status, dict[str, Any], dict[str, Any]]] = [
    (Status.INTERRUPTED, {"interrupted": True}, {}),
    (Status.TIMED_OUT, {"timed_out": True}, {}),
    (Status.FAILED, {"truncated": True}, {}),
    (Status.INVALID_SETUP, {}, {"session_id": "another"}),
    (Status.INVALID_COST, {}, {"total_cost_usd": 9}),
    (Status.BUDGET_EXCEEDED, {}, {"subtype": "error_max_budget_usd"}),
    (Status.FAILED, {"exit_code": 1}, {}),
]


@pytest.mark.parametrize(
    "first", range(len(ORDER)), ids=[f"{at} {case[0].value}" for at, case in enumerate(ORDER)]
)
def test_the_first_status_in_order_wins_over_all_that_come_after_it(first: int) -> None:
    process: dict[str, Any] = {"exit_code": 0}
    result: dict[str, Any] = {}
    for _, facts, fields in ORDER[first:]:
        process |= facts
        result |= fields

    assert _ended(result, ProcessFacts(**process)).status is ORDER[first][0]


def test_the_deadline_decides_whatever_the_stream_shows() -> None:
    """An attempt that printed its result and then hung until the deadline is timed out."""
    reading = transcript.read(
        recording("success-repo").stdout, ProcessFacts(exit_code=0, timed_out=True), expected()
    )

    assert reading.status is Status.TIMED_OUT
    assert reading.charged_usd == expected().reservation_usd
    assert not reading.usage_complete


def test_an_answer_that_crossed_the_limit_is_kept() -> None:
    """The result of such an attempt has no answer; the last message does."""
    reading = transcript.read(recording("budget-exceeded-final-answer").stdout, ERROR, expected())

    assert reading.status is Status.BUDGET_EXCEEDED
    assert reading.answer == "final answer text"


def test_a_tool_call_that_crossed_the_limit_is_no_answer() -> None:
    reading = transcript.read(recording("budget-exceeded-mid").stdout, ERROR, expected())

    assert reading.answer is None


def test_what_an_earlier_message_said_is_no_answer() -> None:
    """The last message, which crossed the limit, only asked for a tool."""
    lines = events("success-repo")[:3]
    lines[2]["message"]["id"] = "msg_0002"
    over = {"subtype": "error_max_budget_usd", "is_error": True, "result": None}
    stdout = stdout_of([*lines, {**events("success-repo")[-1], **over}])

    reading = transcript.read(stdout, ERROR, expected())

    assert reading.status is Status.BUDGET_EXCEEDED
    assert reading.answer is None


def test_an_error_text_is_no_answer() -> None:
    reading = transcript.read(recording("api-error-400").stdout, ERROR, expected())

    assert reading.answer is None


def test_an_empty_answer_is_an_answer() -> None:
    reading = transcript.read(recording("success-empty-answer").stdout, DONE, expected())

    assert reading.status is Status.COMPLETED
    assert reading.answer == ""


def test_the_turns_that_the_cli_adds_by_itself_are_counted() -> None:
    """A reply that ran into its token limit is continued up to three times: a plain success."""
    reading = transcript.read(recording("max-output-tokens").stdout, ERROR, expected())
    retried = transcript.read(recording("retry-then-success").stdout, DONE, expected())

    assert reading.continuations == 3
    assert (retried.retries, retried.continuations) == (2, 0)


def test_a_pause_of_the_model_is_a_success() -> None:
    assert _ended({"stop_reason": "pause_turn"}).status is Status.COMPLETED


def test_a_prompt_that_the_cli_handled_itself_is_no_attempt() -> None:
    """A prompt with a leading slash never reaches a model: success, exit 0, no usage at all."""
    reading = _ended(
        {"modelUsage": {}, "total_cost_usd": 0, "num_turns": 0, "terminal_reason": None}
    )

    assert reading.status is Status.INVALID_COST
    assert reading.codes == ("model-usage-missing",)


def test_the_time_to_init_is_that_of_the_read_that_completed_its_line() -> None:
    stdout = recording("success-repo").stdout
    end = stdout.index(b"\n") + 1
    arrivals = ((end - 1, 700), (end, 750), (len(stdout), 900))

    reading = transcript.read(
        stdout, ProcessFacts(exit_code=0, arrivals=arrivals, wall_time_ms=1000), expected()
    )

    assert reading.time_to_init_ms == 750


def test_without_arrivals_the_time_to_init_is_missing() -> None:
    assert _ended({}).time_to_init_ms is None


def test_a_lone_surrogate_in_the_answer_can_be_written_as_utf_8() -> None:
    """It arrives as a JSON escape, and a text that holds it cannot be encoded."""
    reading = transcript.read(recording("success-unicode").stdout, DONE, expected())

    assert reading.answer is not None
    assert reading.answer.encode()
    assert "\N{REPLACEMENT CHARACTER}" in reading.answer


def test_a_limit_reached_exactly_is_budget_exceeded() -> None:
    """The CLI stops at spend equal to the limit."""
    reading = _ended({"subtype": "error_max_budget_usd", "is_error": True, "result": None}, ERROR)

    assert reading.status is Status.BUDGET_EXCEEDED
    assert reading.charged_usd == expected().reservation_usd


def test_a_success_above_its_reservation_is_budget_exceeded() -> None:
    stdout = recording("success-repo").stdout
    wanted = expected(reservation=Decimal("0.000863"))

    reading = transcript.read(stdout, DONE, wanted)

    assert reading.status is Status.BUDGET_EXCEEDED
    assert reading.codes == ("charged-above-reservation",)
    assert reading.charged_usd == Decimal("0.000864")


def test_a_success_of_exactly_its_reservation_is_completed() -> None:
    stdout = recording("success-repo").stdout

    reading = transcript.read(stdout, DONE, expected(reservation=Decimal("0.000864")))

    assert reading.status is Status.COMPLETED
