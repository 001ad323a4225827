"""The argument array of a Claude CLI attempt, made from the study's own array of placeholders.

The arrays of a study's arms differ in two places only: the servers in ``{mcp_config}`` and the
names of their tools in ``{allowed}``. Everybody on the machine can read an argument array: servers
that are given variables, which may be secrets, stand in a private file, and only its path in the
array.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from agent_trials import money
from agent_trials.agents.cli_rules import expected_tools
from agent_trials.errors import AgentError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from agent_trials.records import AttemptRequest, McpServer
    from agent_trials.study.settings import CliSettings

PLACEHOLDERS = ("model", "limit", "tools", "allowed", "denied", "mcp_config", "prompt")
SESSION = "{session}"

_PLACEHOLDER = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")
_PRIVATE_FILE = "mcp.json"
_STREAMED_INPUT = ("--input-format", "stream-json")


def arguments(
    settings: CliSettings,
    request: AttemptRequest,
    scratch: Path | None = None,
    *,
    session: str = "",
) -> tuple[str, ...]:
    """Return the array after the executable's name, every placeholder replaced once.

    What a placeholder stands for is never looked at again: a prompt may hold ``{model}``. An arm's
    own arguments come first. ``scratch`` is a folder of the attempt's own, needed where a server is
    given variables; ``session`` is the id that the harness gives a new session.
    """
    values = _values(settings, request, scratch)
    array = (word for one in settings.arguments for word in _session(one, request, session))
    return (
        *request.launch.arguments,
        *(_PLACEHOLDER.sub(lambda found: values[found.group(1)], one) for one in array),
    )


def _session(word: str, request: AttemptRequest, session: str) -> tuple[str, ...]:
    """Return the words that ``{session}`` stands for: a new id, or the one to go on with."""
    if word != SESSION:
        return (word,)
    if request.kept is not None:
        return ("--resume", request.kept.session or "")
    return () if request.launch.names_session else ("--session-id", session)


def is_streamed(settings: CliSettings) -> bool:
    """Tell whether the prompt goes to standard input as a message, instead of into the array.

    Raises:
        AgentError: the array does neither, or both.
    """
    problems = argument_problems(settings.arguments)
    if problems:
        raise AgentError(str(problems[0]))
    return not _has_prompt(settings.arguments)


def argument_problems(array: tuple[str, ...]) -> list[Problem]:
    """Return what is wrong with a study's array."""
    streamed = _STREAMED_INPUT in pairwise(array)
    if streamed != _has_prompt(array):
        return []
    names = "both" if streamed else "neither"
    return [
        Problem(
            "transports.cli.arguments",
            f'the array holds {names} of "{{prompt}}" and "--input-format", "stream-json"',
            "name one of them, in both arms, so that the prompt has exactly one way to the CLI",
        )
    ]


def mcp_config(servers: Iterable[McpServer]) -> str:
    """Return the JSON text for ``--mcp-config``: command, arguments and environment by server."""
    entries = {server.name: _entry(server) for server in servers}
    return json.dumps({"mcpServers": entries}, sort_keys=True, separators=(",", ":"))


def _servers(servers: tuple[McpServer, ...], scratch: Path | None) -> str:
    """Return what ``--mcp-config`` gets: the JSON text, or the path of a file that holds it."""
    text = mcp_config(servers)
    if not any(server.environment for server in servers):
        return text
    if scratch is None:
        raise RuntimeError("servers with variables need a private file for them")
    path = scratch / _PRIVATE_FILE
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(text, encoding="utf-8")
    return str(path)


def _entry(server: McpServer) -> dict[str, object]:
    command, *rest = server.command
    return {"command": command, "args": rest, "env": dict(server.environment)}


def _values(
    settings: CliSettings, request: AttemptRequest, scratch: Path | None
) -> Mapping[str, str]:
    allowed, _ = expected_tools(settings.tools, {s.name: s.allow for s in request.mcp_servers})
    return {
        "model": request.model,
        "limit": money.text(money.limit(request.limit_usd)),
        "tools": ",".join(settings.tools),
        "allowed": ",".join(allowed),
        "denied": ",".join((*settings.deny, *request.denied_mcp_tools)),
        "mcp_config": _servers(request.mcp_servers, scratch),
        "prompt": request.prompt,
    }


def _has_prompt(array: tuple[str, ...]) -> bool:
    return any("{prompt}" in one for one in array)
