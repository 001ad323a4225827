"""The stop-review trial with the real CLI: its hooks, resumed sessions and cumulative costs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ROOT / "fixtures/reviewer/reviewer"


def rehearse(claude: str, ledger: Path, *words: str) -> tuple[str, list[dict[str, Any]]]:
    """Rehearse a part of the study; return what was told, and the settled turns in order."""
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "evals/stop_review", "-q", "-p", "no:cacheprovider",
            "--param", f"product={PRODUCT}", "--claude-bin", claude,
            "--ledger", str(ledger), *words,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    lines = [json.loads(line) for line in ledger.read_text("utf-8").splitlines()]
    return done.stdout, [line for line in lines if line["event"] == "attempt-settled"]


@pytest.fixture(scope="module")
def smoke(
    claude: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, list[dict[str, Any]]]:
    return rehearse(claude, tmp_path_factory.mktemp("smoke") / "run.jsonl", "-m", "smoke")


@pytest.fixture(scope="module")
def pair(
    claude: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, int], dict[str, Any]]:
    ledger = tmp_path_factory.mktemp("pair") / "run.jsonl"
    _, settled = rehearse(claude, ledger, "-m", "full", "-k", "logsift")
    return {(line["arm"], line["turn"]): line["observation"] for line in settled}


def test_the_smoke_pair_calls_the_product_in_its_arm_alone(
    smoke: tuple[str, list[dict[str, Any]]],
) -> None:
    told, settled = smoke
    calls = {line["arm"]: line["observation"]["sideCosts"]["calls"] for line in settled}

    assert calls == {"plain": 0, "review": 2}
    assert "credited repairs 1, unnecessary interventions 0" in told


def test_a_hooks_feedback_makes_the_agent_go_on_and_leaves_two_snapshots(
    smoke: tuple[str, list[dict[str, Any]]],
) -> None:
    (review,) = (line["observation"] for line in smoke[1] if line["arm"] == "review")

    assert [stop["passed"] for stop in review["stops"]] == [False, True]
    assert review["checker"]["passed"]


def test_hooks_fire_in_the_resumed_session_of_either_arm(
    pair: dict[tuple[str, int], dict[str, Any]],
) -> None:
    assert set(pair) == {("plain", 1), ("plain", 2), ("review", 1), ("review", 2)}
    assert all(each["hooks"]["Stop"] >= 2 and each["stops"] for each in pair.values())
    assert pair["review", 2]["sideCosts"]["calls"] > 0


def test_the_cost_of_a_resumed_turn_is_its_own(
    pair: dict[tuple[str, int], dict[str, Any]],
) -> None:
    """The CLI reports what the whole session has cost; counted twice, follow-ups look dear."""
    for arm in ("plain", "review"):
        first, further = pair[arm, 1], pair[arm, 2]
        both = float(first["costUsd"]) + float(further["costUsd"])

        assert float(further["sessionCostUsd"]) == pytest.approx(both, abs=1e-6)
        assert further["costUsd"] == further["computedCostUsd"] == further["cliReportedCostUsd"]


def test_the_place_of_the_checkers_is_seen_nowhere(
    pair: dict[tuple[str, int], dict[str, Any]],
) -> None:
    assert {each["checker"]["pathHits"] for each in pair.values()} == {0}
