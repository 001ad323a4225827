"""What must be there before an adjudicator is asked: the corpora at their pins, the CLI."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials.agents import claude_cli
from agent_trials.errors import AgentError, Problem, RunRefusedError, WorkspaceError
from agent_trials.graders import base
from agent_trials.graders.base import Answered
from agent_trials.graders.citations import Corpora
from agent_trials.graders.words import ArmWords
from agent_trials.study import manifest
from agent_trials.study.settings import CliSettings
from agent_trials.workspace import export, git

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_trials.graders.adjudicator import Adjudicator
    from agent_trials.records import SealedCorpus
    from agent_trials.session.grading_plan import GradingPlan


@dataclass(frozen=True)
class Ground:
    """Corpora by the study's names of them, and the graders as they are asked.

    ``controls`` are the tasks on which they are tested.
    """

    corpora: Mapping[str, Corpora]
    graders: tuple[Adjudicator, ...]
    controls: tuple[str, ...]

    def at(self, base_url: str) -> Ground:
        """Return the ground with graders that are asked at another place than the provider's."""
        graders = tuple(dataclasses.replace(each, base_url=base_url) for each in self.graders)
        return dataclasses.replace(self, graders=graders)


class _SealedText(Mapping[str, str]):
    """The text of a sealed corpus, read when it is asked for."""

    def __init__(self, corpus: SealedCorpus) -> None:
        self._folder = corpus.folder
        self._paths = {each.path: None for each in corpus.files}

    def __getitem__(self, path: str) -> str:
        if path not in self._paths:
            raise KeyError(path)
        return (self._folder / path).read_text("utf-8", errors="replace")

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def prepare(plan: GradingPlan, into: Path) -> Ground:
    """Seal the corpora that the attempts were asked about, and look at the CLI.

    Args:
        plan: what was admitted.
        into: an empty folder of the session's own.

    Raises:
        RunRefusedError: everything that is missing or not what the ledger records.
    """
    problems: list[Problem] = []
    controls = _controls(plan, problems)
    tasks = {task.id: task for task in plan.study.manifest.tasks}
    names = dict.fromkeys(
        tasks[task].repository or "" for task in (*(case.task for case in plan.cases), *controls)
    )
    corpora = {}
    for name in names:
        sealed = _sealed(plan, name, into, problems)
        if sealed is not None:
            corpora[name] = Corpora(_SealedText(sealed))
    problems += _told_apart(plan, corpora, controls)
    graders = tuple(_with_executable(plan, each, problems) for each in plan.graders)
    if problems:
        raise RunRefusedError(problems)
    return Ground(corpora, graders, controls)


def _controls(plan: GradingPlan, problems: list[Problem]) -> tuple[str, ...]:
    """Return the first tasks with control answers, those of the ledger's phase before others."""
    study, key = plan.study, plan.study.key
    recorded = plan.opening["corpora"]
    phase = plan.opening["phase"]
    in_phase = [task.id for task in manifest.phase_tasks(study.manifest, phase)]
    tasks = sorted(study.manifest.tasks, key=lambda task: task.id not in in_phase)
    able = [
        task.id
        for task in tasks
        if key and key.tasks[task.id].is_control and task.repository in recorded
    ]
    if not able:
        what = "its key has no task with reference and wrong about a repository of the ledger"
        problems.append(Problem(f"--ledger {plan.ledger}", what, "add them before the attempts"))
    return tuple(able[: plan.settings.controls])


def arm_words(plan: GradingPlan) -> ArmWords:
    """Return what would tell an arm in an answer; a folder counts by every name that it has."""
    roots = plan.options.roots.values()
    folders = {str(path) for root in roots for path in (root.absolute(), root.resolve())}
    study = plan.study.manifest
    return ArmWords.of(study.arms, plan.settings, sorted(folders), study.transports.provider)


def _told_apart(
    plan: GradingPlan, corpora: Mapping[str, Corpora], controls: tuple[str, ...]
) -> Iterator[Problem]:
    """Refuse a control whose right and wrong answers make one packet: nobody could tell them."""
    words = arm_words(plan)
    tasks = {task.id: task for task in plan.study.manifest.tasks}
    for task in controls:
        entry = plan.study.key.tasks[task] if plan.study.key else None
        corpus = corpora.get(tasks[task].repository or "")
        if entry is None or corpus is None:
            continue
        packets = {
            base.blind(
                Answered(answer or ""), "", entry, corpus, settings=plan.settings, words=words
            ).case.packet()
            for answer in (entry.reference, entry.wrong)
        }
        if len(packets) == 1:
            what = "its reference and its wrong answer make the same packet, for they cite the same"
            yield Problem(f"key tasks.{task}", what, "let the wrong answer cite other places")


def _sealed(
    plan: GradingPlan, name: str, into: Path, problems: list[Problem]
) -> SealedCorpus | None:
    pin = plan.opening["pins"][name]
    checkout = _checkout(plan, name, into, problems)
    if checkout is None:
        return None
    rules = plan.study.manifest.workspace.filter
    try:
        sealed = export.seal(name, checkout, pin=pin, rules=rules, into=into / "sealed" / name)
    except WorkspaceError as error:
        problems.append(Problem(f"repository {name}", str(error), "prepare the checkout again"))
        return None
    if sealed.digest != plan.opening["corpora"].get(name):
        what = "its files at the pin are not those that the attempts were given"
        problems.append(Problem(f"repository {name}", what, "give the checkout of that pin"))
        return None
    return sealed


def _checkout(plan: GradingPlan, name: str, into: Path, problems: list[Problem]) -> Path | None:
    if name in plan.options.roots:
        return plan.options.roots[name]
    folder = None if plan.is_paid else manifest.local_corpus(plan.study, name)
    if folder is None:
        remedy = f"agent-trials prepare {plan.study.folder} --into DIR, then --root {name}=DIR"
        what = "grading reads the cited lines at the pin, and no checkout is given"
        problems.append(Problem(f"--root {name}", what, remedy))
        return None
    into_checkout = into / "checkouts" / name
    try:
        git.commit_folder(folder, into_checkout)
    except WorkspaceError as error:
        problems.append(Problem(f"repository {name}", str(error), "restore the folder"))
        return None
    return into_checkout


def _with_executable(
    plan: GradingPlan, grader: Adjudicator, problems: list[Problem]
) -> Adjudicator:
    """Return the grader with the CLI that it is asked through, of exactly the pinned version."""
    if not isinstance(grader.settings, CliSettings):
        return grader
    wanted = plan.options.claude_bin or "claude"
    found = shutil.which(wanted, path=plan.options.environ.get("PATH"))
    if found is None:
        what = f"there is no executable {wanted}"
        problems.append(Problem("--claude-bin", what, "give --claude-bin PATH"))
        return grader
    executable = str(Path(found).absolute())
    try:
        version = claude_cli.probe_version(executable)
    except AgentError as error:
        problems.append(Problem("--claude-bin", str(error), "name the pinned CLI"))
        return grader
    if version != grader.settings.version:
        what = f"{wanted} reports version {version}, and the study pins {grader.settings.version}"
        problems.append(Problem("--claude-bin", what, "name the pinned CLI"))
    return dataclasses.replace(grader, executable=executable, executable_version=version)
