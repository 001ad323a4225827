"""What the arms of a study with reviews came to: passes, cost per correct outcome, drops.

Attempts that were not run are no part of any figure here; how many were planned is said beside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_trials.results.cost import CostOutcome, CostPerCorrect, cost_per_correct
from agent_trials.results.numbers import exact
from agent_trials.results.reviewed import TOKEN_CLASSES, product_cost, run_cost

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from agent_trials.results.numbers import Number
    from agent_trials.results.reviewed import Reviewed


@dataclass(frozen=True, kw_only=True)
class ArmFigures:
    """One arm's figures over the attempts that were run; money is USD.

    ``spent`` is what is known to be spent, ``on_reviews`` the product's part of it, in which
    ``uncosted`` reviews count their soft cap. A sum is None if any of its parts is missing.
    """

    attempts: int
    passes: int
    first_passes: int
    undecided: int
    per_correct: CostPerCorrect
    spent: Fraction
    on_reviews: Fraction
    reviews: int
    uncosted: int
    follow_ups: int
    tokens: Mapping[str, int | None]
    tool_calls: int | None
    wall_ms: int | None


@dataclass(frozen=True)
class Drop:
    """How often an arm lacked a requirement: after its first turn, and in the end."""

    task: str
    requirement: str
    arm: str
    first: int
    final: int


def arm_figures(attempts: Iterable[Reviewed], arm: str, *, soft_cap: Number) -> ArmFigures:
    """Return the figures of one arm; a review without a cost counts ``soft_cap``."""
    of = [each for each in attempts if each.arm == arm and each.turns]
    turns = [turn for each in of for turn in each.turns]
    reviews = [review for each in of for review in each.reviews]
    on_reviews = product_cost(turns, soft_cap)
    per_correct = cost_per_correct(
        CostOutcome(run_cost(each, soft_cap), each.passed) for each in of
    )
    return ArmFigures(
        attempts=len(of),
        passes=sum(each.passed is True for each in of),
        first_passes=sum(each.passed_first is True for each in of),
        undecided=sum(each.passed is None for each in of),
        per_correct=per_correct,
        spent=sum((exact(turn.cost or 0) for turn in turns), on_reviews),
        on_reviews=on_reviews,
        reviews=len(reviews),
        uncosted=sum(review.cost is None for review in reviews),
        follow_ups=sum(len(each.turns) - 1 for each in of),
        tokens={name: _sum([turn.tokens.get(name) for turn in turns]) for name in TOKEN_CLASSES},
        tool_calls=_sum([turn.tool_calls for turn in turns]),
        wall_ms=_sum([turn.wall_ms for turn in turns]),
    )


def drops(attempts: Iterable[Reviewed], arms: Sequence[str]) -> tuple[Drop, ...]:
    """Return a line for each requirement of each task and arm, in the order of the attempts."""
    of = [each for each in attempts if each.turns]
    tasks = {each.task: each.requirements for each in of}
    return tuple(
        Drop(
            task,
            requirement,
            arm,
            first=sum(requirement in each.turns[0].failed for each in _cell(of, task, arm)),
            final=sum(requirement in each.failed for each in _cell(of, task, arm)),
        )
        for task, requirements in tasks.items()
        for requirement in requirements
        for arm in arms
    )


def _cell(attempts: Iterable[Reviewed], task: str, arm: str) -> list[Reviewed]:
    return [each for each in attempts if (each.task, each.arm) == (task, arm)]


def _sum(parts: Iterable[int | None]) -> int | None:
    every = list(parts)
    known = [part for part in every if part is not None]
    return sum(known) if len(known) == len(every) else None
