"""The study's items: the plugin adds one ``test_attempt`` for every planned attempt.

What stands here are the study's own checks. They need neither a checkout nor a model nor money, so
every pytest run makes them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_trials.study import freeze, manifest


@pytest.fixture(scope="module")
def study() -> manifest.Study:
    return manifest.load(Path(__file__).parent)


def test_the_study_is_as_it_was_frozen_and_amended(study: manifest.Study) -> None:
    """What is changed without an amendment cannot be paid for; better that it is seen here."""
    state = freeze.state(study)

    assert state.frozen
    assert state.amendment == 2
    assert state.problems() == []


def test_the_key_has_the_registered_number_of_propositions(study: manifest.Study) -> None:
    assert study.key is not None

    counts = [len(study.key.tasks[task.id].propositions) for task in study.manifest.tasks]
    assert counts == [3, 4, 3, 4, 4, 4]


def test_somebody_else_than_the_agent_grades_and_is_tested_on_the_pilots_task(
    study: manifest.Study,
) -> None:
    """A pilot's ledger holds one repository: a control about another one could not be read."""
    adjudicator = study.manifest.adjudicator
    assert adjudicator is not None
    assert study.key is not None

    assert adjudicator.model != study.manifest.agent.model
    able = [task for task, entry in study.key.tasks.items() if entry.is_control]
    assert len(able) >= adjudicator.controls
    assert study.manifest.phases["pilot"].tasks == tuple(able)
