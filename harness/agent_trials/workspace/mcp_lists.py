"""Rules over what servers list: what must be there, what must not be confused, what is denied.

Rules:
    1. A server lists every allowed tool, each once, and no two that are one tool to a model; nor do
       the servers of one arm together.
    2. Every tool that is not allowed is denied: the sorted union over all checkouts.
    3. Where the study says ``tool_lists = "identical"``, a server's lists are equal for all.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from agent_trials.errors import Problem
from agent_trials.workspace import mcp_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_trials.records import McpServer
    from agent_trials.workspace.mcp_command import Place
    from agent_trials.workspace.mcp_probe import ProbedServer
    from agent_trials.workspace.mcp_tools import Tool


def list_problems(place: Place, allow: Iterable[str], tools: Iterable[Tool]) -> list[Problem]:
    """Return what is wrong with a server's list: names that are missing, twice, or alike."""
    names = [tool.name for tool in tools]
    allowed = [name for name in allow if name in names]
    missing = [missing_problem(place, name, names) for name in allow if name not in names]
    where = str(place)
    server = place.server
    return missing + mcp_names.name_problems(where, {server: names}, {server: allowed})


def missing_problem(place: Place, name: str, names: list[str]) -> Problem:
    """Return the problem of a tool that the study names and the server does not list."""
    near = difflib.get_close_matches(name, names, n=1)
    listed = ", ".join(f"{each!r:.100}" for each in sorted(names)[:20]) or "nothing"
    return Problem(
        str(place),
        f"the server does not list the tool {name!r} (it lists {listed})",
        f"write {near[0]!r}" if near else "check `allow` and `probe`, or the server's version",
    )


def tool_list_problems(probed: Iterable[ProbedServer]) -> list[Problem]:
    """Return where a server of an arm lists other tools for one checkout than for another."""
    first: dict[tuple[str, str], ProbedServer] = {}
    problems = []
    for each in probed:
        other = first.setdefault((each.place.arm, each.place.server), each)
        differing = sorted(set(each.server.tools) ^ set(other.server.tools))
        if differing:
            problems.append(
                Problem(
                    str(each.place),
                    f"its tools are not those for checkout {other.place.checkout!r}: only one has"
                    f" {', '.join(f'{name!r:.100}' for name in differing)}",
                    'make the lists equal, or write `tool_lists = "union"`',
                )
            )
    return problems


def arm_problems(probed: Iterable[ProbedServer], taken: Iterable[str]) -> list[Problem]:
    """Return what is wrong with the names of an arm's servers together.

    Args:
        probed: servers of any arms and checkouts.
        taken: names that the transport uses for tools of its own.
    """
    taken = tuple(taken)
    together: dict[tuple[str, str], list[McpServer]] = {}
    for each in probed:
        together.setdefault((each.place.arm, each.place.checkout), []).append(each.server)
    return [
        problem
        for (arm, checkout), servers in together.items()
        for problem in mcp_names.name_problems(
            f"arm {arm!r}, checkout {checkout!r}",
            {server.name: server.tools for server in servers},
            {server.name: server.allow for server in servers},
            taken=taken,
        )
    ]


def denied_tools(probed: Iterable[ProbedServer], arm: str) -> tuple[str, ...]:
    """Return the CLI's names of the tools that are denied in one arm, sorted.

    All that any server lists for any checkout and its arm does not allow, also in arms without a
    server; a tool that this very arm allows is not among them.
    """
    probed = tuple(probed)
    allowed = {name for each in probed if each.place.arm == arm for name in _cli(each.server, 1)}
    return tuple(sorted({name for each in probed for name in _cli(each.server, 0)} - allowed))


def _cli(server: McpServer, allowed: int) -> list[str]:
    """Return the CLI's names of a server's tools that are allowed (1) or are not (0)."""
    return [
        mcp_names.cli_tool_name(server.name, tool)
        for tool in server.tools
        if (tool in server.allow) == bool(allowed)
    ]
