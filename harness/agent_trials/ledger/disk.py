"""The few calls that make bytes last, behind one seam; a test gives a disk that stops half-way."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# O_NOFOLLOW: the last part of the path is ours and is never a link that somebody else put there.
_OURS = os.O_CLOEXEC | os.O_NOFOLLOW


class Disk:
    """The real disk. Files are made exclusively with mode 0600, folders with 0700."""

    def create(self, path: Path) -> int:
        """Make a file that does not exist yet; return its descriptor for reading and writing."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _OURS, 0o600)

    def create_folder(self, path: Path) -> None:
        """Make a folder that does not exist yet."""
        path.mkdir(mode=0o700)

    def write(self, descriptor: int, data: bytes, offset: int) -> int:
        """Write some of the bytes at the offset; return how many."""
        return os.pwrite(descriptor, data, offset)

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut the file off at the size."""
        os.ftruncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        """Return when the bytes of a file, or the names in a folder, would survive a power cut."""
        if hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync alone leaves them in the drive's cache
            try:
                fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            except OSError:  # a file system that does not know it
                os.fsync(descriptor)
        else:
            os.fsync(descriptor)


REAL_DISK = Disk()
"""The disk that holds no state; what every caller but a test uses."""


def open_for_writing(path: Path) -> int:
    """Return a descriptor of an existing file of ours, for reading and writing."""
    return os.open(path, os.O_RDWR | _OURS)


def write_all(disk: Disk, descriptor: int, data: bytes, offset: int) -> None:
    """Write all of the bytes at the offset.

    Raises:
        OSError: the disk is full or gone; some of the bytes may have been written.
    """
    view = memoryview(data)
    while view:
        written = disk.write(descriptor, bytes(view), offset)
        view = view[written:]
        offset += written


def sync_folder(disk: Disk, folder: Path) -> None:
    """Make the names of the folder's files last."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        disk.sync(descriptor)
    finally:
        os.close(descriptor)
