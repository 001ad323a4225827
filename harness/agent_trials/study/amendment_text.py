"""The text of an amendment in PROTOCOL.md, and what may stand there beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent_trials.study import disk
from agent_trials.study.fields import shown
from agent_trials.study.find import MANIFESTS
from agent_trials.study.folder import HEADING, split_protocol
from agent_trials.study.present import named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent_trials.study.fields import Change
    from agent_trials.study.lock import Entry, Text


def added(below: bytes, recorded: Text, label: str) -> bytes:
    """Return what was written by hand below the last amendment, without what a crash left there.

    Args:
        below: all that stands below the heading now.
        recorded: what the lock's last entry recorded of it.
        label: what the protocol is to call the amendment that is being made.
    """
    text = below[recorded.size :]
    remains = re.search(rb"^### " + re.escape(label).encode() + rb" ", text, re.MULTILINE)
    return (text[: remains.start()] if remains else text).strip()


def joined(below: bytes, recorded: Text, label: str, amendment: str) -> bytes:
    """Return all that stands below the heading once the amendment is made."""
    parts = (below[: recorded.size], added(below, recorded, label), amendment.encode("utf-8"))
    return b"\n\n".join(part for part in parts if part)


def rendered(entry: Entry, label: str, touches: Sequence[str]) -> str:
    """Return an amendment as its readers see it.

    Args:
        entry: the lock's entry.
        label: what the protocol calls it, such as ``A1``.
        touches: what it touches of question, key, pin, arm, model, price and tool.
    """
    running = f", and those of {entry.open_runs} open runs" if entry.open_runs else ""
    names = named(entry.changes)
    lines = [
        *(f"- {_changed(change)}" for change in entry.changes if change.name in names),
        *(f"- The ledger of the paid run {run_id} is lost." for run_id in entry.lost_ledgers),
    ]
    if entry.runners:
        lines.append(f"- Counted together: the runners {', '.join(entry.runners)}.")
    if entry.supersedes:
        lines.append(f"- Begins a new series, because it touches: {', '.join(touches)}.")
        lines.append(f"- Supersedes the series {entry.supersedes}")
    lines += [
        f"- Attempts so far: {entry.attempts}{running}.",
        f"- Folder digest before: {entry.old_folder_digest}",
        f"- Folder digest now: {entry.folder_digest}",
    ]
    return "\n".join([f"### {label} · {entry.at}", "", entry.reason or "", "", *lines])


def write(protocol: Path, text: bytes) -> None:
    """Put the text below the protocol's heading; what stands above it stays as it is."""
    above, _ = split_protocol(protocol.read_bytes())
    disk.replace(protocol, above + b"\n\n" + HEADING + b"\n\n" + text + b"\n")


def _changed(change: Change) -> str:
    if change.field is None or change.file not in MANIFESTS:
        return f"{change.name} changed" if change.old and change.new else change.name
    return f"{change.name}: {shown(change.old)} is now {shown(change.new)}"
