"""What reviews did: repairs to their credit, needless and harmful interventions, misses.

Rules, each with one function:
    credited       in one user turn a stop fails, its review asks for a correction with valid goal
                   and evidence ids, the agent was made to go on, and a later stop of it passes
    unnecessary    the agent was made to go on at a stop that passes already
    harmful        unnecessary, and the final tree fails
    missed         a stop fails and its review says on_track or unknown
    looked again   whether an attempt's second review took in the whole request once more
What a follow-up of the user's repaired is nobody's credit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_trials.results.reviewed import Judgement, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_trials.results.numbers import Number
    from agent_trials.results.reviewed import Review, Reviewed, Stop

SECOND = 2


@dataclass(frozen=True, kw_only=True)
class Intervention:
    """A stop and its review; turn and stop count from 1.

    The costs (USD) are the review's and what the agent spent at least from this stop to its next.
    """

    task: str
    arm: str
    turn: int
    stop: int
    reason: str | None
    failed: tuple[str, ...] = ()
    harmful: bool | None = False
    review_cost: Number | None = None
    agent_cost: Number | None = None
    review_wall_ms: int | None = None
    agent_wall_ms: int | None = None


def credited(attempts: Iterable[Reviewed]) -> tuple[Intervention, ...]:
    """Return the repairs that are a review's credit, one for each stop that was made to pass."""
    return tuple(
        repair
        for attempt in attempts
        for number, turn in enumerate(attempt.turns, 1)
        for repair in _repairs(attempt, number, turn.stops)
    )


def unnecessary(attempts: Iterable[Reviewed]) -> tuple[Intervention, ...]:
    """Return the interventions at a stop that passed; harmful is None while the end is open."""
    return tuple(
        _intervention(attempt, turn, at, stop, review)
        for attempt, turn, at, stop, review in _reviewed_stops(attempts)
        if stop.passed is True and review.delivered
    )


def missed(attempts: Iterable[Reviewed]) -> tuple[Intervention, ...]:
    """Return the failing stops that a review let pass."""
    return tuple(
        _intervention(attempt, turn, at, stop, review)
        for attempt, turn, at, stop, review in _reviewed_stops(attempts)
        if stop.passed is False and review.judgement in {Judgement.ON_TRACK, Judgement.UNKNOWN}
    )


def looked_again(attempt: Reviewed) -> bool | None:
    """Return whether the second review looked at the whole request; None if it cannot be told.

    It is the second one of the same user turn. What the product says of it counts. Where it says
    nothing, the goals that were offered do: all of the first review's, or none but those that it
    had found wanting.
    """
    turn = next((each for each in attempt.turns if len(each.reviews) >= SECOND), None)
    if turn is None:
        return None
    first, second = turn.reviews[:SECOND]
    if second.scope is not None:
        told = {Scope.WHOLE_REQUEST: True, Scope.PRIOR_FEEDBACK: False}
        return told.get(second.scope)  # type: ignore[call-overload, no-any-return] # any word
    if not first.known_goal_ids or not second.known_goal_ids:
        return None
    if second.known_goal_ids >= first.known_goal_ids:
        return True
    return False if second.known_goal_ids <= set(first.goal_ids) else None


def _repairs(attempt: Reviewed, turn: int, stops: tuple[Stop, ...]) -> Iterator[Intervention]:
    earned: Intervention | None = None
    for at, stop in enumerate(stops, 1):
        if stop.passed and earned:
            yield earned
            earned = None
        review = stop.review
        if stop.passed is False and review and _asks_validly(review):
            earned = _intervention(attempt, turn, at, stop, review)


def _asks_validly(review: Review) -> bool:
    return review.judgement == Judgement.CORRECT and review.cites_validly and review.delivered


def _reviewed_stops(
    attempts: Iterable[Reviewed],
) -> Iterator[tuple[Reviewed, int, int, Stop, Review]]:
    for attempt in attempts:
        for number, turn in enumerate(attempt.turns, 1):
            for at, stop in enumerate(turn.stops, 1):
                if stop.review:
                    yield attempt, number, at, stop, stop.review


def _intervention(
    attempt: Reviewed, turn: int, at: int, stop: Stop, review: Review
) -> Intervention:
    return Intervention(
        task=attempt.task,
        arm=attempt.arm,
        turn=turn,
        stop=at,
        reason=review.reason,
        failed=stop.failed,
        harmful=_harmful(attempt, stop, review),
        review_cost=review.cost,
        agent_cost=stop.agent_cost_after,
        review_wall_ms=review.wall_ms,
        agent_wall_ms=stop.wall_ms_after,
    )


def _harmful(attempt: Reviewed, stop: Stop, review: Review) -> bool | None:
    if stop.passed is not True or not review.delivered:
        return False
    return None if attempt.passed is None else not attempt.passed
