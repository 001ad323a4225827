"""Whose patches are evaluated: the arms of a ledger, and the controls of its benchmark.

The controls are the benchmark's own patches, which must all resolve, and empty ones, of which none
may: an evaluation that says otherwise says nothing of an arm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_trials.errors import EvaluationError, Problem, StudyError
from agent_trials.graders import swebench_report
from agent_trials.graders.predictions import Predictions, predictions
from agent_trials.study import phases, rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from agent_trials.graders.swebench_report import Evaluated
    from agent_trials.ledger.budget import EvaluationRecord
    from agent_trials.study.manifest import Study

GOLD, EMPTY = "gold", "empty"
ARM, CONTROL = "arm", "control"


@dataclass(frozen=True)
class Subject:
    """An arm, or a control, whose patches are evaluated.

    ``tasks`` has the task of each instance of the plan. ``imported`` is the report that the
    operator gives, ``standing`` the record of the one that the ledger holds.
    """

    kind: str
    name: str
    predictions: Predictions
    tasks: Mapping[str, str]
    imported: bytes | None = None
    standing: EvaluationRecord | None = None

    @property
    def stands(self) -> bool:
        """Return whether the ledger holds a report of just these predictions."""
        found = self.standing
        return found is not None and found.predictions == self.predictions.digest

    @property
    def is_control(self) -> bool:
        """Return whether it is the benchmark's own patch, or none, and no arm's."""
        return self.kind == CONTROL

    def read(self, content: bytes, name: str) -> Evaluated:
        """Return what a report says of it.

        Raises:
            EvaluationError: with everything that is wrong with the report.
        """
        return swebench_report.read(
            content, planned=self.tasks, submitted=self.predictions.patches, name=name
        )


def arms(
    study: Study, patches: Mapping[str, Mapping[str, bytes | None]], problems: list[Problem]
) -> Iterator[Subject]:
    """Yield each arm with the patches that its attempts left, by task; add what is wrong."""
    by_task = {task.id: task.instance or task.id for task in study.manifest.tasks}
    for arm, of in patches.items():
        tasks = {by_task[task]: task for task in of}
        named = {by_task[task]: patch for task, patch in of.items()}
        try:
            made = predictions(f"{study.manifest.id}-{arm}", tuple(tasks), named)
        except EvaluationError as error:
            remedy = "this ledger cannot be evaluated"
            problems.append(Problem(f"arm {arm}", str(error), remedy))
            continue
        yield Subject(ARM, arm, made, tasks)


def controls(
    study: Study, phase: str, file: Path | None, problems: list[Problem]
) -> Iterator[Subject]:
    """Yield both controls over the tasks of a phase; add what is wrong with the rows."""
    planned = phases.phase_tasks(study.manifest, phase)
    tasks = {each.instance or each.id: each.id for each in planned}
    gold = _gold(file, tasks, problems)
    for name, patches in ((GOLD, gold), (EMPTY, dict.fromkeys(tasks, ""))):
        made = Predictions(f"{study.manifest.id}-{name}", patches, ())
        yield Subject(CONTROL, name, made, tasks)


def _gold(file: Path | None, tasks: Mapping[str, str], problems: list[Problem]) -> dict[str, str]:
    if file is None:
        what = "the gold patches stand in the benchmark's rows, and no file of rows is given"
        remedy = "give the study's parameter that names the file"
        problems.append(Problem("--controls", what, remedy))
        return {}
    try:
        patches = rows.patches(file)
    except StudyError as error:
        problems += error.problems
        return {}
    problems += [
        Problem(f"rows {file}", f"has no row {instance}", "give the whole file")
        for instance in tasks
        if instance not in patches
    ]
    return {each: patches[each] for each in tasks if each in patches}
