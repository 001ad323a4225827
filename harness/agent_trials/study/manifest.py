"""Loads a study's folder: manifest and answer key, with everything that is wrong in one error.

The rules stand in ``checks``, ``transport_checks``, ``key`` and ``leaks``; this is the shell that
reads the files and names them in the problems.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent_trials.errors import Problem, StudyError
from agent_trials.study import document, leaks, task_source
from agent_trials.study.checks import manifest_findings
from agent_trials.study.endpoints import GRADED
from agent_trials.study.find import KEYS, MANIFESTS, find, is_study
from agent_trials.study.findings import Finding
from agent_trials.study.key import AnswerKey, key_findings
from agent_trials.study.phases import phase_arms, phase_repetitions, phase_tasks
from agent_trials.study.settings import Manifest
from agent_trials.study.shape import fit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from agent_trials.study.settings import RepositorySettings, TaskSettings

__all__ = [
    "KEYS", "Study", "find", "is_remote", "is_study", "load", "load_all", "local_corpus",
    "needed_repositories", "phase_arms", "phase_repetitions", "phase_tasks", "starter",
]  # fmt: skip


@dataclass(frozen=True)
class Study:
    """A study as its files state it; ``key`` is None where the folder has no answer key."""

    folder: Path
    manifest: Manifest
    key: AnswerKey | None


def load(folder: Path) -> Study:
    """Read and check the study in a folder.

    Raises:
        StudyError: with every problem of all its files.
    """
    return load_all([folder])[0]


def load_all(folders: Iterable[Path]) -> tuple[Study, ...]:
    """Read and check several studies.

    Raises:
        StudyError: with every problem of all files of all of them.
    """
    studies: list[Study] = []
    problems: list[Problem] = []
    for folder in folders:
        study, found = _load(folder)
        problems += found
        if study is not None:
            studies.append(study)
    if problems:
        raise StudyError(problems)
    return tuple(studies)


def needed_repositories(study: Study, phase: str) -> dict[str, RepositorySettings]:
    """Return the repositories that the tasks of a phase ask about, by name."""
    names = dict.fromkeys(task.repository for task in phase_tasks(study.manifest, phase))
    return {name: study.manifest.repositories[name] for name in names if name is not None}


def starter(study: Study, task: TaskSettings) -> Path:
    """Return the folder of the study from which a task's trees are made.

    Raises:
        RuntimeError: the task has none.
    """
    if task.tree is None:
        raise RuntimeError(f"the task {task.id} has no starter")
    return study.folder / task.tree


def is_remote(url: str) -> bool:
    """Return whether a repository's url names another place than a folder of this machine."""
    return "://" in url or bool(re.match(r"[^/]+@[^/]+:", url))


def local_corpus(study: Study, repository: str) -> Path | None:
    """Return the folder that a repository's url names, None where it is a remote place."""
    url = study.manifest.repositories[repository].url
    return None if is_remote(url) else (study.folder / url).resolve()


@dataclass(frozen=True)
class _File:
    path: Path
    raw: dict[str, Any]

    def problems(self, shape: Iterable[Finding], rules: Iterable[Finding]) -> list[Problem]:
        """Name the findings; a rule over a place that does not fit anyway says nothing new."""
        unfit = tuple(shape)
        broken = [rule for rule in rules if not any(rule.touches(each) for each in unfit)]
        return [finding.within(str(self.path), self.raw) for finding in (*unfit, *broken)]


def _load(folder: Path) -> tuple[Study | None, list[Problem]]:
    if not is_study(folder):
        what = f"there is no {' or '.join(MANIFESTS)} in it"
        return None, [Problem(str(folder), what, "name a study's folder")]
    file, problems = _file(folder, MANIFESTS)
    key_file, key_problems = _file(folder, KEYS)
    if file is not None:
        full, unsourced = task_source.expand(file.raw, lambda name: (folder / name).read_bytes())
        file = replace(file, raw=full)
        problems += file.problems(unsourced, ())
    fitted = fit(file.raw, Manifest) if file else None
    fitted_key = fit(key_file.raw, AnswerKey) if key_file else None
    manifest = fitted.value if fitted else None
    key = fitted_key.value if fitted_key else None
    if file and fitted:
        no_key = key_file is None and not key_problems
        rules = _rules(manifest, key, folder, no_key=no_key) if manifest else ()
        problems += file.problems(fitted.findings, rules)
    if key_file and fitted_key:
        key_rules = key_findings(key, manifest) if key and manifest else ()
        key_problems += key_file.problems(fitted_key.findings, key_rules)
    study = Study(folder, manifest, key) if manifest else None
    return study, problems + key_problems


def _rules(
    manifest: Manifest, key: AnswerKey | None, folder: Path, *, no_key: bool
) -> Iterator[Finding]:
    yield from manifest_findings(manifest, folder.resolve().name)
    yield from _local_corpora(manifest, folder.resolve())
    yield from _starters(manifest, folder.resolve())
    if key is not None:
        yield from leaks.in_prompts(key, manifest)
    registered = {*manifest.endpoints.primary, *manifest.endpoints.secondary}
    if no_key and registered & GRADED:
        what = "correctness is registered and the study has no answer key"
        yield Finding(("endpoints",), what, "write key.toml beside the manifest")


def _local_corpora(manifest: Manifest, folder: Path) -> Iterator[Finding]:
    """Check corpora that are folders: they are there, and apart from the study's own."""
    for name, repository in manifest.repositories.items():
        corpus, path = (folder / repository.url).resolve(), ("repositories", name, "url")
        if is_remote(repository.url):
            continue
        if not corpus.is_dir():
            what = f"there is no folder {repository.url!r}"
            yield Finding(path, what, "write it relative to the study's folder")
        elif corpus.is_relative_to(folder) or folder.is_relative_to(corpus):
            what = f"the folder {repository.url!r} and the study's folder are not apart"
            yield Finding(path, what, "keep the corpus and the study in folders of their own")


def _starters(manifest: Manifest, folder: Path) -> Iterator[Finding]:
    """Check that starters are folders of the study, so that its freeze covers them."""
    for index, task in enumerate(manifest.tasks):
        if task.tree is None:
            continue
        place = (folder / task.tree).resolve()
        if not place.is_relative_to(folder) or place == folder:
            what = f"the starter {task.tree!r} is no folder inside the study's"
            yield Finding(("tasks", index, "tree"), what, "keep it in the study's folder")
        elif not place.is_dir():
            what = f"there is no folder {task.tree!r}"
            yield Finding(("tasks", index, "tree"), what, "write it relative to the study's folder")


def _file(folder: Path, names: tuple[str, ...]) -> tuple[_File | None, list[Problem]]:
    """Return the one file of these names that the folder holds, and what is wrong with it."""
    present = [folder / name for name in names if (folder / name).is_file()]
    if not present:
        return None, []
    raw, problems = document.read(present[0])
    if len(present) > 1:
        what = f"stands beside {present[0].name}"
        problems.append(Problem(str(present[1]), what, "keep one of the two"))
    return (None if raw is None else _File(present[0], raw)), problems
