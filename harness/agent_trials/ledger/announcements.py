"""The events that a journal writes, as plain values; no IO and no rules."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.ledger.events import Event

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    from agent_trials.ledger.admission import Refused
    from agent_trials.ledger.budget import State
    from agent_trials.ledger.prior import PriorLedger
    from agent_trials.records import AttemptResult, Cell, PlannedAttempt


@dataclass(frozen=True)
class Announcement:
    """One event on its way into the ledger: public fields, and private ones by name."""

    event: Event
    fields: Mapping[str, Any]
    private: Mapping[str, Any] = field(default_factory=dict)


def opening(
    fields: Mapping[str, Any], priors: Sequence[PriorLedger], private: Mapping[str, Any]
) -> Announcement:
    """Return the beginning of a run, with an id drawn for it and what was spent before it."""
    counted = [*fields.get("priorLedgers", ()), *(each.to_json() for each in priors)]
    named = {"runId": secrets.token_hex(16), **fields, "priorLedgers": counted}
    return Announcement(Event.RUN_OPENED, named, private)


def reservation(
    planned: PlannedAttempt, admitted: Sequence[Cell], amounts: Mapping[str, Decimal]
) -> list[Announcement]:
    """Return a reservation, behind the admission of its pair where cells are given."""
    fields = {**_place(planned), "amountUsd": money.text(amounts[planned.cell.arm])}
    reserved = Announcement(Event.ATTEMPT_RESERVED, fields)
    if not admitted:
        return [reserved]
    parts = [amounts[cell.arm] for cell in admitted]
    held = {
        "pair": planned.pair,
        "cells": [cell.to_json() for cell in admitted],
        "amountUsd": money.text(money.total(*parts)),
        **({"amountsUsd": [money.text(each) for each in parts]} if len({*parts}) > 1 else {}),
    }
    return [Announcement(Event.PAIR_ADMITTED, held), reserved]


def refusal(planned: PlannedAttempt, refused: Refused) -> list[Announcement]:
    """Return a refusal and the stop that it brings."""
    fields = {
        **_place(planned),
        "reason": refused.reason,
        "neededUsd": money.text(refused.needed),
        "availableUsd": money.text(refused.available),
    }
    return [Announcement(Event.ATTEMPT_REFUSED, fields), stop(refused.reason, planned.cell)]


def settlement(planned: PlannedAttempt, result: AttemptResult) -> Announcement:
    """Return what an attempt came to."""
    if both := result.private.keys() & result.artifacts.keys():
        raise RuntimeError(f"{sorted(both)} are both values and artifacts")
    fields = {**_place(planned), "observation": result.observation.to_json()}
    return Announcement(Event.ATTEMPT_SETTLED, fields, {**result.private, **result.artifacts})


def release(pair: int, amount: Decimal, reason: str) -> Announcement:
    """Return what is given back of a pair's hold."""
    fields = {"pair": pair, "amountUsd": money.text(amount), "reason": reason}
    return Announcement(Event.PAIR_RELEASED, fields)


def stop(reason: str, cell: Cell | None) -> Announcement:
    """Return the end of reservations in a run."""
    fields = {"reason": reason, **(cell.to_json() if cell else {})}
    return Announcement(Event.RUN_STOPPED, fields)


def closing(state: State) -> Announcement:
    """Return what the ledger comes to at the end of the latest run."""
    fields = {
        "spentUsd": money.text(state.spent),
        "reservedUsd": money.text(state.reserved),
        "counts": dict(state.run.counts),
    }
    return Announcement(Event.RUN_CLOSED, fields)


def _place(planned: PlannedAttempt) -> dict[str, Any]:
    return {**planned.cell.to_json(), "pair": planned.pair, "position": planned.position}
