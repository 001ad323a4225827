"""What a study's parameters were: an engine's revision and the digest of its files.

A parameter's value is private (it is mostly a path of this machine); what is recorded publicly is
which kind of thing it was and what its bytes were.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agent_trials import canonical
from agent_trials.workspace import git
from agent_trials.workspace.mcp_command import absolute_value
from agent_trials.workspace.mcp_config import file_digest

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class ParameterFacts:
    """What a parameter stands for.

    ``digest`` covers a file's bytes or a folder's bundle (``folder_digest``); ``revision`` and
    ``dirty`` are those of the git checkout around it. All three are None for plain text.
    """

    name: str
    kind: Literal["text", "file", "folder"]
    digest: str | None = None
    revision: str | None = None
    dirty: bool | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as they may stand in a ledger line."""
        return {
            "name": self.name,
            "kind": self.kind,
            "digest": self.digest,
            "revision": self.revision,
            "dirty": self.dirty,
        }


def parameter_facts(name: str, value: str) -> ParameterFacts:
    """Return what the value of a parameter is; reads every file of a folder.

    Raises:
        WorkspaceError: git cannot read the checkout around it.
    """
    text = absolute_value(value)
    path = Path(text)
    if not path.is_absolute() or not path.exists():
        return ParameterFacts(name, "text")
    if path.is_dir():
        return _with_revision(name, "folder", folder_digest(path), path)
    return _with_revision(name, "file", file_digest(path), path.parent)


def folder_digest(folder: Path) -> str:
    """Return the digest of a folder's bundle: of the canonical JSON of its sorted entries.

    An entry is ``[path, "file", digest]`` or ``[path, "link", target]``. ``.git`` is left out,
    installed dependencies are not: they run as well. Links are not followed.
    """
    return canonical.digest_of(sorted(_entries(folder, "")))


def _entries(folder: Path, prefix: str) -> Iterator[list[str]]:
    with os.scandir(folder / prefix) as scan:
        found = list(scan)
    for entry in found:
        path = f"{prefix}{entry.name}"
        if entry.is_symlink():
            yield [path, "link", str(Path(entry.path).readlink())]
        elif entry.is_file(follow_symlinks=False):
            yield [path, "file", file_digest(Path(entry.path))]
        elif entry.is_dir(follow_symlinks=False) and entry.name != ".git":
            yield from _entries(folder, f"{path}/")


def _with_revision(
    name: str, kind: Literal["file", "folder"], digest: str, folder: Path
) -> ParameterFacts:
    revision = git.head(folder)
    dirty = None if revision is None else git.is_dirty(folder)
    return ParameterFacts(name, kind, digest, revision, dirty)
