"""What must hold before money where agents write: trees, launchers, checkers, the login's folder.

Part of the preflight, which collects the problems; without a tree there is little to look at.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials import arms, dry_launch
from agent_trials.agents import config_dir, launches
from agent_trials.arms import Arms
from agent_trials.errors import Problem, WorkspaceError
from agent_trials.graders import checker, proof
from agent_trials.study.manifest import phase_tasks
from agent_trials.study.settings import CliSettings
from agent_trials.workspace import commits, neutral, trees

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_trials.graders.checker import Checker
    from agent_trials.records import Launch, SealedCheckout, SealedTree, SideFile
    from agent_trials.study.manifest import Study


@dataclass(frozen=True)
class Place:
    """What is looked at: a phase of a study, on this machine, for this operator."""

    study: Study
    phase: str
    blocks: tuple[object, ...]
    values: Mapping[str, str]
    environ: Mapping[str, str] = field(repr=False)
    executable: str | None
    version: str | None
    config_dir: Path | None
    mirrors: Path | None
    rehearsal: bool
    into: Path


@dataclass(frozen=True)
class Writable:
    """What was found: starters, checkouts and checkers by task, launches and the like by arm."""

    trees: Mapping[str, SealedTree] = field(default_factory=dict)
    checkers: Mapping[str, Checker] = field(default_factory=dict)
    launches: Mapping[str, tuple[Launch, Launch]] = field(default_factory=dict)
    sides: Mapping[str, SideFile | None] = field(default_factory=dict)
    dry: Mapping[str, Any] = field(default_factory=dict)
    checkouts: Mapping[str, SealedCheckout] = field(default_factory=dict)
    arms: Arms = field(default_factory=Arms)

    def facts(self) -> dict[str, Any]:
        """Return what the ledger says of it: digests and counts."""
        if self.checkouts:
            return {
                "checkouts": [_commit_facts(e) for e in self.checkouts.values()],
                **self.arms.facts,
            }
        if not self.trees:
            return {}
        return {"trees": [_tree_facts(e) for e in self.trees.values()], "dryRun": dict(self.dry)}


def look(place: Place, problems: list[Problem]) -> Writable:
    """Return what the attempts are made of, adding what is wrong to the problems."""
    started = _launches(place, problems)
    problems += _login(place)
    if place.study.manifest.checkout is not None:
        return _with_checkouts(place, started, problems)
    if place.study.manifest.tree is None:
        return Writable(launches=started, sides=launches.side_files(place.study.manifest.arms))
    problems += _neutral(place)
    if problems:
        return Writable()
    found = Writable(
        _trees(place, problems),
        _checkers(place, problems),
        started,
        launches.side_files(place.study.manifest.arms),
    )
    problems += _told(place, found)
    if not problems:
        found = replace(found, dry=_dry_run(place, found, problems))
    if not problems and not place.rehearsal:
        tasks = phase_tasks(place.study.manifest, place.phase)
        study = place.study
        graded = proof.Graded(study.folder, study.manifest, study.key, place.values)
        for proved in proof.prove(graded, tasks):
            problems += proved.problems
    return found


def _tree_facts(sealed: SealedTree) -> dict[str, Any]:
    """Return what the ledger says of a starter: digests and counts."""
    return {
        "task": sealed.name,
        "digest": sealed.digest,
        "files": len(sealed.files),
        "equal": list(sealed.equal),
        "equalDigest": sealed.equal_digest,
    }


def _dry_run(place: Place, found: Writable, problems: list[Problem]) -> dict[str, Any]:
    """Take the turns of each arm once with a stand-in, and return what they showed."""
    manifest, seen = place.study.manifest, {}
    settings = next((each for each in place.blocks if isinstance(each, CliSettings)), None)
    task = next(iter(found.trees), None)
    if settings is None or task is None or place.version is None:
        return {}
    stage = dry_launch.Stage(
        sealed=found.trees[task],
        checker=found.checkers.get(task),
        settings=settings,
        model=manifest.agent.model,
        limit_usd=Decimal("0.01"),
        version=place.version,
        turns=1 if manifest.follow_up is None else 2,
    )
    for arm, launch in found.launches.items():
        tried = dry_launch.Arm(arm, launch, found.sides[arm])
        seen[arm], wrong = dry_launch.rehearse(stage, tried)
        problems += wrong
    return seen


def _commit_facts(sealed: SealedCheckout) -> dict[str, Any]:
    """Return what the ledger says of a task's only commit."""
    return {"task": sealed.name, "pin": sealed.pin, "digest": sealed.digest}


def _with_checkouts(
    place: Place, started: Mapping[str, tuple[Launch, Launch]], problems: list[Problem]
) -> Writable:
    problems += _neutral(place)
    clis = [each for each in place.blocks if isinstance(each, CliSettings)]
    if problems or not clis or place.executable is None:
        return Writable()
    wanted = commits.Wanted(place.study, place.phase, place.mirrors, rehearsal=place.rehearsal)
    sealed = commits.sealed(wanted, place.into, problems)
    found = Arms()
    if not problems:
        found = arms.look(
            arms.Ground(
                place.study,
                next(iter(sealed.values())),
                clis[0],
                place.study.manifest.agent.model,
                place.executable,
                place.values,
                started,
                place.rehearsal,
            ),
            problems,
        )
    sides = launches.side_files(place.study.manifest.arms)
    return Writable(launches=started, sides=sides, checkouts=sealed, arms=found)


def _launches(place: Place, problems: list[Problem]) -> dict[str, tuple[Launch, Launch]]:
    found = {}
    for arm in place.study.manifest.arms:
        found[arm.id], wrong = launches.resolve(arm, place.values, place.environ.get("PATH"))
        problems += wrong
    return found


def _login(place: Place) -> list[Problem]:
    clis = [each for each in place.blocks if isinstance(each, CliSettings)]
    needed = any(each.credential == "config-dir" for each in clis) and not place.rehearsal
    if not needed or place.config_dir is None:
        return []
    return config_dir.problems(place.config_dir, place.environ)


def _neutral(place: Place) -> Iterator[Problem]:
    home = place.environ.get("HOME")
    try:
        neutral.place(home=Path(home) if home else None)
    except WorkspaceError as error:
        yield Problem("workspace", str(error), "then start again")


def _trees(place: Place, problems: list[Problem]) -> dict[str, SealedTree]:
    """Seal the starter of each task, and lay it out as every attempt will."""
    settings = place.study.manifest.tree
    if settings is None:
        return {}
    found: dict[str, SealedTree] = {}
    for task in phase_tasks(place.study.manifest, place.phase):
        master = place.into / "starters" / task.id
        try:
            found[task.id] = trees.sealed(
                place.study, task, settings, place.values, master, executable=place.executable
            )
        except WorkspaceError as error:
            problems.append(Problem(f"task {task.id}", str(error), "then start again"))
    return found


def _checkers(place: Place, problems: list[Problem]) -> dict[str, Checker]:
    found: dict[str, Checker] = {}
    for task in phase_tasks(place.study.manifest, place.phase):
        key = place.study.key.tasks[task.id].checker if place.study.key else None
        if key is None:
            continue
        try:
            found[task.id] = checker.resolve(key, place.study.folder, place.values)
        except WorkspaceError as error:
            problems.append(Problem(f"task {task.id}: checker", str(error), "then start again"))
    return found


def _told(place: Place, found: Writable) -> Iterator[Problem]:
    """Find where an agent would be told of the place of a checker."""
    manifest = place.study.manifest
    for task in phase_tasks(manifest, place.phase):
        if task.id not in found.checkers or task.id not in found.trees:
            continue
        sealed = found.trees[task.id]
        texts = [("prompt", manifest.prompt(task).encode())]
        if manifest.follow_up is not None:
            texts.append(("follow-up", manifest.follow_up.prompt.encode()))
        texts += [(f"tree:{f.path}", (sealed.folder / f.path).read_bytes()) for f in sealed.files]
        for arm, launch in found.launches.items():
            words = [word for each in launch for word in (*each.arguments, *_values(each))]
            texts.append((f"arm {arm}", "\n".join(words).encode()))
        for name in checker.shown_in(found.checkers[task.id], texts):
            what = "the place of the hidden checker stands in it"
            yield Problem(f"task {task.id}: {name}", what, "take it out, or move the checker")


def _values(launch: Launch) -> Iterator[str]:
    yield from launch.environment.values()
