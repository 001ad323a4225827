"""What a design cannot tell is said before money is spent, not by a reviewer afterwards."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from agent_trials.records import Cell, PlannedAttempt
from agent_trials.study import design, manifest
from agent_trials.study.settings import (
    AcceptanceCheck,
    AdjudicatorSettings,
    PhaseSettings,
    ProviderSettings,
    ProviderTask,
    TransportSettings,
)

if TYPE_CHECKING:
    from pathlib import Path

    from agent_trials.study.settings import Manifest


@pytest.fixture
def settings(folder: Path) -> Manifest:
    """Return a manifest of six tasks in two categories, about which there is no doubt."""
    valid = manifest.load(folder).manifest
    first = valid.tasks[0]
    tasks = [
        replace(first, id=f"task-{index}", category=("a", "a", "b")[index % 3])
        for index in range(6)
    ]
    grader = AdjudicatorSettings(transport="http", model="another", limit_usd=Decimal("0.6"))
    phases = {"full": PhaseSettings()}
    return replace(valid, tasks=tuple(tasks), phases=phases, adjudicator=grader)


def said(settings: Manifest) -> list[str]:
    """Return the doubts as one reads them."""
    return [str(each) for each in design.doubts(settings)]


def schedule_of(settings: Manifest, **changes: object) -> Manifest:
    """Return the manifest with another schedule."""
    return replace(settings, schedule=replace(settings.schedule, **changes))  # type: ignore[arg-type] # any field


def planned(*cells: tuple[str, str, int]) -> list[PlannedAttempt]:
    """Return attempts by task, arm and pair."""
    return [
        PlannedAttempt(Cell("full", task, arm, 1), position, pair)
        for position, (task, arm, pair) in enumerate(cells)
    ]


def test_a_sound_design_raises_no_doubt(settings: Manifest) -> None:
    assert said(settings) == []


def test_correctness_that_nobody_will_grade_is_doubted(settings: Manifest) -> None:
    """Who grades is read from the ledger: after the attempts it is too late to name somebody."""
    (doubt,) = said(replace(settings, adjudicator=None))
    costs = replace(settings.endpoints, primary=("cost_usd",), secondary=())

    assert doubt == (
        "endpoints: correctness is registered and nobody grades it: attempts made so stay"
        " ungraded; add [adjudicator] before the first paid attempt"
    )
    assert said(replace(settings, adjudicator=None, endpoints=costs)) == []


def test_a_task_in_one_arm_only_is_confounded_with_it() -> None:
    """What is then called the arm's effect may be the task's."""
    attempts = planned(("x", "one", 0), ("x", "two", 0), ("y", "one", 1))

    assert [each.what for each in design.whole_pairs("full", attempts, ["one", "two"])] == [
        "the task y runs in the arm one alone, so task and arm are confounded",
        "pair 1 has 1 of 2 arms, so no endpoint is paired",
    ]


def test_a_task_that_lacks_an_arm_is_named() -> None:
    attempts = planned(("x", "one", 0), ("x", "two", 0))
    found = [each.what for each in design.whole_pairs("full", attempts, ["one", "two", "three"])]

    assert found[0] == "the task x does not run in three"


def test_an_order_that_favours_one_arm_is_doubted(settings: Manifest) -> None:
    (doubt,) = said(schedule_of(settings, arm_order="fixed"))

    assert doubt == (
        "phases.full: the arms do not come first equally often (repository-only in 18, docs-mcp in"
        ' 0 pairs), so time favours one; use "alternate"'
    )


def test_alternating_three_arms_never_begins_with_the_middle_one(settings: Manifest) -> None:
    arms = (*settings.arms, replace(settings.arms[1], id="third"))

    (doubt,) = said(replace(settings, arms=arms))

    assert "docs-mcp in 0, third in 9 pairs" in doubt
    assert doubt.endswith('use arm_order "rotate" or "random"')
    assert said(schedule_of(replace(settings, arms=arms), arm_order="rotate")) == []


def test_an_order_that_goes_with_a_category_is_doubted(settings: Manifest) -> None:
    """Two categories taking turns once each: one always begins with the control, one never."""
    tasks = [replace(task, category="ab"[index % 2]) for index, task in enumerate(settings.tasks)]
    once = schedule_of(replace(settings, tasks=tuple(tasks)), repetitions=1)

    assert [each.split(";")[0] for each in said(once)] == [
        "phases.full: every pair of the category a begins with repository-only",
        "phases.full: every pair of the category b begins with docs-mcp",
    ]


def test_a_file_that_the_cli_would_put_into_the_prompt_is_doubted(settings: Manifest) -> None:
    """It is read without a tool call, so neither counts nor times tell of it."""
    tasks = (replace(settings.tasks[0], question="What does @docs/install.md say to a@b.org?"),)
    through_cli = replace(settings, tasks=(*tasks, *settings.tasks[1:]))
    over_http = replace(through_cli, transports=replace(settings.transports, cli=None))

    [doubt] = [line for line in said(through_cli) if "@" in line]
    assert doubt.startswith(
        "tasks.task-0.question: Claude Code puts the file that @docs/install.md"
    )
    assert not any("@" in line for line in said(over_http))


def test_an_endpoint_that_no_transport_can_show_is_doubted(settings: Manifest) -> None:
    registered = replace(settings.endpoints, secondary=("cache_read_input_tokens",))
    both = replace(settings, endpoints=registered)
    http = replace(both, transports=replace(both.transports, cli=None))

    assert said(both) == []
    assert said(http)[0].startswith(
        "endpoints.secondary: cache_read_input_tokens is registered, and"
    )


def test_a_study_without_a_scored_phase_is_doubted(settings: Manifest) -> None:
    unscored = replace(settings, phases={"pilot": PhaseSettings(scored=False)})

    assert said(unscored) == [
        "phases: no phase is scored, so no verdict follows; score one of them"
    ]


@pytest.mark.parametrize(
    ("tasks", "smallest"),
    [(1, Fraction(1)), (2, Fraction(1, 2)), (6, Fraction(1, 32)), (16, Fraction(1, 32768))],
)
def test_the_smallest_p_of_a_sign_flip_test(tasks: int, smallest: Fraction) -> None:
    """All tasks agreeing, in one direction or the other, are two of 2^t equally likely flips."""
    assert design.smallest_p(tasks) == smallest


def test_too_few_tasks_for_a_p_value_are_doubted_unless_none_is_registered(
    settings: Manifest,
) -> None:
    five = replace(settings, tasks=settings.tasks[:5])
    without = replace(five, endpoints=replace(five.endpoints, p_values=False))

    (doubt,) = said(five)

    assert doubt == (
        "phases.full: with 5 tasks no p-value can be below 0.0625, however clear the difference;"
        " add tasks, or set endpoints.p_values = false"
    )
    assert said(without) == []


def test_a_pilot_of_one_task_needs_no_p_value(settings: Manifest) -> None:
    pilot = PhaseSettings(tasks=("task-0",), repetitions=1, scored=False)

    assert said(replace(settings, phases={"pilot": pilot, "full": PhaseSettings()})) == []


def test_a_phase_in_numbers(folder: Path) -> None:
    pilot, full = design.designs(manifest.load(folder).manifest)

    assert (pilot.phase, pilot.scored, pilot.attempts, pilot.pairs) == ("pilot", False, 2, 1)
    assert (full.tasks, full.arms, full.pairs, full.attempts) == (2, 2, 6, 12)
    assert full.smallest_p == Fraction(1, 2)


def test_a_check_that_imports_what_was_left_is_doubted(settings: Manifest) -> None:
    """A file called json.py beside the answer would then be part of its own check."""

    def of(*command: str) -> list[str]:
        check = AcceptanceCheck(id="a", command=command)
        table = ProviderSettings(tasks={"task-1": ProviderTask(checks=(check,))})
        return said(replace(settings, transports=TransportSettings(provider=table)))

    doubt = "imports what the command left"
    assert any(doubt in each for each in of("{python}", "{study}/check.py"))
    assert not any(doubt in each for each in of("{python}", "-I", "{study}/check.py"))


def test_checks_that_a_provider_only_reports_are_doubted(settings: Manifest) -> None:
    """What it says of its own work would be all that is known of it."""
    told = ProviderTask(acceptance_checks=("the tests pass",))
    table = ProviderSettings(request=("objective", "acceptance_checks"), tasks={"task-1": told})
    provider = replace(settings, transports=TransportSettings(provider=table))
    run = replace(told, checks=(AcceptanceCheck(id="tests", command=("true",)),))
    checked = replace(table, tasks={"task-1": run})

    doubt = "of the checks of task-1 only the provider's own word is known"
    assert any(doubt in each for each in said(provider))
    assert not any(
        doubt in each
        for each in said(replace(settings, transports=TransportSettings(provider=checked)))
    )
