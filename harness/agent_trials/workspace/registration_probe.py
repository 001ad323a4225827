"""Asks the server that an arm's set-up registered, before money: its tools, and its probe call."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from agent_trials.errors import McpServerError, ProblemsError
from agent_trials.workspace import commands, registration
from agent_trials.workspace.mcp_command import McpProblem, Place
from agent_trials.workspace.mcp_lists import list_problems, missing_problem
from agent_trials.workspace.mcp_names import cli_tool_name

if TYPE_CHECKING:
    from agent_trials.errors import Problem
    from agent_trials.records import McpServer, Registration
    from agent_trials.study.settings import ToolCall
    from agent_trials.workspace.checkout import Checkout
    from agent_trials.workspace.mcp_server import Connection

CALL_SECONDS = 30.0
_PASSED_ON = ("PATH", "HOME")
"""What the Claude CLI gives a server beside the registration's own variables."""


def probed(arm: str, wanted: Registration, call: ToolCall | None, made: Checkout) -> Registration:
    """Return the registration with what its server lists, and what was registered.

    Args:
        arm: the arm's id, for problems.
        wanted: the registration as the study states it.
        call: the tool call that must succeed, if any.
        made: a checkout of the arm.

    Raises:
        ProblemsError: all that is wrong with the server.
    """
    server = made.server
    if server is None:
        raise RuntimeError(f"the checkout of the arm {arm} has no registered server")
    from agent_trials.workspace import mcp_server  # noqa: PLC0415 - loads the mcp SDK

    place = Place(arm, wanted.server, made.sealed.name)
    try:
        with mcp_server.connect(_as_in_an_attempt(server, made), folder=made.folder) as connection:
            names = [tool.name for tool in connection.list_tools()]
            allow = wanted.allow or tuple(sorted(set(names)))
            problems = list_problems(place, allow, connection.list_tools())
            problems += [] if call is None else _call_problems(place, call, connection, names)
    except McpServerError as error:
        found = McpProblem(
            str(place), error.what, error.remedy, private_detail=error.private_detail
        )
        raise ProblemsError([found]) from None
    if not names:
        problems.append(McpProblem(str(place), "the server lists no tool", "check its command"))
    if problems:
        raise ProblemsError(problems)
    tools = tuple(sorted(set(names)))
    full = registration.digest(server.command, server.environment, made.places)
    return dataclasses.replace(wanted, allow=allow, tools=tools, digest=full)


def denied(registered: Registration) -> tuple[str, ...]:
    """Return the CLI's names of the tools that the server lists and the study does not allow."""
    others = sorted({*registered.tools} - {*registered.allow})
    return tuple(cli_tool_name(registered.server, tool) for tool in others)


def _as_in_an_attempt(server: McpServer, made: Checkout) -> McpServer:
    found = commands.environment(made.surroundings)
    own = {name: found[name] for name in _PASSED_ON}
    return dataclasses.replace(server, environment={**own, **server.environment})


def _call_problems(
    place: Place, call: ToolCall, connection: Connection, names: list[str]
) -> list[Problem]:
    if call.tool not in names:
        return [missing_problem(place, call.tool, names)]
    answer = connection.call(call.tool, call.arguments, CALL_SECONDS)
    if not answer.is_error:
        return []
    what = f"the probe call of {call.tool!r} came to an error"
    remedy = "check what the set-up prepares, or correct `probe`"
    return [McpProblem(str(place), what, remedy, private_detail=answer.text)]
