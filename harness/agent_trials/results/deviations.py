"""What did not go as planned, and what was amended, as far as ledger and frozen lock tell."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.results import ways
from agent_trials.results.record import Fate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_trials.results.record import Record


def amendments(record: Record) -> list[dict[str, Any]] | None:
    """Return freeze and amendments of the lock, in order; None where there is none to read."""
    if record.frozen.lock is None:
        return None
    try:
        entries = json.loads(record.frozen.lock)["entries"]
        return [_entry(each) for each in entries]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _entry(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "entry": str(entry["entry"]),
        "number": int(entry["number"]),
        "at": str(entry["at"]),
        "folderDigest": str(entry["folderDigest"]),
        "reason": entry.get("reason"),
        "attempts": int(entry.get("attempts", 0)),
        "changes": sorted({str(change["file"]) for change in entry.get("changes", ())}),
    }


def deviations(record: Record) -> list[str]:
    """Return every departure from the plan, one sentence each."""
    return [
        *_of_the_study(record),
        *_of_the_runs(record),
        *_of_the_attempts(record),
        *_of_the_money(record),
    ]


def _of_the_study(record: Record) -> Iterator[str]:
    if not record.opening.get("frozen"):
        yield "The study was not frozen when the run opened."
    if record.frozen.problem:
        yield f"The frozen study could not be read: {record.frozen.problem}."
    runners = {run.opening.get("runnerDigest") for run in record.summary.runs}
    if len(runners) > 1:
        yield "Runs of this ledger were made by different versions of the code."


def _of_the_runs(record: Record) -> Iterator[str]:
    for run in record.summary.runs:
        if run.stop:
            where = f", at {run.stop.cell.item}" if run.stop.cell else ""
            yield f"Run {run.number} was stopped early ({run.stop.reason}{where})."
        if run.closed_at is None:
            yield f"Run {run.number} ended without being closed."
    yield from _environments(record)
    if record.summary.torn_bytes:
        yield f"{record.summary.torn_bytes} bytes behind the last line were never written."


def _environments(record: Record) -> Iterator[str]:
    """Yield where a run was made in another environment than the first one."""
    first, *others = record.summary.runs
    before = _flat(first.opening.get("environment") or {})
    for run in others:
        now = _flat(run.opening.get("environment") or {})
        changed = [
            f"{name} {before.get(name, 'not recorded')} became {now.get(name, 'not recorded')}"
            for name in sorted(before | now)
            if before.get(name) != now.get(name)
        ]
        if changed:
            yield f"Run {run.number} was made in another environment: {', '.join(changed)}."


def _flat(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts of an environment side by side, those of packages by their names."""
    found: dict[str, str] = {}
    for name, value in facts.items():
        if isinstance(value, dict):
            found |= {str(inner): str(of) for inner, of in value.items()}
        else:
            found[name] = str(value)
    return found


def _of_the_attempts(record: Record) -> Iterator[str]:
    counts = {fate: sum(each.fate is fate for each in record.attempts) for fate in Fate}
    of = len(record.attempts)
    if counts[Fate.REFUSED]:
        yield f"{counts[Fate.REFUSED]} of {of} planned attempts were refused: no money was left."
    if counts[Fate.BLOCKED]:
        yield f"{counts[Fate.BLOCKED]} of {of} planned attempts were not begun."
    if counts[Fate.CUT_OFF]:
        cut_off = f"{counts[Fate.CUT_OFF]} of {of} planned attempts were cut off"
        yield f"{cut_off}; what became of them is unknown."
    for half in record.summary.half_pairs:
        missing = ", ".join(cell.item for cell in half.missing)
        yield f"Pair {half.pair} is in no paired figure: {missing} is missing."
    for again in record.superseded:
        status = again.line.fields["observation"]["status"]
        yield f"{again.cell.item} was made again; its earlier attempt ended as {status}."
    yield from _models(record)


def _models(record: Record) -> Iterator[str]:
    if len(ways.models(record.opening)) > 1:
        yield from _models_by_attempt(record)
        return
    asked = record.opening.get("model")
    answered = {
        str(turn["resolvedModel"])
        for each in record.attempts
        for turn in each.turns
        if turn.get("resolvedModel")
    }
    if len(answered) > 1 or answered - {asked}:
        yield f"The model asked for was {asked}; answers came from {', '.join(sorted(answered))}."


def _models_by_attempt(record: Record) -> Iterator[str]:
    """Yield where one of several models was asked, and another one answered."""
    turns = [turn for each in record.attempts for turn in each.turns]
    answered = {(turn.get("model"), turn.get("resolvedModel")) for turn in turns}
    for asked, by in sorted((str(asked), str(by)) for asked, by in answered if by):
        if asked != by:
            yield f"The model asked for was {asked}; answers came from {by}."


def _of_the_money(record: Record) -> Iterator[str]:
    totals = record.summary.totals
    if totals.cap_exceeded:
        yield f"Spend has passed the cap of {money.text(totals.cap)} USD."
    if totals.reserved:
        yield f"{money.text(totals.reserved)} USD stay reserved for what was never settled."
    for prior in record.opening.get("priorLedgers", ()):
        if str(prior["origin"]).startswith("lost:"):
            yield f"The ledger of run {prior['origin'][5:]} is lost; its whole cap counts as spent."
