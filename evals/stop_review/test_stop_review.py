"""The study's items: the plugin adds one ``test_attempt`` for every planned attempt.

What stands here are the study's own checks, which need neither a CLI nor a product nor money.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent_trials.study import freeze, manifest


@pytest.fixture(scope="module")
def study() -> manifest.Study:
    return manifest.load(Path(__file__).parent)


def test_the_study_is_as_it_was_frozen(study: manifest.Study) -> None:
    """What is changed without an amendment cannot be paid for; better that it is seen here."""
    state = freeze.state(study)

    assert state.frozen
    assert state.problems() == []


def test_every_requirement_of_a_request_has_a_group_and_no_other(study: manifest.Study) -> None:
    """What is checked is stated, by number, in the prompt."""
    assert study.key is not None
    for task in study.manifest.tasks:
        numbers = re.findall(r"^(\d+)\. ", task.question, re.MULTILINE)
        checker = study.key.tasks[task.id].checker

        assert checker is not None
        assert checker.requirements == tuple(f"r{int(number):02}" for number in numbers)


def test_at_least_two_requirements_follow_the_main_description(study: manifest.Study) -> None:
    for task in study.manifest.tasks:
        last = re.split(r"\n\n(?!1\. )(?=\D)", task.question)[-1]

        assert len(re.findall(r"^\d+\. ", last, re.MULTILINE)) >= 2, task.id


def test_the_arms_differ_in_the_product_alone(study: manifest.Study) -> None:
    plain, review = study.manifest.arms

    assert plain.launcher == ()
    assert (plain.environment, plain.unset, plain.arguments) == ({}, (), ())
    assert (review.environment, review.unset, review.arguments) == ({}, (), ())
    assert review.follow_up is not None
    assert review.follow_up.launcher == ()
    assert (review.follow_up.unset, review.follow_up.arguments) == ((), ())


def test_the_calibration_task_is_none_of_the_six(study: manifest.Study) -> None:
    phases = study.manifest.phases

    assert phases["smoke"].tasks == ("recipes",)
    assert not phases["smoke"].scored
    assert phases["full"].tasks == tuple(
        task.id for task in study.manifest.tasks if task.id != "recipes"
    )
