"""What the plots of a report show, as plain numbers, each with its text alternative.

Numbers become floats here and here alone, for drawing; nothing reads them back.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.results.report_figures import UNITS
from agent_trials.results.rows import measured
from agent_trials.results.rows_from_ledger import value
from agent_trials.study.phases import phase_arms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_trials.records import Cell
    from agent_trials.results.record import Moment, Record
    from agent_trials.results.rows_from_ledger import Grade

MOST_MOMENTS = 400
MOST_RUNS = 4


@dataclass(frozen=True)
class Differences:
    """The mean difference in each task at one endpoint, smallest first."""

    control: str
    treatment: str
    unit: str
    tasks: tuple[str, ...]
    amounts: tuple[float, ...]
    mean: float
    lower: float | None
    upper: float | None
    alternative: str


@dataclass(frozen=True)
class Distributions:
    """The values of one endpoint in each arm."""

    unit: str
    arms: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    medians: tuple[float | None, ...]
    alternative: str


@dataclass(frozen=True)
class SpendOfRun:
    """Money over the minutes of a run, USD; ``set_aside`` is spent, reserved and held together."""

    number: int
    minutes: tuple[float, ...]
    spent: tuple[float, ...]
    set_aside: tuple[float, ...]
    cap: float


@dataclass(frozen=True)
class Spend:
    """Money over time in each run."""

    runs: tuple[SpendOfRun, ...]
    alternative: str


@dataclass(frozen=True)
class Outcomes:
    """For each arm, how many attempts of each task came to each outcome."""

    tasks: tuple[str, ...]
    arms: tuple[str, ...]
    counts: tuple[Mapping[str, tuple[int, ...]], ...]
    alternative: str


def differences(comparison: Mapping[str, Any], endpoint: Mapping[str, Any]) -> Differences | None:
    """Return what the plot of an endpoint's paired differences shows; None of no complete pair."""
    if endpoint["mean"] is None:
        return None
    by_task = sorted((float(amount), task) for task, amount in endpoint["byTask"].items())
    interval = endpoint["interval"]
    bounds = (
        "no interval: " + interval["reason"]
        if "reason" in interval
        else f"interval {interval['lower']} to {interval['upper']}"
    )
    ends = f"from {by_task[0][1]} ({by_task[0][0]:g}) to {by_task[-1][1]} ({by_task[-1][0]:g})"
    return Differences(
        control=comparison["control"],
        treatment=comparison["treatment"],
        unit=endpoint["unit"],
        tasks=tuple(task for _, task in by_task),
        amounts=tuple(amount for amount, _ in by_task),
        mean=float(endpoint["mean"]),
        lower=float(interval["lower"]) if "lower" in interval else None,
        upper=float(interval["upper"]) if "upper" in interval else None,
        alternative=(
            f"{endpoint['label']}: {comparison['treatment']} minus {comparison['control']} in"
            f" {len(by_task)} tasks, {ends}; mean {endpoint['mean']}, {bounds}"
        ),
    )


def distributions(
    record: Record, graded: Mapping[Cell, Grade], endpoint: Mapping[str, Any]
) -> Distributions:
    """Return what the plot of an endpoint's values shows."""
    name, arms = endpoint["endpoint"], tuple(endpoint["arms"])
    values = tuple(
        tuple(
            float(known)
            for each in record.attempts
            if each.cell.arm == arm
            and (known := measured(value(each, name, graded.get(each.cell)))) is not None
        )
        for arm in arms
    )
    medians = [endpoint["arms"][arm]["median"] for arm in arms]
    said = "; ".join(_spread(arm, endpoint["arms"][arm]) for arm in arms)
    return Distributions(
        unit=UNITS.get(name, "count"),
        arms=arms,
        values=values,
        medians=tuple(None if median is None else float(median) for median in medians),
        alternative=f"{endpoint['label']} ({endpoint['unit']}). {said}",
    )


def spend(record: Record) -> Spend:
    """Return what the plot of money over time shows, the latest runs if there are many."""
    by_run = [list(of) for _, of in groupby(record.moments, key=lambda each: each.run)]
    runs = tuple(_of_run(moments) for moments in by_run[-MOST_RUNS:])
    totals = record.summary.totals
    return Spend(
        runs=runs,
        alternative=(
            f"{money.text(totals.spent)} USD spent and {money.text(totals.reserved)} reserved at"
            f" the end, {money.text(totals.prior)} in prior ledgers, cap {money.text(totals.cap)}"
            " USD"
        ),
    )


def outcomes(record: Record, attempts: Sequence[Mapping[str, Any]]) -> Outcomes:
    """Return what the plot of outcomes shows: grades where there are any, else statuses."""
    tasks = tuple(dict.fromkeys(each["task"] for each in attempts))
    manifest = record.frozen.manifest
    arms = tuple(dict.fromkeys(each["arm"] for each in attempts))
    if manifest:
        arms = tuple(arm.id for arm in phase_arms(manifest, record.opening["phase"]))
    names = sorted({_outcome(each) for each in attempts}, key=_rank)
    place = {task: at for at, task in enumerate(tasks)}
    counts: dict[str, dict[str, list[int]]] = {
        arm: {name: [0] * len(tasks) for name in names} for arm in arms
    }
    for each in attempts:
        counts[each["arm"]][_outcome(each)][place[each["task"]]] += 1
    return Outcomes(
        tasks=tasks,
        arms=arms,
        counts=tuple({n: tuple(of) for n, of in counts[arm].items()} for arm in arms),
        alternative="; ".join(_totals(arm, counts[arm]) for arm in arms),
    )


def _of_run(moments: Sequence[Moment]) -> SpendOfRun:
    kept = list(_thinned(moments))
    began = datetime.fromisoformat(moments[0].at)
    return SpendOfRun(
        number=moments[0].run,
        minutes=tuple(
            (datetime.fromisoformat(each.at) - began).total_seconds() / 60 for each in kept
        ),
        spent=tuple(float(each.spent) for each in kept),
        set_aside=tuple(float(each.spent + each.reserved + each.held) for each in kept),
        cap=float(moments[-1].cap),
    )


def _thinned(moments: Sequence[Moment]) -> Iterator[Moment]:
    """Yield every n-th moment and the last: a plot has no room for more."""
    step = -(-len(moments) // MOST_MOMENTS)
    yield from moments[:-1:step]
    yield moments[-1]


def _spread(arm: str, of: Mapping[str, Any]) -> str:
    if not of["measured"]:
        return f"{arm}: nothing measured, {of['missing']} missing"
    ends = f"from {of['least']} to {of['most']}"
    return (
        f"{arm}: {of['measured']} measured {ends}, median {of['median']}, {of['missing']} missing"
    )


def _outcome(attempt: Mapping[str, Any]) -> str:
    grade, status = attempt["grade"], attempt["status"]
    return str(status if grade is None or status != "completed" else grade)


def _rank(name: str) -> tuple[int, str]:
    order = ("correct", "partial", "incorrect", "incomplete", "completed", "pending")
    return (order.index(name) if name in order else len(order)), name


def _totals(arm: str, counts: Mapping[str, Sequence[int]]) -> str:
    shown = [f"{sum(of)} {name}" for name, of in counts.items() if sum(of)]
    return f"{arm}: {', '.join(shown)}"


Plot = Differences | Distributions | Spend | Outcomes
