"""Proves that a checker can say no: before any money is spent on what it will say.

Of each task:
    the original       the starter as every attempt gets it fails
    the reference      the starter with the reference over it passes
    each variant       the reference without one requirement fails, in exactly that group
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials.errors import Problem, WorkspaceError
from agent_trials.graders import checker
from agent_trials.records import SealedTree
from agent_trials.workspace import commands, starter, tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agent_trials.graders.checker import Checked, Checker
    from agent_trials.study.key import AnswerKey, CheckerKey
    from agent_trials.study.settings import Manifest, TaskSettings

ORIGINAL = "original"
REFERENCE = "reference"
Files = dict[str, tuple[bytes, bool]]


@dataclass(frozen=True)
class Graded:
    """A study as far as its checkers are concerned; ``values`` are its parameters."""

    folder: Path
    manifest: Manifest
    key: AnswerKey | None
    values: Mapping[str, str]


@dataclass(frozen=True)
class Proved:
    """What the checker of one task said of each state, and what is wrong with that."""

    task: str
    states: int
    problems: tuple[Problem, ...]


def prove(study: Graded, tasks: Iterable[TaskSettings]) -> Iterator[Proved]:
    """Prove the checkers of the tasks, one after another, the states of each side by side."""
    for task in tasks:
        key = study.key.tasks[task.id].checker if study.key else None
        if key is not None:
            yield _proved(study, task, key)


def _proved(study: Graded, task: TaskSettings, key: CheckerKey) -> Proved:
    where = f"{study.manifest.id}: task {task.id}"
    try:
        found = checker.resolve(key, study.folder, study.values)
        laid, empty = dict(states(study, task, key)), _without_files(study, task)
    except WorkspaceError as error:
        return Proved(task.id, 0, (Problem(where, str(error), "put it right"),))
    problems = []
    with (
        tempfile.TemporaryDirectory(prefix="at-") as scratch,
        ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool,
    ):
        ways = {
            name: pool.submit(_checked, empty, found, files, Path(scratch) / name)
            for name, files in laid.items()
        }
        for name, way in ways.items():
            try:
                said = _problem(name, way.result())
            except WorkspaceError as error:
                said = str(error)
            if said is not None:
                remedy = "change the checker, the reference or the variant"
                problems.append(Problem(f"{where}, {name}", said, remedy))
    return Proved(task.id, len(laid), tuple(problems))


def states(study: Graded, task: TaskSettings, key: CheckerKey) -> Iterator[tuple[str, Files]]:
    """Yield the original, the reference, and the variant of each requirement.

    Raises:
        WorkspaceError: one of them is not there, or a variant is of no requirement.
    """
    original = starter.read(study.folder / (task.tree or ""))
    reference = starter.overlaid(original, study.folder / key.reference)
    yield ORIGINAL, original
    yield REFERENCE, reference
    variants = study.folder / key.variants
    there = {each.name.removesuffix(starter.PATCH): each for each in _entries(variants)}
    if odd := sorted(each for each in {*there} - {*key.requirements}):
        raise WorkspaceError(f"{variants} holds {', '.join(odd)}, which is no requirement")
    for name in key.requirements:
        if name not in there:
            raise WorkspaceError(f"there is no variant {variants / name}; make one without {name}")
        yield name, starter.overlaid(reference, there[name])


def _entries(variants: Path) -> list[Path]:
    found = sorted(variants.iterdir()) if variants.is_dir() else []
    return [each for each in found if not each.name.startswith((".", "_"))]


def _checked(empty: SealedTree, found: Checker, files: Files, into: Path) -> Checked:
    """Lay out a state as an attempt's tree would be, and let the checker look at it."""
    sealed = starter.seal_files(empty.name, files, into)
    sealed = dataclasses.replace(sealed, setup=empty.setup, setup_seconds=empty.setup_seconds)
    with tree.tree(sealed, home=None, programs={}) as made:
        return checker.check(found, made.folder)


def _without_files(study: Graded, task: TaskSettings) -> SealedTree:
    """Return how a tree of the task is set up, without its files.

    Raises:
        WorkspaceError: the study has no trees, or a program of the set-up is not there.
    """
    settings = study.manifest.tree
    if settings is None:
        raise WorkspaceError("only a tree has a checker")
    setup = tuple(commands.resolved(each, study.values) for each in settings.setup)
    return SealedTree(task.id, study.folder, "", (), (), setup, settings.setup_seconds)


def _problem(name: str, said: Checked) -> str | None:
    """Return what is wrong with what a checker said of a state; None if nothing is."""
    if said.problem is not None:
        return f"the checker ended with {said.problem} (exit code {said.exit_code})"
    failing = ", ".join(said.failing) or "none"
    if name == ORIGINAL:
        return "the original passes, so that there is nothing to do" if said.passed else None
    if name == REFERENCE:
        return None if said.passed else f"the reference fails: {failing}"
    if said.failing == (name,):
        return None
    return f"the variant without {name} fails in {failing}, and should in {name} alone"
