"""What a cell asks and of which model: the wording of its pair, its model slot, its replicate.

A cell names task, arm and repetition. Where a study has several models (``[[models]]``) or several
wordings of a task (``[tasks.variants]``), both follow from task and repetition, so they are the
same for every arm of a pair:
    repetition = replicate x number of models + place of the model + 1, replicate from 0
    wording    = (rank of the task + replicate) modulo the number of its variants
A task's rank is its place in the manifest, or among all tasks in an order drawn from the seed. So
wordings are spread evenly over tasks and replicates, and every model gets the same ones.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_trials.records import Cell
    from agent_trials.study.settings import ArmSettings, Manifest, ModelSettings, TaskSettings


@dataclass(frozen=True)
class Asked:
    """What the attempts of one pair ask, and in which model slot.

    ``replicate`` counts from 0. ``slot`` and ``variant`` are None where the study has none.
    """

    replicate: int
    slot: str | None
    variant: str | None
    question: str


def asked(manifest: Manifest, task_id: str, repetition: int) -> Asked:
    """Return what the pair of a task and a repetition asks."""
    task = next(each for each in manifest.tasks if each.id == task_id)
    replicate, slot = placed(manifest, repetition)
    if not task.variants:
        return Asked(replicate, slot, None, task.question)
    names = list(task.variants)
    variant = names[(_rank(manifest, task) + replicate) % len(names)]
    return Asked(replicate, slot, variant, task.variants[variant])


def placed(manifest: Manifest, repetition: int) -> tuple[int, str | None]:
    """Return replicate and model slot of a repetition; no slot where the study has none."""
    slots = manifest.models
    replicate, place = divmod(repetition - 1, max(len(slots), 1))
    return replicate, slots[place].id if slots else None


def prompt(manifest: Manifest, cell: Cell) -> str:
    """Return all that an attempt asks: the wording of its pair, then the fixed instructions."""
    return manifest.worded(asked(manifest, cell.task, cell.repetition).question)


def model(manifest: Manifest, cell: Cell) -> str:
    """Return the model that an attempt asks: its arm's own, its slot's, or the study's."""
    arm = next(each for each in manifest.arms if each.id == cell.arm)
    _, slot = placed(manifest, cell.repetition)
    return model_of(manifest, arm, slot)


def model_of(manifest: Manifest, arm: ArmSettings, slot: str | None) -> str:
    """Return the model that an arm asks in a model slot."""
    if arm.model is not None:
        return arm.model
    return next((each.model for each in manifest.models if each.id == slot), manifest.agent.model)


def models(manifest: Manifest, phase: str) -> tuple[str, ...]:
    """Return every model that a phase asks, in the order in which the study names them."""
    slots = slot_ids(manifest, phase)
    found = [model_of(manifest, arm, slot) for slot in slots for arm in manifest.arms]
    return tuple(dict.fromkeys(found))


def phase_models(manifest: Manifest, phase: str) -> tuple[ModelSettings, ...]:
    """Return the model slots of a phase, in the manifest's order; none where the study has none."""
    chosen = manifest.phases[phase].models
    return tuple(each for each in manifest.models if chosen is None or each.id in chosen)


def slot_ids(manifest: Manifest, phase: str) -> tuple[str | None, ...]:
    """Return the ids of a phase's model slots; None alone where the study has no slots."""
    return tuple(each.id for each in phase_models(manifest, phase)) or (None,)


def repetition(manifest: Manifest, replicate: int, slot: str | None) -> int:
    """Return the number under which a replicate in a model slot stands in a cell."""
    ids = [each.id for each in manifest.models]
    return replicate * max(len(ids), 1) + (ids.index(slot) if slot is not None else 0) + 1


def wordings(task: TaskSettings) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Return every text that a task may be asked with, and below which keys it stands."""
    if not task.variants:
        return ((("question",), task.question),)
    return tuple((("variants", name), text) for name, text in task.variants.items())


def shuffled(words: Sequence[str], seed: str) -> list[str]:
    """Return the words ordered by the SHA-256 of ``<seed>/<word>`` in UTF-8."""
    return sorted(words, key=lambda word: hashlib.sha256(f"{seed}/{word}".encode()).digest())


def _rank(manifest: Manifest, task: TaskSettings) -> int:
    ids = [each.id for each in manifest.tasks]
    if manifest.schedule.seed is not None:
        ids = shuffled(ids, f"{manifest.schedule.seed}/variant")
    return ids.index(task.id)
