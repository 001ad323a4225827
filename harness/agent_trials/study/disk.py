"""Writes the small files beside a study so that a crash leaves the old or the new, never a half."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder against other commands that change its lock, protocol or ledger records."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def replace(path: Path, content: bytes) -> None:
    """Put a whole file in place at once; it is on disk when this returns.

    Raises:
        OSError: it could not be written; the old file is untouched and no other one is left.
    """
    # A dot name does not count as a file of the study, should a crash leave it behind.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        _write_new(beside, content)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def append_line(path: Path, line: bytes) -> None:
    """Add one line, ended by a newline, after the last whole line; on disk when this returns.

    What an earlier crash left after the last newline was never a line and is cut off.

    Raises:
        OSError: it could not be written; the file ends with its last line, as before.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        end = path.read_bytes().rfind(b"\n") + 1
        os.ftruncate(handle, end)
        try:
            _write_whole(handle, line + b"\n", end)
        except OSError:
            os.ftruncate(handle, end)
            raise
    finally:
        os.close(handle)
    _sync_folder(path.parent)


def _write_whole(handle: int, data: bytes, offset: int) -> None:
    if os.pwrite(handle, data, offset) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(handle)


def _write_new(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
