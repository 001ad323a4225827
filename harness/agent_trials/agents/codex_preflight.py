"""What must hold before the Codex CLI is asked anything, found without cost and all at once.

Rules:
    the program is there and reports the pinned version
    the key's variable is set (the CLI would wait, or fail after its start)
    the HOME is not below the temporary folder: the CLI would refuse its helpers there and every
    command would fail without a trace in the stream
    a command can run in the sandbox of the run
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials import process
from agent_trials.agents import codex_command
from agent_trials.agents.codex_options import WORKSPACE_WRITE
from agent_trials.errors import AgentError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_trials.agents.codex_options import Options
    from agent_trials.process import ProcessResult

SECONDS = 30.0
_SYSTEM_TEMPORARY = "/tmp"  # noqa: S108 - what the CLI's sandbox lets commands write
_SCOPE = "@openai"
_WARNING = "could not create PATH aliases"


def program(options: Options, search: str) -> Path | None:
    """Return the CLI, None where it is no executable."""
    found = shutil.which(options.codex, path=search)
    return Path(found).absolute() if found else None


def reads(found: Path, codex_home: Path) -> tuple[str, ...]:
    """Return the folders that the CLI's own helpers need in its sandbox.

    The npm package's entry is a script, and the programs are in a package beside it.
    """
    real = found.resolve()
    scope = next((each for each in real.parents if each.name == _SCOPE), None)
    return str(codex_home / "tmp"), str(scope or real.parent.parent)


def folder_problems(options: Options, temporary: Path) -> Iterator[Problem]:
    """Find a HOME that the CLI would refuse, or that commands could write."""
    homes = options.homes.resolve()
    remedy = "give --homes DIR elsewhere"
    if homes.is_relative_to(temporary.resolve()):
        what = (
            f"{homes} is below the temporary folder {temporary}, where no sandboxed command works"
        )
        yield Problem("--homes", what, remedy)
    elif options.sandbox == WORKSPACE_WRITE and homes.is_relative_to(_SYSTEM_TEMPORARY):
        what = f"{homes} is below {_SYSTEM_TEMPORARY}, which this sandbox lets commands write"
        yield Problem("--homes", what, remedy)


def key_problems(options: Options, given: Mapping[str, str]) -> Iterator[Problem]:
    """Find variables that the run needs and that are not there."""
    for name in options.passed:
        if not given.get(name):
            remedy = "set it, and name it in the provider's envAllowlist"
            yield Problem(name, "it is not set, or empty", remedy)


def program_problems(
    found: Path, options: Options, environment: Mapping[str, str], folder: Path
) -> Iterator[Problem]:
    """Find another version, and a sandbox that cannot work here."""
    version = _run((str(found), "--version"), environment, folder)
    told = version.stdout.decode("utf-8", "replace").split()
    if told[:1] != ["codex-cli"] or told[1:] != [options.version]:
        what = f"reports {' '.join(told) or 'no version'}, and {options.version} is pinned"
        yield Problem(options.codex, what, f"install it: {install(options.version)}")
        return
    needed = reads(found, Path(environment["CODEX_HOME"]))
    tried = _run(codex_command.sandbox_argv(str(found), options, reads=needed), environment, folder)
    words = tried.stderr.decode("utf-8", "replace").strip()
    if tried.exit_code != 0 or _WARNING in words:
        last = words.splitlines()[-1] if words else f"exit code {tried.exit_code}"
        what = f"no command can run in the sandbox ({options.sandbox}) on this machine: {last}"
        remedy = (
            "on Linux allow unprivileged user namespaces (in a container: its seccomp and AppArmor"
            " profiles), or install bubblewrap; `codex sandbox -- true` tries it"
        )
        yield Problem("sandbox", what, remedy)


def install(version: str) -> str:
    """Return the command that installs a version."""
    return f"npm install --prefix .tools/codex-{version} @openai/codex@{version}"


def _run(argv: tuple[str, ...], environment: Mapping[str, str], folder: Path) -> ProcessResult:
    limits = process.Limits(deadline_seconds=SECONDS, stdout_bytes=64 * 1024)
    try:
        return process.run(process.Command(argv, folder, environment), process.Silent(), limits)
    except AgentError as error:
        return process.ProcessResult(b"", str(error).encode(), 127, False, False, 0)  # noqa: FBT003 - as it ends where nothing began
