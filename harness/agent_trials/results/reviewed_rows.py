"""From a ledger's attempts to what their reviews did: turns, stops, and what the product said.

What a product said stands in the opening of ``sideEvents``, under the keys that the study
registered (``arms.reviews``). Its k-th review of a turn is of the turn's k-th stop, the k-th event
that costs belongs to it, and it was delivered if a ``continued`` event comes before the next
review. Where the openings were withheld there are stops and no reviews.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from agent_trials.results.reviewed import TOKEN_CLASSES, Review, Reviewed, Stop, Turn
from agent_trials.results.stop_costs import stretches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from agent_trials.ledger.openings import Openings
    from agent_trials.results.record import Attempt
    from agent_trials.study.settings import (
        ArmSettings,
        Manifest,
        PriceTier,
        ReviewSettings,
        SideCostSettings,
    )

SIDE_EVENTS = "sideEvents"
TRANSCRIPT = "transcript"
NAME_FIELD = "event"
_FIELDS = dict(
    zip(
        TOKEN_CLASSES,
        ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"),
        strict=True,
    )
)


@dataclass(frozen=True)
class Said:
    """One review, and the events that belong to it."""

    event: Mapping[str, Any]
    delivered: bool
    cost: Decimal | None


def is_reviewed(manifest: Manifest) -> bool:
    """Return whether an arm of the study says what its reviews did."""
    return any(arm.reviews is not None for arm in manifest.arms)


def reviewed(
    attempts: Iterable[Attempt], manifest: Manifest, openings: Openings
) -> tuple[Reviewed, ...]:
    """Return every planned attempt, in schedule order; one that was not run has no turns."""
    arms = {arm.id: arm for arm in manifest.arms}
    prices = manifest.transports.cli.prices if manifest.transports.cli else ()
    return tuple(_reviewed(each, arms[each.cell.arm], openings, prices) for each in attempts)


def reviewed_turns(
    rows: Iterable[Mapping[str, Any]], names: ReviewSettings
) -> tuple[Reviewed, ...]:
    """Return the attempts of a running trial from rows of turns, as ``after_pair`` is given them.

    What reviews cost is not looked at here.
    """
    found: dict[tuple[str, str, int], list[Turn]] = {}
    for row in rows:
        place = (row["task"], row["arm"], row["repetition"])
        said = reviews(row["sideEvents"], names)
        found.setdefault(place, []).append(turn(row["observation"], said))
    return tuple(
        Reviewed(task=task, arm=arm, turns=tuple(turns)) for (task, arm, _), turns in found.items()
    )


def reviews(
    events: Iterable[Mapping[str, Any]],
    names: ReviewSettings,
    side: SideCostSettings | None = None,
) -> tuple[Review, ...]:
    """Return the reviews among a product's events of one turn, in order.

    Args:
        events: everything that the product wrote in the turn.
        names: what its events and their keys are called.
        side: the same of the events that cost; without it no cost is known.
    """
    every = list(events)
    name_field = side.name_field if side else NAME_FIELD
    costs = [
        _money(event.get(side.cost_field))
        for event in every
        if side and event.get(name_field) == side.event
    ]
    return tuple(_review(each, names) for each in _said(every, names, name_field, costs))


def parsed(data: bytes) -> tuple[dict[str, Any], ...]:
    """Return the JSON objects among lines."""
    return tuple(_objects(data))


def _reviewed(
    attempt: Attempt, arm: ArmSettings, openings: Openings, prices: Sequence[PriceTier]
) -> Reviewed:
    turns = []
    for observation, line in zip(attempt.turns, attempt.lines[: len(attempt.turns)], strict=True):
        opening = openings.find(line, SIDE_EVENTS)
        events = parsed(opening.data) if opening else ()
        found = reviews(events, arm.reviews, arm.side_costs) if arm.reviews else ()
        told = openings.find(line, TRANSCRIPT) if found and prices else None
        turns.append(turn(observation, found, stretches(told.data, prices) if told else ()))
    groups = [(each.get("checker") or {}).get("groups", {}) for each in attempt.turns]
    requirements = tuple(dict.fromkeys(name for each in groups for name in each))
    return Reviewed(
        task=attempt.cell.task,
        arm=attempt.cell.arm,
        turns=tuple(turns),
        requirements=requirements,
    )


def turn(
    observation: Mapping[str, Any], found: tuple[Review, ...], spent: Sequence[Decimal] = ()
) -> Turn:
    """Return one turn as its observation and its reviews tell it.

    Args:
        observation: as it stands in the ledger.
        found: the reviews of the turn, in order.
        spent: what the agent spent at least up to the first feedback, and after each.
    """
    checked = observation.get("checker") or {}
    stops = list(_stops(observation.get("stops") or ()))
    for at, review in enumerate(found[: len(stops)]):
        stops[at] = replace(stops[at], review=review)
    sent_back = [at for at, stop in enumerate(stops) if stop.review and stop.review.delivered]
    for at, amount in zip(sent_back, spent[1:], strict=False):
        stops[at] = replace(stops[at], agent_cost_after=amount)
    cost = observation.get("costUsd")
    side = (observation.get("sideCosts") or {}).get("chargedUsd")
    return Turn(
        cost=None if cost is None else Decimal(cost),
        passed=checked.get("passed"),
        failed=_failed(checked),
        stops=tuple(stops),
        extra_reviews=found[len(stops) :],
        side_cost=None if side is None else Decimal(side),
        status=observation["status"],
        tokens={name: observation.get(field) for name, field in _FIELDS.items()},
        tool_calls=observation.get("toolCalls"),
        wall_ms=observation.get("wallTimeMs"),
    )


def _stops(facts: Iterable[Mapping[str, Any]]) -> Iterator[Stop]:
    every = list(facts)
    for at, each in enumerate(every):
        later = every[at + 1]["atMs"] - each["atMs"] if at + 1 < len(every) else None
        yield Stop(passed=each.get("passed"), failed=_failed(each), wall_ms_after=later)


def _failed(said: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(name for name, fulfilled in said.get("groups", {}).items() if not fulfilled)


def _said(
    events: list[Mapping[str, Any]],
    names: ReviewSettings,
    name_field: str,
    costs: list[Decimal | None],
) -> Iterator[Said]:
    places = [at for at, event in enumerate(events) if event.get(name_field) == names.event]
    for number, at in enumerate(places):
        end = places[number + 1] if number + 1 < len(places) else len(events)
        delivered = any(event.get(name_field) == names.continued for event in events[at + 1 : end])
        yield Said(events[at], delivered, costs[number] if number < len(costs) else None)


def _review(said: Said, names: ReviewSettings) -> Review:
    event = said.event
    wall = event.get(names.wall_field) if names.wall_field else None
    scope = event.get(names.scope_field) if names.scope_field else None
    return Review(
        judgement=str(event.get(names.judgement_field)),
        delivered=said.delivered,
        goal_ids=_ids(event.get(names.goals_field)),
        evidence_ids=_ids(event.get(names.evidence_field)),
        known_goal_ids=frozenset(_ids(event.get(names.known_goals_field))),
        known_evidence_ids=frozenset(_ids(event.get(names.known_evidence_field))),
        reason=_text(event.get(names.reason_field)),
        cost=said.cost,
        wall_ms=wall if isinstance(wall, int) and not isinstance(wall, bool) else None,
        scope=_text(scope),
    )


def _ids(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _money(stated: object) -> Decimal | None:
    """Return a stated cost as the ledger counted it: 0 or above, None for anything else."""
    if isinstance(stated, bool) or not isinstance(stated, int | str | Decimal):
        return None
    try:
        found = Decimal(stated)
    except ArithmeticError:
        return None
    return found if found.is_finite() and found >= 0 else None


def _objects(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.split(b"\n"):
        try:
            found = json.loads(line, parse_float=Decimal)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found
