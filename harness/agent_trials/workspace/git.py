"""Asks a checkout what it is, and makes one of a plain folder; every call is a hardened one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials.errors import WorkspaceError
from agent_trials.workspace.hardened import quiet_drivers, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SIGNATURE = b"pytest-agent-trials <corpus@example.invalid> 1767225600 +0000"
_MESSAGE = b"corpus\n"
_LEFT_BEHIND = {".DS_Store", "__pycache__"}


def changes(checkout: Path) -> tuple[str, ...]:
    """Return the paths that differ from HEAD or are untracked (ignored ones apart), sorted.

    Content counts, as it is on disk: no filter is applied, and beside the repository's own index a
    fresh one is asked, which holds no remembered times and no marks (assume-unchanged,
    skip-worktree) that keep git from looking. What differs inside a submodule that is checked out
    is named as well.
    """
    settings = quiet_drivers(checkout)
    found = _status(checkout, settings, index=None)
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        run(checkout, "read-tree", "HEAD", settings=settings, index=index)
        found |= _status(checkout, settings, index=index)
    for path in _submodules(checkout):
        found |= {f"{path}/{each}" for each in changes(checkout / path)}
    return tuple(sorted(found))


def _status(checkout: Path, settings: Mapping[str, str], *, index: Path | None) -> set[str]:
    rows = run(
        checkout,
        *("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"),
        "--ignore-submodules=dirty",
        settings=settings,
        index=index,
    )
    return {os.fsdecode(row[3:]) for row in rows.split(b"\0") if row}


def _submodules(checkout: Path) -> Iterator[str]:
    staged = run(checkout, "ls-files", "--stage", "-z")
    for row in staged.split(b"\0"):
        facts, _, path = row.partition(b"\t")
        name = os.fsdecode(path)
        if facts.startswith(b"160000 ") and (checkout / name / ".git").exists():
            yield name


def resolve(checkout: Path, revision: str) -> str:
    """Return the full id of the commit that a revision names.

    Raises:
        WorkspaceError: there is none.
    """
    wanted = f"{revision}^{{commit}}"
    return run(checkout, "rev-parse", "--verify", "--end-of-options", wanted).decode().strip()


def root_of(folder: Path) -> Path | None:
    """Return the checkout around a folder, None if there is none."""
    resolved = folder.resolve()
    return next((each for each in (resolved, *resolved.parents) if (each / ".git").exists()), None)


def head(folder: Path) -> str | None:
    """Return the commit of the checkout around a folder, None if there is no checkout or commit."""
    root = root_of(folder)
    if root is None:
        return None
    try:
        return resolve(root, "HEAD")
    except WorkspaceError:
        return None


def is_dirty(folder: Path) -> bool:
    """Tell whether the checkout around a folder differs from its commit.

    Raises:
        WorkspaceError: there is no checkout, or git cannot read it.
    """
    root = root_of(folder)
    if root is None:
        raise WorkspaceError(f"{folder} is in no git checkout; name a folder that is")
    return bool(changes(root))


def commit_folder(folder: Path, into: Path) -> str:
    """Commit a folder's files into a new checkout and return the commit's id.

    The commit depends on paths and bytes alone: author, committer, dates and message are fixed,
    every file has mode 100644 whatever it has on disk, no filter or line-end conversion is applied.
    ``.DS_Store``, ``__pycache__`` and ``*.pyc``, which machines leave behind, are not part of it.
    The checkout is clean, on a branch ``main``.

    Raises:
        WorkspaceError: the folder is empty or missing, or holds a symbolic link, something that is
            no regular file, or a ``.git``; or ``into`` exists and is not empty.
    """
    files = sorted(_files(folder, folder), key=os.fsencode)
    if not files:
        raise WorkspaceError(f"{folder} holds no file to commit; name the folder of a corpus")
    if into.exists() and any(into.iterdir()):
        raise WorkspaceError(f"{into} is not empty; name a new folder for the commit")
    contents = {file: (folder / file).read_bytes() for file in files}
    _lay_out(contents, into)
    run(into, "init", "--quiet", "--template=", "--initial-branch=main", "--object-format=sha1")
    run(into, "fast-import", "--quiet", given=b"".join(_stream(contents)))
    run(into, "reset", "--quiet", "--mixed", "HEAD")
    return resolve(into, "HEAD")


def _files(folder: Path, root: Path) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise WorkspaceError(f"{folder} cannot be read: {error.strerror}; name a folder") from error
    for entry in entries:
        path = Path(entry.path)
        if entry.name in _LEFT_BEHIND or entry.name.endswith(".pyc"):
            continue
        if entry.name.casefold() == ".git" or entry.is_symlink():
            what = "a symbolic link" if entry.is_symlink() else "a repository of its own"
            raise WorkspaceError(
                f"{path} is {what}, which a committed folder must not hold; remove it"
            )
        if entry.is_dir():
            yield from _files(path, root)
        elif entry.is_file():
            yield str(path.relative_to(root))
        else:
            raise WorkspaceError(f"{path} is no regular file; remove it from the folder")


def _lay_out(contents: Mapping[str, bytes], into: Path) -> None:
    """Write the files with modes that do not depend on the umask."""
    into.mkdir(parents=True, exist_ok=True)
    for name, data in contents.items():
        file = into / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(0o644)
    for made in (into, *(path for path in into.rglob("*") if path.is_dir())):
        made.chmod(0o755)


def _stream(contents: Mapping[str, bytes]) -> Iterator[bytes]:
    """Yield the commit as ``git fast-import`` reads it."""
    yield b"commit refs/heads/main\n"
    for role in (b"author", b"committer"):
        yield b"%s %s\n" % (role, _SIGNATURE)
    yield b"data %d\n%s\n" % (len(_MESSAGE), _MESSAGE)
    for name, data in contents.items():
        path = (
            os.fsencode(name).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
        )
        yield b'M 100644 inline "%s"\ndata %d\n%s\n' % (path, len(data), data)
