"""The schedule of a phase: its attempts in their counterbalanced order, the same every time.

Task order is the manifest's; within a task its repetitions follow one another, and within one of
them the models, where there are several; the arms of a pair are neighbours. Rules for the order of
the arms in a pair, each one function:
    alternate   reversed when (task index + repetition index + model index), all from 0, is odd
    rotate      begins as many arms later as that sum: each arm comes first in turn
    random      drawn from the seed in blocks of as many pairs as there are arms; in a whole block
                every arm stands once at every place
    fixed       always the manifest's
A phase that runs a sample has the pairs and the order of ``sampling``; the arms of its pairs take
turns along the sequence that is described there.
Indexes count within the phase. ``random`` orders by SHA-256, so that any program can draw it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from agent_trials import canonical
from agent_trials.records import Cell, PlannedAttempt
from agent_trials.study import asked, phases, sampling
from agent_trials.study.phases import phase_arms, phase_repetitions, phase_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_trials.study.settings import Manifest


@dataclass(frozen=True)
class Pair:
    """The arms of one task and repetition are one pair.

    ``turn`` is what the rules of order go by, ``draw`` the pair's place where orders are drawn.
    """

    task: str
    repetition: int
    arms: tuple[str, ...]
    turn: int
    draw: int


def plan(manifest: Manifest, phase: str) -> tuple[PlannedAttempt, ...]:
    """Return the attempts of a phase in schedule order."""
    chosen = _chosen(manifest, phase)
    arms = tuple(arm.id for arm in phase_arms(manifest, phase))
    cells = (
        (number, Cell(phase, pair.task, arm, pair.repetition))
        for number, (pair, order) in enumerate(
            zip(chosen, _orders(manifest, arms, chosen), strict=True)
        )
        for arm in order
        if arm in pair.arms
    )
    return tuple(
        PlannedAttempt(cell, position, pair) for position, (pair, cell) in enumerate(cells)
    )


def pairs(attempts: Iterable[PlannedAttempt]) -> tuple[tuple[PlannedAttempt, ...], ...]:
    """Return the attempts by pair, in schedule order."""
    return tuple(tuple(pair) for _, pair in groupby(attempts, key=lambda planned: planned.pair))


def digest(attempts: Iterable[PlannedAttempt]) -> str:
    """Return the digest of the cells in their order."""
    return canonical.digest_of([planned.cell.to_json() for planned in attempts])


def _chosen(manifest: Manifest, phase: str) -> list[Pair]:
    """Return the pairs of a phase in their order: every task, repetition and model, or a sample."""
    if manifest.phases[phase].sample is not None:
        return _sampled(manifest, phase)
    arms = tuple(arm.id for arm in phase_arms(manifest, phase))
    slots = tuple(enumerate(asked.slot_ids(manifest, phase)))
    places = [
        (task.id, replicate, slot, index + replicate + place)
        for index, task in enumerate(phase_tasks(manifest, phase))
        for replicate in range(phase_repetitions(manifest, phase))
        for place, slot in slots
    ]
    return [
        Pair(task, asked.repetition(manifest, replicate, slot), arms, turn, draw)
        for draw, (task, replicate, slot, turn) in enumerate(places)
    ]


def _sampled(manifest: Manifest, phase: str) -> list[Pair]:
    """Return the pairs of a sample in their drawn order."""
    matrix, seed = phases.matrix(manifest, phase), _seed(manifest)
    units = phases.units(manifest, phase)
    turns = sampling.turns(units, matrix, seed)
    return [
        Pair(
            unit.task,
            asked.repetition(manifest, unit.replicate, unit.model if manifest.models else None),
            unit.arms,
            turns[unit],
            turns[unit],
        )
        for unit in sampling.in_order(units, seed)
    ]


def _orders(manifest: Manifest, arms: tuple[str, ...], chosen: list[Pair]) -> list[tuple[str, ...]]:
    """Return the order of a phase's arms for each pair."""
    match manifest.schedule.arm_order:
        case "alternate":
            return [arms[::-1] if pair.turn % 2 else arms for pair in chosen]
        case "rotate":
            return [_rotated(arms, pair.turn) for pair in chosen]
        case "random":
            drawn = list(_drawn(arms, _seed(manifest), len(chosen)))
            return [drawn[pair.draw] for pair in chosen]
        case "fixed":
            return [arms for _ in chosen]


def _seed(manifest: Manifest) -> int:
    if manifest.schedule.seed is None:
        raise RuntimeError("an order that is drawn without a seed passed the manifest's checks")
    return manifest.schedule.seed


def _rotated(arms: tuple[str, ...], by: int) -> tuple[str, ...]:
    first = by % len(arms)
    return arms[first:] + arms[:first]


def _drawn(arms: tuple[str, ...], seed: int, pairs_needed: int) -> Iterator[tuple[str, ...]]:
    """Yield orders in blocks: all rotations of one drawn order of the arms, in a drawn sequence."""
    size = len(arms)
    for block in range(-(-pairs_needed // size)):
        order = tuple(asked.shuffled(arms, f"{seed}/{block}/arm"))
        rotations = asked.shuffled([str(by) for by in range(size)], f"{seed}/{block}/rotation")
        for by in rotations[: pairs_needed - block * size]:
            yield _rotated(order, int(by))
