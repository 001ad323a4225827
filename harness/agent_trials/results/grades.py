"""What a ledger's attempts were graded as: one row for each attempt that was settled.

Pure: from the ledger, and from the openings of ``blindId`` beside it, which alone tell whose a
grade is. The rules of 000:
    a settled grade is its outcome; of two graders the study's rule decides where they differ
    a completed attempt without a valid grade is pending, with the reason of the last try
    status incomplete is incomplete (0), and so is a status that the study counts as a result
    any other attempt is blocked: its mark is missing
The rules that the study registered stand in the line of the run that graded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_trials.ledger import fold, outcomes
from agent_trials.ledger.budget import PENDING, State
from agent_trials.ledger.chain import Reading
from agent_trials.ledger.events import Event
from agent_trials.ledger.openings import Openings
from agent_trials.ledger.outcomes import Outcome
from agent_trials.records import Cell, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from decimal import Decimal
    from pathlib import Path

    from agent_trials.ledger.chain import Line

JOB = "adjudicate"
NOT_GRADED = "not-graded"
NO_BLIND_ID = "blind-id-not-opened"
DISAGREEMENT = "graders-disagree"


@dataclass(frozen=True)
class GradeRow:
    """One settled attempt and its grade.

    ``outcome`` is None while the grade is pending or where two graders' difference is missing;
    ``reason`` then says why. ``by_grader`` has every valid grade by the grader's name, in order.
    ``guess`` is the arm that was guessed after the verdict, or ``undecided``.
    """

    cell: Cell
    run_id: str
    seq: int
    status: Status
    blind_id: str | None
    outcome: Outcome | None
    reason: str | None = None
    by_grader: Mapping[str, Outcome] = field(default_factory=dict)
    guess: str | None = None

    @property
    def score(self) -> Decimal | None:
        """Return 1, 0.5 or 0; None where the mark is missing."""
        return None if self.outcome is None else self.outcome.score


@dataclass(frozen=True)
class Grades:
    """The grades of a ledger.

    ``rows`` are by settlement, superseded ones apart. ``graders`` are the names of the registered
    graders, in order; ``rules`` the latest grading run's opening, None before the first.
    """

    rows: tuple[GradeRow, ...]
    graders: tuple[str, ...]
    rules: Mapping[str, Any] | None

    def both(self) -> tuple[tuple[str | None, str | None], ...]:
        """Return the two graders' outcomes of every attempt that either graded, for agreement."""
        if len(self.graders) != 2:  # noqa: PLR2004 - agreement is of two
            return ()
        one, other = self.graders
        pairs = [(row.by_grader.get(one), row.by_grader.get(other)) for row in self.rows]
        return tuple(pair for pair in pairs if pair != (None, None))

    def guesses(self) -> tuple[tuple[str, str], ...]:
        """Return true and guessed arm wherever one was guessed, for the blinding index."""
        return tuple((row.cell.arm, row.guess) for row in self.rows if row.guess is not None)


@dataclass
class Gathered:
    """The lines of a ledger that have to do with grades, kept while it streams by.

    ``settled`` has the latest settlement of each cell; ``records`` the valid grades and
    ``pending`` the reasons of failed ones, by blind id and grader.
    """

    opening: Line | None = None
    runs: list[Line] = field(default_factory=list)
    settled: dict[Cell, Line] = field(default_factory=dict)
    records: dict[tuple[str, str], Line] = field(default_factory=dict)
    pending: dict[tuple[str, str], str] = field(default_factory=dict)

    def take(self, line: Line) -> None:
        """Take in one line."""
        if line.event == Event.RUN_OPENED:
            self.runs.append(line)
            if "study" in line.fields.get("private", {}):
                self.opening = line
        elif line.event == Event.ATTEMPT_RESERVED:
            self.settled.pop(Cell.from_json(line.fields), None)
        elif line.event == Event.ATTEMPT_SETTLED:
            self.settled[Cell.from_json(line.fields)] = line
        elif line.event == Event.ADJUDICATED:
            self.records.setdefault(_grade(line), line)
        elif line.event == Event.GRADE_SETTLED and line.fields["outcome"] == PENDING:
            self.pending[_grade(line)] = str(line.fields.get("reason") or PENDING)

    @property
    def grading(self) -> Line | None:
        """Return the opening of the latest run that graded."""
        runs = [line for line in self.runs if line.fields.get("job") == JOB]
        return runs[-1] if runs else None


def gather(path: Path) -> tuple[Gathered, State, Reading]:
    """Return what a ledger holds of attempts and grades, its lines and rules verified.

    Raises:
        LedgerError: there is no such ledger.
        LedgerBrokenError: it does not verify.
    """
    reading, state, gathered = Reading(path), State(), Gathered()
    for line in reading:
        fold.apply(state, line)
        gathered.take(line)
    return gathered, state, reading


def grades(path: Path) -> Grades:
    """Return the grades of a ledger; errors as ``gather``."""
    gathered, _, _ = gather(path)
    return of(gathered, Openings(path))


def of(gathered: Gathered, openings: Openings) -> Grades:
    """Return the grades of a ledger whose lines were gathered before."""
    grading = gathered.grading
    rules = grading.fields if grading else None
    graders = tuple(each["grader"] for each in rules["graders"]) if rules else ()
    return Grades(tuple(_rows(gathered, openings, graders)), graders, rules)


def _rows(gathered: Gathered, openings: Openings, graders: tuple[str, ...]) -> Iterator[GradeRow]:
    rules = gathered.grading.fields if gathered.grading else {}
    run_ids = {line.run: str(line.fields["runId"]) for line in gathered.runs}
    for cell, line in gathered.settled.items():
        status = Status(line.fields["observation"]["status"])
        blind_id = openings.value(line, "blindId")
        place = (cell, run_ids[line.run], line.seq, status, blind_id)
        if status is not Status.COMPLETED:
            is_result = status is Status.INCOMPLETE or status in rules.get("counted", ())
            outcome = Outcome.INCOMPLETE if is_result else Outcome.BLOCKED
            yield GradeRow(*place, outcome, status.value)
        elif blind_id is None:
            yield GradeRow(*place, None, NO_BLIND_ID)
        else:
            yield _graded(place, gathered, openings, graders, rules.get("disagreement"))


def _graded(
    place: tuple[Cell, str, int, Status, str | None],
    gathered: Gathered,
    openings: Openings,
    graders: tuple[str, ...],
    rule: str | None,
) -> GradeRow:
    blind_id = str(place[-1])
    found = {
        grader: outcomes.parse(gathered.records[blind_id, grader].fields["outcome"])
        for grader in graders
        if (blind_id, grader) in gathered.records
    }
    by_grader = {grader: each for grader, each in found.items() if each is not None}
    guessed = gathered.records.get((blind_id, "arm-guess"))
    guess = None if guessed is None else openings.value(guessed, "guess")
    if missing := [grader for grader in graders if grader not in by_grader]:
        why = gathered.pending.get((blind_id, missing[0]), NOT_GRADED)
        return GradeRow(*place, None, why, by_grader, guess)
    outcome = _agreed(tuple(by_grader.values()), rule)
    reason = None if outcome else DISAGREEMENT if graders else NOT_GRADED
    return GradeRow(*place, outcome, reason, by_grader, guess)


def _agreed(given: tuple[Outcome, ...], rule: str | None) -> Outcome | None:
    """Return what the graders' outcomes come to under the registered rule."""
    if not given:
        return None
    if len(set(given)) == 1 or rule == "first":
        return given[0]
    if rule == "lower":
        return min(given, key=_worth)
    return None


def _worth(outcome: Outcome) -> tuple[Decimal, int]:
    """Order outcomes by score; of two that score 0, incorrect says more than incomplete."""
    score = outcome.score
    if score is None:
        raise RuntimeError(f"no grader gives {outcome.value}")
    return score, outcome is not Outcome.INCORRECT


def _grade(line: Line) -> tuple[str, str]:
    return str(line.fields["blindId"]), str(line.fields["grader"])
