"""A whole paid pilot over the provider transport: Codex in both arms, one of them with a server."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from agent_trials.agents import codex_options
from codex_bench import KEY, KEY_VALUE, docs_server, last, search
from fake_codex import answer
from lab import Lab
from responses_server import ResponsesServer, Turn, shell

if TYPE_CHECKING:
    from pathlib import Path

    from codex_bench import Bench

MODEL = "gpt-5.5"
TABLES = """
[transports.provider]
timeout_seconds = 90
[transports.provider.arms.docs-mcp]
evidence = ["docs-tool"]
"""
ARMS = ("repository-only", "docs-mcp")


def frozen(tmp_path: Path) -> Lab:
    """Return a lab with a frozen study whose treatment is a server program on PATH."""
    lab = Lab(tmp_path)
    lab.study(transport="provider")
    manifest = lab.folder / "study.toml"
    text = manifest.read_text("utf-8").replace("claude-haiku-5-5", MODEL)
    manifest.write_text(text + TABLES, "utf-8")
    lab.freeze()
    tool = lab.root / "bin" / "docs-tool"
    tool.parent.mkdir()
    command = " ".join(docs_server().command[:-1])
    tool.write_text(f'#!/bin/sh\nexec {command} "$1"\n', "utf-8")
    tool.chmod(0o755)
    lab.environment |= {"PATH": f"{tool.parent}:{lab.environ({})['PATH']}", KEY: KEY_VALUE}
    return lab


def configured(lab: Lab, codex: str, base_url: str) -> Path:
    """Write the file of --providers."""
    servers = {"docs": {"command": ["docs-tool", "{checkout}"], "tools": ["docs.search"]}}
    further = (["--forbid", "docs-tool"], ["--mcp", json.dumps(servers)])
    plain = [
        "-I", "-m", "agent_trials.agents.codex", "--model", MODEL, "--codex", codex,
        "--codex-version", codex_options.VERSION, "--base-url", base_url, "--key", KEY,
    ]  # fmt: skip
    entries = [
        {
            "modelId": MODEL, "scenarioIds": [arm], "command": sys.executable,
            "args": [*plain, *more], "envAllowlist": [KEY], "providerNetwork": True,
            "maxInputBytes": 100_000, "maxOutputBytes": 50_000,
            "pricing": {
                "currency": "USD", "inputPerMillionUsd": 1, "cachedInputPerMillionUsd": 0.5,
                "outputPerMillionUsd": 3,
            },
        }
        for arm, more in zip(ARMS, further, strict=True)
    ]  # fmt: skip
    document = {"type": "study-provider-cli-config", "schemaVersion": 1, "providers": entries}
    path = lab.outside / "codex.json"
    path.write_text(json.dumps(document), "utf-8")
    assert lab.command("agent-trials", "providers", str(path), "--write").code == 0
    return path


def test_a_pair_is_answered_by_the_codex_cli(bench: Bench, tmp_path: Path) -> None:
    lab = frozen(tmp_path / "lab")
    answers = [
        Turn((shell("cat docs/install.md"),)), last(answer()),
        search(), last(answer(evidenceIds=["install:3"])),
    ]  # fmt: skip
    with ResponsesServer(answers) as api:
        path = configured(lab, bench.codex, api.base_url)
        outcome = lab.pytest(
            *lab.paid_arguments(), "--providers", str(path),
            STUDY_MODEL=MODEL, STUDY_BUDGET_USD="1",
        )  # fmt: skip

    assert outcome.code == 0, outcome.text
    control, treatment = lab.show()["observations"]
    assert (control["status"], treatment["status"]) == ("completed", "completed")
    assert "reportedServers" not in control["treatmentEvidence"]
    assert treatment["treatmentEvidence"]["reportedServers"] == {
        "docs": {"ready": True, "calls": 1, "answered": 1}
    }
    assert [each["treatmentEvidence"]["started"]["docs-tool"] for each in (control, treatment)] == [
        0, 1,
    ]  # fmt: skip
    assert control["costUsd"] == treatment["costUsd"] == "0.00772"
    assert "Run `queue install`" in json.dumps(api.asked[1]["input"])
    ledger = lab.ledger.read_bytes()
    for private in (b"See README.md:1", KEY_VALUE.encode(), str(tmp_path).encode()):
        assert private not in ledger
    assert list((lab.home / ".cache/codex-homes").iterdir()) == []
