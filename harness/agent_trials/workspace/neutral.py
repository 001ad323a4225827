"""Where a writable workspace may lie: nothing above it speaks to the agent, or says what it is for.

Rules:
    outside the operator's home, whose private memory an agent would read
    no folder above it holds a memory file of an agent, or is a git checkout
    its own name is drawn at random, as long in every arm, and names neither product nor task
"""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY_FILES = (
    "CLAUDE.md", "CLAUDE.local.md", ".claude", ".mcp.json", "AGENTS.md", "AGENTS.override.md",
    ".agents", ".codex", "GEMINI.md", ".gemini", ".cursor", ".cursorrules", ".windsurfrules",
    ".clinerules", ".github/copilot-instructions.md",
)  # fmt: skip
"""What agents read in a folder and in those above it, as memory, rules or settings."""

_REMEDY = "set TMPDIR to a folder outside of it"


def place(parent: Path | None = None, *, home: Path | None = None) -> Path:
    """Return the folder in which workspaces are made: the system's temporary one by default.

    Args:
        parent: another folder.
        home: the operator's home; None where there is none.

    Raises:
        WorkspaceError: something above it would reach the agent; all of it is named.
    """
    found = (parent or Path(tempfile.gettempdir())).resolve()
    if problems := [*_problems(found, home)]:
        raise WorkspaceError("; ".join(problems))
    return found


def new(parent: Path, kind: str = "workspace") -> Path:
    """Make a folder with a random name of the same length every time, for this user alone."""
    folder = parent / f"{kind}-{secrets.token_hex(8)}"
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise WorkspaceError(
            f"{folder} cannot be made: {error.strerror}; make room, or set TMPDIR to another folder"
        ) from error
    return folder


def _problems(place: Path, home: Path | None) -> Iterator[str]:
    if home is not None and place.is_relative_to(home.resolve()):
        yield f"the folder for workspaces, {place}, lies in the home {home}; {_REMEDY}"
    for folder in (place, *place.parents):
        if (folder / ".git").exists():
            yield f"the folder for workspaces, {place}, lies in the checkout {folder}; {_REMEDY}"
        for name in MEMORY_FILES:
            if (folder / name).exists():
                yield (
                    f"an agent in {place} would read {folder / name}; remove that, or set TMPDIR"
                    f" to a folder that does not lie in {folder}"
                )
