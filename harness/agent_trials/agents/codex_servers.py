"""Looks at the servers of the Codex adapter before anything is asked: do they list what they must?

The CLI waits for a required server and no more: a tool that its server does not list is left out
without a word, and the arm would be the control's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_trials.errors import McpServerError, Problem
from agent_trials.records import McpServer
from agent_trials.workspace import mcp_lists, mcp_server
from agent_trials.workspace.mcp_command import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from agent_trials.agents.codex_options import Server


def server_problems(
    servers: tuple[Server, ...], environment: Mapping[str, str], folder: Path
) -> Iterator[Problem]:
    """Find servers that do not start, and tools that they do not list.

    Args:
        servers: with the placeholders of their commands filled in.
        environment: the CLI's, of which a server gets PATH, HOME and what it names.
        folder: the working folder of all.
    """
    for server in servers:
        names = ("PATH", "HOME", *server.environment)
        given = {name: environment[name] for name in names if name in environment}
        tried = McpServer(server.name, server.command, server.tools, server.tools, given)
        try:
            with mcp_server.connect(tried, folder=folder) as connection:
                tools = connection.list_tools()
        except McpServerError as error:
            remedy = f"run {server.command[0]} by hand in {folder}"
            yield Problem(f"--mcp {server.name}", str(error), remedy)
            continue
        place = Place("codex", server.name, str(folder))
        yield from mcp_lists.list_problems(place, server.tools, tools)
