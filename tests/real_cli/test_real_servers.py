"""Servers that others wrote, from npm and PyPI: what the preflight sees is what the CLI gets."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.agents.cli_stream import parse
from agent_trials.records import Secret, Status
from agent_trials.rehearsal.replies import call, say
from agent_trials.study.settings import ArmSettings, McpServerSettings, ToolCall
from agent_trials.workspace import git, mcp_probe
from agent_trials.workspace.mcp_names import cli_tool_name

if TYPE_CHECKING:
    from agent_trials.records import AttemptResult
    from agent_trials.workspace.mcp_probe import Probes
    from claude_bench import Bench

ROOT = Path(__file__).parents[2]
PLACE = ".tools/mcp"
EVERYTHING = "@modelcontextprotocol/server-everything@2026.8.31"
GIT = "mcp-server-git==2026.10.19"
EVERYTHING_INSTALL = f"npm install --prefix {PLACE} {EVERYTHING}"
GIT_INSTALL = f"python -m venv {PLACE}/python && {PLACE}/python/bin/pip install {GIT}"
KEY = "sk-dummy-9876543210"


@dataclass(frozen=True)
class Package:
    """A server as its registry has it, and two of its tools that a study would allow."""

    name: str
    program: str
    rest: tuple[str, ...]
    install: str
    allow: tuple[str, ...]
    probe: ToolCall


def _found(package: Package) -> str:
    path = ROOT / PLACE / package.program
    if not path.exists():
        reason = f"{package.name} is missing; install it with: {package.install}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return str(path)


def _probed(package: Package, checkout: Path) -> Probes:
    """Probe the server as a preflight does, for an arm that allows its tools."""
    settings = McpServerSettings(
        command=(_found(package), *package.rest), allow=package.allow, probe=package.probe
    )
    return mcp_probe.probe_all(
        [ArmSettings(id="with", mcp_servers={package.name: settings})],
        {"handbook": checkout},
        folders={"handbook": checkout},
        parameters={},
        environ={"PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": KEY},
    )


def _everything() -> Package:
    return Package(
        "everything",
        "node_modules/.bin/mcp-server-everything",
        ("stdio",),
        EVERYTHING_INSTALL,
        ("get-env", "get-sum"),
        ToolCall(tool="get-sum", arguments={"a": 2, "b": 3}),
    )


def _git(checkout: Path) -> Package:
    return Package(
        "git",
        "python/bin/mcp-server-git",
        ("--repository", str(checkout)),
        GIT_INSTALL,
        ("git_log", "git_show"),
        ToolCall(tool="git_log", arguments={"repo_path": str(checkout)}),
    )


def _ask(bench: Bench, probes: Probes, *calls: tuple[str, dict[str, Any]]) -> AttemptResult:
    """Run an attempt of the arm in which the model makes these calls."""
    return bench.ask(
        [*(call(one) for one in calls), say("done")],
        servers=probes.servers("with", "handbook"),
        denied_mcp_tools=probes.denied("with"),
        rehearsal=False,
        credential="api-key",
        secrets={"ANTHROPIC_API_KEY": Secret(KEY)},
    )


def _told(result: AttemptResult) -> list[str]:
    """Return the texts of the tools' answers in the transcript."""
    events = parse(result.artifacts["transcript"]).events
    blocks = [block for event in events if event.has("user") for block in event.blocks]
    return [part["text"] for block in blocks for part in block["content"]]


def _checkout(folder: Path) -> tuple[Path, str]:
    source = folder / "source"
    source.mkdir()
    (source / "install.md").write_text("# Install\n", encoding="utf-8")
    return folder / "checkout", git.commit_folder(source, folder / "checkout")


def test_the_reference_server_of_npm_serves_what_is_allowed_and_no_more(bench: Bench) -> None:
    """It lists further tools to clients with roots or elicitation: what the CLI has, we deny."""
    probes = _probed(_everything(), bench.folder)
    total, environment = (cli_tool_name("everything", tool) for tool in ("get-sum", "get-env"))

    result = _ask(bench, probes, (total, {"a": 40, "b": 2}), (environment, {}))

    seen = result.observation
    assert seen.status is Status.COMPLETED, result.private["problems"]
    assert seen.mcp_servers == ({"name": "everything", "status": "connected"},)
    assert {tool["name"] for tool in bench.asked[0]["tools"]} == {
        "Glob", "Grep", "Read", total, environment,
    }  # fmt: skip
    answer, told = _told(result)
    assert "42" in answer
    assert KEY not in told
    assert not {name for name in json.loads(told) if "KEY" in name or "TOKEN" in name}


def test_the_git_server_of_pypi_reads_the_checkout_and_offers_no_commit(
    bench: Bench, tmp_path: Path
) -> None:
    checkout, pin = _checkout(tmp_path)
    probes = _probed(_git(checkout), checkout)
    log = cli_tool_name("git", "git_log")

    result = _ask(bench, probes, (log, {"repo_path": str(checkout)}))

    assert result.observation.status is Status.COMPLETED, result.private["problems"]
    assert pin in _told(result)[0]
    offered = {tool["name"] for tool in bench.asked[0]["tools"]}
    assert cli_tool_name("git", "git_commit") in {*probes.denied("with")} - offered


def test_what_the_tests_say_to_install_is_what_ci_installs() -> None:
    part = (ROOT / ".ci" / "parts" / "claude.sh").read_text(encoding="utf-8")

    assert f'"{EVERYTHING}"' in part
    assert f'"{GIT}"' in part
