"""``-m evaluate``: a session that evaluates the patches of one ledger, one item per arm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import pytest

from agent_trials.errors import EvaluationError, LedgerError
from agent_trials.session import evaluation_text, keys, pytest_rules
from agent_trials.session.evaluation_plan import EvaluationAdmission
from agent_trials.session.evaluation_run import EvaluationRun
from agent_trials.session.runs import now
from agent_trials.session.signals import Interruptions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent_trials.session.evaluation_plan import EvaluationPlan
    from agent_trials.session.evaluation_subjects import Subject
    from agent_trials.session.options import Options
    from agent_trials.study.manifest import Study

SETTLING_SECONDS = 90


class Evaluating:
    """What a session evaluates; ``run`` is None in a dry run."""

    def __init__(self, plan: EvaluationPlan) -> None:
        self.plan = plan
        self.run: EvaluationRun | None = None
        self.header = evaluation_text.heading(plan)
        self._head = ""
        self._interruptions = Interruptions()

    @classmethod
    def open(
        cls, config: pytest.Config, options: Options, studies: Sequence[Study], *, dry: bool
    ) -> Self:
        """Refuse, or write the predictions of every arm.

        Raises:
            RunRefusedError: everything that is wrong; nothing was written or run.
        """
        processes = pytest_rules.requested_processes(config)
        project = pytest_rules.project(config)
        evaluating = cls(EvaluationAdmission(options, studies, project, processes).plan())
        if not dry:
            evaluating.run = EvaluationRun(evaluating.plan, now)
            evaluating.header += evaluation_text.kept(evaluating.run.keep_predictions())
            evaluating._interruptions.install()
        return evaluating

    @property
    def folder(self) -> Path:
        """Return the folder of the study whose patches are evaluated."""
        return self.plan.study.folder

    @property
    def names(self) -> tuple[str, ...]:
        """Return the items' names, controls first."""
        return tuple(subject.name for subject in self.plan.subjects)

    @property
    def seconds(self) -> int:
        """Return how long one item may take."""
        return self.plan.settings.deadline_seconds + SETTLING_SECONDS

    def evaluation(self, item: pytest.Item, name: str) -> Evaluation:
        """Return the evaluation of one item."""
        subject = next(each for each in self.plan.subjects if each.name == name)
        return Evaluation(item, self, subject)

    def finish(self) -> None:
        """Close the ledger's run, if one was opened; safe to call twice."""
        self._interruptions.restore()
        if self.run is not None and self.run.journal is not None:
            journal = self.run.journal
            self.run.close()
            self._head = journal.head

    def summaries(self, *, dry: bool) -> list[tuple[str, list[str]]]:
        """Return title and lines of what the terminal shows at the end."""
        if dry or self.run is None:
            return [("agent-trials dry run", evaluation_text.dry_run(self.plan))]
        return [evaluation_text.summary(self.plan, self.run.outcomes, self._head)]


class Evaluation:
    """The evaluation of one arm as a test meets it; ``evaluate`` may be called once."""

    def __init__(self, item: pytest.Item, evaluating: Evaluating, subject: Subject) -> None:
        self.name = subject.name
        self._item = item
        self._evaluating = evaluating
        self._subject = subject

    def evaluate(self) -> None:
        """Evaluate the arm's patches and record the report; fail the test where there is none."""
        __tracebackhide__ = True
        run = self._evaluating.run
        if run is None:
            raise RuntimeError("nothing is evaluated in a dry run")
        try:
            outcome = run.evaluate(self._subject)
        except (EvaluationError, LedgerError) as error:
            failure = str(error)
        else:
            self._item.stash[keys.LINE] = evaluation_text.line(self._subject, outcome)
            return
        pytest.fail(failure, pytrace=False)
