"""Looks at every MCP server before money is spent: does it start, list, answer, from a fresh index?

Rules:
    1. It starts, shakes hands and lists its tools within its deadlines.
    2. Its list is right (``mcp_lists``).
    3. It answers the probe call, and not with an error.
    4. Its index is fresh by the study's rule: an answer that matches, or an index made again.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agent_trials import canonical
from agent_trials.errors import McpServerError, Problem, ProblemsError
from agent_trials.study.settings import AnswerFreshness, IndexFreshness
from agent_trials.workspace.mcp_command import McpProblem, Place
from agent_trials.workspace.mcp_config import resolve
from agent_trials.workspace.mcp_freshness import index_problems
from agent_trials.workspace.mcp_lists import (
    arm_problems,
    denied_tools,
    list_problems,
    missing_problem,
    tool_list_problems,
)
from agent_trials.workspace.mcp_tools import ConnectionLimits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from agent_trials.records import McpServer
    from agent_trials.study.settings import ArmSettings, McpServerSettings, ToolCall
    from agent_trials.workspace.mcp_config import ProgramFile, ResolvedServer
    from agent_trials.workspace.mcp_server import Connection
    from agent_trials.workspace.mcp_tools import Tool


@dataclass(frozen=True)
class ProbeLimits:
    """How long each step may take, seconds."""

    connection: ConnectionLimits = field(default_factory=ConnectionLimits)
    call_seconds: float = 30.0
    index_seconds: float = 120.0


@dataclass(frozen=True)
class ProbedServer:
    """A server that is fit for attempts.

    ``definitions_digest`` covers what a model is told: instructions, names, descriptions, schemas.
    Times are whole milliseconds; ``index_ms`` is None where no index was made again.
    """

    place: Place
    server: McpServer
    files: tuple[ProgramFile, ...]
    protocol: str
    definitions_digest: str
    start_ms: int
    call_ms: int
    index_ms: int | None

    def to_json(self) -> dict[str, Any]:
        """Return what may stand in a ledger line: no command, no path, no value."""
        return {
            "arm": self.place.arm,
            "server": self.place.server,
            "checkout": self.place.checkout,
            "files": [{"word": file.word, "digest": file.digest} for file in self.files],
            "environment": sorted(self.server.environment),
            "protocol": self.protocol,
            "tools": list(self.server.tools),
            "allow": list(self.server.allow),
            "definitions": self.definitions_digest,
            "startMs": self.start_ms,
            "callMs": self.call_ms,
            "indexMs": self.index_ms,
        }


@dataclass(frozen=True)
class Probes:
    """All servers of a study's arms, fit for attempts."""

    probed: tuple[ProbedServer, ...]

    def servers(self, arm: str, checkout: str) -> tuple[McpServer, ...]:
        """Return the servers that an arm has for the tasks of a repository."""
        return tuple(
            each.server
            for each in self.probed
            if (each.place.arm, each.place.checkout) == (arm, checkout)
        )

    def denied(self, arm: str) -> tuple[str, ...]:
        """Return the CLI's names of the tools that are denied in one arm, sorted."""
        return denied_tools(self.probed, arm)


def probe_all(
    arms: Iterable[ArmSettings],
    checkouts: Mapping[str, Path],
    *,
    folders: Mapping[str, Path],
    parameters: Mapping[str, str],
    environ: Mapping[str, str],
    tool_lists: str = "union",
    taken: Iterable[str] = (),
    limits: ProbeLimits | None = None,
) -> Probes:
    """Resolve and probe every server of every arm for every checkout.

    Args:
        arms: the study's arms.
        checkouts: the repositories that the phase needs, at their pins.
        folders: for each of them, a folder like the one in which an attempt's server starts.
        parameters: the study's parameters by name.
        environ: the operator's environment, for PATH and the variables that are named.
        tool_lists: ``union`` or ``identical``.
        taken: names that the transport uses for tools of its own.
        limits: deadlines.

    Raises:
        ProblemsError: all that is wrong with any of them.
    """
    problems: list[Problem] = []
    probed: list[ProbedServer] = []
    for place, settings in _places(arms, checkouts):
        checkout, folder = checkouts[place.checkout], folders[place.checkout]
        try:
            resolved = resolve(
                settings, place=place, checkout=checkout, parameters=parameters, environ=environ
            )
            probed.append(probe(resolved, folder=folder, limits=limits))
        except ProblemsError as error:
            problems += error.problems
    problems += arm_problems(probed, taken)
    if tool_lists == "identical":
        problems += tool_list_problems(probed)
    if problems:
        raise ProblemsError(problems)
    return Probes(tuple(probed))


def _places(
    arms: Iterable[ArmSettings], checkouts: Iterable[str]
) -> Iterator[tuple[Place, McpServerSettings]]:
    for arm in arms:
        for name, settings in sorted(arm.mcp_servers.items()):
            for checkout in sorted(checkouts):
                yield Place(arm.id, name, checkout), settings


def probe(
    resolved: ResolvedServer, *, folder: Path, limits: ProbeLimits | None = None
) -> ProbedServer:
    """Start a server and return it with its tools.

    Args:
        resolved: the server.
        folder: its working directory, like that of an attempt: an export of the corpus.
        limits: deadlines.

    Raises:
        ProblemsError: all that is wrong with it.
    """
    limits = limits or ProbeLimits()
    try:
        probed, problems = _converse(resolved, folder, limits)
    except McpServerError as error:
        raise ProblemsError([_refused(resolved.place, error)]) from None
    freshness, started = resolved.settings.freshness, time.monotonic()
    if isinstance(freshness, IndexFreshness) and not problems:
        problems += index_problems(resolved, freshness, deadline_seconds=limits.index_seconds)
        probed = replace(probed, index_ms=_milliseconds(started))
    if problems:
        raise ProblemsError(problems)
    return probed


def _converse(
    resolved: ResolvedServer, folder: Path, limits: ProbeLimits
) -> tuple[ProbedServer, list[Problem]]:
    from agent_trials.workspace import mcp_server  # noqa: PLC0415 - loads the mcp SDK

    started = time.monotonic()
    with mcp_server.connect(resolved.server, folder=folder, limits=limits.connection) as connection:
        start_ms, called = _milliseconds(started), time.monotonic()
        tools = connection.list_tools()
        problems = list_problems(resolved.place, resolved.server.allow, tools)
        problems += _call_problems(resolved, connection, tools, limits.call_seconds)
        probed = ProbedServer(
            resolved.place,
            replace(resolved.server, tools=tuple(sorted({tool.name for tool in tools}))),
            resolved.files,
            connection.protocol,
            _definitions_digest(connection),
            start_ms,
            _milliseconds(called),
            None,
        )
    return probed, problems


def _call_problems(
    resolved: ResolvedServer, connection: Connection, tools: Iterable[Tool], seconds: float
) -> list[Problem]:
    names = [tool.name for tool in tools]
    call: ToolCall = resolved.settings.probe
    if call.tool not in names:
        known = call.tool in resolved.server.allow  # then it has been said already
        return [] if known else [missing_problem(resolved.place, call.tool, names)]
    answer = connection.call(call.tool, call.arguments, seconds)
    if answer.is_error:
        what = f"the probe call of {call.tool!r} came to an error"
        remedy = "make the server's index at the pin, or correct `probe`"
        return [McpProblem(str(resolved.place), what, remedy, private_detail=answer.text)]
    freshness = resolved.settings.freshness
    if not isinstance(freshness, AnswerFreshness):
        return []
    return _answer_problems(resolved.place, freshness, connection, names, seconds)


def _answer_problems(
    place: Place,
    freshness: AnswerFreshness,
    connection: Connection,
    names: list[str],
    seconds: float,
) -> list[Problem]:
    if freshness.tool not in names:
        return [missing_problem(place, freshness.tool, names)]
    answer = connection.call(freshness.tool, freshness.arguments, seconds)
    if not answer.is_error and re.search(freshness.matches, answer.text):
        return []
    how = "came to an error" if answer.is_error else f"does not match {freshness.matches!r}"
    what = f"its index is not fresh: the answer of {freshness.tool!r} {how}"
    remedy = "make the server's index at the pin, or correct `freshness`"
    return [McpProblem(str(place), what, remedy, private_detail=answer.text)]


def _definitions_digest(connection: Connection) -> str:
    told = {
        "instructions": connection.instructions,
        "tools": sorted(
            [tool.name, tool.description, json.dumps(tool.input_schema, sort_keys=True)]
            for tool in connection.tools
        ),
    }
    return canonical.digest_of(told)


def _refused(place: Place, error: McpServerError) -> McpProblem:
    return McpProblem(str(place), error.what, error.remedy, private_detail=error.private_detail)


def _milliseconds(since: float) -> int:
    return round((time.monotonic() - since) * 1000)
