"""The agent-task study over the toy benchmark, whole: attempts, evaluation, report, bundle.

A fake CLI edits files; a local evaluator writes the official report's format. tests/real_cli has
the same with the real one.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import toy_benchmark as toy
import toy_trial

if TYPE_CHECKING:
    from pathlib import Path

    from toy_trial import Trial


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """Return a rehearsed trial, its controls evaluated before it and its arms after it."""
    made = toy_trial.laid_out(tmp_path_factory.mktemp("trial"))
    controls = made.evaluate("--controls", "--ledger", "../out/c.jsonl")
    assert controls.returncode == 0, controls.stdout + controls.stderr
    ran = made.rehearse(made.claude, "--prior-ledger", "../out/c.jsonl")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    without = made.evaluate("--ledger", str(made.ledger), TOY_EVALUATOR="no-docker")
    assert without.returncode == 1
    assert "no Docker daemon answers" in without.stdout
    assert not made.events("evaluated")
    evaluated = made.evaluate("--ledger", str(made.ledger))
    assert evaluated.returncode == 0, evaluated.stdout + evaluated.stderr
    return made


def test_each_arm_is_judged_by_the_tests_of_the_benchmark(trial: Trial) -> None:
    native, tool = trial.events("evaluated")
    mended = {"toy-calc-1": "resolved", "toy-calc-2": "resolved"}

    assert native["classes"] == {**mended, "toy-words-1": "empty-patch"}
    assert tool["classes"] == {**mended, "toy-words-1": "resolved"}
    assert native["evaluationId"] != tool["evaluationId"]


def test_the_controls_before_the_run_are_bound_by_their_head(trial: Trial) -> None:
    controls = (trial.root / "out" / "c.jsonl").read_bytes().splitlines(keepends=True)
    head = f"{len(controls)}:sha256:{hashlib.sha256(controls[-1]).hexdigest()}"
    (prior,) = trial.events("run-opened")[0]["priorLedgers"]

    assert (prior["head"], prior["spentUsd"]) == (head, "0")


def test_what_was_evaluated_is_reported_published_and_verified(trial: Trial) -> None:
    into, bundle = trial.root / "out" / "report", trial.root / "out" / "bundle"
    reported = trial.command("report", str(trial.ledger), "--into", str(into))
    opened = [word for name in ("patch", "transcript", "report") for word in ("--open", name)]
    bundled = trial.command(
        "bundle", str(trial.ledger), "--into", str(bundle), "--report", str(into), *opened
    )
    verified = subprocess.run(
        [sys.executable, str(bundle / "verify.py")], capture_output=True, check=False, text=True
    )
    result = json.loads((into / "result-v1.json").read_bytes())
    native, tool = result["arms"]

    assert reported.returncode == bundled.returncode == 0, reported.stderr + bundled.stderr
    assert "sign it: ssh-keygen -Y sign -f KEY -n agent-trials" in reported.stdout
    assert verified.returncode == 0, verified.stderr
    assert "result-v1.json: its digest is its own" in verified.stdout
    assert [arm["resolved"]["successes"] for arm in (native, tool)] == [2, 3]
    assert result["pairs"][0]["onlyTreatment"] == 1
    lock = (trial.root / "project" / "evals" / "toy_task" / "tasks.lock.json").read_bytes()
    assert result["tasks_lock_sha256"] == hashlib.sha256(lock).hexdigest()


def test_a_changed_result_is_refused_by_the_bundles_verifier(trial: Trial, tmp_path: Path) -> None:
    into, bundle = tmp_path / "report", tmp_path / "bundle"
    trial.command("report", str(trial.ledger), "--into", str(into))
    trial.command("bundle", str(trial.ledger), "--into", str(bundle), "--report", str(into))
    path = bundle / "report" / "result-v1.json"
    path.write_bytes(path.read_bytes().replace(b'"empty-patch"', b'"resolved"', 1))
    verified = subprocess.run(
        [sys.executable, str(bundle / "verify.py")], capture_output=True, check=False, text=True
    )

    assert verified.returncode == 1
    assert "artifact_sha256 is not that of the rest" in verified.stderr


def test_without_the_rows_the_study_is_skipped_with_the_reason(trial: Trial) -> None:
    skipped = trial.pytest(
        "-m", "full", "-rs", "--claude-bin", str(trial.claude),
        "--param", "tool_setup=true", "--param", "tool_server=tool",
    )  # fmt: skip

    assert "no --param rows=VALUE" in skipped.stdout
    assert "skipped" in skipped.stdout


def test_the_dry_run_of_the_real_study_shows_thirty_attempts() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "evals/agent_task", "-m", "full", "--collect-only", "-q",
         "-p", "no:cacheprovider"],
        cwd=toy.ROOT, capture_output=True, check=False, text=True,
    )  # fmt: skip

    assert "30 attempts" in done.stdout
    assert done.stdout.count("test_attempt[full/") == 30
    assert "networkCalls: 0" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("-m", "evaluate or full"), "it names attempts and the job evaluate at once"),
        (("-m", "evaluate", "--resume"), "evaluate always goes on where it ended"),
        (("-m", "full", "--controls"), "it is an option of evaluate"),
        (("-m", "evaluate", "--approve-budget"), "costs no money"),
    ],
    ids=["attempts too", "resume", "attempts with controls", "budget"],
)
def test_an_evaluation_is_a_command_of_its_own(
    trial: Trial, arguments: tuple[str, ...], what: str
) -> None:
    refused = trial.pytest(*arguments, "--ledger", str(trial.ledger))

    assert refused.returncode == 4
    assert what in refused.stderr
