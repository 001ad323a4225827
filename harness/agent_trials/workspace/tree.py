"""Lays out a writable tree for an attempt from a sealed starter, and removes it afterwards.

In order:
    place     two folders with random names, outside home and below no memory file (``neutral``):
              the tree itself, and what lies around it (HOME, TMPDIR, programs, snapshots)
    starter   copied from the sealed master, its bytes compared
    git       initialised, no remote, an identity in its own configuration
    set-up    the study's commands, the same for every arm
    hook      the harness's Stop hook, added to the project's settings where the study says so
    commit    everything as one commit with a fixed author and date
    equal     the digest of the files that must be the same whenever the tree is laid out
"""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials import canonical
from agent_trials.errors import UnequalError, WorkspaceError
from agent_trials.records import Kept, Surroundings
from agent_trials.workspace import commands, hardened, neutral, snapshots, starter, stop_hook
from agent_trials.workspace.export import is_sealed
from agent_trials.workspace.removal import remove

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agent_trials.records import SealedTree
    from agent_trials.workspace.commands import Done
    from agent_trials.workspace.snapshots import State

SETTINGS = ".claude/settings.json"
HOOK = "workspace-snapshot"
HOOK_SECONDS = 120
_AUTHOR = {"user.name": "dev", "user.email": "dev@example.invalid"}
_DATE = "2026-01-01T00:00:00Z"
_MESSAGE = "initial"


@dataclass
class Tree:
    """A writable tree of one attempt.

    ``setup`` are the commands that made it; ``equal_digest`` that of the files that must be the
    same in every arm, before the agent came. ``stays`` keeps it for another turn.
    """

    folder: Path
    surroundings: Surroundings
    setup: tuple[Done, ...] = ()
    equal_digest: str | None = None
    stays: bool = field(default=False)

    def states(self) -> tuple[State, tuple[State, ...]]:
        """Return the tree as git sees it now, and as it was at each stop since the last call."""
        return snapshots.of_tree(self.folder), snapshots.take(self.surroundings.snapshots)

    @property
    def kept(self) -> Kept:
        """Return what another turn, or whoever removes it, needs."""
        return Kept(self.folder, self.surroundings)


@contextmanager
def tree(
    sealed: SealedTree,
    *,
    home: Path | None,
    programs: Mapping[str, str],
    parent: Path | None = None,
) -> Iterator[Tree]:
    """Lay out a fresh tree, and remove it afterwards unless it ``stays``.

    Args:
        sealed: the starter.
        home: the operator's home, in which it must not lie.
        programs: executables to be found first on PATH, by name.
        parent: the folder to make it in; the system's temporary one by default.

    Raises:
        WorkspaceError: it cannot be laid out, or is not the one that the preflight laid out.
    """
    place = neutral.place(parent, home=home)
    made = Tree(neutral.new(place), surroundings(neutral.new(place, "surround")))
    try:
        programs_first(made.surroundings, programs)
        _lay_out(sealed, made)
        yield made
    except BaseException as error:
        remove_in_passing(made.kept, error)
        raise
    if not made.stays:
        release(made.kept)


@contextmanager
def again(kept: Kept) -> Iterator[Tree]:
    """Go back to a tree that stayed; it is removed afterwards unless it stays once more.

    Raises:
        WorkspaceError: it is gone.
    """
    found = Tree(kept.workspace, kept.surroundings)
    if not found.folder.is_dir():
        raise WorkspaceError(f"the kept workspace {found.folder} is gone; the turn cannot be taken")
    try:
        yield found
    except BaseException as error:
        remove_in_passing(kept, error)
        raise
    if not found.stays:
        release(kept)


def release(kept: Kept) -> None:
    """Remove a kept workspace with what lies around it.

    Raises:
        WorkspaceError: something in it cannot be removed.
    """
    for folder in (kept.workspace, kept.surroundings.home.parent):
        if folder.exists():
            remove(folder)


def equal_digest(folder: Path, names: Iterable[str]) -> str:
    """Return the digest of the canonical JSON of ``[path, digest or null]`` of each file."""
    return canonical.digest_of([[name, _digest(folder / name)] for name in names])


def compared(sealed: SealedTree) -> tuple[str, ...]:
    """Return the files that must be equal: those that are named, and the settings with a hook."""
    own = (SETTINGS,) if sealed.stop_snapshots else ()
    return tuple(dict.fromkeys((*sealed.equal, *own)))


def _digest(path: Path) -> str | None:
    return canonical.digest(path.read_bytes()) if path.is_file() else None


def surroundings(around: Path) -> Surroundings:
    """Make the empty folders that lie around a writable workspace."""
    found = Surroundings(
        home=around / "home",
        config=around / "config",
        temporary=around / "tmp",
        programs=around / "bin",
        snapshots=around / "snapshots",
    )
    for folder in (
        found.home, found.config, found.temporary, found.programs, found.snapshots,
    ):  # fmt: skip
        folder.mkdir(mode=0o700)
    return found


def programs_first(around: Surroundings, programs: Mapping[str, str]) -> None:
    """Write the executables that come first on PATH: each one starts what it stands for."""
    hook = around.programs.parent / "snapshot.py"
    hook.write_bytes(Path(stop_hook.__file__).read_bytes())
    started = {name: shlex.quote(path) for name, path in programs.items()}
    started[HOOK] = f"{shlex.quote(sys.executable)} -I {shlex.quote(str(hook))}"
    for name, command in started.items():
        path = around.programs / name
        path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        path.chmod(0o755)


def _lay_out(sealed: SealedTree, made: Tree) -> None:
    files = {
        each.path: ((sealed.folder / each.path).read_bytes(), each.path in sealed.executable)
        for each in sealed.files
    }
    for each in sealed.files:
        if not is_sealed(each, files[each.path][0]):
            raise WorkspaceError(
                f"the sealed starter of {sealed.name} changed: {each.path}; start a new run"
            )
    starter.write(files, made.folder)
    _git(made.folder, "init", "--quiet", "--template=", "--initial-branch=main")
    for name, value in _AUTHOR.items():
        _git(made.folder, "config", name, value)
    found = commands.environment(made.surroundings)
    made.setup = commands.run(sealed.setup, made.folder, found, seconds=sealed.setup_seconds)
    if sealed.stop_snapshots:
        _add_hook(made.folder / SETTINGS)
    _git(made.folder, "add", "--all")
    dates = {"GIT_AUTHOR_DATE": _DATE, "GIT_COMMITTER_DATE": _DATE}
    _git(made.folder, "commit", "--quiet", "--allow-empty", "-m", _MESSAGE, further=dates)
    made.equal_digest = equal_digest(made.folder, compared(sealed))
    if sealed.equal_digest not in {None, made.equal_digest}:
        names = ", ".join(compared(sealed))
        raise UnequalError(
            f"the set-up of {sealed.name} made other files than the preflight's did: {names}; make"
            " the set-up the same every time"
        )


def _git(folder: Path, *arguments: str, further: Mapping[str, str] | None = None) -> None:
    hardened.run(folder, *arguments, further=further)


def _add_hook(path: Path) -> None:
    """Add the Stop hook to a project's settings, behind what stands there.

    Raises:
        WorkspaceError: the settings are no JSON object, or their hooks have another shape.
    """
    try:
        settings: Any = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        entry = {"type": "command", "command": HOOK, "timeout": HOOK_SECONDS}
        settings.setdefault("hooks", {}).setdefault("Stop", []).append({"hooks": [entry]})
    except (ValueError, AttributeError, TypeError) as error:
        raise WorkspaceError(f"the project's {SETTINGS} cannot take a hook: {error}") from error
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def remove_in_passing(kept: Kept, error: BaseException) -> None:
    """Remove it without hiding the error that is on its way."""
    try:
        release(kept)
    except WorkspaceError as leftover:
        error.add_note(str(leftover))
