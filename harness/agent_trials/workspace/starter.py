"""Seals a starter: a folder of the study that becomes the writable tree of a task's attempts.

What holds:
    every regular file of it counts, by path, bytes and whether its owner may execute it
    dot names, links and special files are refused: a study's freeze would not see them
    a path part ``dot_x`` is ``.x`` in the tree, so that ``.gitignore`` can be given all the same
    the digest is that of the canonical JSON of ``[path, size, digest, executable]`` of each file
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent_trials import canonical
from agent_trials.errors import WorkspaceError
from agent_trials.records import SealedFile, SealedTree
from agent_trials.workspace import unified

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

DOT = "dot_"
DELETIONS = "_delete.txt"
PATCH = ".patch"
_LEFT_BEHIND = {"__pycache__", ".DS_Store"}
_EXECUTABLE = 0o100


def read(folder: Path) -> dict[str, tuple[bytes, bool]]:
    """Return the files of a starter as the tree has them: bytes and executability by path.

    Raises:
        WorkspaceError: there is none, or something in it cannot be in a tree.
    """
    found = dict(_files(folder, ""))
    if not found:
        raise WorkspaceError(f"{folder} holds no file; name the folder of a starter")
    return found


def overlaid(
    below: Mapping[str, tuple[bytes, bool]], folder: Path
) -> dict[str, tuple[bytes, bool]]:
    """Return the files with those of a folder over them, without what its ``_delete.txt`` names.

    Instead of a folder it may be a unified diff, a file whose name ends in ``.patch``.

    Raises:
        WorkspaceError: a file that is to be deleted is not there, the folder cannot be read, or the
            diff does not fit.
    """
    if folder.suffix == PATCH:
        return _patched(below, folder)
    found = {**below, **read(folder)}
    listed, _ = found.pop(DELETIONS, (b"", False))
    for name in listed.decode("utf-8").split():
        if found.pop(name, None) is None:
            raise WorkspaceError(f"{folder / DELETIONS} names {name}, which is not there")
    return found


def _patched(below: Mapping[str, tuple[bytes, bool]], diff: Path) -> dict[str, tuple[bytes, bool]]:
    try:
        text = diff.read_bytes()
    except OSError as error:
        raise WorkspaceError(f"{diff} cannot be read: {error.strerror}; name a diff") from error
    contents = {name: data for name, (data, _) in below.items()}
    patched = unified.applied(contents, text, diff.name)
    return {name: (data, name in below and below[name][1]) for name, data in patched.items()}


def write(files: Mapping[str, tuple[bytes, bool]], folder: Path) -> None:
    """Write files into an existing folder, with modes that do not depend on the umask.

    Raises:
        WorkspaceError: they cannot be written.
    """
    try:
        for name, (data, executable) in files.items():
            path = folder / name
            for parent in reversed(path.relative_to(folder).parents[:-1]):
                if not (folder / parent).exists():
                    (folder / parent).mkdir(mode=0o755)
                    (folder / parent).chmod(0o755)
            path.write_bytes(data)
            path.chmod(0o755 if executable else 0o644)
    except OSError as error:
        raise WorkspaceError(f"{folder} cannot be written: {error.strerror}; make room") from error


def seal(name: str, starter: Path, into: Path) -> SealedTree:
    """Write a starter's files into a new folder, the master of its trees.

    Args:
        name: the task's id.
        starter: the folder of the study.
        into: the master's folder; must not exist.

    Raises:
        WorkspaceError: the starter cannot be read or the master not written.
    """
    return seal_files(name, read(starter), into)


def seal_files(name: str, files: Mapping[str, tuple[bytes, bool]], into: Path) -> SealedTree:
    """Write files into a new folder, the master of the trees made of them.

    Raises:
        WorkspaceError: they cannot be written.
    """
    into.mkdir(mode=0o700, parents=True)
    write(files, into)
    sealed = tuple(
        SealedFile(path, len(data), canonical.digest(data))
        for path, (data, _) in sorted(files.items())
    )
    executable = tuple(sorted(path for path, (_, may_run) in files.items() if may_run))
    return SealedTree(name, into, digest_of(sealed, executable), sealed, executable)


def digest_of(files: tuple[SealedFile, ...], executable: tuple[str, ...]) -> str:
    """Return the digest of a list of files (see the module)."""
    return canonical.digest_of(
        [[file.path, file.size, file.digest, file.path in executable] for file in files]
    )


def _files(folder: Path, prefix: str) -> Iterator[tuple[str, tuple[bytes, bool]]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise WorkspaceError(f"{folder} cannot be read: {error.strerror}; name a folder") from error
    for entry in entries:
        if entry.name in _LEFT_BEHIND or entry.name.endswith(".pyc"):
            continue
        if entry.name.startswith("."):
            what = f"{entry.path} has a dot name, which no freeze covers"
            raise WorkspaceError(f"{what}; call it {DOT}{entry.name[1:]}")
        name = f".{entry.name[len(DOT) :]}" if entry.name.startswith(DOT) else entry.name
        if entry.is_symlink() or not (entry.is_dir() or entry.is_file()):
            raise WorkspaceError(f"{entry.path} is no regular file; remove it from the starter")
        if entry.is_dir():
            yield from _files(folder / entry.name, f"{prefix}{name}/")
        else:
            may_run = bool(entry.stat().st_mode & _EXECUTABLE)
            yield prefix + name, ((folder / entry.name).read_bytes(), may_run)
