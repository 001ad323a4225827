"""Decides, before anything is run or written, whether a ledger's patches may be evaluated.

Rules:
    evaluation is a command of its own, in one process, and costs no money
    the ledger is one of a study below pytest's arguments, holds that study, and is not open;
    with --controls it may be a new one, for the controls before the attempts
    the study has an [evaluation], and every parameter that its program needs is given
    the file of rows is the one that the study fixes, where it fixes one
    each attempt's patch stands beside the ledger; one that left none is missing, and is named
    a report to be imported is whole, and was made from the arm's own predictions
What is wrong is listed all at once.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials import canonical
from agent_trials.errors import EvaluationError, Problem, RunRefusedError
from agent_trials.graders.swebench_program import Program, filled
from agent_trials.ledger import place
from agent_trials.ledger.locks import is_open
from agent_trials.session import evaluation_ledger
from agent_trials.session.evaluation_ledger import LEDGER, Held
from agent_trials.session.evaluation_subjects import Subject, arms, controls
from agent_trials.study.evaluation_checks import PLACEHOLDER
from agent_trials.study.settings import OPERATOR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_trials.ledger.budget import EvaluationRecord
    from agent_trials.session.options import Options
    from agent_trials.study.manifest import Study
    from agent_trials.study.settings import EvaluationSettings

REPORT = "--eval-report"


@dataclass(frozen=True)
class EvaluationPlan:
    """Everything that an evaluation is made of; ``opening`` is None where the ledger is new."""

    ledger: Path
    study: Study
    phase: str
    settings: EvaluationSettings
    opening: Mapping[str, Any] | None
    subjects: tuple[Subject, ...]
    program: Program
    rows_digest: str | None
    options: Options

    @property
    def name(self) -> str:
        """Return ``study/phase``."""
        return f"{self.study.manifest.id}/{self.phase}"


class EvaluationAdmission:
    """Collects what keeps a ledger's patches from being evaluated.

    Args:
        options: what the operator asked for.
        studies: those below pytest's arguments.
        processes: how many worker processes pytest was asked for.
        project: pytest's root folder, in which no new ledger may lie.
    """

    def __init__(
        self, options: Options, studies: Sequence[Study], project: Path, processes: int
    ) -> None:
        self.options = options
        self.studies = studies
        self.project = project
        self.problems: list[Problem] = [
            Problem("command line", sentence, "write it as NAME=VALUE, once")
            for sentence in options.malformed
        ]
        if processes:
            what = "evaluations follow one another in one process"
            self._refuse(f"-n {processes}", what, "leave -n out")

    def plan(self) -> EvaluationPlan:
        """Return the plan.

        Raises:
            RunRefusedError: everything that is wrong.
        """
        self._check_options()
        path = self._ledger()
        self._stop_here()
        held = evaluation_ledger.read(path, self.studies) if path.exists() else self._new()
        return self._plan(path, held)

    def _refuse(self, where: str, what: str, remedy: str) -> None:
        self.problems.append(Problem(where, what, remedy))

    def _stop_here(self) -> None:
        if self.problems:
            raise RunRefusedError(self.problems)

    def _check_options(self) -> None:
        options = self.options
        for flag, given in (
            ("--approve-budget", options.approve_budget or None),
            ("--transport", options.transport),
            ("--attempt-budget-usd", options.attempt_usd),
            ("--claude-bin", options.claude_bin),
            ("--cli-version", options.cli_version),
            ("--root", next(iter(options.roots), None)),
            ("--prior-ledger", next(iter(options.prior_ledgers), None)),
            ("--offset", options.offset),
            ("--limit", options.limit),
            ("--run-id", options.run_id),
        ):
            if given is not None:
                what = "an evaluation makes no attempt, asks no model and costs no money"
                self._refuse(flag, what, "leave it out")

    def _ledger(self) -> Path:
        path = self.options.ledger
        if path is None:
            self._refuse(LEDGER, "an evaluation needs a ledger", "give --ledger FILE")
            raise RunRefusedError(self.problems)
        if path.is_file():
            if is_open(path.resolve()):
                self._refuse(f"{LEDGER} {path}", "a run is open on it", "wait until it has ended")
        elif not self.options.controls:
            remedy = "give the ledger of the attempts; with --controls it may be a new one"
            self._refuse(f"{LEDGER} {path}", "it does not exist", remedy)
        else:
            folders = [study.folder for study in self.studies]
            self.problems += place.check_new(path, checkouts=folders, project=self.project)
        return path.resolve()

    def _new(self) -> Held:
        """Return what a new ledger is made of: one study, and no attempt."""
        if len(self.studies) != 1:
            what = "controls are of one study"
            self._refuse("command line", what, "name its folder: pytest evals/<study>")
            self._stop_here()
        (study,) = self.studies
        scored = [name for name, phase in study.manifest.phases.items() if phase.scored]
        return Held(study, (scored or [*study.manifest.phases])[-1], None, {}, {})

    def _plan(self, path: Path, held: Held) -> EvaluationPlan:
        study, phase = held.study, held.phase
        settings = study.manifest.evaluation
        if settings is None:
            what = f"the study {study.manifest.id} has no [evaluation]"
            self._refuse(f"{LEDGER} {path}", what, "give a ledger of a study whose patches are")
            raise RunRefusedError(self.problems)
        parameters = self._parameters(study)
        file = self._rows_file(settings, parameters)
        digest = self._rows_digest(settings, file)
        subjects = [
            *(controls(study, phase, file, self.problems) if self.options.controls else ()),
            *arms(study, held.patches, self.problems),
        ]
        self._check_reports(subjects)
        made = [self._given(each, held.standing) for each in subjects]
        if not made:
            self._refuse(f"{LEDGER} {path}", "it holds no attempt", "give the attempts' ledger")
        if any(self.runs(each) for each in made):
            self._check_needed(study, settings, parameters)
        self._stop_here()
        program = Program.of(
            settings,
            study=study.folder,
            parameters=parameters,
            dataset=str(file) if file else filled([settings.dataset], parameters)[0],
            environ=self.options.environ,
        )
        return EvaluationPlan(
            path, study, phase, settings, held.opening, tuple(made), program, digest, self.options
        )

    def runs(self, subject: Subject) -> bool:
        """Return whether the program is run for a subject."""
        again = not subject.stands or self.options.replace_report
        return subject.imported is None and again

    def _parameters(self, study: Study) -> dict[str, str]:
        known, given = study.manifest.parameters, self.options.parameters
        for name in given:
            if name not in known:
                words = ", ".join(sorted(known)) or "none"
                self._refuse(f"--param {name}", "the study has none of it", f"use one of: {words}")
        defaults = {name: each.default for name, each in known.items() if each.default is not None}
        return {**defaults, **given}

    def _check_needed(
        self, study: Study, settings: EvaluationSettings, parameters: Mapping[str, str]
    ) -> None:
        words = " ".join((*settings.command, *settings.version_command, settings.dataset))
        for name in dict.fromkeys(PLACEHOLDER.findall(words)):
            if name in study.manifest.parameters and name not in parameters:
                what = study.manifest.parameters[name].description
                self._refuse(f"--param {name}", f"the evaluation needs it: {what}", "give it")

    def _rows_file(
        self, settings: EvaluationSettings, parameters: Mapping[str, str]
    ) -> Path | None:
        """Return the file of rows; None where the dataset is a name, or is not given."""
        (named,) = filled([settings.dataset], parameters)
        path = Path(named)
        return path.absolute() if path.is_file() else None

    def _rows_digest(self, settings: EvaluationSettings, file: Path | None) -> str | None:
        digest = canonical.digest(file.read_bytes()) if file else None
        if settings.rows_digest != OPERATOR and digest not in {None, settings.rows_digest}:
            what = f"its digest is {digest}, and the study fixes {settings.rows_digest}"
            self._refuse(f"rows {file}", what, "give that file")
        return digest

    def _check_reports(self, subjects: Sequence[Subject]) -> None:
        known = [each.name for each in subjects]
        for name in self.options.eval_reports:
            if name not in known:
                words = ", ".join(known) or "none"
                self._refuse(f"{REPORT} {name}", "is no arm here", f"use one of: {words}")

    def _given(
        self, subject: Subject, standing: Mapping[tuple[str, str], EvaluationRecord]
    ) -> Subject:
        """Return a subject with the report that is given for it, and the one that stands."""
        name, content = subject.name, None
        path = self.options.eval_reports.get(name)
        try:
            if path is not None:
                content = path.read_bytes()
                subject.read(content, str(path))
        except OSError as error:
            why = f"cannot be read ({error.strerror})"
            self._refuse(f"{REPORT} {name}={path}", why, "name the report's file")
        except EvaluationError as error:
            self._refuse(f"{REPORT} {name}", str(error), "nothing was recorded")
        record = standing.get((subject.kind, name))
        return dataclasses.replace(subject, imported=content, standing=record)
