"""One batch of gradings against the real SDK and a scripted API: what is asked, settled, left."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import ledgers
from agent_trials.errors import RunStoppedError
from agent_trials.graders.adjudicator import (
    FIRST,
    GUESS,
    SECOND,
    Adjudicator,
    GradingInterruptedError,
    transport_settings,
)
from agent_trials.graders.citations import Corpora
from agent_trials.ledger.grade_journal import GradeJournal
from agent_trials.ledger.outcomes import Outcome
from agent_trials.records import AttemptResult, Observation, Status
from agent_trials.rehearsal.messages_server import MessagesServer
from agent_trials.rehearsal.replies import Cut, HttpError, RawBody, Reset, say
from agent_trials.results.grades import gather, grades
from agent_trials.session.grading_ground import Ground
from agent_trials.session.grading_plan import Case, GradingPlan
from agent_trials.session.grading_run import GradingRun
from agent_trials.study import manifest
from agent_trials.study.key import Proposition, TaskKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_trials.graders.prompt import Prompt
    from agent_trials.ledger.budget import Grade
    from agent_trials.rehearsal.replies import Answer
    from agent_trials.study.manifest import Study

QUICKSTART = manifest.load(Path(__file__).parents[2] / "evals" / "quickstart")
LIMIT = Decimal("0.1")
KEY = TaskKey(
    sources=("README.md",),
    propositions=(Proposition(text="It stands in the README."),),
    reference="It stands there (README.md:3).",
    wrong="It stands nowhere (README.md:1).",
)
VERDICT = {
    "propositions": [{"number": 1, "verdict": "supported", "reason": "r"}],
    "citations": [{"number": 1, "verdict": "supports"}],
    "outcome": "correct",
}
CORRECT = say(json.dumps(VERDICT))


def study() -> Study:
    """Return the quickstart with the tasks of the small ledgers."""
    assert QUICKSTART.key is not None
    names = ("task-0", "task-1")
    tasks = tuple(
        dataclasses.replace(task, id=name)
        for task, name in zip(QUICKSTART.manifest.tasks, names, strict=False)
    )
    key = dataclasses.replace(QUICKSTART.key, tasks=dict.fromkeys(names, KEY))
    changed = dataclasses.replace(QUICKSTART.manifest, tasks=tasks)
    return dataclasses.replace(QUICKSTART, manifest=changed, key=key)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a ledger of four answered attempts, 0.2 USD of 1 spent."""
    return answered(tmp_path, "It is in README.md:3.")


def answered(folder: Path, answer: str | None) -> Path:
    """Make a ledger of four attempts that said the same."""
    plan, path = ledgers.plan(), folder / "ledger.jsonl"
    journal = ledgers.create(path)
    for number, attempt in enumerate(plan):
        journal.admit_and_reserve(attempt, ledgers.pair_of(attempt, plan), ledgers.AMOUNT)
        result = ledgers.result("0.05")
        private = {"answer": answer, "blindId": f"id-{number}"}
        journal.settle(attempt, AttemptResult(result.observation, private, result.artifacts))
    journal.close()
    return path


@contextmanager
def batch(
    path: Path,
    names: Sequence[str] = (FIRST,),
    url: str = "",
    **changed: Any,  # noqa: ANN401 - fields
) -> Iterator[GradingRun]:
    """Open a batch on a ledger.

    ``changed`` are fields of [adjudicator]; ``grader`` and ``journal`` in it are classes.
    """
    whole = study()
    kind, hand = changed.pop("grader", Adjudicator), changed.pop("journal", GradeJournal)
    assert whole.manifest.adjudicator is not None
    assert whole.manifest.adjudicator.http is not None
    http = dataclasses.replace(
        whole.manifest.adjudicator.http,
        input_usd_per_million=Decimal("0.5"),
        output_usd_per_million=Decimal("2.5"),
    )
    registered = dataclasses.replace(whole.manifest.adjudicator, **{"http": http, **changed})
    graders = tuple(
        kind(
            name,
            "http",
            "m",
            LIMIT,
            transport_settings(registered),
            base_url=url,
            rehearsal=True,
        )
        for name in names
    )
    gathered, _, _ = gather(path)
    cases = tuple(
        Case(f"id-{number}", "r", line) for number, line in enumerate(gathered.settled.values())
    )
    assert gathered.opening is not None
    plan = GradingPlan(
        ledger=path,
        study=whole,
        opening=gathered.opening.fields,
        settings=registered,
        graders=graders,
        cases=cases,
        records=gathered.records,
        cap_usd=Decimal(1),
        priors=(),
        counted=(),
        options=SimpleNamespace(roots={}),  # type: ignore[arg-type] # nothing else is looked at
    )
    ground = Ground({"handbook": Corpora({"README.md": "1\n2\n3\n"})}, graders, ("task-0",))
    opening = ledgers.opening(
        attempts=0,
        job="adjudicate",
        graders=[{"grader": name} for name in names],
        disagreement=registered.disagreement,
    )
    journal = hand.reopen(path, opening=opening, private={}, clock=ledgers.clock())
    run = GradingRun(plan, ground, journal)
    try:
        yield run
    finally:
        journal.close()


def graded(path: Path, answer: Answer) -> tuple[str, str | None, Decimal, int]:
    """Grade one case with one scripted answer: outcome, reason, charge, requests."""
    with MessagesServer([answer]) as api, batch(path, url=api.base_url) as run:
        before = run.journal.totals().spent
        (given,) = run.grade(run.plan.cases[0])
        return given.outcome, given.reason, run.journal.totals().spent - before, len(api.asked)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (HttpError(429), "http-429"),
        (HttpError(500), "http-500"),
        (HttpError(529), "http-529"),
        (Reset(), "connection-lost"),
        (Reset(worked=CORRECT), "connection-lost"),
        (Cut(CORRECT), "connection-lost"),
        (RawBody(b"<html>busy</html>"), "malformed-response"),
        (say(json.dumps(VERDICT), "max_tokens"), "output-limit"),
        (say("I cannot grade this.", "refusal"), "refusal"),
        (say(""), "not-one-object"),
        (say(json.dumps(VERDICT) * 2), "not-one-object"),
        (say(json.dumps(VERDICT)[:-9]), "not-one-object"),
        (say(json.dumps({**VERDICT, "outcome": "blocked"})), "unknown-outcome"),
        (say(json.dumps({**VERDICT, "propositions": []})), "propositions"),
        (say(json.dumps({**VERDICT, "citations": []})), "citations"),
    ],
    ids=[
        "too many requests",
        "server error",
        "overloaded",
        "closed before it worked",
        "closed after it worked",
        "cut stream",
        "not the API",
        "max_tokens",
        "refusal",
        "no text",
        "two objects",
        "truncated",
        "outcome of no answer",
        "no proposition",
        "no citation",
    ],
)
def test_whatever_becomes_of_a_session_its_grade_waits_with_a_reason(
    path: Path, answer: Answer, reason: str
) -> None:
    """Nobody is asked a second time unbidden: each try costs money."""
    outcome, why, charged, asked = graded(path, answer)

    assert (outcome, why, asked) == ("pending", reason, 1)
    assert charged <= LIMIT
    assert charged > 0 or isinstance(answer, HttpError)
    assert [row.reason for row in grades(path).rows] == [reason, *["not-graded"] * 3]
    settled = [json.loads(n) for n in path.read_text("utf-8").splitlines() if "grade-settled" in n]
    assert not any("adjudicated" in n for n in path.read_text("utf-8").splitlines()[-2:])
    assert settled[-1]["reason"] == reason


@pytest.mark.parametrize("answer", [None, "", " \n\u00a0\u2003"], ids=["none", "empty", "blank"])
def test_without_usable_text_nobody_is_asked(tmp_path: Path, answer: str | None) -> None:
    path = answered(tmp_path, answer)
    with MessagesServer([]) as api, batch(path, url=api.base_url, guess_arm=True) as run:
        (given,) = run.grade(run.plan.cases[0])
        assert (given.outcome, len(api.asked)) == ("incomplete", 0)
        assert run.journal.totals().spent == Decimal("0.2")

    row = grades(path).rows[0]
    assert (row.outcome, row.score, row.guess) == (Outcome.INCOMPLETE, Decimal(0), None)
    with batch(path, guess_arm=True) as run:
        assert run.plan.cases[0] not in run.plan.open_cases


def test_an_adjudicator_that_never_answers_ends_the_batch(path: Path) -> None:
    with MessagesServer([HttpError(500)] * 3) as api, batch(path, url=api.base_url) as run:
        for case in run.plan.cases[:3]:
            run.grade(case)
        with pytest.raises(RunStoppedError):
            run.grade(run.plan.cases[3])

        assert len(api.asked) == 3


def test_of_two_graders_only_the_one_that_failed_is_asked_again(path: Path) -> None:
    both = (FIRST, SECOND)
    with MessagesServer([CORRECT, HttpError(500)]) as api, batch(path, both, api.base_url) as run:
        given = run.grade(run.plan.cases[0])
        assert [each.outcome for each in given] == ["correct", "pending"]
    assert grades(path).rows[0].reason == "http-500"

    with MessagesServer([CORRECT]) as api, batch(path, both, api.base_url) as run:
        assert len(run.plan.open_cases) == 4
        given = run.grade(run.plan.cases[0])
        assert [each.outcome for each in given] == ["correct", "correct"]
        assert len(api.asked) == 1
    assert grades(path).rows[0].outcome == "correct"


def test_the_arm_is_guessed_after_the_verdict_and_again_where_no_guess_came(path: Path) -> None:
    answers = [CORRECT, say('{"guess": "nonsense"}')]
    with MessagesServer(answers) as api, batch(path, url=api.base_url, guess_arm=True) as run:
        run.grade(run.plan.cases[0])
        first, second = api.asked
        assert "You grade one answer" in json.dumps(first)
        assert "Guess from the packet" in json.dumps(second)
        assert len(second["messages"]) == 1
    assert grades(path).guesses() == ()

    guess = say('{"guess": "docs-mcp"}')
    with MessagesServer([guess]) as api, batch(path, url=api.base_url, guess_arm=True) as run:
        assert run.plan.cases[0] in run.plan.open_cases
        run.grade(run.plan.cases[0])
        assert "Guess from the packet" in json.dumps(api.asked[0])
    assert grades(path).guesses() == (("repository-only", "docs-mcp"),)
    with batch(path, guess_arm=True) as run:
        assert run.plan.cases[0] not in run.plan.open_cases
    assert (("id-0", GUESS) in gather(path)[0].records) is True


@pytest.mark.parametrize("wrong", ["partial", "incorrect"])
def test_a_failed_control_stops_the_batch_before_anything_else_is_paid(
    path: Path, wrong: str
) -> None:
    """Reference and wrong answer are graded, the empty one by rule; then nobody is asked."""
    propositions = [{"number": 1, "verdict": "contradicted", "reason": "r"}]
    refusal = {"propositions": propositions, "citations": VERDICT["citations"]}
    said = [CORRECT, say(json.dumps({**refusal, "outcome": wrong}))]
    with MessagesServer(said) as api, batch(path, url=api.base_url) as run:
        failure = run.test_adjudicators()
        if wrong == "incorrect":
            assert failure is None
            return
        assert failure is not None
        assert "graded the wrong answer of task-0 pending (inconsistent)" in failure
        with pytest.raises(RunStoppedError):
            run.grade(run.plan.cases[0])
        assert len(api.asked) == 2


class Pressed(GradeJournal):
    """A ledger during whose reservations somebody presses Ctrl-C."""

    def reserve_grade(self, grade: Grade, amount: Decimal, **public: str) -> None:
        """Reserve, with an interruption on its way."""
        os.kill(os.getpid(), signal.SIGINT)
        super().reserve_grade(grade, amount, **public)


def test_an_interruption_waits_until_a_reservation_stands_and_frees_it(path: Path) -> None:
    """Half an append would leave a ledger that this process cannot close."""
    with batch(path, journal=Pressed) as run:
        with pytest.raises(KeyboardInterrupt):
            run.grade(run.plan.cases[0])
        totals = run.journal.totals()

    assert (totals.spent, totals.reserved) == (Decimal("0.2"), Decimal(0))
    assert grades(path).rows[0].reason == "interrupted"
    assert '"run-closed"' in path.read_text("utf-8").splitlines()[-1]


class Interrupted(Adjudicator):
    """An adjudicator during which somebody presses Ctrl-C; the whole limit is at risk."""

    def ask(self, asked: Prompt) -> AttemptResult:
        """Be interrupted."""
        del asked
        seen = Observation(status=Status.INTERRUPTED, transport="http", charged_usd=self.limit_usd)
        raise GradingInterruptedError(AttemptResult(seen), KeyboardInterrupt())


def test_an_interrupted_grading_is_settled_and_ends_the_batch(path: Path) -> None:
    with batch(path, grader=Interrupted) as run:
        with pytest.raises(KeyboardInterrupt):
            run.grade(run.plan.cases[0])
        totals = run.journal.totals()
        with pytest.raises(RunStoppedError):
            run.grade(run.plan.cases[1])

    assert (totals.spent, totals.reserved) == (Decimal("0.3"), Decimal(0))
    assert grades(path).rows[0].reason == "interrupted"
