"""Evaluates the patches of a plan: writes predictions, runs the program, records what it reports.

A run is opened in the ledger when the first report is to be recorded, and not before: an evaluation
that cannot be made leaves the predictions, and the ledger as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials import canonical, money
from agent_trials.errors import EvaluationError
from agent_trials.graders.swebench_report import Class
from agent_trials.ledger.evaluation_journal import EvaluationJournal
from agent_trials.session import opening
from agent_trials.session.evaluation_subjects import GOLD
from agent_trials.session.runner import runner_digest
from agent_trials.study import freeze

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from agent_trials.graders.swebench_report import Evaluated
    from agent_trials.session.evaluation_plan import EvaluationPlan
    from agent_trials.session.evaluation_subjects import Subject

JOB = "evaluate"
RUN, IMPORTED = "run", "imported"
NOTHING = "0.01"
"""The cap of a ledger of controls, which spends nothing; a ledger has one above 0."""


def folder(ledger: Path) -> Path:
    """Return where predictions and what the evaluation writes are kept."""
    return Path(f"{ledger}.evaluation")


@dataclass(frozen=True)
class Outcome:
    """What became of one subject: what its report says, and whether the ledger has it anew."""

    evaluated: Evaluated
    recorded: bool


class EvaluationRun:
    """One command's evaluations.

    Attributes:
        journal: the run in the ledger; None before the first record.
        outcomes: what was found, by subject's name.
    """

    def __init__(self, plan: EvaluationPlan, clock: Callable[[], datetime]) -> None:
        self.plan = plan
        self.journal: EvaluationJournal | None = None
        self.outcomes: dict[str, Outcome] = {}
        self.failed_control: str | None = None
        self._clock = clock
        self._version: str | None = None

    def keep_predictions(self) -> list[Path]:
        """Write every subject's predictions, and return the files."""
        place = folder(self.plan.ledger)
        place.mkdir(mode=0o700, exist_ok=True)
        files = []
        for subject in self.plan.subjects:
            file = self._file(subject)
            file.write_bytes(subject.predictions.content)
            files.append(file)
        return files

    def _file(self, subject: Subject) -> Path:
        return folder(self.plan.ledger) / f"predictions-{subject.name}.jsonl"

    def evaluate(self, subject: Subject) -> Outcome | None:
        """Evaluate a subject and record its report; None where one stands already.

        Raises:
            EvaluationError: there is no report, it is not whole, or another one stands for the
                same predictions; nothing was recorded.
            LedgerError: the ledger cannot be written to.
        """
        if not subject.is_control and self.failed_control is not None:
            raise EvaluationError(self.failed_control)
        if subject.imported is None and subject.stands and not self.plan.options.replace_report:
            return None
        content, source = subject.imported, IMPORTED
        if content is None:
            content, source = self._run_program(subject), RUN
        evaluated = subject.read(content, f"of {subject.name}")
        outcome = Outcome(evaluated, recorded=self._record(subject, content, evaluated, source))
        self.outcomes[subject.name] = outcome
        if subject.is_control:
            self._judge(subject, evaluated)
        return outcome

    def _run_program(self, subject: Subject) -> bytes:
        place = self._new_folder(subject)
        if self._version is None:
            found, wanted = self.plan.program.version(place), self.plan.settings.harness_version
            if found != wanted:
                raise EvaluationError(
                    f"the evaluation's program is version {found}, and the study pins {wanted};"
                    " name a Python that has that version. The predictions are kept in"
                    f" {self._file(subject)}"
                )
            self._version = found
        return self.plan.program.evaluate(subject.predictions, self._file(subject), place)

    def _new_folder(self, subject: Subject) -> Path:
        """Return a folder that no evaluation has worked in: an old verdict is found nowhere."""
        name, number = subject.predictions.run_id, 1
        while (place := folder(self.plan.ledger) / f"{name}.{subject.name}.{number}").exists():
            number += 1
        place.mkdir(mode=0o700)
        return place

    def _record(self, subject: Subject, content: bytes, evaluated: Evaluated, source: str) -> bool:
        standing = subject.standing if subject.stands else None
        if standing is not None and standing.report == evaluated.digest:
            return False
        if standing is not None and not self.plan.options.replace_report:
            raise EvaluationError(
                f"another report of {subject.name} stands for the same predictions"
                f" ({standing.report}, and this one is {evaluated.digest}); nothing was recorded."
                " Keep the one that stands, or record this one instead with --replace-report"
            )
        public = {
            subject.kind: subject.name,
            "predictionsDigest": subject.predictions.digest,
            "reportDigest": evaluated.digest,
            "replaces": standing.report if standing else None,
            "evaluationId": subject.predictions.run_id,
            "harnessVersion": self.plan.settings.harness_version,
            "source": source,
            **_by_task(subject, evaluated),
        }
        private = {"report": content, "predictions": subject.predictions.content}
        self._open().record_evaluation(public, private)
        return True

    def _judge(self, subject: Subject, evaluated: Evaluated) -> None:
        """Remember and raise what a control says against the evaluation.

        Raises:
            EvaluationError: the benchmark's own patches do not all resolve, or an empty one does.
        """
        resolved, of = evaluated.count(Class.RESOLVED), len(evaluated.classes)
        if subject.name == GOLD and resolved < of:
            short = sorted(n for n, c in evaluated.classes.items() if c is not Class.RESOLVED)
            what = f"the gold patches resolve {resolved} of {of}; not {', '.join(short)}"
        elif subject.name != GOLD and resolved:
            what = f"empty patches resolve {resolved} of {of}"
        else:
            return
        self.failed_control = (
            f"the control {subject.name} failed: {what}. What this evaluation says of an arm means"
            " nothing before that is mended"
        )
        raise EvaluationError(self.failed_control)

    def _open(self) -> EvaluationJournal:
        if self.journal is not None:
            return self.journal
        plan = self.plan
        fields = self._opening_fields()
        if plan.opening is not None:
            self.journal = EvaluationJournal.reopen(
                plan.ledger, opening=fields, private={}, clock=self._clock
            )
        else:
            self.journal = EvaluationJournal.create(
                plan.ledger,
                opening=fields,
                private={
                    "study": canonical.dumps(freeze.archive(plan.study.folder) | {"cells": []}),
                    "key": canonical.dumps(freeze.key_archive(plan.study.folder)),
                },
                series_id=fields["seriesId"],
                clock=self._clock,
            )
        return self.journal

    def _opening_fields(self) -> dict[str, Any]:
        plan, settings = self.plan, self.plan.settings
        return {
            **(self._continued() if plan.opening is not None else self._new()),
            "job": JOB,
            "attempts": 0,
            "harnessVersion": settings.harness_version,
            "imageSet": settings.image_set,
            "rowsDigest": plan.rows_digest,
            "maxWorkers": settings.max_workers,
            "timeoutSeconds": settings.timeout_seconds,
            "program": canonical.digest_of(list(settings.command)),
            "runnerDigest": runner_digest(plan.study.folder),
            "environment": opening.environment_facts(),
        }

    def _continued(self) -> dict[str, Any]:
        before = self.plan.opening or {}
        kept = (
            "schema", "mode", "study", "phase", "scored", "seriesId", "frozen", "amendment",
            "folderDigest", "resume", "infraReruns", "transport", "model", "capUsd", "priorLedgers",
        )  # fmt: skip
        return {name: before[name] for name in kept if name in before}

    def _new(self) -> dict[str, Any]:
        manifest, frozen = self.plan.study.manifest, freeze.state(self.plan.study)
        is_fixed = frozen.frozen and not frozen.problems()
        return {
            "schema": 1,
            "mode": "paid" if is_fixed else "rehearsal",
            "study": manifest.id,
            "phase": self.plan.phase,
            "scored": False,
            "seriesId": frozen.series_id,
            "frozen": frozen.frozen,
            "amendment": frozen.amendment,
            "folderDigest": frozen.folder_digest,
            "resume": manifest.schedule.resume,
            "infraReruns": manifest.schedule.infra_reruns,
            "transport": manifest.agent.transport,
            "model": manifest.agent.model,
            "capUsd": money.text(money.parse(NOTHING)),
            "priorLedgers": [],
        }

    def close(self) -> None:
        """Close the run, if one was opened; safe to call twice."""
        if self.journal is not None:
            journal, self.journal = self.journal, None
            journal.close()


def _by_task(subject: Subject, evaluated: Evaluated) -> dict[str, Any]:
    """Return the classes as the ledger states them, by task."""
    named = subject.tasks
    return {
        "classes": {named[each]: kind.value for each, kind in evaluated.classes.items()},
        "infrastructure": sorted(named[each] for each in evaluated.infrastructure),
        "ambiguous": sorted(named[each] for each in evaluated.ambiguous),
    }
