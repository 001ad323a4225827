"""What a ledger holds that can be evaluated: its study, the patch of each attempt, past reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials.errors import LedgerError, Problem, RunRefusedError
from agent_trials.ledger.openings import Openings
from agent_trials.records import Cell
from agent_trials.results.grades import gather
from agent_trials.study import archived
from agent_trials.study.manifest import Study

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from agent_trials.ledger.budget import EvaluationRecord
    from agent_trials.ledger.chain import Line
    from agent_trials.results.grades import Gathered

LEDGER = "--ledger"
PATCH = "patch"
"""The private artifact of an attempt that holds what its agent changed."""

Patches = dict[str, dict[str, bytes | None]]


@dataclass(frozen=True)
class Held:
    """A ledger as an evaluation sees it.

    ``study`` has the working tree's folder and the manifest as the ledger holds it. ``opening`` has
    the fields of the run that made the attempts, cap and prior ledgers as they are now; None for a
    ledger that is to be made. ``patches`` are by arm and task; None of an attempt that left none.
    """

    study: Study
    phase: str
    opening: Mapping[str, Any] | None
    patches: Mapping[str, Mapping[str, bytes | None]]
    standing: Mapping[tuple[str, str], EvaluationRecord]


def read(path: Path, studies: Sequence[Study]) -> Held:
    """Return what a ledger holds.

    Raises:
        RunRefusedError: it cannot be read, is of another study, or lacks its openings.
    """
    where = f"{LEDGER} {path}"
    try:
        gathered, state, _ = gather(path)
    except LedgerError as error:
        raise _refused(where, str(error), "give the ledger as it was written") from error
    opening = gathered.opening
    if opening is None:
        raise _refused(where, "it holds no study", "give a ledger of attempts")
    openings = Openings(path)
    study = _study(where, openings, opening, studies)
    cells = [Cell.from_json(each) for each in openings.value(opening, "study")["cells"]]
    latest = gathered.runs[-1].fields
    fields = {**opening.fields, **{name: latest[name] for name in ("capUsd", "priorLedgers")}}
    patches = _patches(where, gathered, openings, cells)
    return Held(study, str(fields["phase"]), fields, patches, state.evaluations)


def _study(where: str, openings: Openings, opening: Line, studies: Sequence[Study]) -> Study:
    try:
        found = archived.read(
            openings.value(opening, "study"),
            openings.value(opening, "key"),
            folder_digest=opening.fields["folderDigest"],
        )
    except LedgerError as error:
        raise _refused(where, str(error), "give it with its folder .private") from error
    folders = [each.folder for each in studies if each.manifest.id == found.manifest.id]
    if len(folders) != 1:
        what = f"it is a ledger of the study {found.manifest.id}"
        raise _refused(where, what, "name that study's folder: pytest evals/<study>")
    return Study(folders[0], found.manifest, found.key)


def _patches(where: str, gathered: Gathered, openings: Openings, cells: Sequence[Cell]) -> Patches:
    found: Patches = {}
    lacking = []
    for cell in cells:
        line, patch = gathered.settled.get(cell), None
        if line is not None and PATCH in line.fields.get("private", {}):
            opening = openings.find(line, PATCH)
            patch = opening.data if opening else None
            lacking += [] if opening else [cell.item]
        found.setdefault(cell.arm, {})[cell.task] = patch
    if lacking:
        what = f"the patch of {lacking[0]} is not beside it"
        raise _refused(where, what, "give it with its whole folder .private")
    return found


def _refused(where: str, what: str, remedy: str) -> RunRefusedError:
    return RunRefusedError([Problem(where, what, remedy)])
