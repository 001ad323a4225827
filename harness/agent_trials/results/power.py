"""What a design can see before money is spent on it: by simulation, from the pilot's variance.

Task means are drawn from a normal distribution with spread 1, and the sign-flip test over tasks is
made of each drawn study, as the verdict makes it. With an effect d (in standard deviations of a
task's mean difference) the two-sided p of a drawn study whose mean is positive is
    2 * (number of subsets of tasks whose mean, drawn values plus d, is not above 0) / 2^t,
the empty subset counting. So each drawn study has one critical effect, minus a low order statistic
of its subset means, from which it is significant: power is the share of critical effects below an
effect, and the smallest detectable effect a percentile of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from agent_trials.results.hypotheses import (
    EXACT_TASKS,
    discordant_floor,
    smallest_sign_flip_p,
)
from agent_trials.results.numbers import Number, exact, mean, nearest_rank, rounded, variance
from agent_trials.results.rows import Difference, by_task, task_means
from agent_trials.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

SIMULATIONS = 2_000
_DRAWN_FLIPS = 4_999
_MOST_AT_ONCE = 4_000_000
_DEFAULT_ALPHA = Decimal("0.05")


@dataclass(frozen=True)
class Spread:
    """How pair differences vary, as standard deviations in the endpoint's unit.

    ``between`` tasks and ``within`` a task over repetitions. Either is None where the pilot cannot
    tell; with one pair a task ``within`` is None and ``between`` holds both, so that more
    repetitions are not taken to help. ``reason`` says what is not known.
    """

    between: Decimal | None
    within: Decimal | None
    tasks: int
    pairs: int
    reason: str | None

    def of_task_mean(self, repetitions: int) -> Decimal | None:
        """Return the standard deviation of a task's mean over so many repetitions."""
        if self.between is None:
            return None
        inside = self.within or Decimal(0)
        return rounded(math.sqrt(self.between**2 + inside**2 / repetitions))


@dataclass(frozen=True)
class Design:
    """What a planned comparison can detect.

    ``standard_effect`` is in standard deviations of a task's mean difference, ``effect`` in the
    endpoint's unit (None without a pilot's spread). Both are None, with a ``reason``, where no
    outcome at all could be significant.
    """

    tasks: int
    repetitions: int
    pairs: int
    alpha: Decimal
    power: Decimal
    smallest_p: Fraction
    discordant_floor: int
    standard_effect: Decimal | None
    effect: Decimal | None
    reason: str | None


def spread(pairs: Iterable[Difference]) -> Spread:
    """Return how a pilot's pair differences vary between tasks and within them.

    One-way analysis of variance: within from the squares about each task's mean, between from the
    variance of the task means less their share of it, at least 0.
    """
    every = tuple(pairs)
    groups = tuple(by_task(every).values())
    freedom = len(every) - len(groups)
    squares = sum(((len(of) - 1) * (variance(of) or Fraction(0)) for of in groups), Fraction(0))
    within = squares / freedom if freedom else None
    of_means = variance(task_means(every).values())
    between: Fraction | None = None
    if of_means is not None:
        shares = mean(Fraction(1, len(of)) for of in groups) or Fraction(0)
        between = max(Fraction(0), of_means - (within or 0) * shares)
    return Spread(
        between=None if between is None else rounded(math.sqrt(between)),
        within=None if within is None else rounded(math.sqrt(within)),
        tasks=len(groups),
        pairs=len(every),
        reason=_unknown(between, within),
    )


def critical_effects(
    tasks: int,
    *,
    alpha: Decimal = _DEFAULT_ALPHA,
    least: Number = 0,
    simulations: int = SIMULATIONS,
    seed: int = 0,
) -> tuple[float, ...] | None:
    """Return for each drawn study the effect from which it is found.

    In standard deviations of a task's mean difference, ascending; None where even the most extreme
    study of so many tasks has a p above alpha. Exact up to 16 tasks, above by drawn subsets.

    Args:
        tasks: how many there are.
        alpha: the level of the two-sided sign-flip test.
        least: what the mean itself must reach besides, in the same unit (a registered
            ``minimum_difference``).
        simulations: how many studies are drawn.
        seed: of the drawing.

    Raises:
        RuntimeError: there is no task.
    """
    if tasks < 1:
        raise RuntimeError(f"a design of {tasks} tasks")
    if smallest_sign_flip_p(tasks) > Fraction(alpha):
        return None
    generator = np.random.Generator(np.random.PCG64(seed))
    drawn = generator.standard_normal((simulations, tasks))
    if tasks <= EXACT_TASKS:
        rank, members = math.floor(Fraction(alpha) * 2 ** (tasks - 1)), _all_subsets(tasks)
    else:
        rank = math.floor(Fraction(alpha) * (_DRAWN_FLIPS + 1))
        members = _drawn_subsets(tasks, generator)
    reached = np.maximum(_critical(drawn, members, rank), float(least) - drawn.mean(axis=1))
    return tuple(sorted(reached.tolist()))


def power(
    effect: Number,
    tasks: int,
    *,
    alpha: Decimal = _DEFAULT_ALPHA,
    simulations: int = SIMULATIONS,
    seed: int = 0,
) -> Fraction:
    """Return the share of studies that find an effect: p at most alpha, in its own direction.

    Args:
        effect: its size, above 0, in standard deviations of a task's mean difference.
        tasks: how many there are.
        alpha: the level of the two-sided sign-flip test.
        simulations: how many studies are drawn.
        seed: of the drawing.
    """
    critical = critical_effects(tasks, alpha=alpha, simulations=simulations, seed=seed)
    if critical is None:
        return Fraction(0)
    size = float(effect)
    return Fraction(sum(one < size for one in critical), len(critical))


def design(
    tasks: int,
    repetitions: int,
    *,
    pilot: Spread | None = None,
    alpha: Decimal = _DEFAULT_ALPHA,
    minimum_difference: Number = 0,
    wanted: int = 80,
    seed: int = 0,
) -> Design:
    """Return what so many tasks and repetitions can detect.

    Args:
        tasks: how many, at least 1.
        repetitions: of each task.
        pilot: how the pilot's pair differences varied.
        alpha: the level of the two-sided sign-flip test.
        minimum_difference: what the rule asks of the mean besides, in the endpoint's unit; it
            counts only where the pilot's spread is known.
        wanted: the power, in per cent.
        seed: of the simulation.
    """
    unit = pilot.of_task_mean(repetitions) if pilot else None
    least = Fraction(exact(minimum_difference), exact(unit)) if unit else 0
    critical = critical_effects(tasks, alpha=alpha, least=least, seed=seed)
    smallest = smallest_sign_flip_p(tasks)
    reason = None
    standard = None
    if critical is None:
        reason = (
            f"with {counted(tasks, 'task')} no p-value is below 2/2^{tasks}, which is above {alpha}"
        )
    else:
        standard = rounded(nearest_rank(critical, wanted) or 0)
        reason = (pilot.reason if pilot else "no pilot") if unit is None else None
    return Design(
        tasks=tasks,
        repetitions=repetitions,
        pairs=tasks * repetitions,
        alpha=alpha,
        power=Decimal(wanted) / 100,
        smallest_p=smallest,
        discordant_floor=discordant_floor(Fraction(alpha)),
        standard_effect=standard,
        effect=None if standard is None or unit is None else rounded(standard * unit),
        reason=reason,
    )


def projected_cost(pilot_costs: Iterable[Number | None], attempts: int) -> Fraction | None:
    """Return what so many attempts cost at the pilot's mean cost, USD; it is no bound.

    None where the pilot has no attempt or one whose cost is missing.
    """
    every = tuple(pilot_costs)
    known = [exact(cost) for cost in every if cost is not None]
    average = mean(known)
    return None if average is None or len(known) < len(every) else average * attempts


def _unknown(between: Fraction | None, within: Fraction | None) -> str | None:
    if between is None:
        return "the pilot has fewer than two tasks: how tasks differ is not known"
    if within is None:
        return "the pilot has one pair a task: repetitions are not taken to help"
    return None


def _all_subsets(tasks: int) -> NDArray[np.float64]:
    """Return the members (0 or 1) of every subset but the empty one, one column each."""
    numbers = np.arange(1, 2**tasks)
    return (numbers >> np.arange(tasks)[:, None] & 1).astype(np.float64)


def _drawn_subsets(tasks: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return the members of drawn subsets and of what each leaves, one column each."""
    half = generator.integers(0, 2, (tasks, _DRAWN_FLIPS)).astype(np.float64)
    both = np.concatenate([half, 1 - half], axis=1)
    return both[:, both.any(axis=0)]


def _critical(
    drawn: NDArray[np.float64], members: NDArray[np.float64], rank: int
) -> NDArray[np.float64]:
    """Return minus the rank-th lowest subset mean of each drawn study, rank counted from 1."""
    means_of = members / members.sum(axis=0)
    rows = max(1, _MOST_AT_ONCE // members.shape[1])
    found = np.empty(len(drawn))
    for start in range(0, len(drawn), rows):
        subset_means = drawn[start : start + rows] @ means_of
        lowest = np.partition(subset_means, rank - 1, axis=1)[:, rank - 1]
        found[start : start + rows] = -lowest
    return found
