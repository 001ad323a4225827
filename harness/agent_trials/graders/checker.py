"""Runs a task's hidden checker on a tree: its exit code is the verdict, its groups say which part.

Rules:
    it runs on a copy, outside the tree, once the agent has ended: nothing of it is ever in the tree
    it gets PATH and a HOME of its own, and a deadline; whatever it starts ends with it
    exit code 0 passes and anything else fails, whatever it prints
    it prints one JSON object ``{"groups": {requirement: true or false}}``, all that the key names
    passing while a group fails, and failing while none does, is a contradiction, and fails
    a tree that cannot be copied is not checked: that is no verdict
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials import process
from agent_trials.errors import AgentError, WorkspaceError
from agent_trials.workspace import commands, neutral, snapshots
from agent_trials.workspace.removal import remove

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agent_trials.study.key import CheckerKey

OUTPUT_BYTES = 1024 * 1024
_TREE = "{tree}"


@dataclass(frozen=True)
class Checker:
    """A task's checker, resolved: its command still holds ``{tree}``.

    ``hidden`` are the texts that no agent may ever see: where it lies.
    """

    command: tuple[str, ...]
    requirements: tuple[str, ...]
    seconds: float
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checked:
    """What a checker said of one tree; ``passed`` is None where it could not look at it."""

    passed: bool | None
    exit_code: int | None = None
    groups: Mapping[str, bool] = field(default_factory=dict)
    problem: str | None = None
    wall_time_ms: int | None = None
    output: bytes = b""

    def to_json(self) -> dict[str, Any]:
        """Return what is public of it: no word of its output."""
        return {
            "passed": self.passed,
            "exitCode": self.exit_code,
            "groups": dict(self.groups),
            "problem": self.problem,
            "wallTimeMs": self.wall_time_ms,
        }

    @property
    def failing(self) -> tuple[str, ...]:
        """Return the groups that are not fulfilled."""
        return tuple(name for name, fulfilled in self.groups.items() if not fulfilled)


def resolve(key: CheckerKey, folder: Path, values: Mapping[str, str]) -> Checker:
    """Return a checker with everything but the tree filled in.

    Args:
        key: what the answer key says of it.
        folder: the study's folder.
        values: the study's parameters.

    Raises:
        WorkspaceError: its program is not there.
    """
    study = folder.resolve()
    known = {**values, "study": str(study)}
    command = commands.resolved(key.command, known)
    return Checker(command, key.requirements, key.timeout_seconds, (*_hidden(command, study),))


def check(checker: Checker, tree: Path) -> Checked:
    """Return what the checker says of a tree, which it does not touch."""
    with tempfile.TemporaryDirectory(prefix="c-", ignore_cleanup_errors=True) as scratch:
        place = neutral.new(Path(scratch).resolve())
        try:
            shutil.copytree(tree, place, symlinks=True, ignore=_left_out, dirs_exist_ok=True)
        except (OSError, shutil.Error):
            return Checked(None, problem="not-copied")
        return _run(checker, place, Path(scratch))


def _left_out(folder: str, names: list[str]) -> set[str]:
    """Return what of a folder is not copied: git's own, sockets and pipes, what nobody may read."""
    return {name for name in names if name == ".git" or not _can_be_copied(Path(folder, name))}


def _can_be_copied(path: Path) -> bool:
    if path.is_symlink():
        return True
    return (path.is_dir() or path.is_file()) and os.access(path, os.R_OK)


def check_packed(checker: Checker, packed: bytes, number: int) -> Checked:
    """Return what the checker says of one state of a tar of them, by its number from 1."""
    with tempfile.TemporaryDirectory(prefix="c-", ignore_cleanup_errors=True) as scratch:
        states = Path(scratch).resolve() / "states"
        states.mkdir()
        try:
            snapshots.unpack(packed, states)
        except WorkspaceError:
            return Checked(None, problem="not-copied")
        (states / f"stop-{number}").mkdir(exist_ok=True)
        place = neutral.new(Path(scratch).resolve())
        place.rmdir()
        (states / f"stop-{number}").rename(place)
        remove(states)
        return _run(checker, place, Path(scratch))


def hits(checker: Checker, *streams: bytes) -> int:
    """Return how often the place of the checker stands in what an agent read or wrote."""
    return sum(stream.count(text.encode()) for stream in streams for text in checker.hidden)


def shown_in(checker: Checker, texts: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    """Yield the names of the texts in which the place of the checker stands."""
    for name, content in texts:
        if hits(checker, content):
            yield name


def _hidden(command: Iterable[str], study: Path) -> Iterator[str]:
    """Yield the study's folder, and each file of the command relative to it."""
    found = [Path(word) for word in command if word.startswith(str(study)) and Path(word).exists()]
    if found:
        yield str(study)
    for path in found:
        relative = path.relative_to(study).as_posix()
        if "/" in relative:
            yield relative


def _run(checker: Checker, tree: Path, scratch: Path) -> Checked:
    home = scratch / "home"
    home.mkdir()
    argv = tuple(word.replace(_TREE, str(tree)) for word in checker.command)
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(home),
        "LC_ALL": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    limits = process.Limits(checker.seconds, stdout_bytes=OUTPUT_BYTES)
    try:
        ended = process.run(process.Command(argv, tree, environment), process.Silent(), limits)
    except AgentError as error:
        return Checked(None, problem="not-started", output=str(error).encode())
    output = ended.stdout + ended.stderr
    groups, problem = _groups(ended.stdout, checker.requirements)
    passed = ended.exit_code == 0 and not ended.timed_out and not ended.truncated
    if ended.timed_out:
        problem = "deadline"
    elif ended.truncated:
        problem = "output-over-bound"
    elif problem is None and passed != all(groups.values()):
        problem, passed = "contradiction", False
    elif problem is not None:
        passed = False
    return Checked(passed, ended.exit_code, groups, problem, ended.wall_time_ms, output)


def _groups(stdout: bytes, requirements: tuple[str, ...]) -> tuple[dict[str, bool], str | None]:
    """Return the groups that a checker named, and what is wrong with them."""
    try:
        told = json.loads(stdout)
        found = {name: _fulfilled(value) for name, value in told["groups"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}, "no-groups"
    said = ((name, found.get(name)) for name in requirements)
    known = {name: fulfilled for name, fulfilled in said if fulfilled is not None}
    return known, None if set(known) == set(found) == set(requirements) else "other-groups"


def _fulfilled(value: object) -> bool | None:
    said = value.get("ok") if isinstance(value, dict) else value
    return said if isinstance(said, bool) else None
