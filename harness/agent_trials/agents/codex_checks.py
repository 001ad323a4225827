"""Every problem of a Codex run, as far as stream, standard error and command line tell.

What stays unseen by nature: calls that the CLI itself refuses, and whether a server's tools were
offered, unless the server is required. A run with a server that is not required is therefore
refused as evidence, whatever it shows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent_trials.agents import codex_schema
from agent_trials.agents.cli_rules import Finding
from agent_trials.agents.cli_stream import mapping, text
from agent_trials.agents.codex_stream import CHANGE, COLLAB, COMMAND, MCP, PLAN, TURN_ENDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_trials.agents.cli_rules import ProcessFacts
    from agent_trials.agents.codex_rules import Expected, ExpectedServer
    from agent_trials.agents.codex_stream import Item, Stream

OWN_SERVER = "codex"
RESOURCE_TOOLS = ("list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource")
"""What the CLI adds to every arm that has a server, under a server name of its own."""

_REFUSED_EXITS = (1, 2)
_REQUIRED = re.compile(r"required MCP servers? failed to initialize")
_NO_HELPERS = re.compile(r"could not create PATH aliases|bwrap: |codex-linux-sandbox: ")
_NO_KEY = re.compile(r"Missing environment variable\b")
_BUDGET = re.compile(r"(?:(?:rollout|token) )?budget (?:was )?reached\.?", re.IGNORECASE)
_IGNORED = re.compile(r"ignoring \d+ unrecognized configuration setting")
_REROUTED = re.compile(r"\bmodel rerouted\b")
_NOT_APPROVED = re.compile(r"requires approval")
_RPC_ERROR = re.compile(r"\bMcp error: -?\d+")
_DEAD = re.compile(r"transport closed|connection closed|broken pipe", re.IGNORECASE)


def of_process(stream: Stream, process: ProcessFacts, stderr: str) -> Iterator[Finding]:
    """Find what the process tells: how it ended, and whether it began at all."""
    if process.interrupted:
        yield Finding("interrupted")
    if process.timed_out:
        yield Finding("deadline")
    if process.truncated:
        yield Finding("stdout-over-bound")
    if _REQUIRED.search(stderr):
        yield Finding("required-server-failed", stderr)
    elif not stream.events and not stream.broken_lines and process.exit_code in _REFUSED_EXITS:
        yield Finding("not-started", stderr)
    elif not stream.of(*TURN_ENDS):
        yield Finding("no-turn-end", f"exit code {process.exit_code}")
    if process.exit_code != 0:
        yield Finding("exit-code", f"{process.exit_code}")


def of_shape(stream: Stream) -> Iterator[Finding]:
    """Find what the order of events must not be."""
    if stream.broken_lines:
        yield Finding("line-not-json", f"lines {list(stream.broken_lines)}")
    if len(stream.of("thread.started")) > 1:
        yield Finding("thread-repeated")
    if len(stream.of(*TURN_ENDS)) > 1 or len(stream.of("turn.started")) > 1:
        yield Finding("turn-repeated")
    ends = stream.of(*TURN_ENDS)
    if ends and stream.last is not ends[-1]:
        yield Finding("turn-end-not-last")


def of_turn(stream: Stream) -> Iterator[Finding]:
    """Find what a failed turn failed of."""
    for event in stream.of("turn.failed"):
        if _NO_KEY.search(event.message):
            yield Finding("key-missing", event.message)
        elif _BUDGET.fullmatch(event.message.strip()):
            yield Finding("budget-reached", event.message)
        else:
            yield Finding("turn-failed", event.message)


def of_setup(stream: Stream, stderr: str, expected: Expected) -> Iterator[Finding]:
    """Find what shows that the run was not set up as its command line says."""
    if expected.sandboxed and (hit := _NO_HELPERS.search(stderr)):
        yield Finding("sandbox-broken", hit.group())
    for note in stream.notes:
        if _IGNORED.search(note):
            yield Finding("configuration-ignored", note)
        if _REROUTED.search(note):
            yield Finding("foreign-model", note)
    for server in expected.servers:
        if not server.required:
            yield Finding("server-not-required", server.name)


def of_conduct(stream: Stream, expected: Expected) -> Iterator[Finding]:
    """Find what the agent did and was not to, and servers that gave it nothing."""
    for item in stream.items:
        if item.kind == COLLAB:
            yield Finding("sub-agent", "spawned")
        elif (item.is_tool or item.kind == PLAN) and not _is_offered(item, expected):
            yield Finding("foreign-tool", item.kind)
        elif item.kind == COMMAND and (program := _forbidden(item, expected)):
            yield Finding("forbidden-program", program)
    if expected.sub_agents and not any(item.kind == COLLAB for item in stream.items):
        yield Finding("sub-agent", "left on, and their tokens are in no figure")
    for server in expected.servers:
        yield from _of_server(stream, server)


def of_answer(answer: str | None, expected: Expected) -> Iterator[Finding]:
    """Find what is wrong with the last message of a completed turn."""
    if answer is None or not answer.strip():
        yield Finding("no-answer")
    elif expected.schema is not None:
        value, problem = codex_schema.parse(answer)
        if problem:
            yield Finding("answer-not-json", problem)
        else:
            broken = list(codex_schema.problems(value, expected.schema))
            for each in broken or codex_schema.contradictions(value):
                yield Finding("answer-breaks-schema", each)


def is_answered(item: Item) -> bool:
    """Tell whether a server answered an MCP call, be it with an error of its own."""
    replied = item.data.get("result") is not None or _RPC_ERROR.search(_error(item)) is not None
    return item.ended and replied


def _is_offered(item: Item, expected: Expected) -> bool:
    if item.kind == MCP:
        server, tool = text(item.data.get("server")), text(item.data.get("tool"))
        if server == OWN_SERVER and tool in RESOURCE_TOOLS:
            return bool(expected.servers)
        tools = {each.name: each.tools for each in expected.servers}
        return server in tools and (tools[server] is None or tool in (tools[server] or ()))
    if item.kind == CHANGE and item.failed:
        return True  # it changed nothing
    return item.kind in expected.kinds


def _forbidden(item: Item, expected: Expected) -> str | None:
    words = re.split(r"[\s'\"`;|&()<>=$]+", text(item.data.get("command")) or "")
    named = {word.rsplit("/", 1)[-1] for word in words}
    return next((program for program in expected.forbidden if program in named), None)


def _of_server(stream: Stream, server: ExpectedServer) -> Iterator[Finding]:
    """Find what shows that a server was no treatment.

    A call without an end counts only where the turn ended well: any other end may cut it off.
    """
    ended_well = bool(stream.of("turn.completed"))
    calls = [
        item
        for item in stream.items
        if item.kind == MCP
        and item.data.get("server") == server.name
        and (item.ended or ended_well)
    ]
    refusals = [_error(item) for item in calls]
    if any(_NOT_APPROVED.search(refusal) for refusal in refusals):
        yield Finding("call-not-approved", server.name)
    elif calls and (not any(map(is_answered, calls)) or _DEAD.search(refusals[-1])):
        yield Finding("treatment-lost", f"{server.name}: {refusals[-1]}")


def _error(item: Item) -> str:
    return text(mapping(item.data.get("error")).get("message")) or ""
