"""Copies what git sees of a project to a folder outside of it: the harness's Stop hook.

A program of its own, standard library only: an agent starts it, by the same command in every arm.
It writes ``$WORKSPACE_SNAPSHOTS/<time>-<pid>/`` with ``files/`` and ``facts.json``, whole or not at
all, says nothing, and never keeps the agent from stopping.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

TARGET = "WORKSPACE_SNAPSHOTS"
MOST_BYTES = 100_000_000
GIT_SECONDS = 60


def main() -> int:
    """Copy the project that the hook is told of."""
    target = os.environ.get(TARGET)
    if not target:
        return 0
    try:
        told = json.loads(sys.stdin.read() or "{}")
    except ValueError:
        told = {}
    project = Path(os.environ.get("CLAUDE_PROJECT_DIR") or told.get("cwd") or ".").resolve()
    now = time.time_ns()
    partial = Path(target) / f"{now}-{os.getpid()}.partial"
    try:
        whole = copy(project, partial / "files")
        facts = {
            "atNs": now,
            "whole": whole,
            "stopHookActive": told.get("stop_hook_active") is True,
            "session": told.get("session_id"),
            "claude": shutil.which("claude"),
        }
        (partial / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
        partial.rename(partial.with_suffix(""))
    except OSError as error:
        sys.stderr.write(f"workspace-snapshot: {error}\n")
        return 1
    return 0


def copy(project: Path, target: Path) -> bool:
    """Copy the regular files that git sees; False where there were too many bytes."""
    target.mkdir(parents=True)
    left = MOST_BYTES
    for name in visible(project):
        source = project / name
        if source.is_symlink() or not source.is_file():
            continue
        left -= source.stat().st_size
        if left < 0:
            return False
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target / name)
    return True


def visible(project: Path) -> list[str]:
    """Return the files that git tracks or would track; every file where git cannot tell."""
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "ls-files", "-z"]
    command += ["--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(
            command, cwd=project, capture_output=True, check=True, timeout=GIT_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        files = (path.relative_to(project) for path in project.rglob("*"))
        return sorted(str(path) for path in files if ".git" not in path.parts)
    return sorted({os.fsdecode(name) for name in done.stdout.split(b"\0") if name})


if __name__ == "__main__":
    sys.exit(main())
