"""Talking to MCP servers, well-behaved and not, and ending them with all below them."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.errors import McpServerError
from agent_trials.records import McpServer
from agent_trials.workspace.mcp_server import connect
from agent_trials.workspace.mcp_tools import MINIMAL_PATH, ConnectionLimits, ToolAnswer
from mcp_servers.misbehaving import PRIVATE, command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HANGS = ConnectionLimits(start_seconds=0.3, grace_seconds=0.05)
HANGS_LATER = ConnectionLimits(list_seconds=0.3, grace_seconds=0.05)


def server(behaviour: str, *arguments: str, **environment: str) -> McpServer:
    return McpServer("docs", command(behaviour, *arguments), (), (), environment=environment)


def ask(behaviour: str, folder: Path, *arguments: str, tool: str = "docs.search") -> ToolAnswer:
    with connect(server(behaviour, *arguments), folder=folder) as connection:
        return connection.call(tool, {"query": "install"}, 10)


def refusal(
    behaviour: str, folder: Path, *arguments: str, limits: ConnectionLimits | None = None
) -> McpServerError:
    with (
        pytest.raises(McpServerError) as caught,
        connect(server(behaviour, *arguments), folder=folder, limits=limits),
    ):
        pytest.fail("it is connected")
    return caught.value


def test_calls_tools_by_the_servers_own_names(tmp_path: Path) -> None:
    with connect(server("well"), folder=tmp_path) as connection:
        tools = connection.list_tools()
        answers = [connection.call(tool.name, {}, 10) for tool in tools]

    assert [(tool.name, tool.description, tool.input_schema) for tool in tools] == [
        ("docs.search", "docs.search", {"type": "object"}),
        ("docs.get", "docs.get", {"type": "object"}),
    ]
    assert [answer.text for answer in answers] == [
        "docs.search found install.md:1", "docs.get found install.md:1",
    ]  # fmt: skip
    assert connection.instructions is None


def test_a_server_is_offered_what_claude_code_offers_it_and_gets_the_same_answers(
    tmp_path: Path,
) -> None:
    """A tool that only such a client is shown would come up in the first paid attempt otherwise."""
    with connect(server("asks-back"), folder=tmp_path) as connection:
        tools = [tool.name for tool in connection.list_tools()]
        roots, asked = json.loads(connection.call("docs.ask", {}, 10).text)

    assert tools == ["docs.search", "docs.get", "docs.ask"]
    assert [root["uri"] for root in roots["roots"]] == [tmp_path.as_uri()]
    assert asked == {"action": "cancel"}


def told(folder: Path, arguments: dict[str, Any], **environment: str) -> dict[str, Any]:
    with connect(server("tells-all", **environment), folder=folder) as connection:
        answer: dict[str, Any] = json.loads(connection.call("docs.get", arguments, 10).text)
    answer["environ"].pop("LC_CTYPE", None)  # python itself sets it where no locale is
    return answer


def test_a_server_gets_the_named_variables_and_a_minimal_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK's own transport would add HOME, USER, LOGNAME, SHELL, TERM, the operator's PATH."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-operator")
    monkeypatch.setenv("HOME", "/home/operator")

    assert told(tmp_path, {}, DOCS="x")["environ"] == {"DOCS": "x", "PATH": MINIMAL_PATH}
    assert told(tmp_path, {}, PATH="/opt")["environ"] == {"PATH": "/opt"}


def test_a_server_works_in_the_folder_it_is_given(tmp_path: Path) -> None:
    assert told(tmp_path, {})["cwd"] == str(tmp_path)


def test_arguments_arrive_as_they_are(tmp_path: Path) -> None:
    """A model can write a lone surrogate, a null, a float."""
    arguments = {"query": "\ud83d\u2028é", "limit": None, "deep": [{"a": 1.5}]}

    assert told(tmp_path, arguments)["arguments"] == arguments


def test_speaks_with_servers_of_the_first_revision(tmp_path: Path) -> None:
    """Which answer `server/discover`, that they do not know, with a code of their own."""
    with connect(server("speaks-the-past"), folder=tmp_path) as connection:
        assert connection.protocol == "2024-11-05"
        assert not connection.call("docs.get", {}, 10).is_error


def test_every_page_of_the_list_is_read(tmp_path: Path) -> None:
    """A tool on the second page would otherwise not be denied."""
    with connect(server("pages"), folder=tmp_path) as connection:
        assert [tool.name for tool in connection.tools] == ["docs.search", "docs.get"]


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        ("exits-at-start", "ended with code 1 before it had answered `initialize`"),
        ("exits-after-initialize", "ended with code 3 before it had listed its tools"),
        ("refuses-initialize", "has not answered `initialize`: it answered with an error"),
        ("speaks-the-future", "has not answered `initialize`: its answer is no valid MCP"),
        ("pages-forever", "has not listed its tools: its answer is no valid MCP"),
    ],
)
def test_tells_why_a_server_is_not_up(tmp_path: Path, behaviour: str, says: str) -> None:
    error = refusal(behaviour, tmp_path)

    assert str(error) == (
        f"MCP server 'docs' {says}; run its command by hand with only PATH and the variables that"
        " the study names"
    )


@pytest.mark.parametrize(
    ("behaviour", "limits", "says"),
    [
        ("hangs-at-start", HANGS, "has not answered `initialize` within 0.3 s"),
        ("hangs-at-list", HANGS_LATER, "has not listed its tools within 0.3 s"),
    ],
)
def test_a_server_that_hangs_is_given_up(
    tmp_path: Path, behaviour: str, limits: ConnectionLimits, says: str
) -> None:
    assert says in str(refusal(behaviour, tmp_path, limits=limits))


@pytest.mark.parametrize("behaviour", ["exits-at-start", "refuses-initialize"])
def test_what_a_server_says_itself_stays_private(tmp_path: Path, behaviour: str) -> None:
    """It holds paths of the operator's machine."""
    error = refusal(behaviour, tmp_path)

    assert PRIVATE in error.private_detail
    assert PRIVATE not in f"{error} {error!r}"


@pytest.mark.parametrize("program", ["{}/gone", "gone"], ids=["by a path", "by a name"])
def test_a_program_that_is_not_there_is_told(tmp_path: Path, program: str) -> None:
    gone = McpServer("docs", (program.format(tmp_path),), (), ())

    with pytest.raises(McpServerError, match="'docs' cannot be started") as caught:
        connect(gone, folder=tmp_path).__enter__()
    assert "gone" in caught.value.private_detail
    assert "gone" not in str(caught.value)


@pytest.mark.parametrize("behaviour", ["errs-always", "fails-always"])
def test_an_error_of_the_tool_is_an_answer(tmp_path: Path, behaviour: str) -> None:
    """-32000 is the code that the client uses for a lost connection; the server is alive here."""
    assert ask(behaviour, tmp_path) == ToolAnswer(f"no index at {PRIVATE}", is_error=True)


def test_an_error_passes(tmp_path: Path) -> None:
    with connect(server("errs-once"), folder=tmp_path) as connection:
        answers = [connection.call("docs.get", {}, 10).is_error for _ in range(2)]

    assert answers == [True, False]


def test_a_server_that_dies_in_a_call_stays_dead(tmp_path: Path) -> None:
    """Every later call must say so: an attempt without its treatment must not look like one."""
    with connect(server("dies-in-a-call"), folder=tmp_path) as connection:
        answers = [connection.call("docs.get", {}, 10) for _ in range(2)]

    assert answers == [ToolAnswer("Connection closed", is_error=True, died=True)] * 2


def test_an_answer_without_an_end_is_not_kept(tmp_path: Path) -> None:
    """It would fill the harness's memory."""
    limits = ConnectionLimits(grace_seconds=0.05, line_bytes=1_000_000)
    with connect(server("never-ends-its-line"), folder=tmp_path, limits=limits) as connection:
        answer = connection.call("docs.get", {}, 30)

    assert answer == ToolAnswer("Connection closed", is_error=True, died=True)


def test_a_slow_call_is_an_error_and_its_late_answer_is_nobodys(tmp_path: Path) -> None:
    with connect(server("slow"), folder=tmp_path) as connection:
        slow = connection.call("docs.get", {}, 0.2)
        after = connection.call("docs.search", {}, 10)

    assert slow == ToolAnswer("no answer within 0.2 s", is_error=True)
    assert after.text == "docs.search found install.md:1"


def test_a_server_that_reads_nothing_holds_up_no_deadline(tmp_path: Path) -> None:
    """The call is larger than a pipe, so that writing it cannot end."""
    limits = ConnectionLimits(grace_seconds=0.05)
    with connect(server("deaf-to-input"), folder=tmp_path, limits=limits) as connection:
        started = time.monotonic()
        answers = [connection.call("docs.get", {"query": "x" * 300_000}, 0.2) for _ in range(3)]
        seconds = time.monotonic() - started

    assert seconds < 5  # the client alone waits that long to take one call back
    assert [answer.text for answer in answers] == ["no answer within 0.2 s"] * 3


def test_a_huge_answer_is_whole(tmp_path: Path) -> None:
    """Cutting it is the business of who knows how much a model may see."""
    assert ask("huge-result", tmp_path, "6400000").text == "x" * 6_400_000


def test_what_a_server_prints_beside_the_protocol_is_ignored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And not logged: pytest shows the log of a test that fails."""
    caplog.set_level(logging.WARNING)

    assert ask("garbage-line", tmp_path).text == "docs.search found install.md:1"
    assert caplog.records == []


def test_half_a_character_in_an_answer_costs_that_character(tmp_path: Path) -> None:
    """Not the answer, which would otherwise count as never given."""
    assert ask("half-a-surrogate", tmp_path) == ToolAnswer("cut ? here")


def test_an_answer_unlike_its_declared_schema_is_an_error(tmp_path: Path) -> None:
    """As it is for the Claude CLI."""
    answer = ask("breaks-its-schema", tmp_path)

    assert (answer.is_error, answer.died) == (True, False)
    assert answer.text.startswith("the tool's answer is invalid: ")


def test_content_that_is_no_text_is_named(tmp_path: Path) -> None:
    assert ask("shows-pictures", tmp_path).text == (
        "first\n[image left out]\ninstall.md:1\ndocs://usage"
    )


def test_structured_content_alone_is_its_text(tmp_path: Path) -> None:
    assert ask("only-structure", tmp_path).text == '{"hits": ["install.md:1"]}'


@contextmanager
def witness(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield a named pipe's path and its open reading end."""
    path = folder / "witness"
    os.mkfifo(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield str(path), reading
    finally:
        os.close(reading)


def is_all_gone(reading: int) -> bool:
    """Return whether a server with its helper was up, and neither holds the pipe any more."""
    assert os.read(reading, 2) == b"up"
    try:
        return os.read(reading, 1) == b""
    except BlockingIOError:
        return False


def test_a_helper_in_its_own_session_ends_with_the_server(tmp_path: Path) -> None:
    with witness(tmp_path) as (path, reading):
        assert not ask("leaves-a-helper", tmp_path, path).is_error

        assert is_all_gone(reading)


def test_a_server_may_tidy_up_at_the_end_of_its_input(tmp_path: Path) -> None:
    """It is killed only when its grace is over, and waited for no longer than it takes."""
    limits = ConnectionLimits(grace_seconds=30)
    with connect(server("tidies-up", str(tmp_path / "tidy")), folder=tmp_path, limits=limits):
        assert not (tmp_path / "tidy").exists()
        started = time.monotonic()

    assert (tmp_path / "tidy").exists()
    assert time.monotonic() - started < 15


def test_a_server_deaf_to_everything_ends_with_its_tree(tmp_path: Path) -> None:
    with witness(tmp_path) as (path, reading):
        error = refusal("hangs-deaf", tmp_path, path, limits=HANGS_LATER)

        assert "has not listed its tools within 0.3 s" in str(error)
        assert is_all_gone(reading)


@pytest.mark.parametrize("problem", [KeyboardInterrupt, ValueError])
def test_what_the_block_raises_comes_out_as_it_is(
    tmp_path: Path, problem: type[BaseException]
) -> None:
    """Not as a group, which nobody who waits for Ctrl-C would know."""
    with witness(tmp_path) as (path, reading):
        with (
            pytest.raises(problem, match="mine"),
            connect(server("leaves-a-helper", path), folder=tmp_path),
        ):
            raise problem("mine")

        assert is_all_gone(reading)


def test_ctrl_c_in_a_call_ends_the_call_and_the_server(tmp_path: Path) -> None:
    """The wait for an answer must not hold the interruption up."""
    interrupting = server("interrupts-the-harness", str(os.getpid()))

    with (
        pytest.raises(KeyboardInterrupt),
        connect(interrupting, folder=tmp_path) as connection,
    ):
        connection.call("docs.get", {}, 60)


def test_the_server_dies_with_a_harness_that_is_killed(tmp_path: Path) -> None:
    """SIGKILL leaves no time to say goodbye; the supervisor sees it."""
    script = f"""
import pathlib, signal, sys
from agent_trials.records import McpServer
from agent_trials.workspace.mcp_server import connect
argv = ({", ".join(map(repr, command("leaves-a-helper")))}, sys.argv[1])
server = McpServer("docs", argv, (), ())
with connect(server, folder=pathlib.Path("/")) as connection:
    print("connected", flush=True)
    signal.pause()
"""
    with witness(tmp_path) as (path, reading):
        harness = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE)
        assert harness.stdout is not None
        assert harness.stdout.readline() == b"connected\n"
        harness.kill()
        harness.communicate()
        os.set_blocking(reading, True)

        assert is_all_gone(reading)


def test_two_servers_at_once_do_not_mix(tmp_path: Path) -> None:
    with (
        connect(server("well"), folder=tmp_path) as first,
        connect(server("errs-always"), folder=tmp_path) as second,
    ):
        answers = [each.call("docs.get", {}, 10).is_error for each in (first, second)]

    assert answers == [False, True]
