"""What is looked at after each pair: spent, passes, side calls, whole costs, and the study's rules.

A study's ``verdict.py`` may hold ``after_pair(rows, remaining)``: a pure function over the rows of
the run so far and the number of pairs still planned. It returns ``{"line": words, "stop": code or
None}``. A row is one turn: ``task``, ``arm``, ``repetition``, ``turn``, ``pair``, ``position``,
``observation``, and ``sideEvents``, the objects that the arm's product wrote in that turn.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials.ledger.chain import Reading
from agent_trials.ledger.events import Event
from agent_trials.ledger.openings import Openings
from agent_trials.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

OWN = "verdict.py"
HOOK = "after_pair"
NOT_CALLED = "product-not-called"


@dataclass(frozen=True)
class Looked:
    """What a pair shows: words for the terminal, and why the run stops, if it does."""

    words: str
    stop: str | None = None


def rows(ledger: Path) -> list[dict[str, Any]]:
    """Return a row for each turn, in schedule order, with the latest settlement of each cell."""
    openings = Openings(ledger)
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for line in Reading(ledger):
        if line.event != Event.ATTEMPT_SETTLED:
            continue
        fields = line.fields
        place = {name: fields[name] for name in ("task", "arm", "repetition", "turn")}
        events = openings.find(line, "sideEvents")
        found[tuple(place.values())] = {
            **place,
            "pair": fields["pair"],
            "position": fields["position"],
            "observation": fields["observation"],
            "sideEvents": _events(events.data if events else b""),
        }
    return sorted(found.values(), key=lambda row: (row["position"], row["turn"]))


def look(
    found: Sequence[Mapping[str, Any]],
    *,
    folder: Path,
    remaining: int,
    spent: str,
    scored: bool,
    pair: int,
) -> Looked:
    """Return what the run shows after a pair.

    Args:
        found: the rows so far.
        folder: the study's, whose ``verdict.py`` may have rules of its own.
        remaining: how many pairs are still planned.
        spent: what the run has spent, USD.
        scored: whether the phase is.
        pair: the pair that has just ended.
    """
    parts = [f"spent {spent} USD", *_passes(found), *_calls(found), _costs(found)]
    stop = None
    if not scored and _is_silent(row for row in found if row["pair"] == pair):
        stop = NOT_CALLED
    own = _own_rule(folder)
    if own is not None:
        told = own([dict(row) for row in found], remaining)
        parts.append(str(told["line"]))
        stop = stop or told["stop"]
    if stop:
        parts.append(f"the run stops: {stop}")
    return Looked("; ".join(parts), stop)


def _passes(found: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return how many attempts of each arm passed at their end."""
    last: dict[tuple[str, str, int], Mapping[str, Any]] = {}
    for row in found:
        last[row["arm"], row["task"], row["repetition"]] = row["observation"]
    arms = dict.fromkeys(arm for arm, _, _ in last)
    counted = {
        arm: [each.get("checker") for (of, _, _), each in last.items() if of == arm] for arm in arms
    }
    return [
        f"{arm} passes {sum(bool(said and said['passed']) for said in all_said)} of {len(all_said)}"
        for arm, all_said in counted.items()
        if any(all_said)
    ]


def _calls(found: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return how often each arm's product was called, where an arm has one."""
    calls: dict[str, int] = {}
    for row in found:
        side = row["observation"].get("sideCosts")
        if side is not None:
            calls[row["arm"]] = calls.get(row["arm"], 0) + side["calls"]
    counts = ", ".join(f"{arm} {count}" for arm, count in calls.items())
    return [f"product called: {counts}"] if calls else []


def _costs(found: Iterable[Mapping[str, Any]]) -> str:
    """Return whether every cost is known."""
    lacking = [
        row
        for row in found
        if row["observation"]["costUsd"] is None
        or (row["observation"].get("sideCosts") or {}).get("missing")
    ]
    return f"costs incomplete in {counted(len(lacking), 'turn')}" if lacking else "costs complete"


def _is_silent(pair: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether an arm has a product that spends, and it was never called in the pair."""
    calls: dict[str, int] = {}
    for row in pair:
        side = row["observation"].get("sideCosts")
        if side is not None and side["declared"]:
            calls[row["arm"]] = calls.get(row["arm"], 0) + side["calls"]
    return any(count == 0 for count in calls.values())


def _own_rule(folder: Path) -> Any:  # noqa: ANN401 - a function of the study's
    """Return the study's own function, None where it has none."""
    path = folder / OWN
    if not path.is_file():
        return None
    names: dict[str, Any] = {"__name__": "study_verdict"}
    # The study's own code, which the operator's pytest collects beside it anyway.
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)  # noqa: S102
    return names.get(HOOK)


def _events(data: bytes) -> list[dict[str, Any]]:
    found = []
    for line in data.split(b"\n"):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            found.append(event)
    return found
