"""What one run of the Codex adapter is to be: its options as values, and the shapes of two of them.

``--mcp`` is a JSON object of servers, ``--handoff`` a JSON array. Both are in the provider
configuration, so their text is part of its digest.
"""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials.agents.codex_rules import Expected, ExpectedServer
from agent_trials.agents.codex_schema import OUTPUT
from agent_trials.agents.codex_stream import CHANGE, COMMAND

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VERSION = "0.171.0"
WORKSPACE, READ_ONLY, WORKSPACE_WRITE = "workspace", "read-only", "workspace-write"
SANDBOXES = (WORKSPACE, READ_ONLY, WORKSPACE_WRITE)
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,127}")
_SERVER_KEYS = ("command", "tools", "environment")


class OptionError(ValueError):
    """The text of an option that does not say what it should."""


@dataclass(frozen=True)
class Server:
    """An MCP server: its command, the tools that may be called, variables that it gets."""

    name: str
    command: tuple[str, ...]
    tools: tuple[str, ...]
    environment: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Options:
    """One run.

    Attributes:
        codex: the program, a path or a name on PATH.
        homes: the folder in which the run gets a HOME of its own.
        readable: folders that commands may read beside the workspace.
        forbidden: programs that no command may name.
    """

    model: str
    codex: str
    version: str
    effort: str
    base_url: str
    key_variable: str
    sandbox: str
    homes: Path
    timeout_seconds: int
    servers: tuple[Server, ...] = ()
    handoff: tuple[str, ...] = ()
    handoff_bytes: int = 64 * 1024
    handoff_seconds: int = 30
    readable: tuple[Path, ...] = ()
    forbidden: tuple[str, ...] = ()

    @property
    def expected(self) -> Expected:
        """Return what the command line made of these options lets a run show."""
        writes = self.sandbox == WORKSPACE_WRITE
        return Expected(
            kinds=frozenset({COMMAND, CHANGE} if writes else {COMMAND}),
            servers=tuple(ExpectedServer(each.name, tools=each.tools) for each in self.servers),
            forbidden=self.forbidden,
            schema=OUTPUT,
        )

    @property
    def passed(self) -> tuple[str, ...]:
        """Return the names of the variables that the CLI's process gets beside its own."""
        named = {name for server in self.servers for name in server.environment}
        return tuple(sorted({self.key_variable} | named))


def servers(text: str, key_variable: str) -> tuple[Server, ...]:
    """Return the servers of a JSON object ``{NAME: {command, tools, environment}}``.

    Raises:
        OptionError: it is none.
    """
    value = _json(text)
    if not isinstance(value, dict) or not value:
        raise OptionError('is no JSON object such as {"docs":{"command":["ak-docs","mcp"]}}')
    return tuple(_server(name, entry, key_variable) for name, entry in sorted(value.items()))


def words(text: str) -> tuple[str, ...]:
    """Return the words of a JSON array of a program and its arguments.

    Raises:
        OptionError: it is none.
    """
    return _texts(_json(text), "is", least=1)


def _server(name: str, entry: object, key_variable: str) -> Server:
    if not _NAME.fullmatch(name) or name == "codex":
        raise OptionError(f"has a server called {name!r}; write a-z, 0-9, - and _, and not codex")
    if not isinstance(entry, dict):
        raise OptionError(f"has no object for {name}")
    for problem in _unknown(name, entry):
        raise OptionError(problem)
    environment = _texts(entry.get("environment", []), f"{name}.environment is")
    for variable in environment:
        if not _VARIABLE.fullmatch(variable):
            raise OptionError(f"{name}.environment: {variable!r} is no name of a variable")
        if variable == key_variable:
            raise OptionError(f"{name}.environment: {variable} is the model's key; take it out")
    return Server(
        name,
        _texts(entry.get("command"), f"{name}.command is", least=1),
        _texts(entry.get("tools"), f"{name}.tools is", least=1),
        environment,
    )


def _unknown(name: str, entry: dict[str, Any]) -> Iterator[str]:
    for key in sorted(entry.keys() - set(_SERVER_KEYS)):
        near = difflib.get_close_matches(key, _SERVER_KEYS, 1)
        hint = f"; perhaps {near[0]}" if near else ""
        yield f"{name} has the unknown key {key!r}{hint}: it knows {', '.join(_SERVER_KEYS)}"


def _texts(value: object, what: str, *, least: int = 0) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) < least:
        raise OptionError(f"{what} no JSON array of {'at least one text' if least else 'texts'}")
    if not all(isinstance(each, str) and each and "\0" not in each for each in value):
        raise OptionError(
            f"{what} no array of texts: one is empty, holds a NUL or is something else"
        )
    return tuple(value)


def _json(text: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise OptionError(f"is no JSON: {error}") from error
