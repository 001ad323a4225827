"""What a phase runs of a study: tasks, arms, repetitions, and of a sample how much of the whole."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from agent_trials import money
from agent_trials.study import asked, sampling
from agent_trials.study.sampling import Matrix, Sample

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from agent_trials.records import Cell
    from agent_trials.study.sampling import Unit
    from agent_trials.study.settings import ArmSettings, Manifest, TaskSettings


def phase_tasks(manifest: Manifest, phase: str) -> tuple[TaskSettings, ...]:
    """Return the tasks of a phase in the manifest's order; of a sample those that it draws."""
    selected = manifest.phases[phase].tasks
    tasks = [task for task in manifest.tasks if selected is None or task.id in selected]
    if manifest.phases[phase].sample is None:
        return tuple(tasks)
    drawn = {unit.task for unit in units(manifest, phase)}
    return tuple(task for task in tasks if task.id in drawn)


def phase_arms(manifest: Manifest, phase: str) -> tuple[ArmSettings, ...]:
    """Return the arms of a phase in the manifest's order."""
    chosen = manifest.phases[phase].arms
    return tuple(arm for arm in manifest.arms if chosen is None or arm.id in chosen)


def phase_repetitions(manifest: Manifest, phase: str) -> int:
    """Return how many times a phase runs each of its tasks in each arm."""
    return manifest.phases[phase].repetitions or manifest.schedule.repetitions


def matrix(manifest: Manifest, phase: str) -> Matrix:
    """Return what a phase's sample is drawn from."""
    selected = manifest.phases[phase].tasks
    return Matrix(
        {t.id: t.category for t in manifest.tasks if selected is None or t.id in selected},
        tuple(arm.id for arm in phase_arms(manifest, phase)),
        tuple(each.id for each in asked.phase_models(manifest, phase)) or (manifest.agent.model,),
        phase_repetitions(manifest, phase),
    )


def units(manifest: Manifest, phase: str) -> tuple[Unit, ...]:
    """Return what a phase's sample holds, in the manifest's order."""
    name, seed = manifest.phases[phase].sample, manifest.schedule.seed
    if name is None or seed is None:
        raise RuntimeError(f"the phase {phase} has no sample that can be drawn")
    return sampling.select(Sample.read(name), matrix(manifest, phase), seed)


def reserved(manifest: Manifest, cells: Iterable[Cell]) -> Decimal | None:
    """Return what cells reserve in all, USD; None where the operator chooses.

    What an arm's product may spend is in it, further turns are not.
    """
    sides = {arm.id: arm.side_costs.reserved_usd for arm in manifest.arms if arm.side_costs}
    own = {each.id: each.attempt_usd for each in manifest.models}
    price, amounts = manifest.budget.attempt_usd, []
    alike = Counter((cell.arm, asked.placed(manifest, cell.repetition)[1]) for cell in cells)
    for (arm, slot), count in alike.items():
        amount = (own.get(slot) if slot else None) or price
        if isinstance(amount, str):
            return None
        amounts.append(money.times(money.total(amount, sides.get(arm, money.ZERO)), count))
    return money.total(*amounts)


def sampled(manifest: Manifest, phase: str) -> tuple[str, ...]:
    """Return what must be said wherever figures of a sample stand: of how much, and how reduced.

    A sample over fewer tasks, repositories or models than the study has is a reduced pilot.
    """
    name = manifest.phases[phase].sample
    if name is None:
        return ()
    chosen = units(manifest, phase)
    here, whole = sum(len(unit.arms) for unit in chosen), _whole(manifest)
    found = [f"sample {name}: {here} of the {whole} executions of the study"]
    of = {task.id: task.repository for task in manifest.tasks}
    counts = {
        "tasks": ({unit.task for unit in chosen}, of),
        "repositories": (_named(of[unit.task] for unit in chosen), _named(of.values())),
        "models": ({unit.model for unit in chosen}, manifest.models or [manifest.agent.model]),
    }
    reduced = [
        f"{len(some)} of {len(every)} {word}" for word, (some, every) in counts.items()
        if len(some) < len(every)
    ]  # fmt: skip
    if reduced:
        found.append(f"REDUCED PILOT: {_listed(reduced)}")
    return tuple(found)


def _whole(manifest: Manifest) -> int:
    models = max(len(manifest.models), 1)
    return len(manifest.tasks) * len(manifest.arms) * models * manifest.schedule.repetitions


def _named(repositories: Iterable[str | None]) -> set[str]:
    return {name for name in repositories if name is not None}


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
