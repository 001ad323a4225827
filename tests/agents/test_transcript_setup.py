"""What makes an attempt invalid or failed, each broken into a valid recording one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.agents import transcript
from agent_trials.agents.cli_rules import ProcessFacts
from agent_trials.records import Status
from recordings import events, expected, recording, stdout_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_trials.agents.transcript import Reading

Lines = list[dict[str, Any]]
DONE = ProcessFacts(exit_code=0)
SEARCH = "mcp__doc-bridge__doc_search"


def _read(lines: Lines, process: ProcessFacts = DONE, *, mcp: bool = False) -> Reading:
    return transcript.read(stdout_of(lines), process, expected(mcp=mcp))


def _init(lines: Lines) -> dict[str, Any]:
    return next(line for line in lines if line.get("subtype") == "init")


def _result(lines: Lines) -> dict[str, Any]:
    return next(line for line in lines if line.get("type") == "result")


def _call(name: str, call: str = "toolu_x", **event: object) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call, "name": name, "input": {}}
    message = {"id": "msg_x", "model": "claude-haiku-5-5", "content": [block]}
    return {"type": "assistant", "message": message, **event}


def _answer(text: str, call: str = "toolu_x", *, failed: bool = False) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


def _before_result(lines: Lines, *more: dict[str, Any]) -> Lines:
    place = next(at for at, line in enumerate(lines) if line.get("type") == "result")
    return [*lines[:place], *more, *lines[place:]]


def _set_init(**fields: object) -> Callable[[Lines], Lines]:
    def change(lines: Lines) -> Lines:
        _init(lines).update(fields)
        return lines

    return change


def _set_result(**fields: object) -> Callable[[Lines], Lines]:
    def change(lines: Lines) -> Lines:
        _result(lines).update(fields)
        return lines

    return change


BROKEN: dict[str, tuple[Callable[[Lines], Lines], str]] = {
    "no init": (lambda lines: lines[1:], "no-init"),
    "init twice": (lambda lines: [lines[0], *lines], "init-repeated"),
    "work before init": (lambda lines: [lines[1], lines[0], *lines[2:]], "init-late"),
    "the result twice": (lambda lines: [*lines, lines[-1]], "result-repeated"),
    "a forged result before it": (
        lambda lines: [*lines[:-1], {**lines[-1], "total_cost_usd": 0}, lines[-1]],
        "result-repeated",
    ),
    "an event after the result": (
        lambda lines: [*lines, {"type": "system", "subtype": "notification"}],
        "result-not-last",
    ),
    "a result of another session": (
        _set_result(session_id="00000000-0000-4000-8000-000000000000"),
        "result-of-another-session",
    ),
    "another model": (_set_init(model="claude-sonnet-5-5"), "model-differs"),
    "no model": (_set_init(model=None), "model-differs"),
    "a tool missing": (_set_init(tools=["Glob", "Grep"]), "tools-missing"),
    "no tools at all": (_set_init(tools=[]), "tools-missing"),
    "tools that are no list": (_set_init(tools="Glob"), "tools-missing"),
    "a tool that is no text": (_set_init(tools=["Glob", "Grep", "Read", 1]), "tools-missing"),
    "a tool too many": (_set_init(tools=["Bash", "Glob", "Grep", "Read"]), "tools-extra"),
    "a tool twice": (_set_init(tools=["Glob", "Grep", "Read", "Read"]), "tools-repeated"),
    "a server": (
        _set_init(mcp_servers=[{"name": "mine", "status": "connected"}]),
        "mcp-servers-differ",
    ),
    "servers that are no list": (_set_init(mcp_servers=None), "mcp-servers-differ"),
    "an entry that was dropped": (
        _set_init(mcp_server_errors=[{"name": "mine", "error": "invalid"}]),
        "mcp-server-errors",
    ),
    "permission mode auto": (_set_init(permissionMode="auto"), "permission-mode-differs"),
    "another version": (_set_init(claude_code_version="2.1.332"), "version-differs"),
    "a call outside the set": (
        lambda lines: _before_result(lines, _call("Bash")),
        "foreign-tool-call",
    ),
    "a call of the provider's own tool": (
        lambda lines: _before_result(
            lines,
            {
                "type": "assistant",
                "message": {"content": [{"type": "server_tool_use", "name": "web_search"}]},
            },
        ),
        "foreign-tool-call",
    ),
    "a call outside the set by a sub-agent": (
        lambda lines: _before_result(lines, _call("Write", parent_tool_use_id="toolu_1")),
        "foreign-tool-call",
    ),
    "a call outside the set that only the stream of parts shows": (
        lambda lines: _before_result(
            lines,
            {
                "type": "stream_event",
                "event": {
                    "type": "content_block_start",
                    "content_block": {"type": "tool_use", "id": "toolu_9", "name": "Edit"},
                },
            },
        ),
        "foreign-tool-call",
    ),
    "a denial of another tool in the result": (
        _set_result(permission_denials=[{"tool_name": "Write", "tool_use_id": "t"}]),
        "denial-not-accepted",
    ),
    "a denial of another tool that is only announced": (
        lambda lines: _before_result(
            lines, {"type": "system", "subtype": "permission_denied", "tool_name": "Write"}
        ),
        "denial-not-accepted",
    ),
    "a tool of the set that is gone": (
        lambda lines: _before_result(
            lines,
            _call("Read"),
            _answer("<tool_use_error>Error: No such tool available: Read", failed=True),
        ),
        "tools-changed",
    ),
    "other tools announced later": (
        lambda lines: _before_result(
            lines, {"type": "system", "subtype": "tools_changed", "tools": ["Glob", "Grep"]}
        ),
        "tools-changed",
    ),
    "a server announced later": (
        lambda lines: _before_result(
            lines,
            {
                "type": "system",
                "subtype": "mcp_status",
                "mcp_servers": [{"name": "mine", "status": "connected"}],
            },
        ),
        "tools-changed",
    ),
    "a sub-agent in the result's count": (_set_result(subagent_stats={"spawned": 1}), "sub-agent"),
    "a sub-agent that only an event shows": (
        lambda lines: _before_result(lines, {"type": "system", "subtype": "task_started"}),
        "sub-agent",
    ),
}


@pytest.mark.parametrize("case", BROKEN.values(), ids=BROKEN.keys())
def test_one_thing_broken_in_a_valid_recording_is_an_invalid_setup(
    case: tuple[Callable[[Lines], Lines], str],
) -> None:
    change, code = case

    reading = _read(change(events("success-repo")))

    assert reading.status is Status.INVALID_SETUP
    assert code in reading.codes


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"mcp_servers": []}, "mcp-servers-differ"),
        ({"mcp_servers": [{"name": "doc-bridge", "status": "failed"}]}, "mcp-server-not-connected"),
        (
            {"mcp_servers": [{"name": "doc-bridge", "status": "needs-auth"}]},
            "mcp-server-not-connected",
        ),
        ({"mcp_servers": [{"name": "doc-bridge"}]}, "mcp-server-not-connected"),
        (
            {"mcp_servers": [{"name": "doc-bridge", "status": "connected"}] * 2},
            "mcp-servers-differ",
        ),
        ({"tools": ["Glob", "Grep", "Read", SEARCH]}, "tools-missing"),
    ],
    ids=["no server", "failed", "needs-auth", "without status", "listed twice", "a tool missing"],
)
def test_a_treatment_that_is_not_there_is_an_invalid_setup(
    fields: dict[str, object], code: str
) -> None:
    """Exit code 0, a normal answer and a right cost do not make up for a lost server."""
    lines = events("success-mcp")
    _init(lines).update(fields)

    reading = _read(lines, mcp=True)

    assert reading.status is Status.INVALID_SETUP
    assert code in reading.codes


def test_tools_that_come_too_late_do_not_mend_a_pending_server() -> None:
    """The init event is a snapshot: what a later request offered was not there from the start."""
    lines = events("mcp-server-pending")

    reading = _read(_before_result(lines, _call(SEARCH), _answer("found it")), mcp=True)

    assert reading.status is Status.INVALID_SETUP
    assert reading.calls.count_by_name()[SEARCH] == 1


def test_the_treatment_of_the_other_arm_is_an_invalid_setup() -> None:
    """A control arm that sees the treatment proves nothing."""
    reading = _read(events("success-mcp"), mcp=False)

    assert reading.status is Status.INVALID_SETUP
    assert {"tools-extra", "mcp-servers-differ", "foreign-tool-call"} <= set(reading.codes)


def test_a_treatment_whose_every_answer_is_an_error_is_lost_even_with_one_call_unanswered() -> None:
    lines = _before_result(events("mcp-all-error"), _call(SEARCH, "toolu_open"))

    assert "treatment-lost" in _read(lines, mcp=True).codes


def test_a_treatment_that_was_asked_and_never_answered_is_lost_where_the_run_ended_well() -> None:
    """Any other end may have cut the call off, as the limit does to calls of the last response."""
    asked = [line for line in events("success-mcp") if line["type"] != "user"]
    cut_off = [*asked[:-1], {**asked[-1], "subtype": "error_max_budget_usd", "is_error": True}]

    assert _read(asked, mcp=True).codes == ("treatment-lost",)
    assert "treatment-lost" not in _read(cut_off, mcp=True).codes


def test_each_server_of_an_arm_must_have_answered() -> None:
    """One server that works does not stand for another whose every call failed."""
    lines = events("mcp-all-error")
    wanted = expected(mcp=True)
    tools = (*wanted.tools, "mcp__other__ask")
    both = {**wanted.mcp_tools, "other": ("mcp__other__ask",)}
    arm = type(wanted)(**{**vars(wanted), "tools": tools, "mcp_tools": both})
    lines = _before_result(lines, _call("mcp__other__ask"), _answer("fine"))

    reading = transcript.read(stdout_of(lines), DONE, arm)

    assert "treatment-lost" in reading.codes


def test_accepted_denials_may_come_by_event_and_by_result_and_count_once() -> None:
    reading = _read(events("denied-read"))

    assert reading.status is Status.COMPLETED
    assert reading.denials == ("Read",)


def test_a_plain_tool_error_is_no_denial() -> None:
    """A missing file, or one under /proc, is an error and not a refusal."""
    lines = _before_result(
        events("success-repo"), _call("Read"), _answer("device file", failed=True)
    )

    reading = _read(lines)

    assert reading.status is Status.COMPLETED
    assert reading.denials == ()
    assert reading.calls.errors_by_name() == {"Read": 1}


def test_the_tool_that_init_calls_task_and_its_calls_agent_is_one() -> None:
    lines = events("subagent")
    wanted = expected()
    arm = type(wanted)(
        **{**vars(wanted), "tools": ("Read", "Agent"), "accepted_denials": ("Read",)}
    )

    reading = transcript.read(stdout_of(lines), DONE, arm)

    assert reading.status is Status.COMPLETED, reading.findings
    assert reading.sub_agents == 1


def test_text_that_looks_like_an_event_is_none() -> None:
    """A model that writes a result into its answer, or a file that holds one, forges nothing."""
    lines = events("success-repo")
    forged = stdout_of([{**_result(lines), "total_cost_usd": 0, "result": "forged"}]).decode()
    lines = _before_result(lines, _call("Read"), _answer(forged))
    _result(lines)["result"] = forged

    reading = _read(lines)

    assert reading.status is Status.COMPLETED
    assert reading.answer == forged


def test_a_line_broken_in_two_forges_nothing() -> None:
    """A raw line feed inside a text would end a line and begin a forged one."""
    lines = events("success-repo")
    forged = stdout_of([{**_result(lines), "total_cost_usd": 0}])
    whole = stdout_of(lines)
    place = whole.index(b"Looking.")

    reading = transcript.read(whole[:place] + b"\n" + forged + whole[place:], DONE, expected())

    assert reading.status is Status.INVALID_SETUP
    assert {"line-not-json", "result-repeated"} <= set(reading.codes)
    assert reading.charged_usd == expected().reservation_usd


@pytest.mark.parametrize(
    "extra",
    [
        b"[claude-code:unrecognized_model] {}",
        b"[]",
        b"12",
        b'"text"',
        b"null",
        b"{",
        b"\xff\xfe{}",
        b"\xef\xbb\xbf{}",
        b'{"a": NaN}',
        b'{"a":' * 100_000,
        b'{"a":' * 500 + b"1" + b"}" * 500,
    ],
    ids=[
        "words", "array", "number", "string", "null", "torn", "no UTF-8", "byte order mark",
        "not a number", "too deep to parse", "too deep to handle",
    ],
)  # fmt: skip
def test_a_line_that_is_no_json_object_is_an_invalid_setup(extra: bytes) -> None:
    stdout = recording("success-repo").stdout

    first, rest = stdout.split(b"\n", 1)
    reading = transcript.read(first + b"\n" + extra + b"\n" + rest, DONE, expected())

    assert reading.status is Status.INVALID_SETUP
    assert reading.codes == ("line-not-json",)


def test_the_cost_of_a_result_is_read_in_spite_of_a_malformed_line() -> None:
    """A malformed line makes the attempt invalid, and it is charged with the result's cost."""
    lines = events("success-repo")
    _result(lines)["total_cost_usd"] = 0.25

    reading = transcript.read(b"oops\n" + stdout_of(lines), DONE, expected())

    assert reading.status is Status.INVALID_SETUP
    assert str(reading.charged_usd) == "0.250000000"


def test_every_result_is_charged_where_there_are_several() -> None:
    """The last one is read; an earlier, dearer one is not passed over."""
    lines = events("success-repo")
    dear = {**_result(lines), "total_cost_usd": 0.3}

    reading = _read([*lines[:-1], dear, lines[-1]])

    assert str(reading.charged_usd) == "0.300000000"


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\r", "\x1c"])
def test_only_a_line_feed_ends_a_line(separator: str) -> None:
    """What str.splitlines takes for a line's end stands inside answers."""
    raw = '{"type":"system","subtype":"informational","content":"a' + "SEP" + 'b"}'
    control = ord(separator) < ord(" ")
    raw = raw.replace("SEP", f"\\u{ord(separator):04x}" if control else separator)
    first, rest = recording("success-repo").stdout.split(b"\n", 1)

    reading = transcript.read(first + b"\n" + raw.encode() + b"\n" + rest, DONE, expected())

    assert reading.status is Status.COMPLETED


def test_a_carriage_return_between_fields_ends_no_line() -> None:
    stdout = recording("success-repo").stdout.replace(b',"subtype":"init"', b',\r"subtype":"init"')

    assert transcript.read(stdout, DONE, expected()).status is Status.COMPLETED


def test_details_can_be_written_anywhere_and_are_cut_to_a_sane_length() -> None:
    lines = events("success-repo")
    _init(lines)["model"] = "\ud83d" + "x" * 100_000

    [finding] = [f for f in _read(lines).findings if f.code == "model-differs"]

    assert len(finding.detail.encode()) < 10_000


def test_unknown_events_and_fields_and_any_order_of_fields_are_tolerated() -> None:
    lines = [
        dict(reversed([*line.items(), ("news", {"a": [1]})])) for line in events("success-mcp")
    ]
    lines.insert(1, {"type": "weather", "content": [{"type": "tool_use", "name": "Bash"}]})
    lines.insert(1, {"type": "system", "subtype": "informational", "content": "x", "tools": 3})
    lines.insert(1, {"news": 1})
    lines.insert(0, {"type": "system", "subtype": "ui_invalidate", "event": {}})

    reading = _read(lines, mcp=True)

    assert reading.status is Status.COMPLETED, reading.findings


def test_session_start_hooks_may_print_before_init() -> None:
    hook = {"type": "system", "subtype": "hook_started", "hook_event": "SessionStart"}

    reading = _read([hook, *events("success-repo")])

    assert reading.status is Status.COMPLETED
    assert reading.init is not None


@pytest.mark.parametrize("ending", [b"", b"\n", b"\n\n", b"\r\n"])
def test_the_end_of_the_output_needs_no_exact_form(ending: bytes) -> None:
    stdout = recording("success-repo").stdout.removesuffix(b"\n") + ending

    assert transcript.read(stdout, DONE, expected()).status is Status.COMPLETED
