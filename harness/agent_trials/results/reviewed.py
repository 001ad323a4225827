"""What attempts under review showed: user turns, the agent's stops in them, reviews of a stop.

A **stop** is a moment at which the agent meant to be done; the checker looked at the snapshot that
was taken then. A **review** is what the product under trial said at a stop. Nothing here is
filled in: what was not measured or not decided is None.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from agent_trials.results.numbers import exact

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_trials.results.numbers import Number

TOKEN_CLASSES = (
    "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
)  # fmt: skip


class Judgement(StrEnum):
    """What a review may say of a stop; a product's other words are none of these."""

    CORRECT = "correct"
    """The agent should correct its work."""
    ON_TRACK = "on_track"
    UNKNOWN = "unknown"


class Scope(StrEnum):
    """What a review looked at."""

    WHOLE_REQUEST = "whole-request"
    PRIOR_FEEDBACK = "prior-feedback"


@dataclass(frozen=True, kw_only=True)
class Review:
    """One review of a stop, in the product's own words.

    ``delivered`` tells whether the agent was made to go on. ``goal_ids`` and ``evidence_ids`` are
    what the review cites, the known ones what it was offered to cite. ``cost`` is USD, ``wall_ms``
    its own time.
    """

    judgement: str
    delivered: bool = False
    goal_ids: tuple[str, ...] = ()
    evidence_ids: tuple[str, ...] = ()
    known_goal_ids: frozenset[str] = frozenset()
    known_evidence_ids: frozenset[str] = frozenset()
    reason: str | None = None
    cost: Number | None = None
    wall_ms: int | None = None
    scope: str | None = None

    @property
    def cites_validly(self) -> bool:
        """Return whether it names a goal and evidence, and none that it was not offered."""
        goals, evidence = set(self.goal_ids), set(self.evidence_ids)
        return (
            bool(goals and evidence)
            and goals <= self.known_goal_ids
            and evidence <= self.known_evidence_ids
        )


@dataclass(frozen=True, kw_only=True)
class Stop:
    """One stop; ``failed`` are the requirements that its snapshot lacks.

    ``agent_cost_after`` is what the agent spent at least from here to its next stop (a stream tells
    outputs in part only), ``wall_ms_after`` the time between the two.
    """

    passed: bool | None
    failed: tuple[str, ...] = ()
    review: Review | None = None
    agent_cost_after: Number | None = None
    wall_ms_after: int | None = None


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One user turn: the agent's own cost in it (USD, counted once), and the tree at its end.

    ``extra_reviews`` are reviews at no stop that left a snapshot; they cost all the same.
    ``side_cost`` is what the ledger charged for every call of the product in the turn, USD.
    """

    cost: Number | None
    passed: bool | None
    failed: tuple[str, ...] = ()
    stops: tuple[Stop, ...] = ()
    extra_reviews: tuple[Review, ...] = ()
    side_cost: Number | None = None
    status: str = "completed"
    tokens: Mapping[str, int | None] = field(default_factory=dict)
    tool_calls: int | None = None
    wall_ms: int | None = None

    @property
    def reviews(self) -> tuple[Review, ...]:
        """Return every review of the turn, those of its stops in their order."""
        return (*(stop.review for stop in self.stops if stop.review), *self.extra_reviews)


@dataclass(frozen=True, kw_only=True)
class Reviewed:
    """One attempt: its first turn and, where the checker failed it, the follow-up.

    ``requirements`` are the ids that the task's checker tells apart. An attempt that was refused or
    blocked has no turn.
    """

    task: str
    arm: str
    turns: tuple[Turn, ...]
    requirements: tuple[str, ...] = ()

    @property
    def passed(self) -> bool | None:
        """Return the checker's verdict on the final tree; None where there is none."""
        return self.turns[-1].passed if self.turns else None

    @property
    def passed_first(self) -> bool | None:
        """Return the checker's verdict after the first turn."""
        return self.turns[0].passed if self.turns else None

    @property
    def failed(self) -> tuple[str, ...]:
        """Return the requirements that the final tree lacks."""
        return self.turns[-1].failed if self.turns else ()

    @property
    def reviews(self) -> tuple[Review, ...]:
        """Return every review of the attempt, in order."""
        return tuple(review for turn in self.turns for review in turn.reviews)


def review_cost(reviews: Iterable[Review], soft_cap: Number) -> Fraction:
    """Return what reviews cost, USD; one of unknown cost counts its declared soft cap."""
    costs = (soft_cap if review.cost is None else review.cost for review in reviews)
    return sum(map(exact, costs), Fraction(0))


def product_cost(turns: Iterable[Turn], soft_cap: Number) -> Fraction:
    """Return what the product spent in turns, USD.

    The larger of two sums holds in each: a call may cost and bring no review, a review may come
    without the event of its cost, and where the product's events were withheld the charge remains.
    """
    return sum(
        (max(exact(turn.side_cost or 0), review_cost(turn.reviews, soft_cap)) for turn in turns),
        Fraction(0),
    )


def run_cost(attempt: Reviewed, soft_cap: Number) -> Fraction | None:
    """Return what the attempt cost, USD: every turn of the agent and every call of the product.

    None if it was not run, or if a turn's cost was not measured.
    """
    costs = [turn.cost for turn in attempt.turns]
    known = [exact(cost) for cost in costs if cost is not None]
    if not costs or len(known) < len(costs):
        return None
    return sum(known, Fraction(0)) + product_cost(attempt.turns, soft_cap)
