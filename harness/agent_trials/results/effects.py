"""How large the paired difference is, in both views: all planned pairs, and as delivered.

The task is the unit and repetitions are nested in it: the headline is the mean over tasks of each
task's mean pair difference, so that a task with more complete pairs does not weigh more. The mean
over pairs stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from agent_trials.results.numbers import exact, mean, median, total
from agent_trials.results.rates import Rate, wilson
from agent_trials.results.rows import (
    Difference,
    Missing,
    Row,
    Value,
    differences,
    is_measured,
    measured,
    task_means,
    tasks_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_trials.results.numbers import Number


@dataclass(frozen=True)
class PairedDifference:
    """Treatment minus control over complete pairs, in the endpoint's unit.

    ``mean`` is the headline, over tasks; ``pair_mean`` and ``median`` are over pairs, and
    ``task_median`` is over the tasks' means. All of them are None when no pair is complete.
    """

    pairs: int
    tasks: int
    mean: Fraction | None
    pair_mean: Fraction | None
    median: Fraction | None
    task_median: Fraction | None
    by_task: Mapping[str, Fraction]


@dataclass(frozen=True)
class Bounds:
    """How far the headline could move if every missing value had been measured.

    Every planned pair counts, missing values at their least and at their most. ``lower`` or
    ``upper`` is None where a missing value has no bound on that side: then nothing is known
    there, and no comparison may take it for a small or a large number.
    """

    pairs: int
    tasks: int
    missing_control: int
    missing_treatment: int
    lower: Fraction | None
    upper: Fraction | None


@dataclass(frozen=True)
class Delivered:
    """The pairs in which the treatment was really used, beside how often that was.

    ``adoption`` is over the pairs whose delivery is known, ``unknown`` counts the others. Which
    pairs these are was not assigned by chance: the view describes, it does not decide.
    """

    difference: PairedDifference
    adoption: Rate
    unknown: int


def summarise(pairs: Iterable[Difference]) -> PairedDifference:
    """Return mean and median over tasks and over pairs."""
    every = tuple(pairs)
    of_tasks = task_means(every)
    return PairedDifference(
        pairs=len(every),
        tasks=len(of_tasks),
        mean=mean(of_tasks.values()),
        pair_mean=mean(pair.amount for pair in every),
        median=median(pair.amount for pair in every),
        task_median=median(of_tasks.values()),
        by_task=of_tasks,
    )


def paired_difference(rows: Iterable[Row]) -> PairedDifference:
    """Return the difference over the complete pairs of the rows."""
    return summarise(differences(rows))


def bound(
    rows: Iterable[Row],
    least: Number | None = 0,
    most: Number | None = None,
    *,
    pairs: Iterable[Difference] | None = None,
) -> Bounds:
    """Return the headline over all planned pairs with missing values bounded from both sides.

    Args:
        rows: every planned pair.
        least: what no value can be below, in the endpoint's unit; None where there is no limit.
        most: what no value can be above (1 for correctness); None where there is no limit.
        pairs: the rows' differences, where they were made before.
    """
    planned = tuple(rows)
    missing_control = sum(not is_measured(row.control) for row in planned)
    missing_treatment = sum(not is_measured(row.treatment) for row in planned)
    if not missing_control and not missing_treatment:
        known = mean(task_means(differences(planned) if pairs is None else pairs).values())
        return Bounds(len(planned), len(tasks_of(planned)), 0, 0, known, known)
    ranges = [
        (row.task, _range(row.control, least, most), _range(row.treatment, least, most))
        for row in planned
    ]
    return Bounds(
        pairs=len(planned),
        tasks=len(tasks_of(planned)),
        missing_control=missing_control,
        missing_treatment=missing_treatment,
        lower=_over_tasks([(task, _less(new[0], old[1])) for task, old, new in ranges]),
        upper=_over_tasks([(task, _less(new[1], old[0])) for task, old, new in ranges]),
    )


def as_delivered(rows: Iterable[Row], *, pairs: Iterable[Difference] | None = None) -> Delivered:
    """Return the difference over the complete pairs in which the treatment was used.

    ``pairs`` are the rows' differences, where they were made before.
    """
    every = tuple(rows)
    known = [row for row in every if row.delivered is not None]
    made = differences(every) if pairs is None else pairs
    return Delivered(
        difference=summarise(pair for pair in made if pair.row.delivered),
        adoption=wilson(sum(row.delivered is True for row in known), len(known)),
        unknown=len(every) - len(known),
    )


_Range = tuple[Fraction | None, Fraction | None]


def _range(value: Value, least: Number | None, most: Number | None) -> _Range:
    known = measured(value)
    if known is not None:
        return known, known
    if isinstance(value, Missing):
        least = least if value.lower is None else value.lower
        most = most if value.upper is None else value.upper
    return (None if least is None else exact(least)), (None if most is None else exact(most))


def _less(value: Fraction | None, subtracted: Fraction | None) -> Fraction | None:
    return None if value is None or subtracted is None else value - subtracted


def _over_tasks(amounts: list[tuple[str, Fraction | None]]) -> Fraction | None:
    of_task: dict[str, list[Fraction]] = {}
    for task, amount in amounts:
        if amount is None:
            return None
        of_task.setdefault(task, []).append(amount)
    return mean(total(some) / len(some) for some in of_task.values())
