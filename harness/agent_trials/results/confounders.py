"""What else could have made the difference: the order inside a pair, and a warm cache.

Both are estimated from the pair differences and shown; neither is used to correct the headline.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from agent_trials.results.hypotheses import SignFlip, sign_flip
from agent_trials.results.numbers import exact, mean
from agent_trials.results.rows import Difference, task_means

if TYPE_CHECKING:
    from collections.abc import Iterable

_FEWEST_FOR_A_SLOPE = 3


@dataclass(frozen=True)
class PositionEffect:
    """What running second, after the other arm, adds to a value (in the endpoint's unit).

    ``treatment_first`` and ``treatment_second`` are the mean over tasks of each task's mean
    difference in pairs of that order. With an effect of the treatment T and of running second S
    the first is T - S and the second T + S: ``effect`` is half of their difference, ``balanced``
    (T with both orders weighing the same) half of their sum. All are None where an order is
    missing. ``test`` is over the tasks that have pairs of both orders.
    """

    pairs_first: int
    pairs_second: int
    treatment_first: Fraction | None
    treatment_second: Fraction | None
    effect: Fraction | None
    balanced: Fraction | None
    tasks_with_both: int
    test: SignFlip | None


@dataclass(frozen=True)
class WarmthEffect:
    """How the difference goes with the difference in cache warmth (shares of prompt tokens).

    ``slope`` is the least-squares change of the pair difference for a treatment whose prompt was
    read wholly from the cache against a control's that was not at all; ``at_equal_warmth`` is the
    line's value where both arms are equally warm. Both are None, with a ``reason``, where fewer
    than three pairs have their warmth measured or all of them the same.
    """

    pairs: int
    control_warmth: Fraction | None
    treatment_warmth: Fraction | None
    slope: Fraction | None
    at_equal_warmth: Fraction | None
    reason: str | None


def position_effect(pairs: Iterable[Difference], *, seed: int = 0) -> PositionEffect:
    """Return the estimated effect of running second; pairs of unknown order are left out."""
    ordered = [pair for pair in pairs if pair.row.treatment_first is not None]
    ahead = [pair for pair in ordered if pair.row.treatment_first]
    behind = [pair for pair in ordered if not pair.row.treatment_first]
    of_ahead, of_behind = task_means(ahead), task_means(behind)
    first, second = mean(of_ahead.values()), mean(of_behind.values())
    both = None if first is None or second is None else (first, second)
    contrasts = [of_behind[task] - of_ahead[task] for task in of_ahead if task in of_behind]
    return PositionEffect(
        pairs_first=len(ahead),
        pairs_second=len(behind),
        treatment_first=first,
        treatment_second=second,
        effect=(both[1] - both[0]) / 2 if both else None,
        balanced=(both[1] + both[0]) / 2 if both else None,
        tasks_with_both=len(contrasts),
        test=sign_flip(contrasts, seed=seed),
    )


def warmth_effect(pairs: Iterable[Difference]) -> WarmthEffect:
    """Return how the pair differences go with cache warmth; pairs without a warmth are left out."""
    points = [
        (exact(pair.row.control_warmth), exact(pair.row.treatment_warmth), pair.amount)
        for pair in pairs
        if pair.row.control_warmth is not None and pair.row.treatment_warmth is not None
    ]
    line = _line([(treatment - control, amount) for control, treatment, amount in points])
    reason = None
    if line is None:
        few = len(points) < _FEWEST_FOR_A_SLOPE
        reason = (
            f"{len(points)} pairs with a measured warmth, {_FEWEST_FOR_A_SLOPE} are needed"
            if few
            else "the arms differ in warmth equally in every pair"
        )
    return WarmthEffect(
        pairs=len(points),
        control_warmth=mean(control for control, _, _ in points),
        treatment_warmth=mean(treatment for _, treatment, _ in points),
        slope=line[0] if line else None,
        at_equal_warmth=line[1] if line else None,
        reason=reason,
    )


def _line(points: list[tuple[Fraction, Fraction]]) -> tuple[Fraction, Fraction] | None:
    if len(points) < _FEWEST_FOR_A_SLOPE:
        return None
    centre_x = sum((x for x, _ in points), Fraction(0)) / len(points)
    centre_y = sum((y for _, y in points), Fraction(0)) / len(points)
    spread = sum(((x - centre_x) ** 2 for x, _ in points), Fraction(0))
    if not spread:
        return None
    slope = sum(((x - centre_x) * (y - centre_y) for x, y in points), Fraction(0)) / spread
    return slope, centre_y - slope * centre_x
