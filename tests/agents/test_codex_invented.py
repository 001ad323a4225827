"""Codex outputs of the recorded kinds that nobody recorded: other orders, fields, ends, words."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fake_codex
from agent_trials.agents import codex_reading, codex_reply, codex_schema, provider_reply
from agent_trials.agents.cli_rules import ProcessFacts
from agent_trials.agents.codex_rules import CODES, Expected, ExpectedServer
from agent_trials.agents.codex_usage import Usage
from agent_trials.records import Status

Lines = list[dict[str, Any]]
WELL = ProcessFacts(exit_code=0)
BAD = ProcessFacts(exit_code=1)
PLAIN = Expected(kinds=frozenset({"command_execution"}))
DOCS = replace(PLAIN, servers=(ExpectedServer("docs", tools=("doc.search",)),))
COUNTS = {
    "output_tokens": 60, "reasoning_output_tokens": 10, "input_tokens": 4300,
    "cached_input_tokens": 3900,
}  # fmt: skip


def item(kind: str, number: int, *, event: str = "completed", **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    return {"item": {**fields, "type": kind, "id": f"item_{number}"}, "type": f"item.{event}"}


def say(text: str, number: int = 9) -> dict[str, Any]:
    return item("agent_message", number, text=text)


def searched(number: int = 1, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """Return an MCP call, ended unless the fields say otherwise."""
    call: dict[str, Any] = {"server": "docs", "tool": "doc.search", "arguments": {}, "error": None}
    return item("mcp_tool_call", number, **{**call, "result": {}, "status": "completed", **fields})


def lost(message: str, number: int = 1) -> dict[str, Any]:
    return searched(number, result=None, error={"message": message}, status="failed")


def done(**usage: Any) -> dict[str, Any]:  # noqa: ANN401 - counts, or what is none
    return {"usage": {**COUNTS, **usage}, "type": "turn.completed"}


def failed(message: str) -> dict[str, Any]:
    return {"error": {"message": message}, "type": "turn.failed"}


def run(*between: dict[str, Any], answer: str = "it is in a.md", end: Lines | None = None) -> Lines:
    begin = [{"thread_id": "t", "type": "thread.started"}, {"type": "turn.started"}]
    return [*begin, *between, say(answer), *([done()] if end is None else end)]


def read(
    lines: Lines | bytes,
    expected: Expected = PLAIN,
    process: ProcessFacts = WELL,
    stderr: str = "",
) -> codex_reading.Reading:
    stdout = lines if isinstance(lines, bytes) else printed(lines)
    return codex_reading.read(stdout, process, expected, stderr=stderr)


def printed(lines: Lines) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


UNKNOWN = {"type": "thread.resized", "columns": 80}
NOTE = item("error", 0, message="Model metadata for `x` not found.")
CLOSED = (
    "tool call error: tool call failed for `docs/doc.search`\n\nCaused by:\n    Transport closed"
)

COMPLETED: dict[str, tuple[Lines, Expected]] = {
    "unknown events, also behind the end": ([UNKNOWN, *run(UNKNOWN), UNKNOWN], PLAIN),
    "unknown item that is no tool": (run(item("memo", 1, text="x")), PLAIN),
    "no thread event": (run()[1:], PLAIN),
    "notes": (run(NOTE), PLAIN),
    "command that never ended": (run(item("command_execution", 1, event="started")), PLAIN),
    "command of a signal": (run(item("command_execution", 1, exit_code=137)), PLAIN),
    "patch that was refused": (run(item("file_change", 1, status="failed")), PLAIN),
    "separators in a text": (run(answer="a\u2028b\u0085c"), PLAIN),
    "reconnects": (run({"type": "error", "message": "Reconnecting... 1/5 (x)"}), PLAIN),
    "one call of two failed": (run(lost("timed out"), searched(2)), DOCS),
    "error of the tool's own": (run(searched(status="failed")), DOCS),
    "error that the server answered": (run(lost("Caused by:\n    Mcp error: -32000: no")), DOCS),
    "resource tools of the CLI": (run(searched(server="codex", tool="read_mcp_resource")), DOCS),
    "no cached count": (run(end=[done(cached_input_tokens=None)]), PLAIN),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPLETED)
def test_what_is_harmless_completes(name: str) -> None:
    lines, expected = COMPLETED[name]

    assert read(lines, expected).codes == ()


ENDS: dict[str, tuple[Lines, Expected, ProcessFacts, Status, str]] = {
    "exit code alone": (run(), PLAIN, BAD, Status.FAILED, "exit-code"),
    "signal": (run(end=[]), PLAIN, ProcessFacts(exit_code=-9), Status.FAILED, "no-turn-end"),
    "cut without an end": (run(end=[]), PLAIN, WELL, Status.FAILED, "no-turn-end"),
    "silence": ([], PLAIN, WELL, Status.FAILED, "no-turn-end"),
    "silence of a wrapper": ([], PLAIN, ProcessFacts(exit_code=127), Status.FAILED, "no-turn-end"),
    "refused options": ([], PLAIN, ProcessFacts(exit_code=2), Status.INVALID_SETUP, "not-started"),
    "deadline after the end": (
        run(), PLAIN, ProcessFacts(exit_code=0, timed_out=True), Status.TIMED_OUT, "deadline",
    ),
    "interrupted": (
        run(end=[]), PLAIN, ProcessFacts(exit_code=-2, timed_out=True, interrupted=True),
        Status.INTERRUPTED, "interrupted",
    ),
    "too much output": (
        run(end=[]), PLAIN, ProcessFacts(exit_code=-9, truncated=True), Status.FAILED,
        "stdout-over-bound",
    ),
    "provider error": (run(end=[failed("503")]), PLAIN, BAD, Status.FAILED, "turn-failed"),
    "failure without words": (
        run(end=[{"type": "turn.failed"}]), PLAIN, BAD, Status.FAILED, "turn-failed",
    ),
    "a call that the end of the run cut off": (
        run(searched(event="started", result=None), end=[]), DOCS, BAD, Status.FAILED,
        "no-turn-end",
    ),
    "a budget that cut a call off": (
        run(searched(event="started", result=None), end=[failed("Rollout budget reached")]), DOCS,
        BAD, Status.BUDGET_EXCEEDED, "budget-reached",
    ),
    "provider error before a foreign tool counts": (
        run(item("web_search", 1), end=[failed("503")]), PLAIN, BAD, Status.FAILED, "turn-failed",
    ),
    "a provider's own budget": (
        run(end=[failed("Your monthly budget reached its limit")]), PLAIN, BAD, Status.FAILED,
        "turn-failed",
    ),
    "budget": (
        run(end=[failed("Rollout budget reached")]), PLAIN, BAD, Status.BUDGET_EXCEEDED,
        "budget-reached",
    ),
    "no key": (
        run(end=[failed("Missing environment variable: `K`.")]), PLAIN, BAD, Status.INVALID_SETUP,
        "key-missing",
    ),
    "two turns": (run(*run()), PLAIN, WELL, Status.INVALID_SETUP, "turn-repeated"),
    "two threads": (
        [{"type": "thread.started"}, *run()], PLAIN, WELL, Status.INVALID_SETUP, "thread-repeated",
    ),
    "an item behind the end": (
        [*run(), say("more", 10)], PLAIN, WELL, Status.INVALID_SETUP, "turn-end-not-last",
    ),
    "an error behind the end": (
        [*run(), {"type": "error", "message": "x"}], PLAIN, WELL, Status.INVALID_SETUP,
        "turn-end-not-last",
    ),
    "web search": (
        run(item("web_search", 1)), PLAIN, WELL, Status.INVALID_SETUP, "foreign-tool",
    ),
    "web search that only started": (
        run(item("web_search", 1, event="started")), PLAIN, WELL, Status.INVALID_SETUP,
        "foreign-tool",
    ),
    "plan that is off": (
        run(item("todo_list", 1)), PLAIN, WELL, Status.INVALID_SETUP,
        "foreign-tool",
    ),
    "patch in a read-only run": (
        run(item("file_change", 1, status="completed")), PLAIN, WELL, Status.INVALID_SETUP,
        "foreign-tool",
    ),
    "tool that nobody knows": (
        run(item("computer_use", 1)), PLAIN, WELL, Status.INVALID_SETUP, "foreign-tool",
    ),
    "server in the arm without one": (
        run(searched()), PLAIN, WELL, Status.INVALID_SETUP, "foreign-tool",
    ),
    "resource tools in the arm without a server": (
        run(searched(server="codex", tool="list_mcp_resources")), PLAIN, WELL,
        Status.INVALID_SETUP, "foreign-tool",
    ),
    "tool outside the set": (
        run(searched(tool="doc.write")), DOCS, WELL, Status.INVALID_SETUP, "foreign-tool",
    ),
    "another server": (
        run(searched(server="files")), DOCS, WELL, Status.INVALID_SETUP, "foreign-tool",
    ),
    "call that needs approval": (
        run(searched(), lost("MCP tool call requires approval, but approval policy is never", 2)),
        DOCS, WELL, Status.INVALID_SETUP, "call-not-approved",
    ),
    "every call timed out": (
        run(lost("timed out"), lost("timed out", 2)), DOCS, WELL, Status.INVALID_SETUP,
        "treatment-lost",
    ),
    "the only call was never answered": (
        run(searched(event="started", result=None)), DOCS, WELL, Status.INVALID_SETUP,
        "treatment-lost",
    ),
    "server that died halfway": (
        run(searched(), lost(CLOSED, 2)), DOCS, WELL, Status.INVALID_SETUP, "treatment-lost",
    ),
    "server that is not required, though it answered": (
        run(searched()), replace(PLAIN, servers=(ExpectedServer("docs", required=False),)), WELL,
        Status.INVALID_SETUP, "server-not-required",
    ),
    "configuration ignored": (
        run(item("error", 0, message="Codex is ignoring 2 unrecognized configuration settings.")),
        PLAIN, WELL, Status.INVALID_SETUP, "configuration-ignored",
    ),
    "forbidden program": (
        run(item("command_execution", 1, command="/bin/bash -c 'cd x && /opt/bin/ak-docs query'")),
        replace(PLAIN, forbidden=("ak-docs",)), WELL, Status.INVALID_SETUP, "forbidden-program",
    ),
    "sub-agent": (
        run(item("collab_tool_call", 1)), PLAIN, WELL, Status.INVALID_COST, "sub-agent",
    ),
    "sub-agents left on and unseen": (
        run(), replace(PLAIN, sub_agents=True), WELL, Status.INVALID_COST, "sub-agent",
    ),
    "another model": (
        run(item("error", 1, message="model rerouted: a -> b")), PLAIN, WELL, Status.INVALID_COST,
        "foreign-model",
    ),
    "no usage": (
        run(end=[{"type": "turn.completed"}]), PLAIN, WELL, Status.INVALID_COST, "counts-invalid",
    ),
    "usage that is no object": (
        run(end=[{"type": "turn.completed", "usage": [1]}]), PLAIN, WELL, Status.INVALID_COST,
        "counts-invalid",
    ),
    "negative": (
        run(end=[done(output_tokens=-1)]), PLAIN, WELL, Status.INVALID_COST,
        "counts-invalid",
    ),
    "text": (run(end=[done(input_tokens="9")]), PLAIN, WELL, Status.INVALID_COST, "counts-invalid"),
    "truth": (
        run(end=[done(input_tokens=True)]), PLAIN, WELL, Status.INVALID_COST,
        "counts-invalid",
    ),
    "output of no input": (
        run(end=[done(input_tokens=0, cached_input_tokens=0)]), PLAIN, WELL, Status.INVALID_COST,
        "counts-invalid",
    ),
    "more cached than input": (
        run(end=[done(cached_input_tokens=4301)]), PLAIN, WELL, Status.INVALID_COST,
        "counts-invalid",
    ),
    "less than the session had before": (
        run(), replace(PLAIN, prior=Usage(5000, 10)), WELL, Status.INVALID_COST, "counts-invalid",
    ),
    "empty answer": (run(answer=" \n"), PLAIN, WELL, Status.FAILED, "no-answer"),
    "empty answer behind a commentary": (
        run(say("I will look.", 1), answer=""), PLAIN, WELL, Status.FAILED, "no-answer",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_every_kind_of_end_has_its_class(name: str) -> None:
    lines, expected, process, status, code = ENDS[name]

    reading = read(lines, expected, process)

    assert (reading.status, code in reading.codes) == (status, True), reading.codes


@pytest.mark.parametrize("line", [b"npm warn\n", b'{"type":"x","a":NaN}\n', b'"\xe2"\n', b"[1]\n"])
def test_a_line_that_is_no_event_may_be_a_lost_one(line: bytes) -> None:
    reading = read(line + printed(run()))

    assert (reading.status, reading.codes) == (Status.INVALID_SETUP, ("line-not-json",))


def test_a_required_server_that_failed_shows_on_stderr_alone() -> None:
    words = "Error: required MCP servers failed to initialize: docs: timed out"

    assert read([], DOCS, BAD, words).codes == ("required-server-failed", "exit-code")


@pytest.mark.parametrize(
    "words",
    [
        "WARNING: proceeding, even though we could not create PATH aliases: Permission denied",
        "bwrap: execvp codex-linux-sandbox: No such file or directory",
    ],
)
def test_a_broken_sandbox_shows_on_stderr_alone(words: str) -> None:
    assert read(run(), stderr=words).status is Status.INVALID_SETUP
    assert read(run(), replace(PLAIN, sandboxed=False), stderr=words).status is Status.COMPLETED


@pytest.mark.parametrize(
    "words",
    [
        "Reading additional input from stdin...",
        "WARNING: failed to clean up stale arg0 temp dirs: Directory not empty",
        "ERROR codex_core::tools::router: error=exec_command failed",
        "ERROR codex_core::session: failed to record rollout items: thread 0 not found",
    ],
)
def test_the_words_of_good_runs_are_no_problem(words: str) -> None:
    assert read(run(), stderr=words).codes == ()


def test_the_order_of_fields_and_of_independent_items_changes_nothing() -> None:
    lines = run(searched(), item("command_execution", 2, command="ls", aggregated_output="a"))
    turned = [dict(reversed(line.items())) for line in lines]
    turned[2:4] = reversed(turned[2:4])
    first, second = read(lines, DOCS), read(turned, DOCS)

    assert (
        (first.codes, first.usage)
        == (second.codes, second.usage)
        == ((), Usage(4300, 60, 3900, 10))
    )
    assert first.measurements == second.measurements


def test_a_session_s_total_is_reduced_by_what_was_there_before() -> None:
    reading = read(run(), replace(PLAIN, prior=Usage(4000, 50, 3900, None)))

    assert reading.usage == Usage(300, 10, 0, 10)


def test_tokens_are_missing_where_the_stream_does_not_hold_them_all() -> None:
    """A cut reply's tokens, those of sub-agents and those of a failed turn are in no figure."""
    rerouted = item("error", 1, message="model rerouted: a -> b (HighRiskCyberActivity)")
    cut = {"type": "error", "message": "Reconnecting... 1/5 (stream disconnected)"}

    assert read(run(cut)).usage is None
    assert read(run(item("collab_tool_call", 1))).usage is None
    assert read(run(rerouted)).usage is None
    assert read(run(end=[failed("503")]), process=BAD).usage is None


def test_the_last_of_two_messages_is_the_answer() -> None:
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}
    lines = run(say('{"a":1}', 1), answer='{"a":2}')
    reading = read(lines, replace(PLAIN, schema=schema))

    assert (reading.status, reading.value) == (Status.COMPLETED, {"a": 2})


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("See a.md", "answer-not-json"),
        ('{"a":1} {"a":2}', "answer-not-json"),
        ('```json\n{"a":1}\n```', "answer-not-json"),
        ('{"a":NaN}', "answer-not-json"),
        ('{"a":1,"a":2}', "answer-not-json"),
        ("[1]", "answer-breaks-schema"),
        ("{}", "answer-breaks-schema"),
        ('{"a":"1"}', "answer-breaks-schema"),
        ('{"a":true}', "answer-breaks-schema"),
        ('{"a":1,"b":2}', "answer-breaks-schema"),
    ],
)
def test_an_answer_must_fit_the_schema_as_a_whole(answer: str, code: str) -> None:
    schema = {
        "type": "object", "required": ["a"], "additionalProperties": False,
        "properties": {"a": {"type": "integer"}},
    }  # fmt: skip
    reading = read(run(answer=answer), replace(PLAIN, schema=schema))

    assert (reading.status, reading.codes, reading.value) == (Status.FAILED, (code,), None)


GOOD = {
    "answer": "See README.md:1.", "taskOutcome": "success", "evidenceQuality": "high",
    "safetyOutcome": "safe", "evidenceIds": ["readme:1"], "clarificationRequests": 0,
    "reworkCount": 0, "firstEvidenceLatencyMs": None,
    "measurements": dict.fromkeys(codex_schema.MEASURED),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_every_semantic_field_is_required(name: str) -> None:
    left = {key: value for key, value in GOOD.items() if key != name}

    assert list(codex_schema.problems(GOOD, codex_schema.OUTPUT)) == []
    assert list(codex_schema.problems(left, codex_schema.OUTPUT)) == [f"answer.{name} is missing"]


@pytest.mark.parametrize(
    "change",
    [
        {"taskOutcome": "done"}, {"evidenceIds": ["docs/A.md"]}, {"evidenceIds": ["a\n"]},
        {"evidenceIds": ["a"] * 129}, {"clarificationRequests": -1}, {"reworkCount": 1.5},
        {"firstEvidenceLatencyMs": "12"}, {"measurements": {}}, {"extra": 1},
        {"measurements": dict.fromkeys(codex_schema.MEASURED) | {"errorRate": 2}},
        {"measurements": dict.fromkeys(codex_schema.MEASURED) | {"agentCostUsd": 1}},
    ],
)  # fmt: skip
def test_a_value_outside_of_the_contract_breaks_the_schema(change: dict[str, Any]) -> None:
    assert list(codex_schema.problems({**GOOD, **change}, codex_schema.OUTPUT))


@pytest.mark.parametrize(
    "measured",
    [{"acceptanceChecksPassed": 3, "acceptanceChecksTotal": 2}, {"searchHitRate": 1e-20}],
    ids=["more passed than there are", "a rate beyond all measure"],
)
def test_an_answer_that_contradicts_itself_costs_no_tokens_their_place(
    measured: dict[str, Any],
) -> None:
    """It fits the schema; the harness would refuse a reply with it, the CLI's counts included."""
    whole = json.loads(fake_codex.answer())["measurements"]
    text = fake_codex.answer(measurements=whole | measured)
    reading = read(run(answer=text), replace(PLAIN, schema=codex_schema.OUTPUT))
    reply = provider_reply.read(json.dumps(codex_reply.of_reading(reading)).encode())

    assert (reading.status, reading.codes) == (Status.FAILED, ("answer-breaks-schema",))
    assert (reply.input_tokens, reply.output_tokens) == (4300, 60)


def test_a_schema_with_a_keyword_that_is_not_checked_is_refused() -> None:
    with pytest.raises(RuntimeError, match="oneOf"):
        list(codex_schema.problems(1, {"oneOf": []}))


def test_telemetry_is_bytes_and_times_and_holds_no_text() -> None:
    lines = run(
        item("command_execution", 1, command="cat ä", aggregated_output="öö"),
        searched(2, arguments={"q": "ü"}, result={"text": "é"}),
        answer="ñ",
    )
    stdout = printed(lines)
    sizes = [len(printed(lines[: count + 1])) for count in range(len(lines))]
    process = ProcessFacts(
        exit_code=0, wall_time_ms=90, arrivals=tuple((size, size * 2) for size in sizes)
    )
    reading = codex_reading.read(stdout, process, DOCS, provider_input_bytes=100)

    given, got = len("cat ä".encode()) + len('{"q":"ü"}'.encode()), 4 + len('{"text":"é"}'.encode())
    assert reading.measurements == {
        "observedToolEventCount": 2,
        "observedToolInputBytes": given,
        "observedToolOutputBytes": got,
        "observedProviderInputBytes": 100,
        "observedAgentMessageBytes": 2,
        "observedContextBytes": given + got + 2 + 100,
        "observedProviderDurationMs": 90,
        "timeToFirstToolEventMs": sizes[2] * 2,
    }


def test_what_was_not_observed_is_missing_and_not_zero() -> None:
    assert "timeToFirstToolEventMs" not in read(run()).measurements
    assert "observedProviderDurationMs" not in read(run()).measurements


EVENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "item", "id", "usage", "error", "message", "text", "server", "x"]),
        inner | st.sampled_from(["turn.completed", "item.completed", "mcp_tool_call", "docs"]),
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.lists(EVENTS, max_size=5), st.binary(max_size=20))
def test_any_bytes_give_a_reading(events: list[Any], noise: bytes) -> None:
    stdout = b"\n".join([*(json.dumps(event).encode() for event in events), noise])
    reading = codex_reading.read(stdout, WELL, replace(DOCS, schema=codex_schema.OUTPUT))

    assert reading.status is not Status.COMPLETED
    assert set(reading.codes) <= set(CODES)
