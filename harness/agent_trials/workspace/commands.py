"""Runs the set-up commands of a workspace, one after another, before any agent is there.

Each is an argument array without a shell, started in the workspace, with PATH and a HOME and TMPDIR
of the attempt's own. What it prints is kept; one that fails ends the set-up.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials import process
from agent_trials.errors import AgentError, WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_trials.records import Surroundings

_OUTPUT_BYTES = 256 * 1024
_SHOWN = 400
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")


@dataclass(frozen=True)
class Done:
    """One command that ended well, and what it printed."""

    argv: tuple[str, ...]
    exit_code: int | None
    wall_time_ms: int
    output: str


def resolved(command: Iterable[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """Return a command with ``{python}`` and parameters filled in, its program by absolute path.

    Raises:
        WorkspaceError: the program is not there.
    """
    known = {**values, "python": sys.executable}
    program, *rest = (
        _PLACEHOLDER.sub(lambda found: known.get(found[1], found[0]), word) for word in command
    )
    path = shutil.which(program)
    if path is None:
        raise WorkspaceError(f"the program {program!r} is not there; install it, or name its path")
    return (str(Path(path).absolute()), *rest)


def environment(
    surroundings: Surroundings, further: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return all that a set-up command gets."""
    path = os.pathsep.join([str(surroundings.programs), os.environ.get("PATH", os.defpath)])
    return {
        "PATH": path,
        "HOME": str(surroundings.home),
        "TMPDIR": str(surroundings.temporary),
        "LC_ALL": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        **(further or {}),
    }


def run(
    commands: Iterable[tuple[str, ...]],
    folder: Path,
    found: Mapping[str, str],
    *,
    seconds: float,
) -> tuple[Done, ...]:
    """Run the commands in a folder, all of them within so many seconds.

    Raises:
        WorkspaceError: one cannot be started, fails, or is not done in time.
    """
    deadline = time.monotonic() + seconds
    return tuple(_run(argv, folder, found, deadline) for argv in commands)


def _run(argv: tuple[str, ...], folder: Path, found: Mapping[str, str], deadline: float) -> Done:
    left = max(0.1, deadline - time.monotonic())
    limits = process.Limits(left, stdout_bytes=_OUTPUT_BYTES, stderr_bytes=_OUTPUT_BYTES)
    try:
        ended = process.run(process.Command(argv, folder, found), process.Silent(), limits)
    except AgentError as error:
        raise WorkspaceError(f"the set-up command {argv[0]} cannot be run: {error}") from error
    said = (ended.stdout + ended.stderr).decode("utf-8", "backslashreplace")
    if ended.exit_code != 0 or ended.timed_out:
        how = "took too long" if ended.timed_out else f"ended with {ended.exit_code}"
        raise WorkspaceError(f"the set-up command {' '.join(argv)} {how}: {said[-_SHOWN:].strip()}")
    return Done(argv, ended.exit_code, ended.wall_time_ms, said)
