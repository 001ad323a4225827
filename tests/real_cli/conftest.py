"""Finds the real Claude Code CLI, and lays it on a bench."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_trials.agents import claude_cli
from agent_trials.study.settings import DEFAULT_ARGUMENTS
from claude_bench import INSTALL, PLACE, STREAMED, VERSION, Bench

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def claude() -> str:
    """Return the path of the CLI at its pinned version; without it there is nothing to test."""
    named = os.environ.get("AGENT_TRIALS_CLAUDE")
    path = Path(named) if named else ROOT / PLACE
    if not path.exists():
        reason = f"the real CLI is missing; install it with: {INSTALL}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    found = claude_cli.probe_version(str(path))
    if found != VERSION:
        pytest.fail(f"{path} is {found}, not {VERSION}; install it with: {INSTALL}")
    return str(path)


@pytest.fixture
def bench(claude: str, tmp_path: Path) -> Bench:
    """Return a bench with a small corpus in its folder."""
    found = Bench(claude, tmp_path / "export")
    found.lay_out()
    return found


@pytest.fixture(params=[DEFAULT_ARGUMENTS, STREAMED], ids=["argument", "streamed"])
def array(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Return an argument array, once with the prompt in it and once for standard input."""
    found: tuple[str, ...] = request.param
    return found
