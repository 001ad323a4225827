"""Which files of a study's folder count, and the digest of all of them.

The rules:
    regular files count, by path and bytes, in subfolders too
    the lock, its signed head, the record of ledgers, byte-code and dot names do not
    PROTOCOL.md counts by its text above the heading "## Amendments", without white space at its end
    links and special files cannot count, so a study that has one is not frozen
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_trials import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

LOCK = "study.lock.json"
LEDGERS = "study.ledgers.jsonl"
SIGNED = ("study.lock.head", "study.lock.head.sig", "study.lock.signers")
"""The signed head of the series; written after the freeze, so that it cannot count."""
PROTOCOL = "PROTOCOL.md"
HEADING = b"## Amendments"

_HEADING = re.compile(rb"^## Amendments[ \t]*\r?$", re.MULTILINE)


@dataclass(frozen=True)
class Folder:
    """What a study's folder holds, as far as it counts.

    ``files`` is the digest of each file that counts, by path with forward slashes.
    ``amendments`` is the protocol's text below its heading, without white space around it.
    ``odd`` names what is neither a regular file nor a folder.
    """

    files: Mapping[str, str]
    amendments: bytes
    odd: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Return the folder's digest."""
        return digest_of_files(self.files)


def read_folder(folder: Path) -> Folder:
    """Read and hash everything in the folder that counts."""
    files, odd, amendments = {}, [], b""
    for path, entry in counted(folder):
        if not entry.is_file(follow_symlinks=False):
            odd.append(path)
            continue
        content = (folder / path).read_bytes()
        if path == PROTOCOL:
            content, amendments = split_protocol(content)
        files[path] = canonical.digest(content)
    return Folder(files, amendments, tuple(odd))


def whole_digests(folder: Path) -> dict[str, str]:
    """Return the digest of the whole bytes of each regular file that counts, by path."""
    return {
        path: canonical.digest((folder / path).read_bytes())
        for path, entry in counted(folder)
        if entry.is_file(follow_symlinks=False)
    }


def folder_digest(folder: Path) -> str:
    """Return the digest of the files that count, with their paths."""
    return read_folder(folder).digest


def digest_of_files(files: Mapping[str, str]) -> str:
    """Return the digest of canonical JSON ``{"files":{path: digest},"schema":1}``."""
    return canonical.digest_of({"schema": 1, "files": dict(files)})


def split_protocol(content: bytes) -> tuple[bytes, bytes]:
    """Return the protocol's text above its heading, without white space at its end, and below."""
    heading = _HEADING.search(content)
    if heading is None:
        return content.rstrip(), b""
    return content[: heading.start()].rstrip(), content[heading.end() :].strip()


def counted(folder: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield path and entry of everything that is no folder and whose name counts, sorted."""
    for path, entry in _below(folder, ""):
        if path not in {LOCK, LEDGERS, *SIGNED}:
            yield path, entry


def _below(folder: Path, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith(".") or entry.name == "__pycache__":
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _below(folder / entry.name, f"{prefix}{entry.name}/")
        elif not entry.name.endswith(".pyc"):
            yield prefix + entry.name, entry
