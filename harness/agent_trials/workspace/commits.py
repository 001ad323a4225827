"""Seals the pin of each task of a phase as a repository of one commit, from where it is to be had.

a cache of mirrors     where one is given; a paid run has no other
a local repository     that the study's url names, in a rehearsal
a local plain folder   committed on demand, in a rehearsal
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_trials.errors import Problem, WorkspaceError
from agent_trials.records import SealedCheckout
from agent_trials.study.manifest import local_corpus, needed_repositories, phase_tasks
from agent_trials.workspace import git, hardened, mirrors, prepare, single_commit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_trials.study.manifest import Study


_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")


@dataclass(frozen=True)
class Wanted:
    """The tasks of a phase, and the cache of mirrors if one is given."""

    study: Study
    phase: str
    mirrors: Path | None
    rehearsal: bool

    def address(self, name: str) -> str:
        """Return the address of a repository; the path of one that lies here."""
        local = local_corpus(self.study, name)
        return str(local or self.study.manifest.repositories[name].url)


def addresses(study: Study) -> dict[str, tuple[str, ...]]:
    """Return the pins of a study's repositories by the address that they are fetched from."""
    found: dict[str, tuple[str, ...]] = {}
    for name, repository in study.manifest.repositories.items():
        address = str(local_corpus(study, name) or repository.url)
        found[address] = tuple(dict.fromkeys((*found.get(address, ()), repository.pin)))
    return found


def missing(wanted: Wanted) -> list[str]:
    """Return a sentence for each repository that is not here at all."""
    found = []
    for name, repository in needed_repositories(wanted.study, wanted.phase).items():
        if wanted.mirrors is not None:
            here = mirrors.place(wanted.mirrors, wanted.address(name)).is_dir()
        else:
            here = wanted.rehearsal and local_corpus(wanted.study, name) is not None
        if not here:
            found.append(f"no mirror of {repository.url}")
    hint = " (--mirrors DIR; agent-trials prepare fills one)"
    return [each + hint for each in dict.fromkeys(found)]


def sealed(wanted: Wanted, into: Path, problems: list[Problem]) -> dict[str, SealedCheckout]:
    """Return the only commit of each task, adding what cannot be had to the problems.

    Args:
        wanted: which tasks.
        into: a folder of the session's own.
        problems: where to say what is wrong.
    """
    manifest = wanted.study.manifest
    most = manifest.checkout.patch_bytes if manifest.checkout else 0
    found: dict[str, SealedCheckout] = {}
    for task in phase_tasks(manifest, wanted.phase):
        name, place = task.repository or "", into / "commits" / task.id
        pin = manifest.repositories[name].pin
        try:
            tree = single_commit.seal(_source(wanted, name, pin, into), pin, place)
            problems += _settings(wanted, task.id, place)
            found[task.id] = SealedCheckout(task.id, place, pin, tree, most)
        except WorkspaceError as error:
            remedy = f"agent-trials prepare {wanted.study.folder} --into DIR, then --mirrors DIR"
            problems.append(Problem(f"task {task.id}", str(error), remedy))
    return found


def _settings(wanted: Wanted, task: str, sealed_in: Path) -> Iterator[Problem]:
    """Find settings of the CLI in a repository, which the CLI would obey with its key.

    They may start programs, and name another address for its requests.
    """
    cli = wanted.study.manifest.transports.cli
    if cli is None or {"--restricted", "--setting-sources"} & {*cli.arguments}:
        return
    listed = hardened.run(sealed_in, "ls-tree", "-r", "--name-only", "HEAD", "--", *_SETTINGS)
    for name in listed.decode("utf-8", "replace").splitlines():
        what = f"the repository holds {name} at its pin, which the CLI would obey"
        remedy = 'add "--setting-sources", "user" to the array, or choose another pin'
        yield Problem(f"task {task}", what, remedy)


def _source(wanted: Wanted, name: str, pin: str, into: Path) -> Path:
    """Return the git folder that has a task's pin.

    Raises:
        WorkspaceError: a plain folder makes another commit.
    """
    local = local_corpus(wanted.study, name)
    if wanted.mirrors is not None or local is None:
        return mirrors.place(wanted.mirrors or into, wanted.address(name))
    if prepare.is_repository(local):
        return mirrors.source(local)
    made = into / "folders" / name
    if (found := git.commit_folder(local, made)) != pin:
        raise WorkspaceError(f"the folder {local} makes the commit {found}, not the pin {pin}")
    return made / ".git"
