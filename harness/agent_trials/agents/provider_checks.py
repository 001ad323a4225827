"""Runs a task's acceptance checks: commands of the study's own, on what a provider command left.

Rules:
    they run once the command has ended well, and only then
    each one: no shell, in the attempt's own folder as the command left it, its reply on standard
        input, PATH with a fresh HOME and TMPDIR, no variable of the allowlist, a deadline, bounds
    exit code 0 passes, anything else fails; so does one that struck its deadline, wrote too much or
        was ended by a signal: what was left may be what hangs, and would otherwise be missing
    one that could not be started shows nothing: that is missing, and no failure of whoever
        answered, unless the folder is gone, which is its doing
What a command says of checks itself is a self-report, whatever this finds.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials import canonical, process
from agent_trials.errors import AgentError
from agent_trials.ledger.outcomes import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_trials.process import ProcessResult

OUTPUT_BYTES = 64 * 1024


@dataclass(frozen=True)
class Check:
    """One check as it is started."""

    id: str
    argv: tuple[str, ...]
    timeout_seconds: int


@dataclass(frozen=True)
class Checked:
    """What one check showed; None where it showed nothing. ``problem`` says why it did not end."""

    id: str
    passed: bool | None
    problem: str | None = None
    exit_code: int | None = None
    wall_time_ms: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""

    def to_json(self) -> dict[str, Any]:
        """Return the fields as they stand in a ledger line: no output."""
        return {
            "check": self.id,
            "passed": self.passed,
            "problem": self.problem,
            "exitCode": self.exit_code,
            "wallTimeMs": self.wall_time_ms,
        }


def run(checks: Iterable[Check], folder: Path, reply: bytes, *, search: str) -> tuple[Checked, ...]:
    """Run the checks one after the other and return what each showed.

    Args:
        checks: what to run.
        folder: the attempt's folder, as the command left it.
        reply: what the command wrote on standard output.
        search: the operator's PATH.
    """
    # Folders of their own: whatever the command had for itself it may have filled or removed.
    with tempfile.TemporaryDirectory(prefix="t-", ignore_cleanup_errors=True) as made:
        environment = {"PATH": search}
        for name in ("HOME", "TMPDIR"):
            place = Path(made) / name.lower()
            place.mkdir()
            environment[name] = str(place)
        return tuple(_one(check, folder, reply, environment) for check in checks)


def acceptance(found: Sequence[Checked], planned: int) -> dict[str, Any] | None:
    """Return what the checks came to; None where the task has none.

    The outcome is ``correct`` where all passed, ``incomplete`` where none did, ``partial`` between;
    ``blocked`` where the attempt came to nothing that could be checked; None where a check showed
    nothing.
    """
    if not planned:
        return None
    passed = sum(each.passed is True for each in found)
    return {
        "outcome": _outcome(found, passed),
        "passed": passed if found else None,
        "failed": sum(each.passed is False for each in found) if found else None,
        "total": planned,
        "checks": [each.to_json() for each in found],
    }


def outputs(found: Iterable[Checked]) -> bytes:
    """Return what the checks wrote, as one private artifact."""
    written = {
        each.id: {
            "stdout": each.stdout.decode("utf-8", "replace"),
            "stderr": each.stderr.decode("utf-8", "replace"),
        }
        for each in found
    }
    return canonical.dumps(written)


def _outcome(found: Sequence[Checked], passed: int) -> str | None:
    if not found:
        return Outcome.BLOCKED.value
    if any(each.passed is None for each in found):
        return None
    if passed == len(found):
        return Outcome.CORRECT.value
    return Outcome.PARTIAL.value if passed else Outcome.INCOMPLETE.value


def _one(check: Check, folder: Path, reply: bytes, environment: dict[str, str]) -> Checked:
    limits = process.Limits(
        deadline_seconds=check.timeout_seconds,
        stdout_bytes=OUTPUT_BYTES,
        stderr_bytes=OUTPUT_BYTES,
    )
    command = process.Command(check.argv, folder, environment)
    try:
        ended = process.run(command, process.Text(reply), limits)
    except AgentError as error:
        is_gone = not folder.is_dir()
        passed, why = (False, "folder-gone") if is_gone else (None, "unavailable")
        return Checked(check.id, passed, why, stderr=str(error).encode())
    return Checked(
        check.id,
        ended.exit_code == 0 and not ended.timed_out and not ended.truncated,
        _problem(ended),
        ended.exit_code,
        ended.wall_time_ms,
        ended.stdout,
        ended.stderr,
    )


def _problem(ended: ProcessResult) -> str | None:
    if ended.timed_out:
        return "timeout"
    if ended.truncated:
        return "output-limit"
    if ended.exit_code is None or ended.exit_code < 0:
        return "signal"
    return None
