"""The tools that one http attempt offers: those of the repository and those of its MCP servers.

Rules:
    1. Offered are the repository's three tools (none to a grader) and, from every server, exactly
       the allowed ones.
    2. A server that does not start, or does not list an allowed tool, is an error before anything
       is asked: an attempt without its treatment is never begun.
    3. A server gets its own names back, whatever the model sees.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from agent_trials.agents import repo_tools
from agent_trials.agents.repo_tools import RepoTools
from agent_trials.workspace import mcp_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from agent_trials.records import McpServer
    from agent_trials.workspace.mcp_names import ToolName
    from agent_trials.workspace.mcp_tools import Tool, ToolAnswer


class Connection(Protocol):
    """A running server."""

    def list_tools(self) -> Sequence[Tool]:
        """Return the tools in the server's order."""
        ...

    def call(self, tool: str, arguments: Mapping[str, Any], timeout: float) -> ToolAnswer:
        """Return the answer of a tool by the server's own name, within so many seconds.

        A server that does not answer, or is gone, is an answer marked as an error.
        """
        ...


class Connect(Protocol):
    """Starts a server for one attempt; it is ended when the context is left."""

    def __call__(self, server: McpServer, *, folder: Path) -> AbstractContextManager[Connection]:
        """Return the running server, started in the folder."""
        ...


def connect(server: McpServer, *, folder: Path) -> AbstractContextManager[Connection]:
    """Start a server; the mcp SDK is loaded when an arm first has one (it takes a second)."""
    from agent_trials.workspace import mcp_server  # noqa: PLC0415 - as said

    return mcp_server.connect(server, folder=folder)


class ToolsMissingError(Exception):
    """A server does not list a tool that the arm is promised."""


@dataclass(frozen=True)
class Toolbox:
    """What can be called, by the name that the model sees."""

    definitions: tuple[Mapping[str, Any], ...]
    _repo: RepoTools
    _mcp: Mapping[str, tuple[Connection, ToolName]]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names offered, in the order offered."""
        return tuple(definition["name"] for definition in self.definitions)

    def is_mcp(self, name: str) -> bool:
        """Return whether a name is that of a server's tool."""
        return name in self._mcp

    def call(self, name: str, arguments: Mapping[str, Any], timeout: float) -> ToolAnswer:
        """Return the answer to one call of an offered tool, within so many seconds."""
        if name not in self._mcp:
            return self._repo.call(name, arguments, timeout)
        connection, tool = self._mcp[name]
        return connection.call(tool.tool, arguments, timeout)


@contextmanager
def opened(
    folder: Path,
    servers: Sequence[McpServer],
    connect: Connect,
    clock: Callable[[], float],
    *,
    local: bool = True,
) -> Iterator[Toolbox]:
    """Start the servers and give the toolbox; all of them are ended at the end.

    Raises:
        McpServerError: a server does not start.
        ToolsMissingError: a server does not list an allowed tool.
    """
    allowed = {server.name: server.allow for server in servers}
    names = mcp_names.api_tools(allowed, taken=repo_tools.NAMES)
    with ExitStack() as stack:
        connections = {
            server.name: stack.enter_context(connect(server, folder=folder)) for server in servers
        }
        listed = {
            server: {tool.name: tool for tool in connection.list_tools()}
            for server, connection in connections.items()
        }
        yield Toolbox(
            definitions=(
                *(repo_tools.DEFINITIONS if local else ()),
                *(_definition(name, tool, listed[tool.server]) for name, tool in names.items()),
            ),
            _repo=RepoTools(folder, clock=clock),
            _mcp={name: (connections[tool.server], tool) for name, tool in names.items()},
        )


def _definition(name: str, tool: ToolName, listed: Mapping[str, Tool]) -> Mapping[str, Any]:
    if tool.tool not in listed:
        raise ToolsMissingError(f"server {tool.server!r} does not list {tool.tool!r}")
    found = listed[tool.tool]
    schema = dict(found.input_schema)
    return {"name": name, "description": found.description, "input_schema": schema}
