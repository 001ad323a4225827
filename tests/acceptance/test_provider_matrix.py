"""The three-arm, two-model study runs whole: samples rehearsed, a reduced pilot paid."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fake_cli
from agent_trials.results import limits, record, report
from matrix_lab import ARMS, CONTROL, HANDOFF, MODELS, REGISTRY, MatrixLab

if TYPE_CHECKING:
    from agent_trials.results.record import Record

SCRIPT = str(Path(fake_cli.__file__).with_name("fake_provider.py"))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> MatrixLab:
    return MatrixLab(tmp_path_factory.mktemp("matrix") / "lab")


@pytest.fixture(scope="module")
def balanced(lab: MatrixLab) -> Path:
    """The ledger of a rehearsal of the balanced sample."""
    return lab.rehearse("balanced")


@pytest.fixture(scope="module")
def sixteen(lab: MatrixLab) -> Record:
    """What a rehearsal of four drawn tasks in two arms left."""
    return record.read(lab.rehearse("pilot-16"))


def test_the_dry_run_shows_every_sample_and_what_it_is_a_part_of(lab: MatrixLab) -> None:
    shown = lab.pytest("evals", "--collect-only", "-q").out

    for phase, attempts in (("pilot", 6), ("balanced", 24), ("pairwise", 96), ("full", 288)):
        assert f"provider-matrix/{phase}: {attempts} attempts" in shown
        assert f"-{attempts}: {attempts} of the 288 executions of the study" in shown
    assert shown.count("REDUCED PILOT") == 2
    assert shown.count("networkCalls: 0") == 5


def test_the_balanced_sample_rehearses_whole_and_every_attempt_shows_its_arm(
    lab: MatrixLab, balanced: Path
) -> None:
    seen = lab.show(balanced)["observations"]

    assert Counter(each["status"] for each in seen) == {"completed": 24}
    assert Counter((each["arm"], each["model"]) for each in seen) == {
        (arm, model): 4 for arm in ARMS for model in MODELS
    }
    for each in seen:
        evidence = each["treatmentEvidence"]
        assert (evidence["handoffBytes"] > 0) == (each["arm"] == HANDOFF)
        assert evidence["succeeded"] == {"registry-agent": int(each["arm"] == REGISTRY)}


def test_figures_of_a_sample_without_pairs_say_what_they_cannot_tell(balanced: Path) -> None:
    found = record.read(balanced)
    told = limits.limits(found)

    assert report.document(found)["study"]["pairs"] == 0
    assert "Sample balanced-24: 24 of the 288 executions of the study." in told
    assert any("model: can be told from arm" in each and "CANNOT" in each for each in told)
    assert any(each.startswith("By design, no pairs:") for each in told)


def test_a_sample_of_two_arms_is_reported_as_one_comparison(sixteen: Record) -> None:
    found = report.document(sixteen)

    assert [(each["control"], each["treatment"]) for each in found["comparisons"]] == [
        (CONTROL, HANDOFF)
    ]
    assert (found["study"]["attempts"], found["study"]["pairs"]) == (16, 8)
    assert list(found["arms"]) == [CONTROL, HANDOFF]
    assert [each["arm"] for each in found["flow"]] == [CONTROL, HANDOFF]


def test_a_stranger_recomputes_the_figures_of_a_sample_of_two_arms(
    lab: MatrixLab, sixteen: Record
) -> None:
    into = lab.root / "bundle"
    made = lab.command("agent-trials", "bundle", str(sixteen.path), "--into", str(into))
    assert made.code == 0, made.text

    verified = lab.command("python", str(into / "verify.py"))

    assert verified.code == 0, verified.text
    assert "every figure follows from the ledger" in verified.out
    published = json.loads((into / "summary.json").read_text("utf-8"))
    assert list(published["arms"]) == [CONTROL, HANDOFF]
    assert len(published["comparisons"]) == 1


def test_a_reduced_pilot_is_labelled_wherever_its_figures_stand(sixteen: Record) -> None:
    label = "REDUCED PILOT: 4 of 24 tasks and 3 of 6 repositories"

    assert sixteen.opening["sample"] == "pairwise-16"
    assert label in sixteen.opening["sampled"]
    assert f"{label}." in report.document(sixteen)["limits"]


def test_a_pilot_over_commands_records_an_arm_that_is_not_there(lab: MatrixLab) -> None:
    """``registry-agent`` is not installed: its attempts are neither skipped nor made up."""
    records = lab.root / "requests.jsonl"
    command = {"command": sys.executable, "args": ["-IS", SCRIPT, f'{{"record":"{records}"}}']}
    path = lab.providers(
        {"modelId": model, "scenarioIds": list(ARMS), **command} for model in MODELS
    )

    outcome = lab.pay(path)

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
    assert {each["task"]["modelId"] for each in requests} == set(MODELS)


def test_its_answers_are_graded_blind_after_an_adjudicator_that_was_tested(
    lab: MatrixLab, balanced: Path
) -> None:
    outcome = lab.pytest(
        "evals/provider_matrix", "-m", "adjudicate", "--ledger", str(balanced), "--limit", "2"
    )

    assert outcome.code == 0, outcome.text
    assert "controls: 3 of 3 as expected" in outcome.out
