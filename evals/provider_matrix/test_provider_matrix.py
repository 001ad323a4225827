"""The study's items: the plugin adds one ``test_attempt`` for every planned attempt.

What stands here are the study's own checks. They need neither a checkout nor a model nor money, so
every pytest run makes them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from agent_trials.study import freeze, manifest, schedule

CATEGORIES = {"discovery", "architecture", "documentation", "implementation"}


@pytest.fixture(scope="module")
def study() -> manifest.Study:
    return manifest.load(Path(__file__).parent)


def test_the_study_is_as_it_was_frozen_and_amended(study: manifest.Study) -> None:
    """What is changed without an amendment cannot be paid for; better that it is seen here."""
    state = freeze.state(study)

    assert state.frozen
    assert state.problems() == []


def test_each_of_six_repositories_has_a_task_of_every_category(study: manifest.Study) -> None:
    asked = Counter((task.repository, task.category) for task in study.manifest.tasks)

    assert len(study.manifest.repositories) == 6
    assert asked == dict.fromkeys(
        ((name, category) for name in study.manifest.repositories for category in CATEGORIES), 1
    )
    assert all(len(task.variants) == 2 for task in study.manifest.tasks)


def test_every_phase_is_a_plan_of_its_own_that_was_fixed(study: manifest.Study) -> None:
    drawn = {phase: schedule.plan(study.manifest, phase) for phase in study.manifest.phases}

    assert {phase: len(attempts) for phase, attempts in drawn.items()} == {
        "pilot": 6, "pilot-16": 16, "balanced": 24, "pairwise": 96, "full": 288,
    }  # fmt: skip
    assert {phase: schedule.digest(attempts) for phase, attempts in drawn.items()} == {
        name: phase.plan for name, phase in study.manifest.phases.items()
    }
