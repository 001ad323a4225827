"""Gives the tasks of a benchmark their statements, from the file of rows that a run is given."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials.errors import Problem, StudyError
from agent_trials.study import rows, task_lock, task_source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_trials.study.manifest import Study


def stated(study: Study, parameters: Mapping[str, str]) -> Study:
    """Return the study with every statement, or as it is where the file is not named yet.

    Without the file the parameter is missing, which the preflight says.

    Raises:
        StudyError: the file cannot be read, or is not that of the study's lock.
    """
    source = study.manifest.task_source
    if source is None or not task_source.unfilled(study.manifest):
        return study
    if source.rows is None:
        what = "knows its instances by their ids alone, and nothing gives their statements"
        remedy = "select from rows with statements, or name a parameter as task_source.rows"
        raise StudyError([Problem(f"{study.folder / source.lock}", what, remedy)])
    if source.rows not in parameters:
        return study
    path = Path(parameters[source.rows])
    lock = task_lock.load(study.folder / source.lock)
    filled = task_source.fill(study.manifest, rows.read(path), lock, str(path))
    return dataclasses.replace(study, manifest=filled)
