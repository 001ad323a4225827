"""The schedule of a phase: its attempts in their counterbalanced order, the same every time.

Task order is the manifest's; within a task its repetitions follow one another; the arms of a pair
are neighbours. Rules for the order of the arms in a pair, each one function:
    alternate   reversed when (task index + repetition index), both from 0, is odd
    rotate      begins (task index + repetition index) arms later: each arm comes first in turn
    random      drawn from the seed in blocks of as many pairs as there are arms; in a whole block
                every arm stands once at every place
    fixed       always the manifest's
Indexes count within the phase. ``random`` orders by SHA-256, so that any program can draw it again.
"""

from __future__ import annotations

import hashlib
from itertools import groupby
from typing import TYPE_CHECKING

from agent_trials import canonical
from agent_trials.records import Cell, PlannedAttempt
from agent_trials.study.manifest import phase_repetitions, phase_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent_trials.study.settings import Manifest


def plan(manifest: Manifest, phase: str) -> tuple[PlannedAttempt, ...]:
    """Return the attempts of a phase in schedule order."""
    tasks = phase_tasks(manifest, phase)
    repetitions = phase_repetitions(manifest, phase)
    orders = _orders(manifest, len(tasks), repetitions)
    cells = (
        (pair, Cell(phase, task.id, arm, repetition))
        for pair, (task, repetition) in enumerate(
            (task, repetition) for task in tasks for repetition in range(1, repetitions + 1)
        )
        for arm in orders[pair]
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


def _orders(manifest: Manifest, tasks: int, repetitions: int) -> list[tuple[str, ...]]:
    """Return the order of the arms of each pair."""
    arms = tuple(arm.id for arm in manifest.arms)
    turns = [task + repetition for task in range(tasks) for repetition in range(repetitions)]
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
        order = tuple(_shuffled(arms, f"{seed}/{block}/arm"))
        rotations = _shuffled([str(by) for by in range(size)], f"{seed}/{block}/rotation")
        for by in rotations[: pairs_needed - block * size]:
            yield _rotated(order, int(by))


def _shuffled(words: Sequence[str], seed: str) -> list[str]:
    """Return the words ordered by the SHA-256 of ``<seed>/<word>`` in UTF-8."""
    return sorted(words, key=lambda word: hashlib.sha256(f"{seed}/{word}".encode()).digest())
