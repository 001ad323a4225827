"""Reads and packs the states of a writable tree: at its end, and at every stop of the agent.

A state is the regular files that git sees. Its digest is that of the canonical JSON of ``[path,
digest]`` of each file in order. A packed state is a tar of nothing but those files: no owner, no
time, so that equal states are equal bytes.
"""

from __future__ import annotations

import io
import json
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials import canonical
from agent_trials.errors import WorkspaceError
from agent_trials.workspace import stop_hook
from agent_trials.workspace.removal import remove

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_FILES = "files"


@dataclass(frozen=True)
class State:
    """Files by path, with bytes and whether they may be executed; ``facts`` are the hook's."""

    files: Mapping[str, tuple[bytes, bool]]
    facts: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """Return the digest of paths and bytes."""
        return canonical.digest_of(
            [[name, canonical.digest(data)] for name, (data, _) in sorted(self.files.items())]
        )


def of_tree(folder: Path) -> State:
    """Return the state of a tree as git sees it now.

    Raises:
        WorkspaceError: it cannot be read.
    """
    return State(_read(folder, stop_hook.visible(folder)), {})


def take(folder: Path) -> tuple[State, ...]:
    """Return the states that the Stop hook wrote, in their order, and remove them.

    Raises:
        WorkspaceError: they cannot be read or removed.
    """
    whole = sorted(each for each in folder.iterdir() if each.is_dir() and not each.suffix)
    states = tuple(_state(each) for each in whole)
    for each in folder.iterdir():
        remove(each) if each.is_dir() else each.unlink()
    return states


def pack(states: Iterable[tuple[str, State]]) -> bytes:
    """Return a tar of states, each below a folder of its own (none for an empty name)."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder, state in states:
            for name, (data, executable) in sorted(state.files.items()):
                entry = tarfile.TarInfo(f"{folder}/{name}" if folder else name)
                entry.size, entry.mode = len(data), 0o755 if executable else 0o644
                archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def unpack(packed: bytes, into: Path) -> None:
    """Write a packed state, or several, below a folder that exists.

    Raises:
        WorkspaceError: it is no such tar, or cannot be written.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:") as archive:
            archive.extractall(into, filter="data")
    except (OSError, tarfile.TarError) as error:
        raise WorkspaceError(f"a packed tree cannot be written to {into}: {error}") from error


def _state(folder: Path) -> State:
    top = folder / _FILES
    names = sorted(str(path.relative_to(top)) for path in top.rglob("*") if path.is_file())
    try:
        facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        facts = {}
    return State(_read(top, names), facts if isinstance(facts, dict) else {})


def _read(top: Path, names: Iterable[str]) -> dict[str, tuple[bytes, bool]]:
    found, left = {}, stop_hook.MOST_BYTES
    try:
        for name in names:
            path = top / name
            if path.is_symlink() or not path.is_file():
                continue
            data = path.read_bytes()
            left -= len(data)
            if left < 0:
                break
            found[name] = (data, bool(path.stat().st_mode & 0o100))
    except OSError as error:
        raise WorkspaceError(f"{top} cannot be read: {error.strerror}") from error
    return found
