"""Seals the public files of a pin once, and lays out a fresh read-only copy for each attempt.

What holds:
    sealed   exactly the blobs of the pin that pass the study's filter, from git's objects
    digest   of the canonical JSON of ``[path, size, digest]`` of each file, in the order of the
             paths' bytes, the inner digest being that of the file's bytes; both are SHA-256
    export   under a path that names neither arm, task, study nor product and has the same length
             every time, outside any checkout; files 0444, folders 0555, one modification time for
             all, no .git; its bytes compared with the sealed digests before it is handed out
    after    a read-only arm's export and the sealed master it was made from are compared again
             (the modes do not bind root); then the export is removed, whatever was done to it
"""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials import canonical
from agent_trials.errors import WorkspaceError
from agent_trials.records import SealedCorpus, SealedFile
from agent_trials.study.corpus import refusal
from agent_trials.workspace import blobs
from agent_trials.workspace.duplicates import duplicate, write
from agent_trials.workspace.removal import remove

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_trials.study.settings import CorpusFilter

READ_ONLY_FOLDER = 0o555
_NEUTRAL_PREFIX = "workspace-"
_NAMED_AT_MOST = 5


def seal(
    repository: str, checkout: Path, *, pin: str, rules: CorpusFilter, into: Path
) -> SealedCorpus:
    """Write the files of a pin that pass the filter into a new folder, the read-only master.

    Args:
        repository: the study's name of it.
        checkout: a checkout whose objects hold the pin; its working tree is not read.
        pin: the full id of the commit.
        rules: the study's filter.
        into: the master's folder; must not exist.

    Raises:
        WorkspaceError: the pin cannot be read, no file passes, or the master cannot be written.
    """
    chosen = sorted(passing(blobs.tree(checkout, pin), rules), key=lambda e: os.fsencode(e.path))
    if not chosen:
        raise WorkspaceError(
            f"no file of {repository} at {pin} passes the corpus filter; widen [workspace.filter]"
        )
    _make_folder(into)
    try:
        files = tuple(_seal_files(into, chosen, blobs.read(checkout, chosen)))
        _make_read_only(into, files)
    except BaseException:
        remove(into)
        raise
    return SealedCorpus(repository, pin, into, list_digest(files), files)


def passing(entries: Iterable[blobs.TreeEntry], rules: CorpusFilter) -> list[blobs.TreeEntry]:
    """Return the blobs among the entries that the filter lets through."""
    return [
        entry
        for entry in entries
        if entry.size is not None
        and refusal(entry.path, mode=entry.mode, size=entry.size, rules=rules) is None
    ]


def list_digest(files: Iterable[SealedFile]) -> str:
    """Return the digest of a list of files and of the bytes in them (see the module)."""
    return canonical.digest_of([[file.path, file.size, file.digest] for file in files])


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise WorkspaceError(
            f"{folder} cannot be made: {error.strerror}; name a new folder in a writable one"
        ) from error


def _seal_files(
    master: Path, entries: Iterable[blobs.TreeEntry], contents: Iterator[bytes]
) -> Iterator[SealedFile]:
    """Write each file as its bytes come, and yield what was written."""
    made = {""}
    for entry, data in zip(entries, contents, strict=True):
        folder = entry.path.rpartition("/")[0]
        try:
            if folder not in made:
                (master / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
                made.add(folder)
            write(f"{master}/{entry.path}", data)
        except FileExistsError as error:
            raise WorkspaceError(
                f"{entry.path} has the name of another file but for its case, and the file system"
                f" of {master} does not tell them apart; use one that does"
            ) from error
        except OSError as error:
            raise WorkspaceError(
                f"{entry.path} cannot be written to {master}: {error.strerror}; make room"
            ) from error
        yield SealedFile(entry.path, len(data), canonical.digest(data))


def _folders(files: Iterable[SealedFile]) -> list[str]:
    """Return every folder that holds a file, directly or not, parents first, without the top."""
    found: set[str] = set()
    for file in files:
        folder = file.path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return sorted(found)


def _make_read_only(top: Path, files: Iterable[SealedFile]) -> None:
    for folder in _folders(files):
        (top / folder).chmod(READ_ONLY_FOLDER)
    top.chmod(READ_ONLY_FOLDER)


def open_up(top: Path, files: Iterable[SealedFile]) -> None:
    """Let the attempt write in its export, for a study in which every arm may."""
    found = tuple(files)
    for folder in (top, *(top / name for name in _folders(found))):
        folder.chmod(0o700)
    for each in found:
        path = top / each.path
        path.chmod(path.stat().st_mode | 0o200)


@contextmanager
def export(
    corpus: SealedCorpus, *, writable_arm: bool, parent: Path | None = None
) -> Iterator[Path]:
    """Lay out a fresh read-only copy of a sealed corpus and remove it afterwards.

    Files are hard links of the master's where the file system cannot share blocks and the arm has
    neither a write nor a shell tool.

    Args:
        corpus: what was sealed.
        writable_arm: whether the arm has a tool that may write.
        parent: the folder to make it in, outside any checkout; the system's temporary folder
            otherwise.

    Raises:
        WorkspaceError: it cannot be written, is not what was sealed, was changed by an attempt of a
            read-only arm, or cannot be removed. After the body, only where the body raised nothing.
    """
    folder = _neutral_place(parent) / f"{_NEUTRAL_PREFIX}{secrets.token_hex(8)}"
    _make_folder(folder)
    try:
        _lay_out(corpus, folder, may_link=not writable_arm)
        verify(corpus, folder)
        yield folder
        if not writable_arm:
            verify(corpus, folder)
            verify(corpus, corpus.folder, seen=folder)
    except BaseException as error:
        _remove_in_passing(folder, error)
        raise
    remove(folder)


def _neutral_place(parent: Path | None) -> Path:
    place = (parent or Path(tempfile.gettempdir())).resolve()
    for folder in (place, *place.parents):
        if (folder / ".git").exists():
            raise WorkspaceError(
                f"the folder for exports, {place}, lies in the git checkout {folder}, which an"
                " agent would find; set TMPDIR to a folder outside any checkout"
            )
    return place


def _lay_out(corpus: SealedCorpus, folder: Path, *, may_link: bool) -> None:
    try:
        for name in _folders(corpus.files):
            (folder / name).mkdir(mode=0o700)
        pairs = ((f"{corpus.folder}/{each.path}", f"{folder}/{each.path}") for each in corpus.files)
        duplicate(pairs, may_link=may_link)
        _make_read_only(folder, corpus.files)
    except OSError as error:
        raise WorkspaceError(
            f"the export of {corpus.repository} cannot be written to {folder}: {error.strerror};"
            " make room, or set TMPDIR to another folder"
        ) from error


def _remove_in_passing(folder: Path, error: BaseException) -> None:
    """Remove the folder without hiding the error that is on its way."""
    try:
        remove(folder)
    except WorkspaceError as leftover:
        error.add_note(str(leftover))


def verify(corpus: SealedCorpus, folder: Path, *, seen: Path | None = None) -> None:
    """Compare a folder with what was sealed; further files in it do not count.

    A file that is one with that of a folder already ``seen`` to be as sealed is not read again.

    Raises:
        WorkspaceError: a file is missing or its bytes are others.
    """
    if changed := differences(corpus, folder, seen=seen):
        names = ", ".join(changed[:_NAMED_AT_MOST])
        more = f" and {len(changed) - _NAMED_AT_MOST} more" if len(changed) > _NAMED_AT_MOST else ""
        which = "sealed files" if folder == corpus.folder else "export"
        raise WorkspaceError(
            f"the {which} of {corpus.repository} changed: {names}{more}; start a new run, in which"
            " nothing but the agent has access to them"
        )


def differences(corpus: SealedCorpus, folder: Path, *, seen: Path | None = None) -> tuple[str, ...]:
    """Return the paths whose bytes in the folder are not the sealed ones, or that are missing."""
    return tuple(
        file.path
        for file in corpus.files
        if not (seen and _are_one(f"{folder}/{file.path}", f"{seen}/{file.path}"))
        and not _is_as_sealed(folder, file)
    )


def _are_one(path: str, other: str) -> bool:
    """Return whether two paths name one file, links not followed."""
    try:
        return os.path.samestat(os.lstat(path), os.lstat(other))
    except OSError:
        return False


def _is_as_sealed(folder: Path, file: SealedFile) -> bool:
    try:
        opened = os.open(f"{folder}/{file.path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    with open(opened, "rb", buffering=0) as stream:  # noqa: PTH123 - a descriptor, no path
        data = stream.read(file.size + 1)
    return is_sealed(file, data)


def is_sealed(file: SealedFile, data: bytes) -> bool:
    """Return whether the bytes are the sealed ones."""
    return len(data) == file.size and canonical.digest(data) == file.digest
