"""The rows that statistics and verdicts are made of: one planned pair, one endpoint, two arms.

A value that was not measured is None, or ``Missing`` where bounds of it are known. Nothing is
ever filled in: a pair with a missing value is no complete pair, and is bounded, not guessed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from agent_trials.results.numbers import Number, exact, mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from fractions import Fraction


@dataclass(frozen=True)
class Missing:
    """A value that was not measured, with the bounds that are known of it (in its own unit)."""

    lower: Number | None = None
    upper: Number | None = None


Value: TypeAlias = Number | Missing | None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One planned pair at one endpoint.

    ``repetition`` counts from 1, ``pair`` from 0 over the phase. ``treatment_first`` tells the
    order inside the pair, ``delivered`` whether the treatment was really used in it, and the
    warmths are the shares (0 to 1) of each attempt's prompt tokens that were read from a cache;
    None stands for not known. ``run`` is False for a pair that a stop left undone.
    """

    task: str
    repetition: int
    pair: int
    control: Value
    treatment: Value
    run: bool = True
    treatment_first: bool | None = None
    delivered: bool | None = None
    control_warmth: Number | None = None
    treatment_warmth: Number | None = None

    def swapped(self) -> Row:
        """Return the row with the two arms exchanged."""
        return replace(
            self,
            control=self.treatment,
            treatment=self.control,
            treatment_first=None if self.treatment_first is None else not self.treatment_first,
            control_warmth=self.treatment_warmth,
            treatment_warmth=self.control_warmth,
        )


@dataclass(frozen=True)
class Difference:
    """Treatment minus control of one complete pair, in the endpoint's unit (or as a log ratio)."""

    task: str
    amount: Fraction
    row: Row


def measured(value: Value) -> Fraction | None:
    """Return the value exactly, None where it was not measured."""
    return None if value is None or isinstance(value, Missing) else exact(value)


def is_measured(value: Value) -> bool:
    """Return whether there is a value."""
    return value is not None and not isinstance(value, Missing)


def differences(rows: Iterable[Row]) -> tuple[Difference, ...]:
    """Return treatment minus control of every complete pair, in the order of the rows."""
    found = []
    for row in rows:
        control, treatment = measured(row.control), measured(row.treatment)
        if control is not None and treatment is not None:
            found.append(Difference(row.task, treatment - control, row))
    return tuple(found)


def log_ratios(rows: Iterable[Row]) -> tuple[Difference, ...] | None:
    """Return the natural logarithm of treatment by control of every complete pair.

    None if a complete pair holds a value that is not above zero: it has no logarithm, and
    leaving it out would drop a pair. Each logarithm is rounded to 6 significant digits.
    """
    found = []
    for row in rows:
        control, treatment = measured(row.control), measured(row.treatment)
        if control is None or treatment is None:
            continue
        if control.numerator <= 0 or treatment.numerator <= 0:
            return None
        # Two logarithms, so that exchanging the arms negates the difference exactly.
        found.append(Difference(row.task, exact(math.log(treatment) - math.log(control)), row))
    return tuple(found)


def by_task(pairs: Iterable[Difference]) -> dict[str, tuple[Fraction, ...]]:
    """Return the amounts of each task, tasks by name."""
    grouped: defaultdict[str, list[Fraction]] = defaultdict(list)
    for pair in pairs:
        grouped[pair.task].append(pair.amount)
    return {task: tuple(grouped[task]) for task in sorted(grouped)}


def task_means(pairs: Iterable[Difference]) -> dict[str, Fraction]:
    """Return each task's mean pair difference, tasks by name: the unit of every inference."""
    return {task: _mean(amounts) for task, amounts in by_task(pairs).items()}


def exactly(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return the rows with every measured value as a fraction, so that it is read once."""
    return tuple(
        replace(row, control=_exactly(row.control), treatment=_exactly(row.treatment))
        for row in rows
    )


def tasks_of(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return the names of the rows' tasks, sorted."""
    return tuple(sorted({row.task for row in rows}))


def swapped(rows: Mapping[str, Iterable[Row]]) -> dict[str, tuple[Row, ...]]:
    """Return the rows of every endpoint with the two arms exchanged."""
    return {endpoint: tuple(row.swapped() for row in of) for endpoint, of in rows.items()}


def _exactly(value: Value) -> Value:
    known = measured(value)
    return value if known is None else known


def _mean(amounts: tuple[Fraction, ...]) -> Fraction:
    found = mean(amounts)
    if found is None:
        raise RuntimeError("the mean of no amounts")
    return found
