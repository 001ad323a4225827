"""Finds the Python that has the real swebench."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSTALL = ".ci/parts/swebench.sh"


@pytest.fixture(scope="session")
def swebench() -> str:
    """Return the Python that has swebench; without it there is nothing to test."""
    named = os.environ.get("AGENT_TRIALS_SWEBENCH")
    path = Path(named) if named else ROOT / ".tools" / "swebench" / "bin" / "python"
    asked = "import importlib.metadata as m; print(m.version('swebench'))"
    if path.exists():
        done = subprocess.run([path, "-c", asked], capture_output=True, check=False, text=True)
        if done.stdout.strip() == "5.0.2":
            return str(path)
    reason = f"the real swebench is missing; install it with: {INSTALL}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
