"""The provider-matrix study is the matrix of its specification, and says what it cannot tell."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import handoffs
from agent_trials.agents import provider_request
from agent_trials.commands import examine
from agent_trials.study import asked, design, estimable, manifest, schedule

if TYPE_CHECKING:
    from agent_trials.records import PlannedAttempt
    from agent_trials.study.manifest import Study
    from agent_trials.study.settings import ProviderSettings

STUDY = Path(__file__).parents[2] / "evals" / "provider_matrix"
CONTROL, HANDOFF, REGISTRY = "repository-only", "deterministic-doc-bridge", "registry-assisted"
CATEGORIES = handoffs.CATEGORIES


@pytest.fixture(scope="module")
def study() -> Study:
    return manifest.load(STUDY)


@pytest.fixture(scope="module")
def provider(study: Study) -> ProviderSettings:
    found = study.manifest.transports.provider
    assert found is not None
    return found


@pytest.fixture(scope="module")
def examined(study: Study) -> examine.Examined:
    """Everything that ``agent-trials check`` finds, the corpora committed and searched."""
    return examine.examine(study)


def model(study: Study, planned: PlannedAttempt) -> str | None:
    """Return the model slot of an attempt."""
    return asked.asked(study.manifest, planned.cell.task, planned.cell.repetition).slot


def category(planned: PlannedAttempt) -> str:
    """Return the category of an attempt's task, which its id ends with."""
    return planned.cell.task.rpartition("-")[2]


def test_nothing_is_wrong_with_it_and_the_key_is_nowhere_in_the_corpora(
    examined: examine.Examined,
) -> None:
    assert examined.problems == ()
    assert sum("searched for the key" in note for note in examined.notes) == 6


def test_check_says_that_the_balanced_sample_has_no_pairs_and_confounds_model_with_category(
    examined: examine.Examined,
) -> None:
    unpaired, together = (
        doubt.what for doubt in examined.doubts if doubt.where == "phases.balanced"
    )

    assert unpaired == (
        "there are no pairs: each of the 24 attempts stands alone, so no endpoint is paired"
    )
    assert together == (
        "model and category are confounded: low-cost with documentation and discovery alone;"
        " reference with architecture and implementation alone"
    )


def test_nothing_that_is_scored_is_doubted(study: Study) -> None:
    scored = {f"phases.{name}" for name, each in study.manifest.phases.items() if each.scored}

    assert scored == {"phases.pairwise", "phases.full"}
    assert [each for each in design.doubts(study.manifest) if each.where in scored] == []


def test_what_can_be_estimated_is_said_of_every_sample(study: Study) -> None:
    told = {name: list(estimable.told(study.manifest, name)) for name in ("balanced", "full")}

    assert told["balanced"][1] == (
        "model: can be told from arm, repository and wording, CANNOT be told from category and task"
    )
    assert told["balanced"][2].startswith("no pairs: differences between arms")
    assert "CANNOT" not in " ".join(told["full"])


def test_the_balanced_sample_is_that_of_the_contract(study: Study) -> None:
    """Task i in arm floor(i / 2) mod 3 by model i mod 2, whatever the order of its attempts is."""
    arms, slots = (CONTROL, HANDOFF, REGISTRY), ("low-cost", "reference")
    plan = schedule.plan(study.manifest, "balanced")
    drawn = {each.cell.task: (each.cell.arm, model(study, each)) for each in plan}

    assert drawn == {
        task.id: (arms[index // 2 % 3], slots[index % 2])
        for index, task in enumerate(study.manifest.tasks)
    }
    assert {each.cell.repetition for each in plan} == {1, 2}  # the first replicate of each model


@pytest.mark.parametrize("phase", ["pairwise", "full"])
def test_every_arm_stands_equally_often_at_every_place_for_every_model_and_category(
    study: Study, phase: str
) -> None:
    places = Counter(
        (model(study, planned), category(planned), place, planned.cell.arm)
        for pair in schedule.pairs(schedule.plan(study.manifest, phase))
        for place, planned in enumerate(pair)
    )
    arms = (CONTROL, HANDOFF) if phase == "pairwise" else (CONTROL, HANDOFF, REGISTRY)

    assert set(places.values()) == {3 if phase == "pairwise" else 4}
    assert len(places) == len(
        list(product(("low-cost", "reference"), CATEGORIES, range(len(arms)), arms))
    )


def test_the_arms_of_a_pair_ask_one_wording_of_one_model(study: Study) -> None:
    """The original let wordings alternate inside a task, so that arms could differ in them."""
    pairs = schedule.pairs(schedule.plan(study.manifest, "full"))
    wordings = Counter(
        asked.asked(study.manifest, pair[0].cell.task, pair[0].cell.repetition).variant
        for pair in pairs
    )

    assert all(len({(p.cell.task, p.cell.repetition) for p in pair}) == 1 for pair in pairs)
    assert wordings == {"plain": 48, "situated": 48}


def drawn_again(study: Study, phase: str) -> list[tuple[str, str, str, int, str]]:
    """Draw a phase of whole pairs from what docs/study.md says, with nothing of the package.

    A row is task, model, arm, replicate and wording.
    """
    settings = study.manifest
    seed, tasks = settings.schedule.seed, [task.id for task in settings.tasks]
    arms = settings.phases[phase].arms or tuple(arm.id for arm in settings.arms)
    models = [each.id for each in settings.models]
    replicates = settings.phases[phase].repetitions or settings.schedule.repetitions

    def drawn(*words: object) -> str:
        return hashlib.sha256("/".join(map(str, (seed, *words))).encode()).hexdigest()

    def place(pair: tuple[str, str, int]) -> str:
        return drawn("pair", *pair)

    def stratum(pair: tuple[str, str, int]) -> tuple[int, int, str]:
        return models.index(pair[1]), CATEGORIES.index(pair[0].rpartition("-")[2]), place(pair)

    pairs = sorted(product(tasks, models, range(replicates)), key=place)
    turns = {pair: turn for turn, pair in enumerate(sorted(pairs, key=stratum))}
    ranks = sorted(tasks, key=lambda task: drawn("variant", task))
    rows = []
    for pair in pairs:
        block, at = divmod(turns[pair], len(arms))
        order = sorted(arms, key=lambda arm: drawn(block, "arm", arm))
        by = sorted(range(len(arms)), key=lambda n: drawn(block, "rotation", n))[at]
        wording = ("plain", "situated")[(ranks.index(pair[0]) + pair[2]) % 2]
        rows += [(*pair[:2], arm, pair[2], wording) for arm in [*order[by:], *order[:by]]]
    return rows


@pytest.mark.parametrize("phase", ["pairwise", "full"])
def test_order_sample_and_wordings_follow_from_the_seed_and_the_documentation_alone(
    study: Study, phase: str
) -> None:
    def row(planned: PlannedAttempt) -> tuple[str, str | None, str, int, str | None]:
        pair = asked.asked(study.manifest, planned.cell.task, planned.cell.repetition)
        return planned.cell.task, pair.slot, planned.cell.arm, pair.replicate, pair.variant

    plan = schedule.plan(study.manifest, phase)

    assert [row(planned) for planned in plan] == drawn_again(study, phase)


def test_the_hand_offs_are_made_from_the_corpora_by_code(
    study: Study, provider: ProviderSettings
) -> None:
    made = {
        task.id: handoffs.handoff(handoffs.CORPORA / str(task.repository), task.category)
        for task in study.manifest.tasks
    }

    assert {name: each.handoff for name, each in provider.tasks.items()} == made


def test_a_hand_off_that_leads_nowhere_is_a_problem(
    study: Study, provider: ProviderSettings
) -> None:
    task = "saltpan-discovery"
    told = provider.tasks[task]
    assert told.handoff is not None
    lost = replace(told, handoff=replace(told.handoff, start_here="src/gone.c"))
    tables = replace(provider, tasks={**provider.tasks, task: lost})
    transports = replace(study.manifest.transports, provider=tables)
    changed = replace(study, manifest=replace(study.manifest, transports=transports))

    (problem,) = examine.examine(changed).problems

    assert problem.where.endswith(f"transports.provider.tasks.{task}.handoff")
    assert problem.what == "the corpus saltpan has no file 'src/gone.c'"


def test_only_the_arm_of_the_hand_off_is_given_it(study: Study, provider: ProviderSettings) -> None:
    pair = schedule.pairs(schedule.plan(study.manifest, "full"))[0]
    told = {
        each.cell.arm: provider_request.request(provider, study.manifest, each) for each in pair
    }

    assert told[HANDOFF]["initialContext"].startswith('{"target":"')
    assert '"startHere":"' in told[HANDOFF]["initialContext"]
    assert told[CONTROL]["initialContext"] == told[REGISTRY]["initialContext"] == ""
    assert len({each["objective"] for each in told.values()}) == 1
    assert not any("expectedOutcome" in each for each in told.values())


def test_each_arm_has_what_shows_it(provider: ProviderSettings) -> None:
    assert {name: (each.evidence, each.handoff) for name, each in provider.arms.items()} == {
        CONTROL: ((), False),
        HANDOFF: ((), True),
        REGISTRY: (("registry-agent",), False),
    }
    assert provider.evidence_rule == "invalid-setup"
    assert "invalid-setup" not in provider.stop_on  # an arm that is not there is recorded
