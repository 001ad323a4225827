"""The provider matrix's pilot, paid, with the real Codex CLI as the command of every arm."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from codex_bench import KEY, KEY_VALUE, last
from fake_codex import answer
from matrix_lab import ARMS, CONTROL, HANDOFF, MODELS, REGISTRY, MatrixLab
from responses_server import ResponsesServer

if TYPE_CHECKING:
    from pathlib import Path

SERVER = {"registry": {"command": ["registry-agent", "{checkout}"], "tools": ["docs.search"]}}


@pytest.fixture
def lab(sandboxed: str, tmp_path: Path) -> MatrixLab:
    """The study's project, with a registry agent on PATH."""
    del sandboxed
    found = MatrixLab(tmp_path / "lab")
    program = found.root / "bin" / "registry-agent"
    program.parent.mkdir()
    server = f'exec {sys.executable} -m agent_trials.rehearsal.docs_server "$1"'
    program.write_text(f"#!/bin/sh\n{server}\n", encoding="utf-8")
    program.chmod(0o755)
    found.environment["PATH"] = f"{program.parent}:{found.environ({})['PATH']}"
    return found


def entry(lab: MatrixLab, codex: str, base_url: str, model: str, arm: str) -> dict[str, Any]:
    """Return the adapter as the command of a model in an arm, as the protocol has it."""
    own = ["--mcp", json.dumps(SERVER)] if arm == REGISTRY else ["--forbid", "registry-agent"]
    adapter = ["-I", "-m", "agent_trials.agents.codex", "--model", model, "--codex", codex]
    rest = ["--base-url", base_url, "--key", KEY, "--homes", str(lab.root / "homes")]
    return {
        "modelId": model, "scenarioIds": [arm], "command": sys.executable,
        "args": [*adapter, *rest, *own], "envAllowlist": [KEY], "providerNetwork": True,
    }  # fmt: skip


def said(body: dict[str, Any]) -> str:
    """Return the text that the study's question stands in."""
    return str(body["input"][-1]["content"][0]["text"])


def test_every_arm_completes_and_the_hand_off_reaches_the_model_of_its_arm_alone(
    lab: MatrixLab, codex: str
) -> None:
    with ResponsesServer([last(answer())] * 6) as api:
        path = lab.providers(
            entry(lab, codex, api.base_url, model, arm) for model in MODELS for arm in ARMS
        )
        outcome = lab.pay(path, **{KEY: KEY_VALUE})

        assert outcome.code == 0, outcome.text
        asked = list(api.asked)
    seen = lab.show()["observations"]
    assert Counter((each["arm"], each["status"]) for each in seen) == {
        (arm, "completed"): 2 for arm in ARMS
    }
    for each in seen:
        evidence = each["treatmentEvidence"]
        assert (evidence["handoffBytes"] > 0) == (each["arm"] == HANDOFF)
        assert evidence["started"]["registry-agent"] == int(each["arm"] == REGISTRY)
    assert Counter(body["model"] for body in asked) == dict.fromkeys(MODELS, 3)
    given = [each["arm"] for each, body in zip(seen, asked, strict=True) if _begins(body)]
    assert given == [HANDOFF, HANDOFF]
    assert CONTROL not in json.dumps(asked)


def _begins(body: dict[str, Any]) -> bool:
    text = said(body)
    return "Begin at the paths in its startHere" in text and '"startHere":"src/gauge.rs"' in text
