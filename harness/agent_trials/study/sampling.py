"""Which executions of a whole matrix a phase runs, in which order: drawn from a seed; pure.

A sample is named ``balanced``, ``pairwise`` or ``full``, with the number of its executions after a
hyphen where the study says it once more:
    balanced   task i runs once, in arm (i div models) mod arms by model i mod models, i from 0;
               every model meets every arm equally often, and no two attempts are a pair
    pairwise   two arms of every drawn task by every model, once: whole pairs
    full       every task in every arm by every model in every replicate

Tasks of a smaller ``pairwise`` sample are the first in ascending SHA-256 of ``<seed>/task/<task>``.
Pairs follow one another in ascending SHA-256 of ``<seed>/pair/<task>/<model>/<replicate>``. Places
inside a pair are counterbalanced along another sequence: by model, then category, then drawn.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Kind = Literal["balanced", "pairwise", "full"]
NAME = re.compile(r"(balanced|pairwise|full)(?:-([1-9][0-9]{0,6}))?")
KINDS: Mapping[str, Kind] = {"balanced": "balanced", "pairwise": "pairwise", "full": "full"}
PAIR = 2


@dataclass(frozen=True)
class Sample:
    """A sample as a phase names it; ``size`` is the number of executions, None where not said."""

    kind: Kind
    size: int | None = None

    @classmethod
    def read(cls, name: str) -> Sample:
        """Return the sample of a name that fits ``NAME``."""
        found = NAME.fullmatch(name)
        if found is None:
            raise RuntimeError(f"{name!r} is no sample")
        return cls(KINDS[found[1]], int(found[2]) if found[2] else None)


@dataclass(frozen=True)
class Matrix:
    """What a phase could run: ids in the study's order, and the category of each task."""

    tasks: Mapping[str, str]
    arms: tuple[str, ...]
    models: tuple[str, ...]
    replicates: int

    @property
    def executions(self) -> int:
        """Return how many there are when everything is crossed."""
        return len(self.tasks) * len(self.arms) * len(self.models) * self.replicates

    @property
    def strata(self) -> int:
        """Return how many combinations of arm and model there are."""
        return len(self.arms) * len(self.models)


@dataclass(frozen=True)
class Unit:
    """One pair, or less where arms are missing: a task, by one model, in one replicate (from 0)."""

    task: str
    model: str
    replicate: int
    arms: tuple[str, ...]


def problems(sample: Sample, matrix: Matrix) -> Iterator[tuple[str, str]]:
    """Yield what keeps the sample from being drawn, each with the way out."""
    match sample.kind:
        case "balanced":
            yield from _unbalanced(sample.size, matrix)
        case "pairwise":
            yield from _unpaired(sample.size, matrix)
        case "full":
            if sample.size not in {None, matrix.executions}:
                what = f"everything crossed is {matrix.executions} executions, not {sample.size}"
                yield what, f'write "full-{matrix.executions}"'


def _unbalanced(size: int | None, matrix: Matrix) -> Iterator[tuple[str, str]]:
    wanted = len(matrix.tasks) if size is None else size
    if wanted > len(matrix.tasks):
        what = f"{wanted} executions need as many tasks, and the phase has {len(matrix.tasks)}"
        yield what, "each task runs once in a balanced sample: ask for less, or add tasks"
    if wanted % matrix.strata:
        what = (
            f"{wanted} executions do not fall equally on {matrix.strata} combinations of arm and"
            " model"
        )
        yield what, f"use a multiple of {matrix.strata}"
    if matrix.replicates > 1:
        yield "a balanced sample runs every task once", "write repetitions = 1"


def _unpaired(size: int | None, matrix: Matrix) -> Iterator[tuple[str, str]]:
    if len(matrix.arms) != PAIR:
        what = f"a pairwise sample compares two arms, and the phase has {len(matrix.arms)}"
        yield what, "name two of the study's arms under arms"
        return
    most = len(matrix.tasks) * matrix.strata
    wanted = most if size is None else size
    if wanted > most:
        what = f"{wanted} executions are more than the {most} of {len(matrix.tasks)} tasks"
        yield what, "ask for less, or add tasks"
    if wanted % matrix.strata:
        what = f"{wanted} executions leave a task without one of its {matrix.strata}"
        yield what, f"use a multiple of {matrix.strata}"
    if matrix.replicates > 1:
        yield "a pairwise sample runs every pair once", "write repetitions = 1"


def select(sample: Sample, matrix: Matrix, seed: int) -> tuple[Unit, ...]:
    """Return what the sample holds; tasks, models and arms in the study's order."""
    tasks = tuple(matrix.tasks)
    match sample.kind:
        case "balanced":
            return tuple(
                Unit(task, model, 0, (arm,))
                for task, (arm, model) in zip(
                    tasks[: sample.size], _strata(matrix, len(tasks)), strict=False
                )
            )
        case "pairwise":
            count = None if sample.size is None else sample.size // matrix.strata
            drawn = set(sorted(tasks, key=lambda task: digest(seed, "task", task))[:count])
            chosen = [task for task in tasks if task in drawn]
            return tuple(
                Unit(task, model, 0, matrix.arms) for task, model in product(chosen, matrix.models)
            )
        case "full":
            return tuple(
                Unit(task, model, replicate, matrix.arms)
                for task, model, replicate in product(
                    tasks, matrix.models, range(matrix.replicates)
                )
            )


def _strata(matrix: Matrix, count: int) -> Iterator[tuple[str, str]]:
    """Yield arm and model of one task after the other."""
    arms, models = matrix.arms, matrix.models
    for index in range(count):
        yield arms[index // len(models) % len(arms)], models[index % len(models)]


def in_order(units: tuple[Unit, ...], seed: int) -> tuple[Unit, ...]:
    """Return the units in the order in which they run."""
    return tuple(sorted(units, key=lambda unit: _drawn(unit, seed)))


def turns(units: tuple[Unit, ...], matrix: Matrix, seed: int) -> dict[Unit, int]:
    """Return the place (from 0) of each unit in the sequence along which arms take turns.

    The units of one model and category are neighbours in it, so that no arm comes first more often
    for one of them than for another.
    """
    models = {model: index for index, model in enumerate(matrix.models)}
    categories = {name: at for at, name in enumerate(dict.fromkeys(matrix.tasks.values()))}

    def place(unit: Unit) -> tuple[int, int, bytes]:
        category = categories[matrix.tasks[unit.task]]
        return models[unit.model], category, _drawn(unit, seed)

    return {unit: index for index, unit in enumerate(sorted(units, key=place))}


def _drawn(unit: Unit, seed: int) -> bytes:
    return digest(seed, "pair", unit.task, unit.model, str(unit.replicate))


def digest(seed: int, *words: str) -> bytes:
    """Return the SHA-256 by which is drawn: of seed and words, joined by ``/``, in UTF-8."""
    return hashlib.sha256("/".join((str(seed), *words)).encode()).digest()
