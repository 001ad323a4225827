"""Reads files at a pin from git's objects, never from the working tree."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from agent_trials.errors import WorkspaceError
from agent_trials.workspace import hardened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_BUFFER = 1 << 20


@dataclass(frozen=True)
class TreeEntry:
    """One entry of a commit's tree, with its path from the root and forward slashes.

    ``size`` is None for what is no blob (a submodule).
    """

    path: str
    mode: str
    id: str
    size: int | None


def tree(checkout: Path, pin: str) -> tuple[TreeEntry, ...]:
    """Return all entries of a commit's tree, in git's order.

    Raises:
        WorkspaceError: the commit or one of its objects is not in the repository.
    """
    wanted = f"{pin}^{{commit}}"
    try:
        rows = hardened.run(checkout, "ls-tree", "-r", "-z", "-l", "--full-tree", wanted)
        return tuple(_entry(row) for row in rows.split(b"\0") if row)
    except WorkspaceError as error:
        way_out = f"fetch it whole (git fetch origin {pin}, not a partial clone)"
        raise WorkspaceError(f"{error}; {way_out}") from error


def _entry(row: bytes) -> TreeEntry:
    facts, _, name = row.partition(b"\t")
    path = os.fsdecode(name)
    mode, _, identity, size = facts.decode("ascii").split()
    if size == "BAD":  # git's word for an object that is not there
        raise WorkspaceError(f"the content of {path} is not in the repository")
    return TreeEntry(path, mode, identity, None if size == "-" else int(size))


def read(checkout: Path, entries: Sequence[TreeEntry]) -> Iterator[bytes]:
    """Yield each blob's bytes, in order, through one ``git cat-file --batch``.

    The bytes are hashed and compared with the object's id, which git itself does not do.

    Raises:
        WorkspaceError: an object is missing, is no blob, or is not what its id says.
    """
    # A file, not a pipe: git may then read the ids as it likes while its output is being read.
    with tempfile.TemporaryFile() as ids:
        ids.write(b"".join(entry.id.encode("ascii") + b"\n" for entry in entries))
        ids.seek(0)
        with subprocess.Popen(
            (*hardened.command(checkout, {}), "cat-file", "--batch", "--buffer"),
            cwd=checkout,
            env=hardened.environment(),
            stdin=ids,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=_BUFFER,
            start_new_session=True,
        ) as process:
            watch = threading.Timer(hardened.GIT_SECONDS, process.kill)
            watch.daemon = True
            watch.start()
            try:
                if process.stdout is not None:
                    yield from (_blob(process.stdout, entry, checkout) for entry in entries)
            finally:
                watch.cancel()
                process.kill()


def _blob(stream: IO[bytes], entry: TreeEntry, checkout: Path) -> bytes:
    header = stream.readline().split()
    if header[:2] != [entry.id.encode("ascii"), b"blob"]:
        raise WorkspaceError(
            f"{entry.path} cannot be read from the objects of {checkout}: they are incomplete;"
            " fetch the commit whole"
        )
    data = stream.read(int(header[2]))
    stream.read(1)
    content = hashlib.sha1(b"blob %d\0%s" % (len(data), data), usedforsecurity=False)
    if content.hexdigest() != entry.id:
        raise WorkspaceError(
            f"{entry.path} in {checkout} is not what its object id says: the repository is damaged;"
            " clone it again"
        )
    return data
