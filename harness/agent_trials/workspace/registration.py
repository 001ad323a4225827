"""Takes the MCP server that an arm's set-up registered out of the file in which it did so.

A product's own installer writes it where the agent would find it. The agent is not left to find it:
it gets this one server as its explicit, strict configuration. What is compared between attempts is
the command with the attempt's folders as words.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials import canonical
from agent_trials.errors import WorkspaceError
from agent_trials.records import McpServer
from agent_trials.workspace.mcp_config import FORBIDDEN_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agent_trials.records import Registration
    from agent_trials.workspace.arm_setup import Places


def registered(wanted: Registration, places: Places, search: str) -> McpServer:
    """Return the server that stands in the set-up's file.

    Args:
        wanted: which server, in which file, as the preflight found it.
        places: the attempt's folders.
        search: PATH, for a program that is named without its folder.

    Raises:
        WorkspaceError: it is not there, cannot be started, or is not the preflight's.
    """
    entry = _entry(wanted, places)
    command = _command(wanted, entry, places, search)
    environment = _environment(wanted, entry)
    if wanted.digest not in {None, digest(command, environment, places)}:
        what = f"the set-up registered {wanted.server!r} otherwise than in the preflight"
        raise WorkspaceError(f"{what}; make the set-up the same every time")
    return McpServer(wanted.server, command, wanted.allow, wanted.tools, environment)


def digest(command: Iterable[str], environment: Mapping[str, str], places: Places) -> str:
    """Return the digest of a registration, the attempt's folders as words; it is never published.

    A value of a variable may be a secret of few bits, which a digest would give away.
    """
    found = {name: places.neutral(value) for name, value in environment.items()}
    return canonical.digest_of([_neutral(command, places), found])


def public_digest(command: Iterable[str], environment: Iterable[str], places: Places) -> str:
    """Return the digest of the command and the names of the variables."""
    return canonical.digest_of([_neutral(command, places), sorted(environment)])


def _neutral(command: Iterable[str], places: Places) -> list[str]:
    return [places.neutral(word) for word in command]


def _entry(wanted: Registration, places: Places) -> dict[str, Any]:
    path = places.path(wanted.file)
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise WorkspaceError(f"the set-up wrote no {wanted.file}; {_remedy(wanted)}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise WorkspaceError(f"the set-up's {wanted.file} is no JSON: {error}") from error
    tables = [*_tables(written, places)]
    for table in tables:
        if isinstance(entry := table.get(wanted.server), dict):
            return entry
    known = ", ".join(sorted({name for table in tables for name in table})) or "none"
    what = (
        f"the set-up registered no MCP server {wanted.server!r} in {wanted.file} (there: {known})"
    )
    raise WorkspaceError(f"{what}; {_remedy(wanted)}")


def _remedy(wanted: Registration) -> str:
    return f"have the arm's set-up register {wanted.server}, or correct arms.registration"


def _tables(written: object, places: Places) -> Iterator[dict[str, Any]]:
    """Yield the tables of servers: the file's own, and that of the workspace as a project."""
    if not isinstance(written, dict):
        return
    projects = written.get("projects")
    own = projects.get(str(places.workspace)) if isinstance(projects, dict) else None
    for holder in (written, own):
        if isinstance(holder, dict) and isinstance(holder.get("mcpServers"), dict):
            yield holder["mcpServers"]


def _command(
    wanted: Registration, entry: dict[str, Any], places: Places, search: str
) -> tuple[str, ...]:
    program, rest = entry.get("command"), entry.get("args", [])
    is_stdio = entry.get("type", "stdio") == "stdio"
    if not (is_stdio and isinstance(program, str) and _are_texts(rest)):
        what = f"the registration of {wanted.server!r} is no program that speaks over stdio"
        raise WorkspaceError(f"{what}; register one with a command and its arguments")
    if "/" in program:
        found = str(places.workspace / program)  # an absolute one stays as it is
        found = found if os.access(found, os.X_OK) else ""
    else:
        found = shutil.which(program, path=search) or ""
    if not found:
        what = f"the program {program!r} of the registered server {wanted.server!r} is not there"
        raise WorkspaceError(f"{what}; install it before the run")
    return (str(Path(found).absolute()), *rest)


def _environment(wanted: Registration, entry: dict[str, Any]) -> dict[str, str]:
    found = entry.get("env") or {}
    if not isinstance(found, dict) or not _are_texts([*found.values()]):
        raise WorkspaceError(
            f"the variables of the registered server {wanted.server!r} are no texts"
        )
    if refused := sorted(FORBIDDEN_NAMES & {*found}):
        what = f"the registered server {wanted.server!r} asks for {', '.join(refused)}"
        raise WorkspaceError(f"{what}, which no server is given; register it without")
    return found


def _are_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(each, str) for each in values)
