"""Puts a second file beside a read-only one: by sharing its blocks, its inode, or by copying."""

from __future__ import annotations

import ctypes
import fcntl
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

READ_ONLY_FILE = 0o444
MODIFIED_AT = 946_684_800
"""Every file's modification time (2000-01-01): tools list files by it, so it must not differ."""

_FICLONE = 0x40049409
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def duplicate(pairs: Iterable[tuple[str, str]], *, may_link: bool) -> None:
    """Make each second file from the first one, in the cheapest way that the file system has.

    Args:
        pairs: a read-only file and the path of its duplicate, which must not exist.
        may_link: whether both may be one file, so that a write to one is a write to the other.

    Raises:
        OSError: not even copying works.
    """
    ways = [share_blocks, *([share_inode] if may_link else []), copy]
    for source, target in pairs:
        while True:
            try:
                ways[0](source, target)
                break
            except OSError:
                if ways == [copy]:
                    raise
                ways.pop(0)


def share_blocks(source: str, target: str) -> None:
    """Make a copy that shares its blocks until one of the two is written to.

    Raises:
        OSError: the file system cannot do it; nothing was made.
    """
    if sys.platform == "darwin":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.clonefile(os.fsencode(source), os.fsencode(target), 0) != 0:
            raise OSError(ctypes.get_errno(), "clonefile")
        return
    with open(source, "rb") as origin:  # noqa: PTH123 - thousands of files, and no path objects
        made = os.open(target, _CREATE, 0o600)
        try:
            fcntl.ioctl(made, _FICLONE, origin.fileno())
            _finish(made)
        except OSError:
            os.unlink(target)  # noqa: PTH108 - as above
            raise
        finally:
            os.close(made)


def share_inode(source: str, target: str) -> None:
    """Make a second name of the same file."""
    os.link(source, target, follow_symlinks=False)


def copy(source: str, target: str) -> None:
    """Make a copy of the bytes."""
    with open(source, "rb", buffering=0) as origin:  # noqa: PTH123 - as above
        write(target, origin.readall())


def write(target: str, data: bytes) -> None:
    """Write a new read-only file; its mode does not depend on the umask."""
    made = os.open(target, _CREATE, 0o600)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(made, rest) :]
        _finish(made)
    finally:
        os.close(made)


def _finish(made: int) -> None:
    os.utime(made, (MODIFIED_AT, MODIFIED_AT))
    os.fchmod(made, READ_ONLY_FILE)
