"""The digest of the code that decides and runs, recorded per run and compared between runs."""

from __future__ import annotations

from pathlib import Path

from agent_trials import canonical


def runner_digest(study: Path) -> str:
    """Return the digest of all code that decides and runs: the package's and the study's."""
    package = Path(__file__).resolve().parents[1]
    files = {
        f"{name}/{path.relative_to(folder).as_posix()}": canonical.digest(path.read_bytes())
        for name, folder in (("agent_trials", package), ("study", study))
        for path in sorted(folder.rglob("*.py"))
    }
    return canonical.digest_of(files)
