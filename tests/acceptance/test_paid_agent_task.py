"""The agent-task study paid for, over the toy benchmark: frozen, capped, evaluated, published."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import toy_benchmark as toy
import toy_trial
from agent_trials import cli

if TYPE_CHECKING:
    from pathlib import Path

    from toy_trial import Trial

PAID = {
    "STUDY_MODEL": "claude-sonnet-5-5", "STUDY_BUDGET_USD": "60",
    "ANTHROPIC_API_KEY": "sk-ant-of-the-operator",
}  # fmt: skip


def _command(*words: str | Path) -> None:
    done = CliRunner().invoke(cli.main, [str(word) for word in words])
    assert done.exit_code == 0, done.output


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """Return a paid trial: 2nd attempt without a result, 4th without a change, 6th too large."""
    made = toy_trial.laid_out(tmp_path_factory.mktemp("trial"))
    study = made.root / "project" / "evals" / "toy_task"
    text = (study / "study.toml").read_text("utf-8")
    (study / "study.toml").write_text(text.replace("= 10000000", "= 20000"), "utf-8")
    large = f"{sys.executable} -c \"open('big.txt', 'w').write('x' * 30000)\""
    made.behave(
        attempts=[{}, {"unreported": True}, {}, {"commands": []}, {}, {"commands": [large]}]
    )
    _command("freeze", study)
    _command("prepare", study, "--into", made.root / "mirrors")
    controls = made.evaluate("--controls", "--ledger", "../out/c.jsonl")
    assert controls.returncode == 0, controls.stdout + controls.stderr
    ran = made.pytest(
        "-m", "full", "--approve-budget", "--claude-bin", str(made.claude), "--mirrors",
        "../mirrors", "--ledger", str(made.ledger), "--prior-ledger", "../out/c.jsonl",
        *toy.parameters(made.benchmark), **PAID,
    )  # fmt: skip
    assert len(made.events("attempt-settled")) == 6, ran.stdout + ran.stderr
    evaluated = made.evaluate("--ledger", str(made.ledger))
    assert evaluated.returncode == 0, evaluated.stdout + evaluated.stderr
    return made


@pytest.fixture(scope="module")
def result(trial: Trial) -> dict[str, Any]:
    """Return its result artifact, from a bundle that its own verifier accepts."""
    into, bundle = trial.root / "out" / "report", trial.root / "out" / "bundle"
    _command("report", trial.ledger, "--into", into)
    _command("bundle", trial.ledger, "--into", bundle, "--report", into)
    program = [sys.executable, str(bundle / "verify.py")]
    verified = subprocess.run(program, capture_output=True, check=False, text=True)
    assert "its figures the ledger's" in verified.stdout, verified.stderr
    found: dict[str, Any] = json.loads((bundle / "report" / "result-v1.json").read_bytes())
    return found


def test_every_patch_is_evaluated_whatever_became_of_its_attempt(result: dict[str, Any]) -> None:
    """A missing one is named, and counts in N."""
    native, tool = (each["evaluation"]["classes"] for each in result["arms"])

    assert result["mode"] == "paid"
    assert native == {"empty-patch": 1, "resolved": 2}
    assert tool == {"missing-patch": 1, "resolved": 2}
    assert [each["resolved"]["trials"] for each in result["arms"]] == [3, 3]


def test_a_resolved_task_costs_so_much_by_reported_runs_and_as_a_bound(
    result: dict[str, Any],
) -> None:
    """The run without a report was charged what was set aside for it, 2 USD."""
    native, tool = result["arms"]
    costs, bounds = tool["costPerResolved"]["reported"], tool["costPerResolved"]["bounds"]

    assert [native["usageMissing"], tool["usageMissing"]] == [0, 1]
    assert (costs["attempts"], costs["resolved"], costs["usd"]) == (2, 1, "0.044")
    assert (bounds["attempts"], bounds["resolved"]) == (3, 2)
    assert (bounds["lowerUsd"], bounds["upperUsd"]) == ("0.023", "1.022")
