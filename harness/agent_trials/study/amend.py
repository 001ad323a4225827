"""Records what is changed in a frozen study: an entry in its lock, and ``A<n>`` in its protocol.

The rules:
    an amendment says why, and changes or declares something             -> _reason, _something
    what stands under Amendments is added to and never altered           -> _kept_text
    two or more runners are pooled by their digests                      -> _declared
    a lost ledger is one of the series' paid runs                        -> _declared
    once a scored attempt is on record, touching question, key, pin, arm,
    model, price or tool begins a new series, which no earlier one was   -> _begins_series

The protocol is written first and the lock second, which is the moment the amendment holds. What a
crash in between left in the protocol is replaced when the amendment is made again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent_trials.errors import FreezeRefusedError, Problem
from agent_trials.study import disk, ledgers, lock
from agent_trials.study.amendment_text import added, joined, rendered, write
from agent_trials.study.fields import touched
from agent_trials.study.find import KEYS, MANIFESTS
from agent_trials.study.folder import LOCK, PROTOCOL
from agent_trials.study.frozen import Frozen, state_of
from agent_trials.study.lock import Entry, LockBrokenError, LockState, Text, time_text
from agent_trials.study.present import Present, named, read_present

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime
    from pathlib import Path

    from agent_trials.study.fields import Change
    from agent_trials.study.ledgers import LedgerRecord
    from agent_trials.study.manifest import Study

LEAST_POOLED = 2
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Amended:
    """What an amendment did.

    ``touches`` names what it touches of question, key, pin, arm, model, price and tool;
    ``supersedes`` is the id of the series that it ended, None if the series goes on.
    """

    number: int
    changed: tuple[str, ...]
    touches: tuple[str, ...]
    supersedes: str | None
    frozen: Frozen


@dataclass(frozen=True)
class _Case:
    """Everything that an amendment is decided from."""

    present: Present
    entries: tuple[Entry, ...]
    locked: LockState
    records: tuple[LedgerRecord, ...]
    reason: str
    runners: tuple[str, ...]
    lost: tuple[str, ...]

    @property
    def changes(self) -> tuple[Change, ...]:
        return self.present.changes(self.locked)

    @property
    def touches(self) -> tuple[str, ...]:
        return tuple(sorted(touched(self.changes, manifests=MANIFESTS, keys=KEYS)))

    @property
    def begins_series(self) -> bool:
        scored = any(record.has_scored_attempts for record in self.records)
        return bool(self.touches) and scored

    @property
    def label(self) -> str:
        """Return what the protocol calls the amendment."""
        if self.begins_series:
            return f"A0 of series {len(self.locked.series) + 1}"
        return f"A{self.locked.last.number + 1}"


def amend(
    study: Study,
    *,
    reason: str,
    now: datetime,
    runners: Sequence[str] = (),
    lost_ledgers: Sequence[str] = (),
) -> Amended:
    """Record what changed since the freeze or the last amendment, and what is declared.

    Args:
        study: a frozen study, as it is to be from now on.
        reason: why it is changed; it is published with the protocol.
        now: the time of the amendment.
        runners: digests of runners whose ledgers may count together from now on.
        lost_ledgers: run ids of paid runs whose ledgers are lost; they count their whole caps.

    Raises:
        FreezeRefusedError: a rule of this module is broken; nothing was written.
    """
    folder = study.folder
    with disk.locked(folder):
        entries, locked = _read_lock(folder)
        present = read_present(folder)
        records = ledgers.of_series(ledgers.read(folder), locked.series_id)
        case = _Case(
            present,
            entries,
            locked,
            records,
            " ".join(reason.split()),
            tuple(dict.fromkeys(runners)),
            tuple(dict.fromkeys(lost_ledgers)),
        )
        problems = [*present.unfreezable(), *_problems(case)]
        if problems:
            raise FreezeRefusedError(problems)
        entry = _entry(case, time_text(now))
        text = joined(
            present.folder.amendments,
            locked.last.amendments,
            case.label,
            rendered(entry, case.label, case.touches),
        )
        entry = replace(entry, amendments=Text.of(text))
        write(folder / PROTOCOL, text)
        lock.write_lock(folder, [*entries, entry])
    return Amended(
        entry.number,
        named(entry.changes),
        case.touches,
        locked.series_id if case.begins_series else None,
        state_of(folder),
    )


def _read_lock(folder: Path) -> tuple[tuple[Entry, ...], LockState]:
    try:
        entries = lock.read_lock(folder)
        if entries:
            return entries, lock.fold(entries)
    except LockBrokenError as error:
        problem = Problem(f"{folder}/{LOCK}", str(error), "restore it, for example with git")
        raise FreezeRefusedError([problem]) from error
    remedy = f"freeze it first: agent-trials freeze {folder}"
    raise FreezeRefusedError([Problem(str(folder), "the study is not frozen", remedy)])


def _problems(case: _Case) -> Iterable[Problem]:
    folder = case.present.path
    below, recorded = case.present.folder.amendments, case.locked.last.amendments
    if not case.reason or not case.reason.isprintable():
        yield Problem(
            "--reason", "no reason is given", "say why the study is changed, in one sentence"
        )
    if not recorded.begins(below):
        what = "what an amendment recorded under Amendments was altered"
        yield Problem(f"{folder}/{PROTOCOL}", what, "restore that text; add to it at its end")
    elif not (case.changes or case.runners or case.lost or added(below, recorded, case.label)):
        what = "nothing changed since the last entry of the lock"
        yield Problem(
            str(folder), what, "change the study first, or name --runner or --lost-ledger"
        )
    yield from _declared(case)
    if case.begins_series and case.present.folder.digest in case.locked.series:
        what = "the study is again what an earlier series froze, and attempts are on record"
        yield Problem(
            str(folder), what, f"say in {PROTOCOL} why it returns, which makes it a new one"
        )


def _declared(case: _Case) -> Iterable[Problem]:
    for runner in case.runners:
        if not _DIGEST.fullmatch(runner):
            yield Problem(f"--runner {runner}", "no digest", "write sha256: and 64 hex digits")
    if 0 < len(case.runners) < LEAST_POOLED:
        yield Problem("--runner", "one runner alone is not pooled", "name two or more digests")
    known = {record.run_id for record in case.records} - case.locked.lost_ledgers
    for run_id in case.lost:
        if run_id not in known:
            remedy = f"name one of {', '.join(sorted(known))}" if known else "there is none to name"
            what = "no paid run of this series whose ledger is still asked for"
            yield Problem(f"--lost-ledger {run_id}", what, remedy)


def _entry(case: _Case, at: str) -> Entry:
    closed = [record.attempts for record in case.records if record.attempts is not None]
    present, last = case.present, case.locked.last
    entry = Entry(
        number=last.number + 1,
        at=at,
        folder_digest=present.folder.digest,
        amendments=last.amendments,
        previous=last.digest,
        reason=case.reason,
        old_folder_digest=last.folder_digest,
        changes=case.changes,
        attempts=sum(closed),
        open_runs=len(case.records) - len(closed),
        runners=case.runners,
        lost_ledgers=case.lost,
    )
    if not case.begins_series:
        return entry
    return replace(
        entry,
        number=0,
        supersedes=case.locked.series_id,
        files=present.folder.files,
        manifest=present.manifest,
        key=present.key,
    )
