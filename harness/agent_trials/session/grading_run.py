"""Grades the cases of one batch: tested adjudicators, a packet each, money first, then the verdict.

An adjudicator is tested before the first case is given to it. What it is tested with is reserved
and settled like any grade, under a name drawn for it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials import canonical, money
from agent_trials.errors import AdmissionError
from agent_trials.graders import base, command, prompt, reply
from agent_trials.graders.adjudicator import GUESS, GradingInterruptedError
from agent_trials.graders.base import Answered
from agent_trials.graders.citations import Finding
from agent_trials.graders.reply import InvalidReplyError
from agent_trials.ledger.budget import PENDING
from agent_trials.ledger.grade_journal import Graded
from agent_trials.ledger.openings import Openings
from agent_trials.ledger.outcomes import Outcome
from agent_trials.records import Status
from agent_trials.session.grading_ground import arm_words
from agent_trials.session.signals import held
from agent_trials.study import asked

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from agent_trials.graders.adjudicator import Adjudicator
    from agent_trials.graders.base import Blinded
    from agent_trials.graders.prompt import Prompt
    from agent_trials.ledger.budget import Grade
    from agent_trials.ledger.grade_journal import GradeJournal
    from agent_trials.records import AttemptResult
    from agent_trials.session.grading_ground import Ground
    from agent_trials.session.grading_plan import Case, GradingPlan
    from agent_trials.study.key import TaskKey
    from agent_trials.study.settings import TaskSettings

MOST_SILENT = 3
"""So many gradings without a reply in a row, and the batch is stopped."""
CONTROL_FAILED = "control-failed"
NO_REPLY = "no-reply"
DOES_NOT_FIT = "request-does-not-fit"
"""What the http transport says of a packet that could cost more than the limit."""


@dataclass(frozen=True)
class Given:
    """One grader's outcome for a case: ``pending`` with its reason, or one of the rubric's."""

    grader: str
    outcome: str
    reason: str | None = None


@dataclass(frozen=True)
class _Question:
    """What an adjudicator is asked, and how its reply is read."""

    asked: Prompt
    packet: bytes
    read: Callable[[str], tuple[str, dict[str, Any]]]


class GradingRun:
    """One batch in this process.

    Args:
        plan: what was admitted.
        ground: what was found.
        journal: the ledger, reopened.
    """

    def __init__(self, plan: GradingPlan, ground: Ground, journal: GradeJournal) -> None:
        self.plan = plan
        self.journal = journal
        self._ground = ground
        self._openings = Openings(plan.ledger)
        self._words = arm_words(plan)
        self._tasks = {task.id: task for task in plan.study.manifest.tasks}
        self._silent = 0
        self._tested: str | None = None
        self._is_tested = False
        self.controls = 0
        self.closed = False

    def test_adjudicators(self) -> str | None:
        """Test every adjudicator, once for the batch; return why the batch is stopped, or None."""
        if not self._is_tested:
            self._is_tested = True
            try:
                self._tested = self._test_all()
            except AdmissionError as refusal:
                self._tested = str(refusal)
        return self._tested

    def _test_all(self) -> str | None:
        for grader in self._ground.graders:
            for task in self._ground.controls:
                entry = self._key(task)
                for kind, answer, expected in (
                    ("reference", entry.reference, Outcome.CORRECT),
                    ("empty", "", Outcome.INCOMPLETE),
                    ("wrong", entry.wrong, Outcome.INCORRECT),
                ):
                    name = f"control-{secrets.token_hex(8)}"
                    public = {"control": kind, "task": task}
                    given = self._grade(name, grader, Answered(answer or ""), (task, 1), public)
                    if given.outcome != expected:
                        self.journal.stop(CONTROL_FAILED)
                        return _failed(grader, kind, task, given, expected)
                    self.controls += 1
        return None

    def grade(self, case: Case) -> tuple[Given, ...]:
        """Grade a case by every grader that has not graded it yet.

        Raises:
            AdmissionError: the money does not fit, or the batch is stopped.
        """
        answer = self._openings.value(case.line, "answer")
        observation = case.line.fields["observation"]
        requirements = self._requirements(case.task)
        attempt = base.answered(observation, answer, self.plan.settings, requirements)
        given = []
        for grader in self._ground.graders:
            before = self.plan.records.get((case.blind_id, grader.name))
            if before is not None:
                given.append(Given(grader.name, str(before.fields["outcome"])))
            else:
                given.append(self._grade(case.blind_id, grader, attempt, case.asked, {}))
        if self._wants_guess(case, attempt, given):
            self._guess(case, attempt)
        return tuple(given)

    def _wants_guess(self, case: Case, attempt: Answered, given: list[Given]) -> bool:
        known = (case.blind_id, GUESS) in self.plan.records
        pending = any(each.outcome == PENDING for each in given)
        return self.plan.settings.guess_arm and attempt.is_usable and not known and not pending

    def _grade(
        self,
        blind_id: str,
        grader: Adjudicator,
        attempt: Answered,
        task: tuple[str, int],
        public: dict[str, str],
    ) -> Given:
        grade = (blind_id, grader.name)
        if not attempt.is_usable:
            graded = self._by_rule(blind_id, public)
            with held():
                self.journal.record_grade(grade, graded)
            return Given(grader.name, graded.outcome)
        blinded = self._blinded(attempt, task)
        case = blinded.case

        def read(text: str) -> tuple[str, dict[str, Any]]:
            verdict = reply.read(text, case)
            return verdict.outcome.value, verdict.to_json()

        question = _Question(prompt.grading(case), case.packet(), read)
        shown = {
            **public,
            "citations": len(case.citations),
            "citationsFound": sum(c.finding is Finding.EXISTS for c in case.citations),
            "replacements": blinded.replacements,
        }
        graded = self._asked(blind_id, grader, grader.name, question, shown)
        return Given(grader.name, graded.outcome, graded.reason)

    def _guess(self, case: Case, attempt: Answered) -> None:
        """Let the first grader guess the arm, now that its verdict stands in the ledger."""
        blinded = self._blinded(attempt, case.asked).case
        arms = [arm.id for arm in self.plan.study.manifest.arms]

        def read(text: str) -> tuple[str, dict[str, Any]]:
            return "guessed", {"guess": reply.read_guess(text, arms)}

        question = _Question(prompt.guessing(blinded, arms), blinded.packet(), read)
        self._asked(case.blind_id, self._ground.graders[0], GUESS, question, {})

    def _blinded(self, attempt: Answered, pair: tuple[str, int]) -> Blinded:
        """Return the packet of an attempt, with the question as its pair was asked."""
        task: TaskSettings = self._tasks[pair[0]]
        return base.blind(
            attempt,
            asked.asked(self.plan.study.manifest, *pair).question,
            self._key(task.id),
            self._ground.corpora[task.repository or ""],
            settings=self.plan.settings,
            words=self._words,
        )

    def _requirements(self, task: str) -> tuple[str, ...]:
        provider = self.plan.study.manifest.transports.provider
        told = provider.tasks.get(task) if provider else None
        return told.evidence_requirements if told else ()

    def _key(self, task: str) -> TaskKey:
        key = self.plan.study.key
        if key is None:
            raise RuntimeError("a study without a key is not graded")
        return key.tasks[task]

    def _by_rule(self, blind_id: str, public: dict[str, str]) -> Graded:
        """Return the grade of an answer without usable text: nobody is asked."""
        outcome = Outcome.INCOMPLETE
        record = self._record(blind_id, outcome.value, "rule") | {"reason": "no usable text"}
        fields = {**public, "score": _score(outcome.value), "method": "rule", "humanReview": False}
        return Graded(outcome=outcome.value, public=fields, private={"record": record})

    def _asked(
        self,
        blind_id: str,
        grader: Adjudicator,
        name: str,
        question: _Question,
        public: dict[str, Any],
    ) -> Graded:
        """Reserve, ask, settle; an interruption is settled before it goes on."""
        named: dict[str, str] = {key: public[key] for key in ("control", "task") if key in public}
        self._reserve((blind_id, name), grader.limit_usd, named)
        try:
            result = grader.ask(question.asked)
        except GradingInterruptedError as interruption:
            graded = self._graded(blind_id, grader, interruption.result, question, public)
            with held():
                self.journal.settle_grade((blind_id, name), graded)
                self.journal.stop(Status.INTERRUPTED.value)
            raise interruption.cause from None
        graded = self._graded(blind_id, grader, result, question, public)
        with held():
            self.journal.settle_grade((blind_id, name), graded)
            self._count_silence(result)
        return graded

    def _reserve(self, grade: Grade, amount: Decimal, named: dict[str, str]) -> None:
        """Reserve a grading's money; an interruption waits until that stands, and frees it."""
        is_reserved = False
        try:
            with held():
                self.journal.reserve_grade(grade, amount, **named)
                is_reserved = True
        except KeyboardInterrupt:
            if is_reserved:
                with held():
                    unasked = Graded(outcome=PENDING, reason=Status.INTERRUPTED.value)
                    self.journal.settle_grade(grade, unasked)
                    self.journal.stop(Status.INTERRUPTED.value)
            raise

    def _count_silence(self, result: AttemptResult) -> None:
        """Stop a batch whose adjudicator does not answer at all: every try may cost money."""
        replied = result.observation.status in (Status.COMPLETED, Status.INCOMPLETE)
        self._silent = 0 if replied else self._silent + 1
        if self._silent >= MOST_SILENT:
            self.journal.stop(NO_REPLY)

    def _graded(
        self,
        blind_id: str,
        grader: Adjudicator,
        result: AttemptResult,
        question: _Question,
        public: dict[str, Any],
    ) -> Graded:
        observation = result.observation
        text = str(result.private.get("answer") or "")
        reason: str | None = None
        detail: dict[str, Any] = {}
        outcome = PENDING
        if observation.status is not Status.COMPLETED:
            reason = next(iter(observation.problems), observation.status.value)
        else:
            try:
                outcome, detail = question.read(text)
            except InvalidReplyError as error:
                reason, detail = error.code, {"detail": str(error)}
        record = self._record(blind_id, outcome, "agent") | {
            "model": grader.model,
            "configurationDigest": grader.digest,
            "packetDigest": canonical.digest(question.packet),
            "verdict": detail,
        }
        fields = {
            **public,
            "score": _score(outcome),
            "method": "agent",
            "humanReview": False,
            "model": grader.model,
            "resolvedModel": observation.resolved_model,
            "configurationDigest": grader.digest,
            "problems": list(observation.problems),
        }
        if (measured := command.measured(observation)) is not None:
            fields["command"] = measured
        private = {"record": record, "reply": text, **_without(result.private, "answer")}
        if outcome == "guessed":
            private["guess"] = detail["guess"]
        return Graded(
            outcome=outcome,
            reason=reason,
            charged_usd=observation.charged_usd,
            public=fields,
            private={**private, **result.artifacts, "packet": question.packet},
        )

    def _record(self, blind_id: str, outcome: str, method: str) -> dict[str, Any]:
        return {
            "blindId": blind_id,
            "protocolDigest": self.plan.opening["folderDigest"],
            "runId": self.journal.run_id,
            "outcome": outcome,
            "score": _score(outcome),
            "method": method,
            "humanReview": False,
        }


def _failed(grader: Adjudicator, kind: str, task: str, given: Given, expected: Outcome) -> str:
    why = f" ({given.reason})" if given.reason else ""
    return (
        f"{grader.name} ({grader.model}) graded the {kind} answer of {task} {given.outcome}{why}"
        f" and not {expected.value}; nothing of the batch was graded. {_way_out(given)}"
    )


def _way_out(given: Given) -> str:
    if given.reason == DOES_NOT_FIT:
        return "Amend the study with a higher adjudicator.limit_usd"
    if given.outcome == PENDING:
        return "Run the same command again to ask again, or register another adjudicator"
    return "Register another adjudicator, or correct the key"


def _score(outcome: str) -> str | None:
    if outcome not in {each.value for each in Outcome}:
        return None
    score = Outcome(outcome).score
    return None if score is None else money.text(score)


def _without(values: Any, name: str) -> dict[str, Any]:  # noqa: ANN401 - a mapping of JSON values
    return {key: value for key, value in values.items() if key != name}
