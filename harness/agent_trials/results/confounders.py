"""What else could have made the difference: the order inside a pair, and a warm cache.

Both are estimated from the pair differences and shown; neither is used to correct the headline.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_trials.results.hypotheses import SignFlip, sign_flip
from agent_trials.results.numbers import exact, mean, total
from agent_trials.results.rows import Difference, task_means

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

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
    known = [
        (exact(pair.row.control_warmth), exact(pair.row.treatment_warmth), pair.amount)
        for pair in pairs
        if pair.row.control_warmth is not None and pair.row.treatment_warmth is not None
    ]
    warmth = _warmth(tuple((control, treatment) for control, treatment, _ in known))
    line = _line(warmth, [amount for _, _, amount in known])
    reason = None
    if line is None:
        few = len(known) < _FEWEST_FOR_A_SLOPE
        reason = (
            f"{len(known)} pairs with a measured warmth, {_FEWEST_FOR_A_SLOPE} are needed"
            if few
            else "the arms differ in warmth equally in every pair"
        )
    return WarmthEffect(
        pairs=len(known),
        control_warmth=warmth.control,
        treatment_warmth=warmth.treatment,
        slope=line[0] if line else None,
        at_equal_warmth=line[1] if line else None,
        reason=reason,
    )


@dataclass(frozen=True)
class _Warmth:
    """The warmth of both arms in every pair, with the sums that a line takes of its differences."""

    control: Fraction | None
    treatment: Fraction | None
    differences: tuple[Fraction, ...]
    sum: Fraction
    squares: Fraction


@functools.lru_cache(maxsize=2)
def _warmth(points: tuple[tuple[Fraction, Fraction], ...]) -> _Warmth:
    """Return what is the same for every endpoint of the same pairs: its sums are long."""
    differences = tuple(treatment - control for control, treatment in points)
    return _Warmth(
        mean(control for control, _ in points),
        mean(treatment for _, treatment in points),
        differences,
        total(differences),
        total([each * each for each in differences]),
    )


def _line(of: _Warmth, amounts: Sequence[Fraction]) -> tuple[Fraction, Fraction] | None:
    """Return slope and value at zero of the least-squares line; None where there is none."""
    n = len(amounts)
    if n < _FEWEST_FOR_A_SLOPE:
        return None
    spread = n * of.squares - of.sum * of.sum
    if not spread:
        return None
    products = [x * y for x, y in zip(of.differences, amounts, strict=True)]
    sum_y = total(amounts)
    slope = (n * total(products) - of.sum * sum_y) / spread
    return slope, (sum_y - slope * of.sum) / n
