"""study.ledgers.jsonl: which paid runs a study has had, so that none can be left out of the count.

A run appends a line when it opens, before anything is spent, and another when it closes. A run that
never closed counts its whole cap, and so does one whose ledger is declared lost.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent_trials import canonical, money
from agent_trials.errors import MoneyError, Problem, StudyError
from agent_trials.study import disk
from agent_trials.study.folder import LEDGERS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class LedgerRecord:
    """One paid run: its cap when it opened; head, attempts and spend when it closed, else None.

    ``scored`` says whether the phase's attempts count towards a verdict. Amounts are USD.
    """

    run_id: str
    series_id: str
    phase: str
    scored: bool
    cap_usd: Decimal
    opened_at: str
    head: str | None = None
    attempts: int | None = None
    spent_usd: Decimal | None = None
    closed_at: str | None = None

    @property
    def closed(self) -> bool:
        """Return whether the run was closed."""
        return self.closed_at is not None

    @property
    def has_scored_attempts(self) -> bool:
        """Return whether a scored attempt may be on record; of an open run that is not known."""
        return self.scored and self.attempts != 0


def read(folder: Path) -> tuple[LedgerRecord, ...]:
    """Return the paid runs of a study in the order in which they opened.

    A last line without its newline was never written whole, and its run never began.

    Raises:
        StudyError: a line is none of ours, or closes a run that was not opened.
    """
    path = folder / LEDGERS
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return ()
    records: dict[str, LedgerRecord] = {}
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            record = _applied(records, json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, MoneyError) as error:
            what = f"this is no record of a paid run ({error})"
            remedy = "restore the file as the runs wrote it"
            raise StudyError([Problem(f"{path}:{number}", what, remedy)]) from error
        records[record.run_id] = record
    return tuple(records.values())


def opened(folder: Path, record: LedgerRecord) -> None:
    """Append that a paid run opens; on disk when this returns, so before anything is spent."""
    line = {
        "event": "opened",
        "runId": record.run_id,
        "seriesId": record.series_id,
        "phase": record.phase,
        "scored": record.scored,
        "capUsd": money.text(record.cap_usd),
        "at": record.opened_at,
    }
    _append(folder, line)


def closed(
    folder: Path, run_id: str, *, head: str, attempts: int, spent_usd: Decimal, at: str
) -> None:
    """Append that a paid run closed: its ledger's head, the attempts it reserved, its spend."""
    line = {
        "event": "closed",
        "runId": run_id,
        "head": head,
        "attempts": attempts,
        "spentUsd": money.text(spent_usd),
        "at": at,
    }
    _append(folder, line)


def of_series(records: Iterable[LedgerRecord], series_id: str) -> tuple[LedgerRecord, ...]:
    """Return the runs of one series."""
    return tuple(record for record in records if record.series_id == series_id)


def _append(folder: Path, line: dict[str, Any]) -> None:
    with disk.locked(folder):
        disk.append_line(folder / LEDGERS, canonical.dumps(line))


def _applied(records: dict[str, LedgerRecord], line: dict[str, Any]) -> LedgerRecord:
    """Return the record that a line opens or closes."""
    run_id = _text(line, "runId")
    if line["event"] == "opened":
        if run_id in records:
            raise ValueError(f"the run {run_id} opened twice")
        return LedgerRecord(
            run_id=run_id,
            series_id=_text(line, "seriesId"),
            phase=_text(line, "phase"),
            scored=bool(line["scored"]),
            cap_usd=money.parse(line["capUsd"]),
            opened_at=_text(line, "at"),
        )
    if line["event"] != "closed" or run_id not in records or records[run_id].closed:
        raise ValueError(f"{line['event']!r} of the run {run_id} follows from no line before")
    return replace(
        records[run_id],
        head=_text(line, "head"),
        attempts=int(line["attempts"]),
        spent_usd=money.parse(line["spentUsd"]),
        closed_at=_text(line, "at"),
    )


def _text(line: dict[str, Any], key: str) -> str:
    value = line[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} is no text")
    return value
