"""Cost per correct outcome as a tagged figure: nothing unknown ever compares as better.

Every known cost is summed, whatever the status of its attempt, and divided by the number of
correct outcomes. The first of these tags that applies stands beside the figure:
    missing      no attempt, no known cost at all, or an outcome that is still to be graded
    infinite     no correct outcome
    lower-bound  a cost is not known: the true figure is larger
    known        none of these
There is no bare infinity and no null: a comparison holds, fails, or is not possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from agent_trials.results.numbers import exact, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_trials.results.numbers import Number


class Tag(StrEnum):
    """What is known of a cost per correct outcome."""

    MISSING = "missing"
    INFINITE = "infinite"
    LOWER_BOUND = "lower-bound"
    KNOWN = "known"


class Comparison(StrEnum):
    """Whether a threshold holds."""

    HOLDS = "holds"
    FAILS = "fails"
    NOT_COMPARABLE = "not-comparable"


@dataclass(frozen=True)
class CostOutcome:
    """One attempt: its cost in USD (None = not measured) and whether it was correct.

    ``correct`` is None only while the outcome is pending. A blocked attempt has no outcome to wait
    for: it is not correct, and what it cost counts.
    """

    cost: Number | None
    correct: bool | None


@dataclass(frozen=True)
class CostPerCorrect:
    """A tagged figure; ``amount`` (USD) is there for ``known`` and ``lower-bound`` alone."""

    tag: Tag
    amount: Fraction | None
    known_cost: Fraction
    missing_costs: int
    correct: int
    attempts: int

    def __str__(self) -> str:
        """Return the figure as a reader sees it: ``0.0125``, ``at least 0.0125``, or the tag."""
        if self.amount is None:
            return self.tag.value
        return f"at least {text(self.amount)}" if self.tag is Tag.LOWER_BOUND else text(self.amount)


def cost_per_correct(attempts: Iterable[CostOutcome]) -> CostPerCorrect:
    """Return the known costs of one arm by its correct outcomes, tagged."""
    every = tuple(attempts)
    costs = [exact(attempt.cost) for attempt in every if attempt.cost is not None]
    spent, missing = sum(costs, Fraction(0)), len(every) - len(costs)
    correct = sum(attempt.correct is True for attempt in every)
    tag = _tag(
        measurable=bool(costs) and all(attempt.correct is not None for attempt in every),
        correct=correct,
        missing=missing,
    )
    amount = spent / correct if tag in {Tag.KNOWN, Tag.LOWER_BOUND} else None
    return CostPerCorrect(tag, amount, spent, missing, correct, len(every))


def at_most(one: CostPerCorrect, other: CostPerCorrect, factor: Number = 1) -> Comparison:
    """Return whether ``one <= factor * other``, as far as the tags let it be known.

    A missing figure and two infinite ones are not comparable, so that no threshold holds. Where a
    figure is a lower bound, the comparison counts only if every larger value gives the same.
    """
    tags = (one.tag, other.tag)
    if Tag.MISSING in tags or tags == (Tag.INFINITE, Tag.INFINITE):
        return Comparison.NOT_COMPARABLE
    if one.amount is None:
        return Comparison.FAILS
    if other.amount is None:
        return Comparison.HOLDS
    holds = one.amount <= exact(factor) * other.amount
    if holds and one.tag is Tag.KNOWN:
        return Comparison.HOLDS
    if not holds and other.tag is Tag.KNOWN:
        return Comparison.FAILS
    return Comparison.NOT_COMPARABLE


def ratio(one: CostPerCorrect, other: CostPerCorrect) -> Fraction | None:
    """Return ``one / other`` where both are known and the second is above zero, else None."""
    if one.tag is not Tag.KNOWN or other.tag is not Tag.KNOWN:
        return None
    return one.amount / other.amount if one.amount is not None and other.amount else None


def _tag(*, measurable: bool, correct: int, missing: int) -> Tag:
    if not measurable:
        return Tag.MISSING
    if not correct:
        return Tag.INFINITE
    return Tag.LOWER_BOUND if missing else Tag.KNOWN
