"""Removes a folder whatever was done to it, and nothing outside it."""

from __future__ import annotations

import os
import secrets
import stat
from typing import TYPE_CHECKING

from agent_trials.errors import WorkspaceError

if TYPE_CHECKING:
    from pathlib import Path

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def remove(folder: Path) -> None:
    """Remove a folder with everything in it.

    Modes that forbid it are changed first; symbolic links are removed, never followed; folders may
    be nested deeper than any path can name.

    Raises:
        WorkspaceError: it is no folder any more, or something in it cannot be removed.
    """
    try:
        if stat.S_ISDIR(folder.lstat().st_mode):
            folder.chmod(0o700)
        top = os.open(folder, _OPEN_FOLDER)
        try:
            while names := os.listdir(top):  # noqa: PTH208 - a descriptor, no path
                for name in names:
                    _remove_entry(top, name)
        finally:
            os.close(top)
        folder.rmdir()
    except OSError as error:
        raise WorkspaceError(
            f"{folder} cannot be removed: {error.strerror}; remove it by hand"
        ) from error


def _remove_entry(top: int, name: str) -> None:
    """Remove one entry of the top folder; folders inside it become entries of the top folder."""
    if not stat.S_ISDIR(os.lstat(name, dir_fd=top).st_mode):
        os.unlink(name, dir_fd=top)
        return
    os.chmod(name, 0o700, dir_fd=top)
    inner = os.open(name, _OPEN_FOLDER, dir_fd=top)
    try:
        with os.scandir(inner) as scan:
            entries = list(scan)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.name, 0o700, dir_fd=inner)
                os.rename(entry.name, secrets.token_hex(16), src_dir_fd=inner, dst_dir_fd=top)
            else:
                os.unlink(entry.name, dir_fd=inner)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)
