"""Finds the real Codex CLI, and lays it on a bench."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

from agent_trials.agents import codex_run
from agent_trials.agents.codex_options import VERSION
from codex_bench import INSTALL, PLACE, Bench

ROOT = Path(__file__).parents[2]


def lacks(reason: str) -> NoReturn:
    """End a test that this machine cannot run: on a desk it is skipped, in the gate it fails."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def codex(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of the CLI at its pinned version; without it there is nothing to test."""
    named = os.environ.get("AGENT_TRIALS_CODEX")
    path = Path(named) if named else ROOT / PLACE
    if not path.exists():
        lacks(f"the real CLI is missing; install it with: {INSTALL}")
    told = subprocess.run(
        [path, "--version"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path_factory.mktemp("home"))},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    if told != f"codex-cli {VERSION}":
        pytest.fail(f"{path} is {told!r}, not {VERSION}; install it with: {INSTALL}")
    return str(path)


@pytest.fixture(scope="session")
def refusal(codex: str, tmp_path_factory: pytest.TempPathFactory) -> str | None:
    """Return why no command can run in the CLI's sandbox on this machine, None where one can."""
    bench = Bench(codex, tmp_path_factory.mktemp("sandbox"))
    bench.lay_out()
    options = bench.options("http://127.0.0.1:9/v1")
    problems = codex_run.check(options, bench.environment, bench.folder)
    return "\n".join(map(str, problems)) or None


@pytest.fixture(scope="session")
def sandboxed(codex: str, refusal: str | None) -> str:
    """Return the path of a CLI whose commands can run; where none can, no attempt is one."""
    if refusal is not None:
        lacks(refusal)
    return codex


@pytest.fixture
def bench(sandboxed: str, tmp_path: Path) -> Bench:
    """Return a bench with a small corpus in its folder."""
    found = Bench(sandboxed, tmp_path)
    found.lay_out()
    return found
