"""The doc-bridge study's pilot goes through the real Claude Code, over stand-ins."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from doc_bridge_lab import DocBridgeLab

if TYPE_CHECKING:
    from pathlib import Path


def test_the_pilot_rehearses_through_the_real_cli(claude: str, tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.fail("the study's engine is started with node; install Node 20 or newer")
    lab = DocBridgeLab(tmp_path / "lab")
    lab.prepare()
    ledger = lab.outside / "pilot.jsonl"

    shown = lab.rehearse(
        "pilot", "--transport", "cli", "--claude-bin", claude, "--ledger", str(ledger)
    )

    assert shown.code == 0, shown.text
    control, treatment = lab.show(ledger)["observations"]
    assert (control["status"], treatment["status"]) == ("completed", "completed")
    assert (control["mcp_servers"], control["mcpToolCalls"]) == ([], 0)
    assert treatment["mcp_servers"] == [{"name": "doc-bridge", "status": "connected"}]
    assert treatment["mcpToolCalls"] > 0
    assert treatment["tools"] == [
        "Glob", "Grep", "Read", "mcp__doc-bridge__doc_get", "mcp__doc-bridge__doc_search",
        "mcp__doc-bridge__handoff_resolve",
    ]  # fmt: skip
