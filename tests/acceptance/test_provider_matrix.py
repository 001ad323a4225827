"""The three-arm, two-model study runs whole: a balanced sample rehearsed, a reduced pilot paid."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fake_cli
from agent_trials.results import limits, record
from lab import Lab

if TYPE_CHECKING:
    from lab import Outcome

ROOT = Path(__file__).parents[2]
CONTROL, HANDOFF, REGISTRY = "repository-only", "deterministic-doc-bridge", "registry-assisted"
MODELS = ("gpt-5.5", "gpt-6.2-sol")
SCRIPT = str(Path(fake_cli.__file__).with_name("fake_provider.py"))


class MatrixLab(Lab):
    """A project that holds a copy of the study, and its corpora where the study looks for them."""

    def study(self, **changes: Any) -> None:  # noqa: ANN401 - as the class above has it
        """Copy the study's folder, its freeze included."""
        del changes
        self._copy("evals/provider_matrix")
        self._copy("fixtures/provider_matrix")

    @property
    def folder(self) -> Path:
        """Return the study's folder."""
        return self.project / "evals" / "provider_matrix"

    def _copy(self, folder: str) -> None:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, self.project / folder, ignore=ignored)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> MatrixLab:
    return MatrixLab(tmp_path_factory.mktemp("matrix") / "lab")


@pytest.fixture(scope="module")
def balanced(lab: MatrixLab) -> Path:
    """The ledger of a rehearsal of the balanced sample."""
    ledger = lab.outside / "balanced.jsonl"
    outcome = lab.pytest("evals", "-m", "balanced", "--ledger", str(ledger))
    assert outcome.code == 0, outcome.text
    assert "sample balanced-24: 24 of the 288 executions of the study" in outcome.out
    return ledger


def test_the_balanced_sample_rehearses_whole_and_every_attempt_shows_its_arm(
    lab: MatrixLab, balanced: Path
) -> None:
    shown = lab.show(balanced)
    seen = shown["observations"]

    assert Counter(each["status"] for each in seen) == {"completed": 24}
    assert Counter((each["arm"], each["model"]) for each in seen) == {
        (arm, model): 4 for arm in (CONTROL, HANDOFF, REGISTRY) for model in MODELS
    }
    for each in seen:
        evidence = each["treatmentEvidence"]
        assert (evidence["handoffBytes"] > 0) == (each["arm"] == HANDOFF)
        assert evidence["succeeded"] == {"registry-agent": int(each["arm"] == REGISTRY)}


def test_figures_of_the_sample_say_what_they_cannot_tell(balanced: Path) -> None:
    told = limits.limits(record.read(balanced))

    assert "Sample balanced-24: 24 of the 288 executions of the study." in told
    assert any("model: can be told from arm" in each and "CANNOT" in each for each in told)
    assert any(each.startswith("By design, no pairs:") for each in told)


def paid(lab: MatrixLab, providers: Path) -> Outcome:
    """Run the pilot with these commands."""
    into = lab.root / "checkouts"
    prepared = lab.command("agent-trials", "prepare", str(lab.folder), "--into", str(into))
    assert prepared.code == 0, prepared.text
    return lab.pytest(
        "evals/provider_matrix", "-m", "pilot", "--approve-budget", "--transport", "provider",
        "--providers", str(providers), "--ledger", str(lab.ledger),
        "--root", f"tidegate={into / 'tidegate'}",
        STUDY_MODEL=",".join(MODELS), STUDY_BUDGET_USD="1.50",
    )  # fmt: skip


def configured(lab: MatrixLab, records: Path) -> Path:
    """Write a file with a command of each model in each arm, each of which notes its requests."""
    entries = [
        {
            "modelId": model, "scenarioIds": [arm], "command": sys.executable,
            "args": ["-IS", SCRIPT, json.dumps({"record": str(records)})],
            "providerNetwork": False, "maxInputBytes": 100_000, "maxOutputBytes": 10_000,
        }
        for model in MODELS for arm in (CONTROL, HANDOFF, REGISTRY)
    ]  # fmt: skip
    path = lab.outside / "providers.json"
    document = {"type": "study-provider-cli-config", "schemaVersion": 1, "providers": entries}
    path.write_text(json.dumps(document), encoding="utf-8")
    made = lab.command("agent-trials", "providers", str(path), "--write")
    assert made.code == 0, made.text
    return path


def test_a_reduced_pilot_runs_over_commands_and_an_arm_that_is_not_there_is_recorded(
    lab: MatrixLab,
) -> None:
    """``registry-agent`` is not installed: its attempts are neither skipped nor made up."""
    records = lab.root / "requests.jsonl"

    outcome = paid(lab, configured(lab, records))

    assert "REDUCED PILOT: 1 of 24 tasks and 1 of 6 repositories" in outcome.out, outcome.text
    seen = lab.show()["observations"]
    assert Counter((each["arm"], each["status"]) for each in seen) == {
        (CONTROL, "completed"): 2, (HANDOFF, "completed"): 2, (REGISTRY, "invalid-setup"): 2,
    }  # fmt: skip
    assert {each["setupProblem"] for each in seen if each["arm"] == REGISTRY} == {
        "treatment-unavailable"
    }
    requests = [json.loads(line)["request"] for line in records.read_text("utf-8").splitlines()]
    given = {each["task"]["scenarioId"]: each["initialContext"] for each in requests}
    assert json.loads(given[HANDOFF])["startHere"] == "src/gauge.rs"
    assert given[CONTROL] == given[REGISTRY] == ""
    assert {each["task"]["variantId"] for each in requests} <= {"plain", "situated"}
    assert {each["task"]["modelId"] for each in requests} == set(MODELS)
