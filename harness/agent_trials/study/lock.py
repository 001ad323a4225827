"""study.lock.json: the freeze and its amendments, each with the digest of the entry before.

Rules that ``fold`` enforces, each once:
    the first entry is a freeze; every later one holds the digest of the entry before it
    a freeze has number 0 and names the series that it supersedes, if any
    an amendment's number is one above that of the entry before, whose folder digest it repeats
    an entry's folder digest is the digest of the files that it and the entries before it leave
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING, Any

from agent_trials import canonical
from agent_trials.study import disk
from agent_trials.study.fields import Change
from agent_trials.study.folder import LOCK, digest_of_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

SCHEMA = 1
_NEW_PARAGRAPH = re.compile(rb"[ \t]*\r?\n[ \t]*\r?\n")


class LockBrokenError(Exception):
    """A lock whose entries do not follow from one another; the text says where."""


@dataclass(frozen=True)
class Text:
    """The protocol's amendments as an entry left them: bytes and digest."""

    size: int
    digest: str

    @classmethod
    def of(cls, text: bytes) -> Text:
        """Return size and digest of a text."""
        return cls(len(text), canonical.digest(text))

    def begins(self, text: bytes) -> bool:
        """Return whether the text is what was recorded, or goes on after it in a new paragraph."""
        rest = text[self.size :]
        apart = not self.size or not rest or _NEW_PARAGRAPH.match(rest)
        return bool(apart) and canonical.digest(text[: self.size]) == self.digest


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A freeze or an amendment.

    A freeze holds all files and fields; an amendment holds what changed. ``attempts`` counts those
    of the series' closed runs so far, ``open_runs`` the runs whose attempts are not known.
    """

    number: int
    at: str
    folder_digest: str
    amendments: Text
    previous: str | None = None
    supersedes: str | None = None
    reason: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    key: Mapping[str, str] = field(default_factory=dict)
    old_folder_digest: str | None = None
    changes: tuple[Change, ...] = ()
    attempts: int = 0
    open_runs: int = 0
    runners: tuple[str, ...] = ()
    lost_ledgers: tuple[str, ...] = ()

    @property
    def is_freeze(self) -> bool:
        """Return whether the entry begins a series."""
        return self.number == 0

    @property
    def digest(self) -> str:
        """Return the digest that the next entry holds."""
        return canonical.digest_of(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the entry as it stands in the file."""
        line: dict[str, Any] = {
            "entry": "freeze" if self.is_freeze else "amendment",
            "number": self.number,
            "at": self.at,
            "folderDigest": self.folder_digest,
            "protocolAmendments": {
                "bytes": self.amendments.size,
                "digest": self.amendments.digest,
            },
            "previous": self.previous,
            "reason": self.reason,
            "changes": [change.to_json() for change in self.changes],
            "attempts": self.attempts,
            "openRuns": self.open_runs,
            "runners": list(self.runners),
            "lostLedgers": list(self.lost_ledgers),
        }
        if self.is_freeze:
            return line | {
                "supersedes": self.supersedes,
                "files": dict(self.files),
                "fields": {"manifest": dict(self.manifest), "key": dict(self.key)},
            }
        return line | {"oldFolderDigest": self.old_folder_digest}

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Entry:
        """Return the entry that a file holds.

        Raises:
            KeyError, TypeError: a part of it is missing or of another kind.
        """
        fields = line.get("fields", {"manifest": {}, "key": {}})
        return cls(
            number=line["number"],
            at=line["at"],
            folder_digest=line["folderDigest"],
            amendments=Text(
                line["protocolAmendments"]["bytes"], line["protocolAmendments"]["digest"]
            ),
            previous=line["previous"],
            supersedes=line.get("supersedes"),
            reason=line["reason"],
            files=line.get("files", {}),
            manifest=fields["manifest"],
            key=fields["key"],
            old_folder_digest=line.get("oldFolderDigest"),
            changes=tuple(Change(**change) for change in line["changes"]),
            attempts=line["attempts"],
            open_runs=line["openRuns"],
            runners=tuple(line["runners"]),
            lost_ledgers=tuple(line["lostLedgers"]),
        )


@dataclass(frozen=True)
class LockState:
    """What a chain of entries adds up to.

    ``series`` holds the ids of all series, the current one last. ``pools`` are the runners that an
    amendment of the current series lets count together.
    """

    series: tuple[str, ...]
    last: Entry
    files: Mapping[str, str]
    manifest: Mapping[str, Any]
    key: Mapping[str, str]
    lost_ledgers: frozenset[str]
    pools: tuple[frozenset[str], ...]

    @property
    def series_id(self) -> str:
        """Return the folder digest of the current series' freeze."""
        return self.series[-1]


def time_text(moment: datetime) -> str:
    """Return a moment as RFC 3339 in UTC with milliseconds."""
    utc = moment.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z"


def read_lock(folder: Path) -> tuple[Entry, ...]:
    """Return the entries of a study's lock, none if it has no lock.

    Raises:
        LockBrokenError: the file is no lock.
    """
    try:
        content = (folder / LOCK).read_bytes()
    except FileNotFoundError:
        return ()
    try:
        return tuple(_entries(json.loads(content)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LockBrokenError(f"it is no lock ({type(error).__name__}: {error})") from error


def _entries(document: dict[str, Any]) -> Iterator[Entry]:
    if document["schema"] != SCHEMA or not document["entries"]:
        raise ValueError(f"its schema is not {SCHEMA}, or it has no entry")
    for line in document["entries"]:
        yield Entry.from_json(line)


def write_lock(folder: Path, entries: Sequence[Entry]) -> None:
    """Put the lock in place, whole; this is the moment in which a freeze or amendment holds."""
    document = {"schema": SCHEMA, "entries": [entry.to_json() for entry in entries]}
    text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=True)
    disk.replace(folder / LOCK, f"{text}\n".encode("ascii"))


def fold(entries: Sequence[Entry]) -> LockState:
    """Return what the entries add up to.

    Raises:
        LockBrokenError: an entry does not follow from the one before.
    """
    state: LockState | None = None
    for position, entry in enumerate(entries, start=1):
        state = (
            _begun(state, entry, position) if entry.is_freeze else _amended(state, entry, position)
        )
        if digest_of_files(state.files) != entry.folder_digest:
            raise LockBrokenError(f"entry {position} does not have the digest of its files")
    if state is None:
        raise RuntimeError("a lock without an entry")
    return state


def _begun(state: LockState | None, entry: Entry, position: int) -> LockState:
    before = state.last.digest if state else None
    superseded = state.series_id if state else None
    if entry.previous != before or entry.supersedes != superseded:
        raise LockBrokenError(f"entry {position} does not follow from the entry before it")
    return LockState(
        series=(*(state.series if state else ()), entry.folder_digest),
        last=entry,
        files=entry.files,
        manifest=entry.manifest,
        key=entry.key,
        lost_ledgers=(state.lost_ledgers if state else frozenset()) | {*entry.lost_ledgers},
        pools=_pools((), entry),
    )


def _amended(state: LockState | None, entry: Entry, position: int) -> LockState:
    if state is None or (entry.previous, entry.number, entry.old_folder_digest) != (
        state.last.digest,
        state.last.number + 1,
        state.last.folder_digest,
    ):
        raise LockBrokenError(f"entry {position} does not follow from the entry before it")
    files, manifest, key = dict(state.files), dict(state.manifest), dict(state.key)
    for change in entry.changes:
        if change.field is None:
            _put(files, change.file, change.new)
        else:
            _put(key if change.file.startswith("key.") else manifest, change.field, change.new)
    return LockState(
        state.series,
        entry,
        files,
        manifest,
        key,
        state.lost_ledgers | {*entry.lost_ledgers},
        _pools(state.pools, entry),
    )


def _put(table: dict[str, Any], name: str, value: object) -> None:
    if value is None:
        table.pop(name, None)
    else:
        table[name] = value


def _pools(pools: tuple[frozenset[str], ...], entry: Entry) -> tuple[frozenset[str], ...]:
    return (*pools, frozenset(entry.runners)) if entry.runners else pools
