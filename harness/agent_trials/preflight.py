"""Everything that must hold before money is spent, checked once in the controlling process.

In order, every problem collected before refusing:
    each repository that the phase's tasks need is at its pin, clean, with every source readable
    its filtered blobs are sealed, and hold no proposition of the key and no file of the study
    each MCP server of an arm starts, lists its tools, and answers its probe from a fresh index
    where agents write, what ``writable`` looks at
    the agent's executable is there and of the pinned version
Nothing is reserved, and nothing but the session's own temporary folder is written.
"""

from __future__ import annotations

import shutil
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials import writable
from agent_trials.agents import claude_cli
from agent_trials.errors import AgentError, Problem, ProblemsError, RunRefusedError, WorkspaceError
from agent_trials.study import leaks, manifest
from agent_trials.study.folder import whole_digests
from agent_trials.study.settings import CliSettings
from agent_trials.workspace import checkouts, commits, export, git, prepare
from agent_trials.workspace.mcp_digests import parameter_facts
from agent_trials.workspace.mcp_probe import Probes, probe_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_trials.records import McpServer, SealedCorpus
    from agent_trials.study.manifest import Study
    from agent_trials.study.settings import HttpSettings, ProviderSettings, RepositorySettings
    from agent_trials.writable import Writable

LOCAL_TOOLS = ("repo_list", "repo_read", "repo_search")


@dataclass(frozen=True)
class Ground:
    """What a preflight looks at.

    ``blocks`` are the settings of every way to a model, one where all arms go the same way.
    ``roots`` are the checkouts that the operator named. ``environ`` is the operator's environment.
    A rehearsal commits a repository whose url is a folder on demand; a paid run never does.
    """

    study: Study
    phase: str
    blocks: tuple[HttpSettings | CliSettings | ProviderSettings, ...]
    roots: Mapping[str, Path]
    parameters: Mapping[str, str]
    claude_bin: str | None
    rehearsal: bool
    config_dir: Path | None = None
    mirrors: Path | None = None
    environ: Mapping[str, str] = field(repr=False, default_factory=dict)

    @property
    def repositories(self) -> dict[str, RepositorySettings]:
        """Return the repositories of which the phase's tasks need a checkout, by name."""
        return (
            {}
            if self.study.manifest.checkout
            else manifest.needed_repositories(self.study, self.phase)
        )

    def committed_on_demand(self, name: str) -> Path | None:
        """Return the folder that stands for a repository in a rehearsal without a checkout."""
        if not self.rehearsal or name in self.roots:
            return None
        return manifest.local_corpus(self.study, name)

    @property
    def values(self) -> dict[str, str]:
        """Return the study's parameters by name, the operator's before the defaults."""
        return {
            name: self.parameters.get(name, setting.default or "")
            for name, setting in self.study.manifest.parameters.items()
        }

    @property
    def cli(self) -> tuple[CliSettings, ...]:
        """Return the settings of the ways that start the CLI."""
        return tuple(each for each in self.blocks if isinstance(each, CliSettings))

    @property
    def taken(self) -> tuple[str, ...]:
        """Return the names that some transport uses for tools of its own."""
        names = [name for each in self.cli for name in each.tools]
        others = LOCAL_TOOLS if len(self.cli) < len(self.blocks) else ()
        return tuple(dict.fromkeys((*names, *others)))

    def executable(self) -> str | None:
        """Return the absolute path of the CLI, None if it is not there."""
        path = self.environ.get("PATH")
        found = shutil.which(self.claude_bin or "claude", path=path)
        return str(Path(found).absolute()) if found else None


@dataclass(frozen=True)
class Prepared:
    """What the preflight found: everything an attempt's request is made of, picklable.

    ``servers`` are by arm and repository, ``denied`` (the CLI's names of refused MCP tools) by arm.
    ``facts`` are what the ledger says of it in public.
    """

    corpora: Mapping[str, SealedCorpus]
    writable: Writable
    servers: Mapping[tuple[str, str], tuple[McpServer, ...]]
    denied: Mapping[str, tuple[str, ...]]
    executable: str | None
    executable_version: str | None
    parameters: Mapping[str, Mapping[str, Any]]
    facts: Mapping[str, Any]


def missing_needs(ground: Ground) -> list[str]:
    """Return what a rehearsal lacks, so that its study is skipped: checkouts, parameters, a CLI."""
    missing = [
        f"no checkout of {name} (--root {name}=DIR; agent-trials prepare makes one)"
        for name in ground.repositories
        if name not in ground.roots and ground.committed_on_demand(name) is None
    ]
    missing += _missing_mirrors(ground)
    missing += [
        f"no --param {name}=VALUE ({setting.description})"
        for name, setting in ground.study.manifest.parameters.items()
        if setting.default is None and name not in ground.parameters
    ]
    if ground.cli and ground.executable() is None:
        wanted = ground.claude_bin or "claude"
        missing.append(f"no executable {wanted} (--claude-bin PATH names another)")
    return missing


def _missing_mirrors(ground: Ground) -> list[str]:
    if ground.study.manifest.checkout is None:
        return []
    rehearsal = ground.rehearsal
    return commits.missing(
        commits.Wanted(ground.study, ground.phase, ground.mirrors, rehearsal=rehearsal)
    )


def check(ground: Ground, into: Path) -> Prepared:
    """Check everything and return what the attempts are made of.

    Args:
        ground: what to look at.
        into: an empty folder of the session's own, for sealed corpora and demanded commits.

    Raises:
        RunRefusedError: everything that is wrong; nothing was reserved.
    """
    started = time.monotonic()
    problems = [
        Problem(ground.study.manifest.id, each, "give it") for each in missing_needs(ground)
    ]
    if problems:
        raise RunRefusedError(problems)
    places = _checkouts(ground, into, problems)
    corpora = _seal(ground, places, into, problems)
    _refuse_if(problems)
    executable, version = _agent(ground, problems)
    _refuse_if(problems if ground.study.manifest.checkout else [])
    found = _writable(ground, into, executable, version, problems)
    sealed_ms = _milliseconds(started)
    probes = _probe(ground, places, corpora, problems)
    _refuse_if(problems)
    arms = [arm.id for arm in ground.study.manifest.arms]
    return Prepared(
        corpora=corpora,
        writable=found,
        servers={(arm, name): probes.servers(arm, name) for arm in arms for name in corpora},
        denied={arm: _denied(arm, probes, found) for arm in arms},
        executable=executable,
        executable_version=version,
        parameters={
            name: parameter_facts(name, value).to_json() for name, value in ground.values.items()
        },
        facts={
            "corpora": [_corpus_facts(ground, name, places, corpora) for name in corpora],
            **found.facts(),
            "servers": [each.to_json() for each in probes.probed],
            "deniedMcpTools": {arm: list(_denied(arm, probes, found)) for arm in arms},
            "cliVersion": version,
            "sealedMs": sealed_ms,
            "totalMs": _milliseconds(started),
        },
    )


def check_roots(studies: Iterable[Study], roots: Mapping[str, Path]) -> None:
    """Read the named checkouts as the dry run does: HEAD, cleanliness, sources; starts only git.

    Raises:
        RunRefusedError: a checkout is not what the study pins.
    """
    problems = []
    known = set()
    for study in studies:
        for name, repository in study.manifest.repositories.items():
            if name in roots:
                known.add(name)
                problems += _checkout_problems(study, name, repository, roots[name])
    problems += [
        Problem(f"--root {name}", "no study here knows this name", "name one of its repositories")
        for name in roots
        if name not in known
    ]
    _refuse_if(problems)


def _checkout_problems(
    study: Study, name: str, repository: RepositorySettings, path: Path
) -> list[Problem]:
    sources = {
        source
        for task in study.manifest.tasks
        if study.key and task.repository == name
        for source in study.key.tasks[task.id].sources
    }
    return checkouts.check_checkout(
        name,
        path,
        pin=repository.pin,
        generated_paths=repository.generated_paths,
        sources=sorted(sources),
        rules=study.manifest.workspace.filter,
    )


def _checkouts(ground: Ground, into: Path, problems: list[Problem]) -> dict[str, Path]:
    """Return each needed repository's checkout, committing a demanded folder first."""
    places = {}
    for name, repository in ground.repositories.items():
        folder = ground.committed_on_demand(name)
        if folder is None:
            places[name] = ground.roots[name]
        else:
            places[name] = into / f"{ground.study.manifest.id}-{ground.phase}" / "checkouts" / name
            pin = git.commit_folder(folder, places[name])
            if pin != repository.pin:
                problems.append(
                    Problem(
                        f"repository {name}",
                        f"the folder {repository.url} makes the commit {pin}, and the study pins"
                        f" {repository.pin}",
                        "restore the folder, or amend the pin",
                    )
                )
                continue
        problems += _checkout_problems(ground.study, name, repository, places[name])
    return places


def _seal(
    ground: Ground, places: Mapping[str, Path], into: Path, problems: list[Problem]
) -> dict[str, SealedCorpus]:
    corpora = {}
    rules = ground.study.manifest.workspace.filter
    for name, repository in ground.repositories.items():
        if problems:
            break
        master = into / f"{ground.study.manifest.id}-{ground.phase}" / "sealed" / name
        master.parent.mkdir(parents=True, exist_ok=True)
        try:
            corpora[name] = export.seal(
                name, places[name], pin=repository.pin, rules=rules, into=master
            )
        except WorkspaceError as error:
            problems.append(Problem(f"repository {name}", str(error), "prepare the checkout again"))
            continue
        problems += _leaks(ground.study, corpora[name])
    return corpora


def _writable(
    ground: Ground,
    into: Path,
    executable: str | None,
    version: str | None,
    problems: list[Problem],
) -> Writable:
    place = writable.Place(
        ground.study,
        ground.phase,
        ground.blocks,
        ground.values,
        ground.environ,
        executable,
        version,
        ground.config_dir,
        ground.mirrors,
        ground.rehearsal,
        into / f"{ground.study.manifest.id}-{ground.phase}",
    )
    return writable.look(place, problems)


def _denied(arm: str, probes: Probes, found: Writable) -> tuple[str, ...]:
    return (*probes.denied(arm), *found.arms.denied.get(arm, ()))


def _leaks(study: Study, corpus: SealedCorpus) -> list[Problem]:
    """Return where the corpus holds the answer key or a file of the study."""
    files = [(each.path, (corpus.folder / each.path).read_bytes()) for each in corpus.files]
    found = leaks.study_files(whole_digests(study.folder), files)
    if study.key:
        found += leaks.in_corpus(study.key, files)
    return [Problem(f"{corpus.repository}:{each.where}", each.what, each.remedy) for each in found]


def _probe(
    ground: Ground,
    places: Mapping[str, Path],
    corpora: Mapping[str, SealedCorpus],
    problems: list[Problem],
) -> Probes:
    with ExitStack() as stack:
        folders = {
            name: stack.enter_context(export.export(corpus, writable_arm=False))
            for name, corpus in corpora.items()
        }
        try:
            return probe_all(
                ground.study.manifest.arms,
                {name: places[name] for name in corpora},
                folders=folders,
                parameters=ground.values,
                environ=ground.environ,
                tool_lists=ground.study.manifest.workspace.tool_lists,
                taken=ground.taken,
            )
        except ProblemsError as error:
            problems += error.problems
            return Probes(())


def _agent(ground: Ground, problems: list[Problem]) -> tuple[str | None, str | None]:
    """Return the CLI's path and version; the version is exactly the one that the study pins."""
    if not ground.cli:
        return None, None
    for settings in ground.cli:
        problems += [each for each in claude_cli.problems(settings) if each not in problems]
    executable = ground.executable()
    if executable is None:
        raise RuntimeError("missing_needs would have said so")
    try:
        version = claude_cli.probe_version(executable)
    except AgentError as error:
        problems.append(Problem("--claude-bin", str(error), "name the pinned CLI"))
        return executable, None
    if version != ground.cli[0].version:
        problems.append(
            Problem(
                "--claude-bin",
                f"{ground.claude_bin or 'claude'} reports version {version}, and the study pins"
                f" {ground.cli[0].version}",
                f"npm install --prefix DIR @anthropic-ai/claude-code@{ground.cli[0].version},"
                " then --claude-bin DIR/node_modules/.bin/claude",
            )
        )
    return executable, version


def _corpus_facts(
    ground: Ground,
    name: str,
    places: Mapping[str, Path],
    corpora: Mapping[str, SealedCorpus],
) -> dict[str, Any]:
    """Return what the ledger says of a corpus: digests and counts, no path of this machine."""
    generated = ground.repositories[name].generated_paths
    return {
        "repository": name,
        "pin": corpora[name].pin,
        "digest": corpora[name].digest,
        "files": len(corpora[name].files),
        "bytes": sum(each.size for each in corpora[name].files),
        "generated": checkouts.generated_digest(places[name], generated) if generated else None,
        "preparedMs": prepare.noted(places[name]),
    }


def _refuse_if(problems: list[Problem]) -> None:
    if problems:
        raise RunRefusedError(problems)


def _milliseconds(since: float) -> int:
    return round((time.monotonic() - since) * 1000)
