"""The one configuration folder in which the operator logged in for a study, used by every arm.

Rules:
    it is a folder made for this: neither the operator's home nor their own configuration folder
    it holds no memory, settings, hooks, agents, commands, skills or plugins of a user
    what stands in it otherwise is known to be a run's remains; anything else is named and refused
    before each attempt everything beside the login is removed; the login is never copied
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agent_trials.errors import AgentError, Problem, WorkspaceError
from agent_trials.workspace.removal import remove

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

OPTION = "--config-dir"
STATE = ".claude.json"
LOGIN = (".credentials.json", STATE)
"""What a login leaves: the credential, and a state file that tells whose it is."""
SPEAKS = (
    "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "settings.json", "settings.local.json", "rules",
    "agents", "commands", "skills", "plugins", "hooks", "output-styles", "memory",
    "keybindings.json",
)  # fmt: skip
"""What would reach every agent that uses the folder."""
REMAINS = (
    "backups", "cache", "debug", "downloads", "file-history", "history.jsonl", "ide", "logs",
    "paste-cache", "plans", "projects", "session-env", "sessions", "shell-snapshots", "statsig",
    "stats-cache.json", "tasks", "teams", "telemetry", "todos", "usage-data",
)  # fmt: skip
"""What a run of Claude Code is known to leave."""
_PER_RUN = ("projects", "history", "mcpServers", "tipsHistory", "skillUsage", "toolUsage")
"""Keys of the state file that runs fill."""


def problems(folder: Path, environ: Mapping[str, str]) -> list[Problem]:
    """Return why the folder cannot serve; it is not changed."""
    where = f"{OPTION} {folder}"
    if not folder.is_dir():
        return [
            Problem(where, "it is no folder", f"CLAUDE_CONFIG_DIR={folder} claude, then /login")
        ]
    found = [*_not_own(where, folder, environ)]
    for entry in sorted(folder.iterdir()):
        name = entry.name
        if name in SPEAKS:
            what = f"it holds {name}, which would reach every agent of the study"
            found.append(Problem(where, what, "name a folder that holds a login and nothing else"))
        elif name not in LOGIN and not _remains(name):
            what = f"it holds {name}, which is no login and nothing that runs leave"
            found.append(Problem(where, what, "name a folder made for this, or remove it yourself"))
    return found


def clean(folder: Path) -> None:
    """Remove everything beside the login, whatever an earlier run left.

    Raises:
        AgentError: something cannot be removed.
    """
    try:
        for entry in folder.iterdir():
            if entry.name in LOGIN:
                continue
            if entry.is_dir() and not entry.is_symlink():
                remove(entry)
            else:
                entry.unlink()
        _forget(folder / STATE)
    except (OSError, WorkspaceError) as error:
        raise AgentError(f"{folder} cannot be cleaned for the next attempt: {error}") from error


def _not_own(where: str, folder: Path, environ: Mapping[str, str]) -> Iterator[Problem]:
    home = environ.get("HOME")
    own = [environ.get("CLAUDE_CONFIG_DIR"), home, f"{home}/.claude" if home else None]
    if any(each and folder.resolve() == type(folder)(each).resolve() for each in own):
        what = "it is your own, and what is beside the login in it would be removed"
        yield Problem(where, what, "make a new folder and log in there")


def _remains(name: str) -> bool:
    return name in REMAINS or name.startswith((f"{STATE}.backup", f"{STATE}.tmp", f"{STATE}.lock"))


def _forget(path: Path) -> None:
    """Take out of the state file what runs put there; whose login it is stays."""
    if not path.is_file():
        return
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise AgentError(f"{path} is no JSON: {error}; log in again") from error
    kept = {key: value for key, value in state.items() if key not in _PER_RUN}
    if kept != state:
        path.write_text(json.dumps(kept, indent=2), encoding="utf-8")
