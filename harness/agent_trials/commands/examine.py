"""Everything about one study that can be examined without money, network or a checkout."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials.errors import Problem, WorkspaceError
from agent_trials.results import rules
from agent_trials.study import leaks, manifest
from agent_trials.study.corpus import refusal
from agent_trials.study.design import doubts
from agent_trials.study.folder import whole_digests
from agent_trials.study.present import read_present, uncollected
from agent_trials.workspace import git

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_trials.study.manifest import Study
    from agent_trials.study.settings import CorpusFilter


@dataclass(frozen=True)
class Examined:
    """What was found: problems stop a freeze, doubts do not; notes say what was looked at."""

    problems: tuple[Problem, ...]
    doubts: tuple[Problem, ...]
    notes: tuple[str, ...]


def examine(study: Study) -> Examined:
    """Examine the study's folder, its design, and every corpus that is a folder of this machine."""
    problems, notes = read_present(study.folder).unfreezable(), []
    problems += uncollected(study.folder)
    problems += _verdict(study)
    for name in study.manifest.repositories:
        folder = manifest.local_corpus(study, name)
        if folder is None or (folder / ".git").exists():
            look = f"a dry run with --root {name}=DIR"
            if study.manifest.checkout is not None:
                look = "the run that takes it from its mirror (agent-trials prepare)"
            notes.append(f"corpus {name}: at its pin only; {look} looks")
            continue
        found, files = _corpus(study, name, folder)
        problems += found
        notes.append(f"corpus {name}: {files} files, searched for the key and the study's files")
    return Examined(tuple(problems), tuple(doubts(study.manifest)), tuple(notes))


def _verdict(study: Study) -> tuple[Problem, ...]:
    """Return what is wrong with the rule that is to decide."""
    settings = study.manifest
    return rules.problems(
        settings.verdict.rule,
        settings.verdict.thresholds,
        primary=settings.endpoints.primary,
        p_values=settings.endpoints.p_values,
        where=f"{study.folder}: verdict",
    )


def _corpus(study: Study, name: str, folder: Path) -> tuple[list[Problem], int]:
    """Return what is wrong with a corpus that is committed on demand, and its number of files."""
    place = f"{study.folder}: repositories.{name}"
    with tempfile.TemporaryDirectory() as scratch:
        committed = Path(scratch) / name
        try:
            pin = git.commit_folder(folder, committed)
        except WorkspaceError as error:
            return [Problem(f"{place}.url", str(error), "make the folder one that git can hold")], 0
        files = dict(_exported(committed, study.manifest.workspace.filter))
    problems = [*_pin(f"{place}.pin", study.manifest.repositories[name].pin, pin)]
    problems += [*_sources(study, name, files), *_handoffs(study, name, files)]
    found = leaks.study_files(whole_digests(study.folder), files.items())
    if study.key is not None:
        found += leaks.in_corpus(study.key, files.items())
    shown = os.path.normpath(study.folder / study.manifest.repositories[name].url)
    problems += [Problem(f"{shown}/{each.where}", each.what, each.remedy) for each in found]
    return problems, len(files)


def _pin(place: str, pinned: str, pin: str) -> Iterator[Problem]:
    if pinned != pin:
        yield Problem(place, f"the folder's content is the commit {pin}", f'write pin = "{pin}"')


def _sources(study: Study, name: str, files: dict[str, bytes]) -> Iterator[Problem]:
    for task in study.manifest.tasks:
        if study.key is None or task.repository != name:
            continue
        for source in study.key.tasks[task.id].sources:
            if source not in files:
                what = f"the corpus {name} has no file {source!r}"
                yield Problem(
                    f"{study.folder}: key tasks.{task.id}.sources", what, "name one that it has"
                )


def _handoffs(study: Study, name: str, files: dict[str, bytes]) -> Iterator[Problem]:
    """Yield the paths of hand-offs that lead nowhere."""
    provider = study.manifest.transports.provider
    tables = provider.tasks if provider else {}
    for task in study.manifest.tasks:
        found = tables[task.id].handoff if task.id in tables else None
        if found is None or task.repository != name:
            continue
        for path in (found.start_here, *found.read_before_editing):
            if path not in files:
                place = f"{study.folder}: transports.provider.tasks.{task.id}.handoff"
                yield Problem(place, f"the corpus {name} has no file {path!r}", "name one of its")


def _exported(checkout: Path, rules: CorpusFilter) -> Iterator[tuple[str, bytes]]:
    """Yield path and bytes of the files that an export of this checkout would hold."""
    for file in sorted(checkout.rglob("*")):
        path = file.relative_to(checkout).as_posix()
        if file.is_symlink() or not file.is_file():
            continue
        status = file.stat()
        mode = "100755" if status.st_mode & 0o100 else "100644"
        if refusal(path, mode=mode, size=status.st_size, rules=rules) is None:
            yield path, file.read_bytes()
