"""What a schedule can and cannot estimate is read from its tables, whoever made them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from agent_trials.records import Cell, PlannedAttempt
from agent_trials.study import design, estimable, manifest, phases
from agent_trials.study.settings import ModelSettings, PhaseSettings

if TYPE_CHECKING:
    from pathlib import Path

    from agent_trials.study.settings import Manifest

SLOTS = (
    ModelSettings(id="low-cost", model="small"),
    ModelSettings(id="reference", model="large"),
)


@pytest.fixture
def settings(folder: Path) -> Manifest:
    """Return four tasks in two categories, asked of two models in two arms."""
    valid = manifest.load(folder).manifest
    tasks = [
        replace(valid.tasks[0], id=f"t{index}", category="ab"[index % 2]) for index in range(4)
    ]
    agent = replace(valid.agent, model="small")
    schedule = replace(valid.schedule, seed=5, repetitions=2)
    return replace(
        valid, agent=agent, schedule=schedule, tasks=tuple(tasks), models=SLOTS,
        phases={"full": PhaseSettings()},
    )  # fmt: skip


def sampled(settings: Manifest, **phase: object) -> Manifest:
    """Return the manifest with one phase that has these values."""
    return replace(settings, phases={"some": PhaseSettings(**phase)})  # type: ignore[arg-type] # any field


def planned(*cells: tuple[str, str, int]) -> list[PlannedAttempt]:
    """Return attempts by task, arm and repetition, each alone."""
    return [
        PlannedAttempt(Cell("full", task, arm, repetition), place, place)
        for place, (task, arm, repetition) in enumerate(cells)
    ]


def test_a_balanced_sample_of_any_study_is_seen_to_be_unpaired_and_confounded(
    settings: Manifest,
) -> None:
    found = design.doubts(sampled(settings, sample="balanced-4", repetitions=1))

    assert [doubt.what.partition(":")[0] for doubt in found if doubt.where == "phases.some"][
        :2
    ] == [
        "there are no pairs",
        "model and category are confounded",
    ]


def test_another_order_of_the_tasks_confounds_nothing(settings: Manifest) -> None:
    """It is the table that is looked at, and not the name of the sample."""
    first, second, third, fourth = settings.tasks
    turned = replace(settings, tasks=(first, third, second, fourth))

    found = design.doubts(sampled(turned, sample="balanced-4", repetitions=1))

    assert not any("model and category" in doubt.what for doubt in found)


def test_a_whole_phase_tells_every_factor_apart(settings: Manifest) -> None:
    assert list(estimable.told(settings, "full")) == [
        "arm: can be told from model, category, task and replicate",
        "model: can be told from arm, category, task and replicate",
        "differences between arms inside a pair can be estimated",
    ]


def test_an_arm_that_goes_with_a_model_is_doubted(settings: Manifest) -> None:
    """However such a schedule came about."""
    attempts = planned(
        ("t0", "repository-only", 1), ("t1", "repository-only", 3), ("t0", "docs-mcp", 2)
    )
    tables = {(c.factor, c.other): c for c in estimable.crossings(settings, attempts)}

    doubt = estimable.confounded("full", tables["arm", "model"])
    assert doubt is not None
    assert doubt.what == (
        "arm and model are confounded: repository-only with low-cost alone; docs-mcp with"
        " reference alone"
    )
    assert estimable.confounded("full", tables["arm", "category"]) is None


def test_a_phase_without_a_sample_says_nothing_of_one(settings: Manifest) -> None:
    assert phases.sampled(settings, "full") == ()


def test_a_smaller_population_is_a_reduced_pilot_and_fewer_repetitions_are_none(
    settings: Manifest,
) -> None:
    reduced = sampled(settings, sample="full", tasks=("t0",), models=("reference",))
    once = sampled(settings, sample="full-16", repetitions=1)

    assert phases.sampled(reduced, "some") == (
        "sample full: 4 of the 32 executions of the study",
        "REDUCED PILOT: 1 of 4 tasks and 1 of 2 models",
    )
    assert phases.sampled(once, "some") == ("sample full-16: 16 of the 32 executions of the study",)
