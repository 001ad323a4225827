"""``-m adjudicate``: a session that grades the attempts of one ledger, one item per observation."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from agent_trials import money
from agent_trials.errors import AdmissionError, LedgerError, Problem, RunRefusedError
from agent_trials.ledger.grade_journal import GradeJournal
from agent_trials.results import ways
from agent_trials.results.grades import JOB, grades
from agent_trials.results.summary import summarise
from agent_trials.session import grading_text, keys, opening, pytest_rules, signed, text
from agent_trials.session.grading_ground import prepare
from agent_trials.session.grading_plan import GradingAdmission
from agent_trials.session.grading_run import GradingRun
from agent_trials.session.runner import runner_digest
from agent_trials.session.runs import now
from agent_trials.session.signals import Interruptions, held
from agent_trials.study import ledgers
from agent_trials.study.ledgers import LedgerRecord
from agent_trials.study.lock import time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_trials.ledger.journal import Journal
    from agent_trials.session.grading_ground import Ground
    from agent_trials.session.grading_plan import Case, GradingPlan
    from agent_trials.session.options import Options
    from agent_trials.study.manifest import Study

SETTLING_SECONDS = 90
PENDING = "pending"


class Grading:
    """What a session grades; ``run`` is None in a dry run and where all is graded already."""

    def __init__(self, plan: GradingPlan) -> None:
        self.plan = plan
        self.run: GradingRun | None = None
        self._cases = {case.blind_id: case for case in plan.cases}
        self._resources = ExitStack()
        self._interruptions = Interruptions()
        self._heads = signed.SignedHeads(None)
        self.header = grading_text.heading(plan)
        self.unclosed: list[str] = []

    @classmethod
    def open(
        cls, config: pytest.Config, options: Options, studies: Sequence[Study], *, dry: bool
    ) -> Self:
        """Refuse, or open a run in the ledger.

        Raises:
            RunRefusedError: everything that is wrong; nothing was written or asked.
        """
        processes = pytest_rules.requested_processes(config)
        project = pytest_rules.project(config)
        plan = GradingAdmission(options, studies, project, processes).plan()
        heads, unfit = signed.find(None if dry else options.sign, ())
        if unfit:
            raise RunRefusedError(unfit)
        grading = cls(plan)
        grading._heads = heads
        if not dry and plan.open_cases:
            try:
                grading._open()
            except BaseException:
                grading.finish()
                raise
        return grading

    def _open(self) -> None:
        made = tempfile.TemporaryDirectory(prefix="at-")
        ground = prepare(self.plan, Path(self._resources.enter_context(made)))
        if not self.plan.is_paid:
            from agent_trials.session.scripted import (  # noqa: PLC0415 - no paid run imports it
                scripted_adjudicator,
            )

            ground = ground.at(self._resources.enter_context(scripted_adjudicator()))
        try:
            journal = GradeJournal.reopen(
                self.plan.ledger,
                opening=_opening(self.plan, ground),
                private={},
                clock=now,
                priors=self.plan.priors,
            )
        except LedgerError as error:
            where = f"--ledger {self.plan.ledger}"
            remedy = "wait until no run is open on it"
            raise RunRefusedError([Problem(where, str(error), remedy)]) from error
        opening.begin_or_close(journal, self._name)
        self.run = GradingRun(self.plan, ground, journal)
        self.header.append(f"agent-trials: head {journal.head}")
        self.header += [f"agent-trials: {line}" for line in self._heads.opened(journal)]
        self._interruptions.install()

    def _name(self, journal: Journal) -> None:
        """Name a paid run beside the study's lock, before it spends."""
        if self.plan.is_paid:
            ledgers.opened(self.plan.study.folder, _record(self.plan, journal))

    @property
    def folder(self) -> Path:
        """Return the folder of the study whose attempts are graded."""
        return self.plan.study.folder

    @property
    def blind_ids(self) -> tuple[str, ...]:
        """Return the items' names, in their order."""
        return tuple(self._cases)

    @property
    def seconds(self) -> int:
        """Return how long one item may take, the tests of the adjudicators included."""
        settings = self.plan.settings
        asked = 2 + 2 * settings.controls
        return SETTLING_SECONDS + sum(
            asked * grader.settings.timeout_seconds for grader in self.plan.graders
        )

    def adjudication(self, item: pytest.Item, blind_id: str) -> Adjudication:
        """Return the grading of one item; the adjudicators are tested before the first."""
        case = self._cases[blind_id]
        if self.run is not None and case in self.plan.open_cases:
            failure = self.run.test_adjudicators()
            if failure is not None:
                pytest.fail(failure, pytrace=False)
        return Adjudication(item, self, case)

    def finish(self) -> None:
        """Close the ledger and remove what the session made; safe to call twice."""
        self._interruptions.restore()
        run = self.run
        try:
            if run is not None and not run.closed:
                run.closed = True
                self._close(run)
        except (LedgerError, OSError) as error:
            self.unclosed.append(text.unclosed(f"adjudicate {self.plan.name}", error))
        finally:
            self._resources.close()

    def _close(self, run: GradingRun) -> None:
        try:
            with held():
                totals = run.journal.close()
        finally:
            run.journal.release()
        if self.plan.is_paid:
            ledgers.closed(
                self.folder,
                run.journal.run_id,
                head=run.journal.head,
                attempts=0,
                spent_usd=money.total(totals.spent, totals.reserved),
                at=time_text(now()),
            )
        self._heads.closed(run.journal)

    def summaries(self, *, dry: bool) -> list[tuple[str, list[str]]]:
        """Return title and lines of what the terminal shows at the end."""
        if dry:
            return [("agent-trials dry run", grading_text.dry_run(self.plan))]
        found, summary = grades(self.plan.ledger), summarise(self.plan.ledger)
        controls = self.run.controls if self.run else 0
        title, lines = grading_text.summary(self.plan, found, summary, controls)
        signed_lines = self._heads.lines.get(self.run.journal.path, ()) if self.run else ()
        parts = [(title, [*lines[:-1], *signed_lines, lines[-1]])]
        return [(text.NOT_CLOSED, self.unclosed), *parts] if self.unclosed else parts


class Adjudication:
    """The grading of one observation as a test meets it; ``grade`` may be called once."""

    def __init__(self, item: pytest.Item, grading: Grading, case: Case) -> None:
        self.blind_id = case.blind_id
        self._item = item
        self._grading = grading
        self._case = case

    def grade(self) -> None:
        """Grade the observation, and fail the test where no valid grade came of it."""
        __tracebackhide__ = True
        run = self._grading.run
        if run is None or self._case not in self._grading.plan.open_cases:
            self._item.stash[keys.LINE] = grading_text.before(self._grading.plan, self._case)
            return
        try:
            given = run.grade(self._case)
        except AdmissionError as refusal:
            failure = str(refusal)
        except (LedgerError, OSError) as error:
            failure = f"{self.blind_id} not graded, what was reserved for it stays: {error}"
        else:
            totals = run.journal.totals()
            line = grading_text.line(self._grading.plan, self.blind_id, given, totals)
            self._item.stash[keys.LINE] = line
            pending = [each for each in given if each.outcome == PENDING]
            if not pending:
                return
            failure = grading_text.pending(self.blind_id, pending)
        pytest.fail(failure, pytrace=False)


def _opening(plan: GradingPlan, ground: Ground) -> dict[str, Any]:
    """Return what the run that grades says in public."""
    first, before = ground.graders[0], plan.opening
    kept = ("schema", "mode", "study", "phase", "scored", "seriesId", "frozen", "amendment")
    return {
        **{name: before[name] for name in kept},
        "folderDigest": before["folderDigest"],
        "resume": before["resume"],
        "infraReruns": before["infraReruns"],
        "job": JOB,
        "attempts": 0,
        "transport": first.transport,
        "model": first.model,
        "capUsd": money.text(plan.cap_usd),
        "graders": [
            {
                "grader": each.name,
                **each.configuration,
                "configurationDigest": each.digest,
                "cliVersion": each.executable_version,
                "sameModelAsAgent": each.model in ways.models(before),
            }
            for each in ground.graders
        ],
        "packet": "structured" if plan.settings.is_structured else "answer",
        "neutral": list(plan.settings.neutral),
        "neutralMeasurements": list(plan.settings.neutral_measurements),
        "counted": list(plan.settings.counted),
        "disagreement": plan.settings.disagreement,
        "guessArm": plan.settings.guess_arm,
        "seed": plan.settings.seed,
        "offset": plan.options.offset,
        "limit": plan.options.limit,
        "ofRun": plan.options.run_id,
        "cases": len(plan.cases),
        "runnerDigest": runner_digest(plan.study.folder),
        "environment": opening.environment_facts(),
        "priorLedgers": list(plan.counted),
    }


def _record(plan: GradingPlan, journal: Journal) -> LedgerRecord:
    return LedgerRecord(
        run_id=journal.run_id,
        series_id=str(plan.opening["seriesId"]),
        phase=str(plan.opening["phase"]),
        scored=False,  # it makes no attempt
        cap_usd=plan.cap_usd,
        opened_at=time_text(now()),
    )
