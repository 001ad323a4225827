"""Turns a study's schedule into pytest items, and keeps them in its order.

A module ``evals/<study>/test_<study>.py`` beside a ``study.toml`` is a study module. What it does
not define itself (``test_attempt``) is added, so that an empty one is enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_trials.errors import StudyError
from agent_trials.session.options import STANDARD_PHASES, marker_line
from agent_trials.study import find, manifest, schedule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from agent_trials.records import Cell, PlannedAttempt
    from agent_trials.session.evaluating import Evaluating, Evaluation
    from agent_trials.session.grading import Adjudication, Grading
    from agent_trials.session.item import Attempt
    from agent_trials.study.manifest import Study

PLANNED = "planned_attempt"
BLIND_ID = "blind_id"
EVALUATED = "evaluated_name"
SETTLING_SECONDS = 90
STOPS = 8
"""How many states of a tree a checker is given time for after a turn."""


def _attempt() -> object:
    def test_attempt(attempt: Attempt) -> None:
        attempt.run()

    return test_attempt


def _adjudicate() -> object:
    def test_adjudicate(adjudication: Adjudication) -> None:
        adjudication.grade()

    return test_adjudicate


def _evaluate() -> object:
    def test_evaluate(evaluation: Evaluation) -> None:
        evaluation.evaluate()

    return test_evaluate


JOBS: Mapping[str, Callable[[], object]] = {
    "test_attempt": _attempt,
    "test_adjudicate": _adjudicate,
    "test_evaluate": _evaluate,
}
"""What a study's module is given where it does not define it itself."""


class StudyModule(pytest.Module):
    """A module that stands for a study."""

    study: Study
    job = "test_attempt"

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Collect the module's own tests and the study's attempts, or what the job is."""
        if not hasattr(self.obj, self.job):
            setattr(self.obj, self.job, JOBS[self.job]())
        found = super().collect()
        others = JOBS.keys() - {self.job}
        return [each for each in found if getattr(each, "originalname", None) not in others]


class Collection:
    """The studies that a session meets, and which of their phases it makes items of.

    ``selected`` holds, per study folder, the phases that were asked for; a study that is not in it
    gets items of all its phases, which only a dry run keeps. ``recorded`` holds the cells that the
    ledger of a resumed run has already.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.studies: dict[Path, Study] = {}
        self.selected: dict[Path, tuple[str, ...]] = {}
        self.grading: Grading | None = None
        self.evaluating: Evaluating | None = None
        self.recorded: dict[Path, frozenset[Cell]] = {}
        self._plans: dict[tuple[Path, str], tuple[PlannedAttempt, ...]] = {}
        self.all_items = 0
        self.deselected = 0
        self.deselected_as_recorded = 0

    def know(self, studies: Iterable[Study]) -> None:
        """Remember loaded studies and declare the markers of their phases."""
        for study in studies:
            self.studies[study.folder] = study
            for phase in study.manifest.phases:
                if phase not in STANDARD_PHASES:
                    self._config.addinivalue_line("markers", marker_line(phase))

    def study_of(self, folder: Path) -> Study:
        """Return the study of a folder, loaded once."""
        if folder not in self.studies:
            self.know([manifest.load(folder)])
        return self.studies[folder]

    def plan(self, study: Study, phase: str) -> tuple[PlannedAttempt, ...]:
        """Return the attempts of a phase in schedule order, planned once."""
        key = study.folder, phase
        if key not in self._plans:
            self._plans[key] = schedule.plan(study.manifest, phase)
        return self._plans[key]

    def module(self, path: Path, parent: pytest.Collector) -> StudyModule | None:
        """Return a study module where the file is one, None for any other test file."""
        folder = path.parent
        if path.name != find.module_name(folder) or not find.is_study(folder):
            return None
        module: StudyModule = StudyModule.from_parent(parent, path=path)
        try:
            module.study = self.study_of(folder)
            if self.grading is not None and self.grading.folder == folder:
                module.job = "test_adjudicate"
            if self.evaluating is not None and self.evaluating.folder == folder:
                module.job = "test_evaluate"
        except StudyError as error:
            raise pytest.Collector.CollectError(str(error)) from None
        return module

    def parametrize(self, metafunc: pytest.Metafunc) -> None:
        """Give ``planned_attempt`` one value per attempt of the phases in question."""
        module = metafunc.definition.getparent(StudyModule)
        if module is None:
            return
        if self.grading is not None and BLIND_ID in metafunc.fixturenames:
            metafunc.parametrize(BLIND_ID, _cases(metafunc.config, self.grading))
        if self.evaluating is not None and EVALUATED in metafunc.fixturenames:
            metafunc.parametrize(EVALUATED, _evaluations(metafunc.config, self.evaluating))
        if PLANNED not in metafunc.fixturenames:
            return
        study = module.study
        phases = self.selected.get(study.folder) or tuple(study.manifest.phases)
        parameters = [
            parameter
            for phase in phases
            for parameter in _parameters(metafunc.config, study, phase, self.plan(study, phase))
        ]
        metafunc.parametrize(PLANNED, parameters)

    def count(self, items: list[pytest.Item]) -> None:
        """Remember how many items there were before anybody deselected any."""
        self.all_items = len(items)

    def arrange(self, items: list[pytest.Item], *, everything: bool) -> list[pytest.Item]:
        """Put attempts back into schedule order; return those that are not to be run.

        ``everything`` keeps the attempts of every study, as the dry run does.
        """
        if self.grading is not None:
            _in_order(items, BLIND_ID, self.grading.blind_ids)
        if self.evaluating is not None:
            _in_order(items, EVALUATED, self.evaluating.names)
        attempts = {
            item: (planned, study_of(item).folder)
            for item in items
            if (planned := planned_of(item)) is not None
        }
        asked = [a for a in attempts if everything or attempts[a][1] in self.selected]
        kept = {a: self._order(*attempts[a]) for a in asked if not self._is_recorded(*attempts[a])}
        ordered = iter(sorted(kept, key=kept.__getitem__))
        items[:] = [
            next(ordered) if item in kept else item
            for item in items
            if item in kept or item not in attempts
        ]
        self.deselected = len(attempts) - len(asked)
        self.deselected_as_recorded = len(asked) - len(kept)
        return [item for item in attempts if item not in kept]

    def _is_recorded(self, planned: PlannedAttempt, folder: Path) -> bool:
        return bool(self.recorded) and planned.cell in self.recorded.get(folder, ())

    def _order(self, planned: PlannedAttempt, folder: Path) -> tuple[Path, int, int]:
        phases = [*self.studies[folder].manifest.phases]
        return folder, phases.index(planned.cell.phase), planned.position


def _cases(config: pytest.Config, grading: Grading) -> list[object]:
    marks = [pytest.mark.adjudicate]
    if config.pluginmanager.hasplugin("timeout"):
        marks.append(pytest.mark.timeout(grading.seconds, method="signal"))
    return [pytest.param(blind_id, id=blind_id, marks=marks) for blind_id in grading.blind_ids]


def _evaluations(config: pytest.Config, evaluating: Evaluating) -> list[object]:
    marks = [pytest.mark.evaluate]
    if config.pluginmanager.hasplugin("timeout"):
        marks.append(pytest.mark.timeout(evaluating.seconds, method="signal"))
    return [pytest.param(name, id=name, marks=marks) for name in evaluating.names]


def _in_order(items: list[pytest.Item], parameter: str, names: Sequence[str]) -> None:
    """Put the items of a job back into their own order, in the places that they have."""
    places = {name: place for place, name in enumerate(names)}
    graded = {
        item: places[callspec.params[parameter]]
        for item in items
        if (callspec := getattr(item, "callspec", None)) and parameter in callspec.params
    }
    ordered = iter(sorted(graded, key=graded.__getitem__))
    items[:] = [next(ordered) if item in graded else item for item in items]


def planned_of(item: pytest.Item) -> PlannedAttempt | None:
    """Return the planned attempt that an item stands for, None for any other item."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get(PLANNED) if callspec else None


def study_of(item: pytest.Item) -> Study:
    """Return the study that an attempt item belongs to."""
    module = item.getparent(StudyModule)
    if module is None:
        raise RuntimeError(f"{item.nodeid} is no attempt")
    return module.study


def cells(items: Iterable[pytest.Item], study: Study) -> Iterator[Cell]:
    """Yield the cells of a study's attempt items in the order of the items."""
    for item in items:
        planned = planned_of(item)
        if planned is not None and study_of(item).folder == study.folder:
            yield planned.cell


def _parameters(
    config: pytest.Config, study: Study, phase: str, plan: Iterable[PlannedAttempt]
) -> list[object]:
    marks = [getattr(pytest.mark, phase)]
    if config.pluginmanager.hasplugin("timeout"):
        # The item's own limit, so that a user's shorter one does not end a paid attempt.
        seconds = _deadline(study) + SETTLING_SECONDS
        marks.append(pytest.mark.timeout(seconds, method="signal"))
    return [pytest.param(planned, id=planned.cell.item, marks=marks) for planned in plan]


def _deadline(study: Study) -> int:
    """Return the seconds that an attempt may take, with every turn, repetition and check of it."""
    manifest, key = study.manifest, study.key
    transports = manifest.transports
    blocks = transports.described.values()
    seconds = max(block.timeout_seconds for block in blocks)
    seconds += transports.provider.check_seconds if transports.provider else 0
    if manifest.tree is None:
        return seconds
    checkers = [each.checker for each in key.tasks.values() if each.checker] if key else []
    checking = STOPS * max((each.timeout_seconds for each in checkers), default=0)
    turns = 1 + (manifest.follow_up is not None) + manifest.schedule.infra_reruns
    return turns * (seconds + manifest.tree.setup_seconds + checking)
