"""Finds the studies below a pytest command's arguments, reading no file.

Standard library only: this runs in every pytest session of a user, whether it has a study or not.
"""

from __future__ import annotations

import os
from fnmatch import fnmatch
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

MANIFESTS: tuple[str, ...] = ("study.toml", "study.json")
KEYS: tuple[str, ...] = ("key.toml", "key.json")
SKIPPED: tuple[str, ...] = (".*", "build", "dist", "node_modules", "fixtures", "reports", "venv")
"""Names of folders that are not searched unless the caller gives other patterns."""


def is_study(folder: Path) -> bool:
    """Return whether the folder holds a manifest."""
    return any((folder / name).is_file() for name in MANIFESTS)


def module_name(folder: Path) -> str:
    """Return the name of the file in which pytest finds a study's attempts."""
    return f"test_{folder.name}.py"


def find(arguments: Iterable[Path], *, skip: Collection[str] = SKIPPED) -> tuple[Path, ...]:
    """Return the study folders that the arguments name or contain, each once, in sorted order.

    The file of a study's attempts stands for its folder, and no other file does. Nothing is
    searched inside a study, behind a symbolic link, in a virtual environment, or in a folder below
    an argument whose name matches a pattern of ``skip`` (pytest's ``norecursedirs``); an argument
    itself is searched whatever its name.
    """
    found: dict[str, Path] = {}
    for argument in arguments:
        for folder in _below(argument, skip):
            found.setdefault(str(folder.resolve()), folder)
    return tuple(sorted(found.values()))


def _below(argument: Path, skip: Collection[str]) -> Iterator[Path]:
    if argument.is_file():
        folder = argument.parent
        if argument.name == module_name(folder) and is_study(folder):
            yield folder
        return
    waiting = [argument]
    while waiting:
        folder = waiting.pop()
        entries = _entries(folder)
        names = {entry.name for entry in entries}
        if names.intersection(MANIFESTS) and is_study(folder):
            yield folder
        elif "pyvenv.cfg" not in names:
            waiting += [folder / entry.name for entry in entries if _searched(entry, skip)]


def _searched(entry: os.DirEntry[str], skip: Collection[str]) -> bool:
    return (
        entry.is_dir(follow_symlinks=False)
        and entry.name != "__pycache__"
        and not any(fnmatch(entry.name, pattern) for pattern in skip)
    )


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # not there, no folder or not readable: pytest itself says so
        return []
