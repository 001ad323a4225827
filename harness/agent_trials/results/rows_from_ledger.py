"""From a ledger's attempts to the rows that statistics and verdicts are made of.

What counts as measured:
    correctness     the grade's score; None while it is pending, and for a blocked attempt; where a
                    checker looked at the tree, what it said after the last turn
    resolved        the same, in a study whose patches are evaluated
    cost_usd        ``costUsd``, the sum over turns, with what the arm's product spent by itself;
                    else bounds, as far as they are recorded
    token counts    of a completed attempt whose usage is complete
    anything else   of a completed attempt
What was refused, blocked or cut off has no value and no bounds. The treatment was delivered in a
pair where every arm that has or registers MCP servers called one and every arm without called none.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any

from agent_trials.records import Cell
from agent_trials.results import evaluated, grades
from agent_trials.results.record import Fate
from agent_trials.results.rows import Missing, Row
from agent_trials.study.endpoints import ENDPOINTS, RESOLVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_trials.results.record import Attempt, Record
    from agent_trials.results.rows import Value
    from agent_trials.study.settings import ArmSettings

INPUT = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
TOTAL_INPUT = "totalInputTokens"
FIELDS: Mapping[str, tuple[str, ...]] = {
    "total_input_tokens": INPUT,
    "input_tokens": INPUT[:1],
    "output_tokens": ("outputTokens",),
    "cache_read_input_tokens": INPUT[1:2],
    "cache_creation_input_tokens": INPUT[2:],
    "tool_calls": ("toolCalls",),
    "wall_time_ms": ("wallTimeMs",),
    "turns": ("turns",),
}
"""What of an observation is added up for an endpoint."""

COMPLETED = "completed"
SCORED = frozenset({"correctness", RESOLVED})
"""Endpoints that are a grade's score."""


@dataclass(frozen=True)
class Grade:
    """What an attempt was worth; ``score`` is None for a blocked one, and while it is pending."""

    outcome: str
    score: Decimal | None
    reason: str | None = None

    @property
    def is_pending(self) -> bool:
        """Return whether there is still something to wait for."""
        return self.outcome == "pending"


NOT_CHECKED = "not-checked"
CORRECT = Grade("correct", Decimal(1))
INCORRECT = Grade("incorrect", Decimal(0))


def grades_of(record: Record) -> dict[Cell, Grade]:
    """Return the grade of every attempt that was settled, by its first turn's cell."""
    if evaluated.is_evaluated(record):
        settled = [each for each in record.attempts if each.turns]
        return {each.cell: Grade(*evaluated.grade(each, record.evaluations)) for each in settled}
    found = {}
    for each in record.attempts:
        if (grade := _checked(each)) is not None:
            found[each.cell] = grade
    for row in sorted(record.grades.rows, key=lambda each: each.cell):
        cell = Cell(row.cell.phase, row.cell.task, row.cell.arm, row.cell.repetition)
        if cell in found:
            continue  # what a checker said of the tree needs no adjudicator
        outcome = "pending" if row.outcome is None else row.outcome.value
        if row.reason == grades.DISAGREEMENT:
            outcome = "disagreement"
        found[cell] = Grade(outcome, row.score, row.reason)
    return found


def pairs(attempts: Iterable[Attempt]) -> tuple[tuple[Attempt, ...], ...]:
    """Return the attempts by pair, in schedule order."""
    ordered = sorted(attempts, key=lambda each: (each.pair, each.position))
    return tuple(tuple(pair) for _, pair in groupby(ordered, key=lambda each: each.pair))


def rows(
    attempts: Iterable[Attempt],
    graded: Mapping[Cell, Grade],
    *,
    control: ArmSettings,
    treatment: ArmSettings,
    endpoints: Iterable[str] = ENDPOINTS,
) -> dict[str, tuple[Row, ...]]:
    """Return a row for each planned pair of the two arms, for every endpoint."""
    found: dict[str, list[Row]] = {endpoint: [] for endpoint in endpoints}
    for pair in pairs(attempts):
        by_arm = {each.cell.arm: each for each in pair}
        if control.id not in by_arm or treatment.id not in by_arm:
            continue
        old, new = by_arm[control.id], by_arm[treatment.id]
        shared: dict[str, Any] = {
            "task": old.cell.task,
            "repetition": old.cell.repetition,
            "pair": old.pair,
            "run": old.fate is Fate.SETTLED and new.fate is Fate.SETTLED,
            "treatment_first": new.position < old.position,
            "delivered": _both(delivered(old, control), delivered(new, treatment)),
            "control_warmth": warmth(old),
            "treatment_warmth": warmth(new),
        }
        before = values(old, graded.get(old.cell), found)
        after = values(new, graded.get(new.cell), found)
        for endpoint, of in found.items():
            of.append(Row(control=before[endpoint], treatment=after[endpoint], **shared))
    return {endpoint: tuple(of) for endpoint, of in found.items()}


def value(attempt: Attempt, endpoint: str, grade: Grade | None = None) -> Value:
    """Return what the attempt shows at an endpoint; None, or its bounds, where it shows nothing."""
    if endpoint in SCORED:
        return None if grade is None else grade.score
    if endpoint == "cost_usd":
        return cost(attempt)
    return _count(attempt, FIELDS[endpoint])


def values(
    attempt: Attempt, grade: Grade | None = None, endpoints: Iterable[str] = ENDPOINTS
) -> dict[str, Value]:
    """Return what the attempt shows at every endpoint."""
    return {endpoint: value(attempt, endpoint, grade) for endpoint in endpoints}


def by_arm(
    attempts: Iterable[Attempt],
    graded: Mapping[Cell, Grade],
    endpoints: Iterable[str] = ENDPOINTS,
) -> dict[str, dict[str, list[Value]]]:
    """Return what the attempts of each arm show at every endpoint, in schedule order."""
    names = tuple(endpoints)
    found: dict[str, dict[str, list[Value]]] = {}
    for each in attempts:
        of = found.setdefault(each.cell.arm, {endpoint: [] for endpoint in names})
        for endpoint, one in values(each, graded.get(each.cell), names).items():
            of[endpoint].append(one)
    return found


def cost(attempt: Attempt) -> Value:
    """Return what the attempt cost, USD."""
    if not attempt.turns:
        return None
    product = [_product(turn) for turn in attempt.turns]
    known = [_amount(turn, "costUsd") for turn in attempt.turns]
    if None not in known:
        return _sum(known + product)
    return Missing(
        _sum([_amount(turn, "costUsd", "costLowerUsd") for turn in attempt.turns] + product),
        _sum([_amount(turn, "costUsd", "costUpperUsd") for turn in attempt.turns] + product),
    )


def delivered(attempt: Attempt, arm: ArmSettings) -> bool | None:
    """Return whether the attempt used what its arm offers and nothing else; None if not known."""
    if attempt.status != COMPLETED:
        return None
    if any(turn.get("sideCosts") for turn in attempt.turns):
        return any(turn["sideCosts"]["calls"] for turn in attempt.turns) == bool(arm.side_costs)
    evidence = [turn.get("treatmentEvidence") for turn in attempt.turns]
    if any(evidence):
        return _shown(evidence)
    calls = [turn.get("mcpToolCalls") for turn in attempt.turns]
    if None in calls:
        return None
    return any(calls) == bool(arm.mcp_servers or arm.registration)


def _shown(evidence: Iterable[Mapping[str, Any] | None]) -> bool | None:
    """Return whether what was watched fits the arm of a provider command; None if nothing was."""
    found = [each or {} for each in evidence]
    if not all(each.get("watched") or "handoffBytes" in each for each in found):
        return None
    return not any(each["problems"] for each in found)


def warmth(attempt: Attempt) -> Fraction | None:
    """Return the share of the attempt's prompt tokens that were read from a cache."""
    total, cached = _count(attempt, INPUT), _count(attempt, FIELDS["cache_read_input_tokens"])
    return Fraction(cached, total) if total and cached is not None else None


def _count(attempt: Attempt, names: tuple[str, ...]) -> int | None:
    if attempt.status != COMPLETED:
        return None
    if names[0].endswith("Tokens") and not all(turn["usageComplete"] for turn in attempt.turns):
        return None
    counts = [count for turn in attempt.turns for count in _counts(turn, names)]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _counts(turn: Mapping[str, Any], names: tuple[str, ...]) -> list[int | None]:
    """Return the counts of a turn; of all input the one count of who counts no parts of it."""
    if names == INPUT and turn.get(TOTAL_INPUT) is not None:
        return [turn[TOTAL_INPUT]]
    return [turn.get(name) for name in names]


def _amount(turn: Mapping[str, Any], *names: str) -> Decimal | None:
    found = next((turn[name] for name in names if turn.get(name) is not None), None)
    return None if found is None else Decimal(found)


def _product(turn: Mapping[str, Any]) -> Decimal | None:
    """Return what the arm's product spent in a turn; calls of unknown cost at their soft cap."""
    side = turn.get("sideCosts")
    return Decimal(side["chargedUsd"]) if side else Decimal(0)


def _checked(attempt: Attempt) -> Grade | None:
    """Return the grade by a hidden checker, None where none looked after the last turn."""
    said = attempt.lines[-1].fields["observation"].get("checker") if attempt.lines else None
    if said is None:
        return None
    if said["passed"] is None:
        return Grade(NOT_CHECKED, None, said["problem"])
    return CORRECT if said["passed"] else INCORRECT


def _sum(amounts: list[Decimal | None]) -> Decimal | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known, Decimal(0)) if len(known) == len(amounts) else None


def _both(one: bool | None, other: bool | None) -> bool | None:  # noqa: FBT001 - two answers
    if one is None or other is None:
        return False if False in {one, other} else None
    return one and other
