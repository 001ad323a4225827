"""The schedule of a phase: its attempts in their counterbalanced order, the same every time.

Task order is the manifest's; within a task its repetitions follow one another, and within one of
them the models, where there are several; the arms of a pair are neighbours. Rules for the order of
the arms in a pair, each one function:
    alternate   reversed when (task index + repetition index + model index), all from 0, is odd
    rotate      begins as many arms later as that sum: each arm comes first in turn
    random      drawn from the seed in blocks of as many pairs as there are arms; in a whole block
                every arm stands once at every place
    fixed       always the manifest's
Indexes count within the phase. ``random`` orders by SHA-256, so that any program can draw it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from agent_trials import canonical
from agent_trials.records import Cell, PlannedAttempt
from agent_trials.study import asked
from agent_trials.study.manifest import phase_repetitions, phase_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_trials.study.settings import Manifest


@dataclass(frozen=True)
class Pair:
    """The arms of one task and repetition are one pair; ``turn`` counts what its order goes by."""

    task: str
    repetition: int
    turn: int


def plan(manifest: Manifest, phase: str) -> tuple[PlannedAttempt, ...]:
    """Return the attempts of a phase in schedule order."""
    chosen = _chosen(manifest, phase)
    orders = _orders(manifest, [pair.turn for pair in chosen])
    cells = (
        (number, Cell(phase, pair.task, arm, pair.repetition))
        for number, pair in enumerate(chosen)
        for arm in orders[number]
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
    """Return the pairs of a phase in their order: every task, repetition and model."""
    tasks = phase_tasks(manifest, phase)
    slots = asked.slot_ids(manifest, phase)
    return [
        Pair(task.id, asked.repetition(manifest, replicate, slot), index + replicate + place)
        for index, task in enumerate(tasks)
        for replicate in range(phase_repetitions(manifest, phase))
        for place, slot in enumerate(slots)
    ]


def _orders(manifest: Manifest, turns: list[int]) -> list[tuple[str, ...]]:
    """Return the order of the arms of each pair."""
    arms = tuple(arm.id for arm in manifest.arms)
    match manifest.schedule.arm_order:
        case "alternate":
            return [arms[::-1] if turn % 2 else arms for turn in turns]
        case "rotate":
            return [_rotated(arms, turn) for turn in turns]
        case "random":
            seed = manifest.schedule.seed
            if seed is None:
                raise RuntimeError("a random order without a seed passed the manifest's checks")
            return list(_drawn(arms, seed, len(turns)))
        case "fixed":
            return [arms for _ in turns]


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
