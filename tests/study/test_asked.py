"""Models and wordings enter a plan without a place of their own in its cells."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.records import Cell
from agent_trials.study import asked, schedule
from agent_trials.study.settings import (
    AgentSettings,
    ArmSettings,
    Manifest,
    ModelSettings,
    PhaseSettings,
)

from .test_schedule import matrix

SLOTS = (
    ModelSettings(id="low-cost", model="small"),
    ModelSettings(id="reference", model="large"),
)


def slotted(manifest: Manifest, slots: int = 2) -> Manifest:
    models = tuple(ModelSettings(id=f"slot-{n}", model=f"model-{n}") for n in range(slots))
    return replace(manifest, models=models)


def worded(manifest: Manifest, variants: int = 2) -> Manifest:
    """Give every task that many wordings."""
    tasks = [
        replace(task, variants={f"v{n}": f"wording {n} of {task.id}" for n in range(variants)})
        for task in manifest.tasks
    ]
    return replace(manifest, tasks=tuple(tasks))


def test_a_matrix_of_24_tasks_3_arms_2_models_and_2_replicates_has_288_attempts() -> None:
    manifest = replace(matrix(tasks=24, arms=3, repetitions=2), models=SLOTS)

    plan = schedule.plan(manifest, "full")

    assert len(plan) == 288
    assert len(schedule.pairs(plan)) == 96
    assert len({planned.cell for planned in plan}) == 288


def test_repetitions_count_over_the_models() -> None:
    manifest = replace(matrix(tasks=1, repetitions=2), models=SLOTS)

    found = [asked.asked(manifest, "task-0", number) for number in (1, 2, 3, 4)]

    assert [(each.replicate, each.slot) for each in found] == [
        (0, "low-cost"), (0, "reference"), (1, "low-cost"), (1, "reference"),
    ]  # fmt: skip
    assert asked.model(manifest, Cell("full", "task-0", "arm-1", 4)) == "large"


def test_without_models_a_repetition_is_a_replicate() -> None:
    manifest = matrix(repetitions=3)

    assert [asked.asked(manifest, "task-0", n).replicate for n in (1, 2, 3)] == [0, 1, 2]
    assert asked.model(manifest, Cell("full", "task-0", "arm-0", 3)) == "m"
    assert asked.models(manifest, "full") == ("m",)


def test_an_arm_of_a_comparison_asks_its_own_model() -> None:
    arms = (ArmSettings(id="a", model="small"), ArmSettings(id="b", model="large"))
    manifest = replace(
        matrix(),
        arms=arms,
        agent=AgentSettings(transport="http", model="small", compares=("model",)),
    )

    assert asked.model(manifest, Cell("full", "task-0", "b", 1)) == "large"
    assert asked.models(manifest, "full") == ("small", "large")


def test_a_phase_with_one_model_keeps_the_numbers_of_the_whole() -> None:
    pilot = PhaseSettings(models=("reference",))
    manifest = replace(matrix(tasks=1, repetitions=2, phases={"pilot": pilot}), models=SLOTS)

    plan = schedule.plan(manifest, "pilot")

    assert sorted({planned.cell.repetition for planned in plan}) == [2, 4]
    assert asked.models(manifest, "pilot") == ("large",)


@given(
    tasks=st.integers(1, 6),
    arms=st.integers(2, 4),
    repetitions=st.integers(1, 4),
    slots=st.integers(2, 3),
    variants=st.integers(2, 3),
    seed=st.none() | st.integers(0, 99),
)
def test_all_arms_of_a_pair_ask_the_same_of_the_same_model(
    *, tasks: int, arms: int, repetitions: int, slots: int, variants: int, seed: int | None
) -> None:
    """Else a difference between arms could be one of wording or model."""
    shape = matrix(tasks=tasks, arms=arms, repetitions=repetitions, seed=seed)
    manifest = worded(slotted(shape, slots), variants)

    for pair in schedule.pairs(schedule.plan(manifest, "full")):
        assert {each.cell.arm for each in pair} == {arm.id for arm in manifest.arms}
        assert len({asked.prompt(manifest, each.cell) for each in pair}) == 1
        assert len({asked.model(manifest, each.cell) for each in pair}) == 1


@pytest.mark.parametrize("order", ["alternate", "rotate"])
def test_every_arm_comes_first_equally_often_with_every_model(order: str) -> None:
    manifest = replace(matrix(tasks=4, repetitions=2, arm_order=order), models=SLOTS)

    first = Counter(
        (asked.model(manifest, pair[0].cell), pair[0].cell.arm)
        for pair in schedule.pairs(schedule.plan(manifest, "full"))
    )

    assert set(first.values()) == {4}


@pytest.mark.parametrize("seed", [None, 7])
def test_wordings_are_spread_evenly_and_are_the_same_for_every_model(seed: int | None) -> None:
    manifest = worded(replace(matrix(tasks=6, repetitions=2, seed=seed), models=SLOTS))

    found = {
        (task.id, number): asked.asked(manifest, task.id, number)
        for task in manifest.tasks
        for number in (1, 2, 3, 4)
    }

    assert Counter((each.slot, each.variant) for each in found.values()) == {
        (slot.id, variant): 6 for slot in SLOTS for variant in ("v0", "v1")
    }
    for task in manifest.tasks:
        of_task = [found[task.id, number].variant for number in (1, 2, 3, 4)]
        assert of_task[0] == of_task[1] != of_task[2] == of_task[3]
        assert found[task.id, 1].question in task.variants.values()


def test_another_seed_draws_other_wordings_and_the_same_seed_the_same() -> None:
    def drawn(seed: int) -> tuple[str | None, ...]:
        manifest = worded(matrix(tasks=12, repetitions=1, seed=seed))
        return tuple(asked.asked(manifest, task.id, 1).variant for task in manifest.tasks)

    assert drawn(1) == drawn(1)
    assert len({drawn(seed) for seed in range(10)}) > 5
