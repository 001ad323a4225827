"""The arm that has the hand-off is given it, in one line, and no other arm sees it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.agents import provider_request
from agent_trials.agents.provider_request import Resolved
from agent_trials.records import Cell, PlannedAttempt
from agent_trials.study import manifest
from agent_trials.study.providers import Provider
from agent_trials.study.settings import Handoff, ProviderArm, ProviderSettings, ProviderTask

if TYPE_CHECKING:
    from agent_trials.agents.provider_request import Job

QUICKSTART = Path(__file__).parents[2] / "evals" / "quickstart"
TASK, CONTROL, TREATMENT = "install-command", "repository-only", "docs-mcp"
HANDOFF = Handoff(
    target="install",
    start_here="docs/install.md",
    read_before_editing=("docs/decisions/0014-one-file-bundle.md",),
    edit_roots=("docs",),
    checks=("npm test",),
)
GIVEN = (
    '{"target":"install","startHere":"docs/install.md",'
    '"readBeforeEditing":["docs/decisions/0014-one-file-bundle.md"],'
    '"editRoots":["docs"],"checks":["npm test"]}'
)
TOLD = ProviderTask(initial_context="Begin anywhere.", handoff=HANDOFF)
SETTINGS = ProviderSettings(
    arms={TREATMENT: ProviderArm(handoff=True)}, tasks={TASK: replace(TOLD, initial_context="")}
)


@pytest.fixture(scope="module")
def study() -> manifest.Study:
    return manifest.load(QUICKSTART)


def made(study: manifest.Study, settings: ProviderSettings, arm: str) -> Job:
    """Return the job of an arm's attempt."""
    provider = Provider(
        modelId="reference", scenarioIds=(arm,), command="true", providerNetwork=False,
        maxInputBytes=10_000, maxOutputBytes=10_000,
    )  # fmt: skip
    planned = PlannedAttempt(Cell("full", TASK, arm, 1), 0, 0)
    resolved = Resolved(arm, provider, "/bin/true", "sha256-normalized-v1:0")
    return provider_request.job(resolved, settings, study.manifest, planned)


def request(study: manifest.Study, settings: ProviderSettings, arm: str) -> dict[str, Any]:
    """Return what the command of an arm reads."""
    found: dict[str, Any] = json.loads(made(study, settings, arm).request)
    return found


def test_the_arm_of_the_hand_off_is_given_it_as_compact_json(study: manifest.Study) -> None:
    assert request(study, SETTINGS, TREATMENT)["initialContext"] == GIVEN


def test_no_other_arm_sees_anything_of_it(study: manifest.Study) -> None:
    control, treatment = (request(study, SETTINGS, arm) for arm in (CONTROL, TREATMENT))

    assert control["initialContext"] == ""
    assert not any(word in json.dumps(control) for word in ("startHere", "0014-one-file"))
    differing = {key for key in treatment if treatment[key] != control[key]}
    assert differing == {"initialContext", "task"}


def test_the_task_s_own_context_stands_before_it_in_a_line_of_its_own(
    study: manifest.Study,
) -> None:
    settings = replace(SETTINGS, tasks={TASK: TOLD})

    assert request(study, settings, TREATMENT)["initialContext"] == f"Begin anywhere.\n{GIVEN}"
    assert request(study, settings, CONTROL)["initialContext"] == "Begin anywhere."


def test_how_much_was_given_is_known_of_every_attempt_of_such_a_study(
    study: manifest.Study,
) -> None:
    """An arm's name proves nothing; what the harness itself put into the request does."""
    assert made(study, SETTINGS, TREATMENT).handoff_bytes == len(GIVEN)
    assert made(study, SETTINGS, CONTROL).handoff_bytes == 0
    assert made(study, ProviderSettings(), CONTROL).handoff_bytes is None


@pytest.mark.parametrize(("own", "studys"), [(500, 900), (900, 500)], ids=["own", "the study's"])
def test_the_lower_byte_bound_wins(study: manifest.Study, own: int, studys: int) -> None:
    """Whichever of the two is lower, for what is read as for what is written."""
    provider = Provider(
        modelId="reference", scenarioIds=(CONTROL,), command="true", providerNetwork=False,
        maxInputBytes=own, maxOutputBytes=own,
    )  # fmt: skip
    settings = ProviderSettings(max_input_bytes=studys, max_output_bytes=studys)
    resolved = Resolved(CONTROL, provider, "/bin/true", "sha256-normalized-v1:0")
    planned = PlannedAttempt(Cell("full", TASK, CONTROL, 1), 0, 0)

    made = provider_request.job(resolved, settings, study.manifest, planned)

    assert provider_request.input_bound(provider, settings) == 500
    assert made.output_bytes == 500
