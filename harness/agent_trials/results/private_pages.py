"""A page for each attempt, for the operator alone: prompt, timeline, answer, citations, grading.

One attempt's openings are in memory at a time. What was not kept is said to be missing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from agent_trials.ledger.events import Event
from agent_trials.ledger.openings import Openings
from agent_trials.results import timeline
from agent_trials.results.render_html import Pages
from agent_trials.study import asked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from agent_trials.ledger.chain import Line
    from agent_trials.ledger.openings import Opening
    from agent_trials.results.record import Attempt, Record

FOLDER = "private"


def links(record: Record) -> dict[int, str]:
    """Return the address of each attempt's page, seen from the report, by position."""
    return {each.position: f"{FOLDER}/{_name(each)}" for each in record.attempts if each.lines}


def write_pages(record: Record, document: Mapping[str, Any], folder: Path) -> None:
    """Write the page of every attempt that was settled; the folder is made, for its owner alone."""
    folder.mkdir(mode=0o700)
    openings = Openings(record.path)
    gradings, pages = _gradings(record), Pages()
    for attempt in record.attempts:
        if not attempt.lines:
            continue
        shown = document["attempts"][attempt.position]
        content = pages.page("attempt.html", **_values(record, attempt, shown, openings, gradings))
        descriptor = os.open(folder / _name(attempt), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)


def _name(attempt: Attempt) -> str:
    return f"attempt-{attempt.position:05}.html"


def _gradings(record: Record) -> dict[str, list[Line]]:
    """Return the lines about each grade, by blind id."""
    found: dict[str, list[Line]] = {}
    for line in record.grading:
        found.setdefault(str(line.fields["blindId"]), []).append(line)
    return found


def _values(
    record: Record,
    attempt: Attempt,
    shown: Mapping[str, Any],
    openings: Openings,
    gradings: Mapping[str, list[Line]],
) -> dict[str, Any]:
    line = attempt.lines[-1]
    transcript = openings.find(line, "transcript")
    blind_id = openings.value(line, "blindId")
    return {
        "title": f"{attempt.cell.item} (private)",
        "rehearsal": record.is_rehearsal,
        "head": record.summary.head,
        "attempt": shown,
        "prompt": _prompt(record, attempt),
        "entries": None if transcript is None else timeline.read(transcript.data),
        "answer": openings.value(line, "answer"),
        "details": openings.value(line, "problems") or [],
        "gradings": [_grading(openings, each) for each in gradings.get(str(blind_id), ())],
    }


def _prompt(record: Record, attempt: Attempt) -> str | None:
    manifest = record.frozen.manifest
    if manifest is None or attempt.cell.task not in {task.id for task in manifest.tasks}:
        return None
    return asked.prompt(manifest, attempt.cell)


def _grading(openings: Openings, line: Line) -> dict[str, Any]:
    record = openings.value(line, "record") or {}
    verdict = record.get("verdict") if isinstance(record, dict) else None
    packet = _value(openings.find(line, "packet"))
    return {
        "grader": line.fields["grader"],
        "outcome": line.fields["outcome"],
        "is_final": line.event == Event.ADJUDICATED,
        "verdict": [*_flat(verdict)] if verdict else [],
        "citations": packet.get("citations", []) if isinstance(packet, dict) else [],
        "reply": openings.value(line, "reply"),
    }


def _value(opening: Opening | None) -> Any:  # noqa: ANN401 - any JSON value
    return None if opening is None else opening.value()


def _flat(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield name and text of everything in a JSON value, for a reader; an item of a list in one."""
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from _flat(inside, f"{name} {key}".strip())
    elif isinstance(value, list):
        for number, inside in enumerate(value, 1):
            yield f"{name} {number}", _item(inside)
    else:
        yield name, str(value)


def _item(value: object) -> str:
    if not isinstance(value, dict):
        return str(value)
    return ": ".join(
        str(value[name]) for name in sorted(value, reverse=True) if name != "number" and value[name]
    )
