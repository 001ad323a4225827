"""The names under which a model sees the tools of MCP servers, and where two become one.

Rules:
    1. For the Claude CLI a tool is ``mcp__SERVER__TOOL``, for the Messages API ``TOOL``; in both
       every character outside ``A-Z a-z 0-9 _ -`` becomes an underscore. A server always gets its
       own name back.
    2. Two tools with one name in either place are refused: the CLI shows them as a single tool
       without a word, and a call of it could not be told apart.
    3. A name for the Messages API has at most ``MAX_API_NAME`` characters, and is none that the
       transport uses for tools of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_trials.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MAX_API_NAME = 128

_OUTSIDE = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, order=True)
class ToolName:
    """A tool by its server's own name."""

    server: str
    tool: str


def cli_tool_name(server: str, tool: str) -> str:
    """Return the name in the Claude CLI, ``mcp__docs__docs_search``."""
    return f"mcp__{_OUTSIDE.sub('_', server)}__{_OUTSIDE.sub('_', tool)}"


def api_tool_name(tool: str) -> str:
    """Return the name in the Messages API, ``docs_search``."""
    return _OUTSIDE.sub("_", tool)


def api_tools(
    allowed: Mapping[str, Iterable[str]], *, taken: Iterable[str] = ()
) -> dict[str, ToolName]:
    """Return every allowed tool by its name in the Messages API, in order.

    Args:
        allowed: tools by server.
        taken: names of tools that are the transport's own.

    Raises:
        RuntimeError: a name is not usable; ``name_problems`` says so before a run.
    """
    problems = list(_api_problems("", allowed, frozenset(taken)))
    if problems:
        raise RuntimeError(str(problems[0]))
    names = sorted(_all(allowed))
    return {api_tool_name(name.tool): name for name in names}


def name_problems(
    where: str,
    listed: Mapping[str, Iterable[str]],
    allowed: Mapping[str, Iterable[str]],
    *,
    taken: Iterable[str] = (),
) -> list[Problem]:
    """Return what is wrong with the names of one arm's tools.

    Args:
        where: the place that a problem names.
        listed: every tool that each server lists, in its order, repetitions included.
        allowed: the tools by server that the arm may call.
        taken: names of tools that are the transport's own.
    """
    return [
        *_listed_twice(where, listed),
        *_cli_problems(where, listed),
        *_api_problems(where, allowed, frozenset(taken)),
    ]


def _all(tools: Mapping[str, Iterable[str]]) -> list[ToolName]:
    return [ToolName(server, tool) for server, names in tools.items() for tool in set(names)]


def _listed_twice(where: str, listed: Mapping[str, Iterable[str]]) -> Iterator[Problem]:
    for server, names in listed.items():
        for tool, count in sorted(Counter(names).items()):
            if count > 1:
                yield Problem(
                    where,
                    f"server {server!r} lists the tool {tool!r:.200} {count} times",
                    "make the server list each tool once",
                )


def _cli_problems(where: str, listed: Mapping[str, Iterable[str]]) -> Iterator[Problem]:
    tools = _all(listed)
    names = {one: cli_tool_name(one.server, one.tool) for one in tools}
    yield from _collapsed(where, names, "the Claude CLI")


def _api_problems(
    where: str, allowed: Mapping[str, Iterable[str]], taken: frozenset[str]
) -> Iterator[Problem]:
    names = {one: api_tool_name(one.tool) for one in _all(allowed)}
    yield from _collapsed(where, names, "the Messages API")
    for one, name in sorted(names.items()):
        if name in taken:
            yield Problem(
                where,
                f"tool {one.tool!r} of server {one.server!r} is {name!r} in the Messages API, a"
                " name that the transport uses itself",
                "rename the tool, or leave it out of `allow`",
            )
        if not 1 <= len(name) <= MAX_API_NAME:
            yield Problem(
                where,
                f"tool {one.tool!r:.200} of server {one.server!r} has a name of {len(name)}"
                " characters",
                f"use a name of 1 to {MAX_API_NAME} characters",
            )


def _collapsed(where: str, names: Mapping[ToolName, str], place: str) -> Iterator[Problem]:
    for name, count in sorted(Counter(names.values()).items()):
        if count > 1:
            alike = sorted(one for one, other in names.items() if other == name)
            listing = ", ".join(f"{one.tool!r} of {one.server!r}" for one in alike)
            yield Problem(
                where,
                f"{listing} are one tool in {place}, {name!r}",
                "rename one of them, so that a call tells which was meant",
            )
