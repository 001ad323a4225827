"""The whole stop-review trial, rehearsed: six pairs with follow-ups, hooks, reviews and checkers.

The CLI is a double here, which works the scripted API as the real one does; tests/real_cli has the
same with the real one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[2]
COMMAND = str(Path(sys.executable).with_name("agent-trials"))
PRODUCT = ROOT / "fixtures/reviewer/reviewer"


def program(*words: str) -> str:
    """Run a program of the project; return what it printed."""
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the ledger of a whole rehearsal, and its report."""
    folder = tmp_path_factory.mktemp("trial")
    claude = folder / "claude"
    claude.symlink_to(ROOT / "fixtures/talking_claude.py")
    told = program(
        *("-m", "pytest", "evals/stop_review", "-m", "full", "-q", "-p", "no:cacheprovider"),
        *("--param", f"product={PRODUCT}", "--claude-bin", str(claude)),
        *("--ledger", str(folder / "run.jsonl")),
    )
    (folder / "told.txt").write_text(told, "utf-8")
    words = ("report", str(folder / "run.jsonl"), "--into", str(folder / "report"))
    program(COMMAND, *words, "--trust-study-code")
    return folder


@pytest.fixture(scope="module")
def report(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((place / "report/summary.json").read_text("utf-8"))
    return found


def tasks(found: Iterable[dict[str, Any]]) -> list[str]:
    return [each["task"] for each in found]


def test_every_way_through_is_taken(report: dict[str, Any]) -> None:
    passed = {
        (each["task"], each["arm"]): [turn["passed"] for turn in each["turns"]]
        for each in report["reviews"]["attempts"]
    }

    assert len(passed) == 12
    assert passed["stockroom", "plain"] == [False, True]
    assert passed["stockroom", "review"] == [True]
    assert passed["logsift", "review"] == [False, True]
    assert passed["rota", "plain"] == passed["rota", "review"] == [True]
    assert passed["quillmark", "review"] == [False, False]


def test_repairs_are_credited_and_misses_and_interventions_told_with_their_reasons(
    report: dict[str, Any],
) -> None:
    found = report["reviews"]

    assert tasks(found["credited"]) == ["stockroom", "tally"]
    assert found["credited"][0]["lacking"] == ["r10"]
    assert "tests/test_reservations.py" in found["credited"][0]["reason"]
    assert tasks(found["missed"]) == ["quillmark", "quillmark"]
    assert set(tasks(found["unnecessary"])) == {"logsift", "layercfg"}
    assert all(each["reason"] and each["harmful"] is False for each in found["unnecessary"])


def test_nothing_was_reviewed_in_the_plain_arm(report: dict[str, Any]) -> None:
    arms = report["reviews"]["arms"]

    assert arms["plain"]["reviews"] == 0
    assert arms["plain"]["onReviewsUsd"] == "0"
    assert arms["review"]["reviews"] > 6
    assert arms["review"]["reviewsWithoutCost"] > 0


def test_a_review_without_a_cost_counts_its_soft_cap_in_the_cost_of_a_run(
    report: dict[str, Any],
) -> None:
    (attempt,) = (
        each
        for each in report["reviews"]["attempts"]
        if (each["task"], each["arm"]) == ("stockroom", "review")
    )
    (turn,) = attempt["turns"]

    assert turn["sideCosts"]["missing"] == 1
    assert turn["sideCosts"]["chargedUsd"] == "0.29"  # 0.04 and the soft cap
    assert float(attempt["runUsd"]) == pytest.approx(float(turn["agentUsd"]) + 0.29, abs=1e-5)


def test_rows_hold_the_checkers_verdict_and_the_whole_cost_of_a_run(
    report: dict[str, Any],
) -> None:
    """What statistics and verify.py start from, and not the agent's own cost alone."""
    rows = {row["task"]: row for row in report["comparisons"][0]["rows"]}
    runs = {(each["task"], each["arm"]): each["runUsd"] for each in report["reviews"]["attempts"]}

    assert rows["stockroom"]["values"]["correctness"] == ["1", "1"]
    assert rows["quillmark"]["values"]["correctness"] == ["0", "0"]
    assert all(row["delivered"] for row in rows.values())
    for task, row in rows.items():
        plain, review = map(float, row["values"]["cost_usd"])
        assert plain == pytest.approx(float(runs[task, "plain"]), rel=1e-5)
        assert review == pytest.approx(float(runs[task, "review"]), rel=1e-5)


def test_the_verdict_is_the_studys_own_and_a_rehearsals(report: dict[str, Any]) -> None:
    (verdict,) = report["verdicts"]

    assert verdict["rule"] == "verdict.py"
    assert verdict["outcome"] == "no-evidence"
    assert verdict["sentence"].startswith("REHEARSAL, says nothing of the world. No evidence: at")
    assert verdict["figures"]["credited_repairs"] == "2"
    assert verdict["figures"]["credited_tasks"] == "2"


def test_after_each_pair_spending_passes_and_interventions_are_told(place: Path) -> None:
    lines = [
        line.strip()
        for line in (place / "told.txt").read_text("utf-8").splitlines()
        if "after this pair:" in line
    ]

    assert len(lines) == 6
    assert "credited repairs 1, unnecessary interventions 0 (harmful 0)" in lines[0]
    assert "product called: plain 0, review" in lines[-1]
    assert "plain passes 5 of 6; review passes 5 of 6" in lines[-1]


def test_the_report_shows_all_turns_all_reasons_and_the_commitments(place: Path) -> None:
    text = (place / "report/report.md").read_text("utf-8")
    page = (place / "report/report.html").read_text("utf-8")
    counted = json.loads((place / "report/summary.json").read_text("utf-8"))["reviews"]

    for part in ("By arm", "Every review", "Turns", "Commitments to what was kept"):
        assert f"### {part}" in text
        assert f"<h3>{part}</h3>" in page
    reviews = [
        stop["review"]
        for each in counted["attempts"]
        for turn in each["turns"]
        for stop in turn["stops"]
        if stop["review"]
    ]
    assert all(review["reason"] for review in reviews)
    assert len(reviews) == counted["arms"]["review"]["reviews"]
    assert str(PRODUCT) not in text + page


def test_a_stranger_recomputes_its_figures(place: Path) -> None:
    words = ("bundle", str(place / "run.jsonl"), "--into", str(place / "bundle"))
    program(COMMAND, *words, "--report", str(place / "report"))

    told = program(str(place / "bundle/verify.py"))

    assert "summary.json: every figure follows from the ledger" in told
