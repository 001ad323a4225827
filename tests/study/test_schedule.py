"""Laws of every schedule, and the order of the minimal agent-efficiency study v1."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.study import schedule
from agent_trials.study.settings import (
    AgentSettings,
    ArmSettings,
    BudgetSettings,
    EndpointSettings,
    Manifest,
    PhaseSettings,
    RepositorySettings,
    ScheduleSettings,
    TaskSettings,
    TransportSettings,
    VerdictSettings,
)

ORDERS = ("alternate", "rotate", "random", "fixed")


def matrix(
    *,
    tasks: int = 6,
    arms: int = 2,
    repetitions: int = 3,
    arm_order: str = "alternate",
    seed: int | None = None,
    phases: dict[str, PhaseSettings] | None = None,
) -> Manifest:
    """Return a manifest that matters by its matrix only."""
    return Manifest(
        schema=1,
        id="m",
        title="m",
        declaration="d",
        agent=AgentSettings(transport="http", model="m"),
        schedule=ScheduleSettings(
            repetitions=repetitions,
            arm_order=arm_order,  # type: ignore[arg-type] # a parameter of the test
            seed=seed,
        ),
        phases=phases or {"full": PhaseSettings()},
        budget=BudgetSettings(attempt_usd=Decimal(1)),
        endpoints=EndpointSettings(primary=("cost_usd",)),
        verdict=VerdictSettings(rule="r"),
        repositories={"r": RepositorySettings(url="https://x", pin="0" * 40)},
        arms=tuple(ArmSettings(id=f"arm-{index}") for index in range(arms)),
        tasks=tuple(
            TaskSettings(id=f"task-{index}", repository="r", category="c", question="q")
            for index in range(tasks)
        ),
        transports=TransportSettings(),
    )


@st.composite
def matrices(draw: st.DrawFn, orders: tuple[str, ...] = ORDERS) -> Manifest:
    """Draw a manifest of any shape that a study may have."""
    return matrix(
        tasks=draw(st.integers(1, 9)),
        arms=draw(st.integers(2, 5)),
        repetitions=draw(st.integers(1, 5)),
        arm_order=draw(st.sampled_from(orders)),
        seed=draw(st.integers(0, 2**70)),
    )


def first_arms(manifest: Manifest, phase: str = "full") -> list[str]:
    """Return the arm that comes first in each pair."""
    return [pair[0].cell.arm for pair in schedule.pairs(schedule.plan(manifest, phase))]


def test_alternate_is_the_order_of_the_minimal_study() -> None:
    """Six tasks, two arms, three repetitions: the protocol's 36 attempts in its own order."""
    attempts = schedule.plan(matrix(), "full")

    assert len(attempts) == 36
    assert Counter(first_arms(matrix())) == {"arm-0": 9, "arm-1": 9}
    for planned in attempts:
        cell = planned.cell
        task, repetition = int(cell.task[-1]), cell.repetition - 1
        arms = ("arm-1", "arm-0") if (task + repetition) % 2 else ("arm-0", "arm-1")
        assert planned.pair == task * 3 + repetition
        assert cell.arm == arms[planned.position % 2]


def test_the_minimal_studys_pilot_is_its_first_task_once_with_the_first_arm_first() -> None:
    pilot = PhaseSettings(tasks=("task-0",), repetitions=1, scored=False)
    attempts = schedule.plan(matrix(phases={"pilot": pilot}), "pilot")

    assert [planned.cell.item for planned in attempts] == [
        "pilot/task-0/arm-0/r1",
        "pilot/task-0/arm-1/r1",
    ]


def test_a_phase_counts_its_own_tasks_and_keeps_the_manifests_order() -> None:
    """Otherwise a pilot of the second task alone would begin with the second arm."""
    some = PhaseSettings(tasks=("task-4", "task-1"), repetitions=1)
    attempts = schedule.plan(matrix(phases={"some": some}), "some")

    assert [(planned.cell.task, planned.cell.arm) for planned in attempts] == [
        ("task-1", "arm-0"),
        ("task-1", "arm-1"),
        ("task-4", "arm-1"),
        ("task-4", "arm-0"),
    ]


@given(matrices())
def test_every_cell_stands_once_and_positions_count_from_0(manifest: Manifest) -> None:
    attempts = schedule.plan(manifest, "full")
    cells = {planned.cell for planned in attempts}

    assert [planned.position for planned in attempts] == list(range(len(attempts)))
    assert len(cells) == len(attempts)
    assert cells == {
        replace(attempts[0].cell, task=task.id, arm=arm.id, repetition=repetition + 1)
        for task in manifest.tasks
        for arm in manifest.arms
        for repetition in range(manifest.schedule.repetitions)
    }


@given(matrices())
def test_the_arms_of_a_pair_are_neighbours(manifest: Manifest) -> None:
    """A pair is admitted as a whole, and drift over time must not come between its arms."""
    attempts = schedule.plan(manifest, "full")
    pairs = schedule.pairs(attempts)

    assert tuple(planned for pair in pairs for planned in pair) == attempts
    for number, pair in enumerate(pairs):
        assert {planned.pair for planned in pair} == {number}
        assert len({(planned.cell.task, planned.cell.repetition) for planned in pair}) == 1
        assert {planned.cell.arm for planned in pair} == {arm.id for arm in manifest.arms}


@given(matrices(orders=("rotate", "random")))
def test_every_arm_comes_equally_often_at_every_place_in_whole_rounds(manifest: Manifest) -> None:
    """The counts of two arms at one place differ by at most one round that is not whole."""
    pairs = schedule.pairs(schedule.plan(manifest, "full"))
    arms = [arm.id for arm in manifest.arms]
    for place in range(len(arms)):
        counts = Counter(dict.fromkeys(arms, 0))
        counts.update(pair[place].cell.arm for pair in pairs)
        slack = 1 if manifest.schedule.arm_order == "random" else _slack(manifest)

        assert max(counts.values()) - min(counts.values()) <= slack


def _slack(manifest: Manifest) -> int:
    """Rotation is balanced in tasks and in repetitions, so what is left over is in both."""
    arms = len(manifest.arms)
    return min(len(manifest.tasks) % arms, manifest.schedule.repetitions % arms)


@given(matrices(orders=("alternate",)))
def test_alternate_begins_equally_often_with_both_ends(manifest: Manifest) -> None:
    counts = Counter(first_arms(manifest))
    ends = manifest.arms[0].id, manifest.arms[-1].id

    assert set(counts) <= set(ends)
    assert counts[ends[0]] - counts[ends[1]] in {0, 1}


@given(matrices(orders=("fixed",)))
def test_fixed_is_the_manifests_order(manifest: Manifest) -> None:
    assert set(first_arms(manifest)) == {manifest.arms[0].id}


@given(matrices())
def test_the_same_manifest_gives_the_same_plan(manifest: Manifest) -> None:
    first, second = schedule.plan(manifest, "full"), schedule.plan(manifest, "full")

    assert first == second
    assert schedule.digest(first) == schedule.digest(second)


def test_another_seed_gives_another_order() -> None:
    digests = {
        schedule.digest(schedule.plan(matrix(arm_order="random", seed=seed), "full"))
        for seed in range(20)
    }

    assert len(digests) > 15


def test_a_drawn_order_never_changes() -> None:
    """A study frozen today must draw the same order with every later version."""
    drawn = first_arms(matrix(tasks=2, arms=3, repetitions=3, arm_order="random", seed=7))

    assert drawn == ["arm-1", "arm-0", "arm-2", "arm-1", "arm-2", "arm-0"]


@pytest.mark.parametrize("order", ORDERS)
def test_ten_thousand_attempts_plan_in_well_under_a_tenth_of_a_second(order: str) -> None:
    manifest = matrix(tasks=50, arms=2, repetitions=100, arm_order=order, seed=1)
    best = 1.0
    for _ in range(3):
        start = time.process_time()
        planned = schedule.plan(manifest, "full")
        best = min(best, time.process_time() - start)

    assert len(planned) == 10_000
    assert best < 0.1


def test_every_order_that_a_manifest_may_name_is_tried_here() -> None:
    assert get_args(ScheduleSettings.__annotations__["arm_order"]) == ORDERS
