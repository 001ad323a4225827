"""agent-trials report, approve and what check foresees, as their user meets them."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

import ledgers
import reportable
from agent_trials import cli
from agent_trials.ledger.private import private_folder

if TYPE_CHECKING:
    from pathlib import Path


FEW_PLOTS: dict[str, Any] = {"primary": '["correctness"]', "secondary": "[]"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small study and its graded ledger; no test changes them."""
    folder = tmp_path_factory.mktemp("made")
    reportable.ledger(folder, tasks=3, repetitions=1, **FEW_PLOTS)
    return folder


@pytest.fixture
def ledger(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the ledger."""
    path = tmp_path / "run.jsonl"
    shutil.copy(made / "run.jsonl", path)
    shutil.copytree(private_folder(made / "run.jsonl"), private_folder(path))
    return path


def call(*arguments: object) -> Result:
    words = [str(each) for each in arguments]
    return CliRunner().invoke(cli.main, words, prog_name="agent-trials", catch_exceptions=False)


def test_a_report_ends_with_verdict_publication_head_and_place(
    ledger: Path, tmp_path: Path
) -> None:
    """What one wants to know of it first, and where the rest is."""
    result = call("report", ledger, "--into", tmp_path / "out")
    *sentences, publication, head, place = result.output.splitlines()

    assert result.exit_code == 0
    assert sentences[0].startswith("No evidence:")
    assert publication == "publication: not approved"
    assert head.startswith("head   ")
    assert place == f"report {tmp_path / 'out' / 'report.html'}"


def test_an_approval_is_shown_by_the_next_report(ledger: Path, tmp_path: Path) -> None:
    """And the head that was approved is printed with the one that holds the approval."""
    approved = call("approve", ledger, "--by", "Ada Example")
    reported = call("report", ledger, "--into", tmp_path / "out")

    assert approved.exit_code == 0
    assert [line.split()[0] for line in approved.output.splitlines()] == ["approved", "head"]
    assert "publication: approved by Ada Example on " in reported.output


def test_a_ledger_that_does_not_verify_is_not_reported(ledger: Path, tmp_path: Path) -> None:
    """Not even in part: exit code 1, and no folder."""
    ledger.write_bytes(ledger.read_bytes().replace(b'"toolCalls":4', b'"toolCalls":5', 1))
    result = call("report", ledger, "--into", tmp_path / "out")

    assert result.exit_code == 1
    assert "ledger broken at line" in result.output
    assert not (tmp_path / "out").exists()


def test_a_false_opening_of_the_study_is_not_reported(ledger: Path, tmp_path: Path) -> None:
    """A margin changed in the opening of the study does not match what line 1 commits to."""
    openings = private_folder(ledger) / "openings.jsonl"
    lines = [json.loads(line) for line in openings.read_bytes().splitlines()]
    [study] = [line for line in lines if line["field"] == "study"]
    artifact = private_folder(ledger) / "artifacts" / study["artifact"]
    artifact.write_bytes(b"{}")
    result = call("report", ledger, "--into", tmp_path / "out")

    assert result.exit_code == 4
    assert "not what it commits to" in result.output
    assert not (tmp_path / "out").exists()


def test_a_studys_own_rule_is_run_only_when_its_code_is_trusted(tmp_path: Path) -> None:
    """Then its finding goes through the same order: incomplete, against, for, no evidence."""
    rule = (
        "from agent_trials.results.evidence import Finding\n"
        "def find(evidence):\n"
        "    return Finding('own claim', supports=('own reason',), says='own figures')\n"
    )
    path = reportable.ledger(tmp_path / "a", tasks=2, files=(("verdict.py", rule),), **FEW_PLOTS)
    without = call("report", path, "--into", tmp_path / "out")
    trusted = call("report", path, "--into", tmp_path / "out", "--trust-study-code")

    assert "was not executed" in without.output
    assert "Evidence for: own claim." in trusted.output


def test_trusting_code_that_is_not_there_is_refused(ledger: Path, tmp_path: Path) -> None:
    """Whoever trusts something wants to see it used."""
    result = call("report", ledger, "--into", tmp_path / "out", "--trust-study-code")

    assert result.exit_code == 4
    assert "has no verdict.py" in result.output


def test_check_foresees_with_a_pilots_spread_and_prices(made: Path) -> None:
    """Before money is spent: what the design can see, and what it would cost."""
    result = call("check", made / "made_up", "--ledger", made / "run.jsonl")

    assert "correctness: no effect is found at 80 % power: with 3 tasks" in result.output
    assert "exact McNemar needs 6 discordant pairs" in result.output
    assert "3 pairs (6 attempts) cost 0.00" in result.output


def test_check_refuses_the_pilot_of_another_study(made: Path, tmp_path: Path) -> None:
    """Its spread and prices would say nothing of this one."""
    other = tmp_path / "other.jsonl"
    journal = ledgers.create(other)
    journal.close()
    result = call("check", made / "made_up", "--ledger", other)

    assert result.exit_code == 4
    assert "is one of the study 'quickstart' and not of 'made-up'" in result.output


def test_check_foresees_each_comparison_of_a_study_of_three_arms(tmp_path: Path) -> None:
    """One treatment may vary more than the other: the first one's spread says nothing of it."""
    path = reportable.ledger(
        tmp_path, tasks=8, repetitions=1, treatments=("docs-mcp", "other-mcp"), varied=True,
        primary='["cost_usd"]', secondary="[]", thresholds='endpoint = "cost_usd"',
    )  # fmt: skip

    said = call("check", tmp_path / "made_up", "--ledger", path).output

    first, other = (
        re.search(rf"cost_usd of {arm}: smallest effect at 80 % power ([0-9.]+) \(", said)
        for arm in ("docs-mcp", "other-mcp")
    )
    assert first is not None, said
    assert other is not None
    assert first[1] != other[1]
