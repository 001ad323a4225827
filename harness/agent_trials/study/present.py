"""A study's folder as it is, and what in it differs from the lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials import canonical
from agent_trials.errors import Problem
from agent_trials.study import document
from agent_trials.study.fields import Change, differences, key_fields, manifest_fields
from agent_trials.study.find import KEYS, MANIFESTS, module_name
from agent_trials.study.folder import PROTOCOL, Folder, read_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from agent_trials.study.lock import LockState


@dataclass(frozen=True)
class Present:
    """What the folder holds now: files by digest, the documents' fields, and their files' names."""

    path: Path
    folder: Folder
    manifest_file: str
    key_file: str
    manifest: Mapping[str, Any]
    key: Mapping[str, str]

    def changes(self, locked: LockState) -> tuple[Change, ...]:
        """Return every field and file that is not as the lock has it."""
        old, new = locked.files, self.folder.files
        return (
            *differences(self.manifest_file, locked.manifest, self.manifest),
            *differences(self.key_file, locked.key, self.key),
            *(
                Change(path, None, old.get(path), new.get(path))
                for path in sorted({*old, *new})
                if old.get(path) != new.get(path)
            ),
        )

    def changed(self, locked: LockState) -> tuple[str, ...]:
        """Return the names of what changed, amendments and things that cannot count included."""
        names = list(named(self.changes(locked)))
        recorded = locked.last.amendments
        if not recorded.begins(self.folder.amendments):
            names.append(f"{PROTOCOL}: what an amendment recorded under Amendments")
        elif len(self.folder.amendments) != recorded.size:
            names.append(f"{PROTOCOL}: text added under Amendments")
        return (*names, *(f"{path} (no regular file)" for path in self.folder.odd))

    def unfreezable(self) -> list[Problem]:
        """Return why the folder cannot be frozen as it is."""
        problems = [
            Problem(
                f"{self.path}/{path}", "no regular file, so it cannot count", "put the file itself"
            )
            for path in self.folder.odd
        ]
        if self.folder.files.get(PROTOCOL) in {None, canonical.digest(b"")}:
            what = "the study has no protocol, or an empty one"
            remedy = "write what is asked and how it is decided"
            problems.append(Problem(f"{self.path}/{PROTOCOL}", what, remedy))
        return problems


def uncollected(path: Path) -> list[Problem]:
    """Return why pytest would find none of the study's attempts: their file is not there."""
    module = path / module_name(path)
    if module.is_file():
        return []
    what = "it is not there, so pytest would find none of the study's attempts"
    return [Problem(str(module), what, "make it; a docstring is enough")]


def read_present(path: Path) -> Present:
    """Read a study's folder; a document that cannot be read has no fields."""
    manifest_file, manifest = _document(path, MANIFESTS)
    key_file, key = _document(path, KEYS)
    return Present(
        path,
        read_folder(path),
        manifest_file,
        key_file,
        manifest_fields(manifest),
        key_fields(key),
    )


def named(changes: Iterable[Change]) -> tuple[str, ...]:
    """Return the names of changes; a file is named by itself only where none of its fields is."""
    listed = list(changes)
    with_fields = {change.file for change in listed if change.field is not None}
    return tuple(
        change.name
        for change in listed
        if change.field is not None or change.file not in with_fields
    )


def _document(folder: Path, names: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    for name in names:
        if (folder / name).is_file():
            return name, document.read(folder / name)[0] or {}
    return names[0], {}
