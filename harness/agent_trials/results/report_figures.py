"""One endpoint's analysis, and one arm's attempts, as plain JSON: counts whole, the rest text.

A figure that was not measured is null; one that cannot be had stands as ``{"reason": ...}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_trials.results.cost import CostOutcome, cost_per_correct
from agent_trials.results.numbers import Number, ascending, mean, median, nearest_rank, text
from agent_trials.results.rates import planned_and_scored
from agent_trials.results.record import Fate
from agent_trials.results.rows import Missing, measured
from agent_trials.results.rows_from_ledger import cost
from agent_trials.results.statistics import Interval, NoInterval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_trials.records import Cell
    from agent_trials.results.analysis import Analysis
    from agent_trials.results.confounders import PositionEffect, WarmthEffect
    from agent_trials.results.hypotheses import McNemar, SignFlip
    from agent_trials.results.rates import Rate
    from agent_trials.results.record import Attempt
    from agent_trials.results.rows import Row, Value
    from agent_trials.results.rows_from_ledger import Grade

UNITS = {
    "correctness": "score from 0 to 1",
    "resolved": "1 or 0",
    "cost_usd": "USD",
    "wall_time_ms": "milliseconds",
}
LABELS = {
    "correctness": "Correctness",
    "resolved": "Resolved",
    "cost_usd": "Cost",
    "total_input_tokens": "Total input tokens",
    "input_tokens": "Uncached input tokens",
    "output_tokens": "Output tokens",
    "cache_read_input_tokens": "Cache reads",
    "cache_creation_input_tokens": "Cache writes",
    "tool_calls": "Tool calls",
    "wall_time_ms": "Wall time",
    "turns": "Turns",
}


def endpoint(found: Analysis, *, p_values: bool) -> dict[str, Any]:
    """Return everything that is said of an endpoint; without p-values no test is named at all."""
    difference = found.difference
    figures = {
        "endpoint": found.endpoint,
        "label": LABELS.get(found.endpoint, found.endpoint),
        "unit": UNITS.get(found.endpoint, "count"),
        "standing": found.standing.value,
        "pairs": difference.pairs,
        "tasks": difference.tasks,
        "mean": shown(difference.mean),
        "pairMean": shown(difference.pair_mean),
        "median": shown(difference.median),
        "taskMedian": shown(difference.task_median),
        "byTask": {task: text(amount) for task, amount in difference.by_task.items()},
        "interval": _interval(found.interval),
        "ratio": {
            "ratio": shown(found.ratio.ratio),
            "interval": _interval(found.ratio.interval),
            "reason": found.ratio.reason,
        },
        "bounds": {
            "pairs": found.bounds.pairs,
            "missingControl": found.bounds.missing_control,
            "missingTreatment": found.bounds.missing_treatment,
            "lower": shown(found.bounds.lower),
            "upper": shown(found.bounds.upper),
        },
        "delivered": {
            "pairs": found.delivered.difference.pairs,
            "mean": shown(found.delivered.difference.mean),
            "adoption": rate(found.delivered.adoption),
            "unknown": found.delivered.unknown,
        },
        "position": _position(found.position, p_values=p_values),
        "warmth": _warmth(found.warmth),
    }
    if p_values:
        figures["signFlip"] = _sign_flip(found.sign_flip)
        figures["mcnemar"] = _mcnemar(found.mcnemar)
        figures["holmP"] = shown(found.holm_p)
    return figures


def rate(found: Rate) -> dict[str, Any]:
    """Return counts, rate and Wilson interval."""
    return {
        "successes": found.successes,
        "trials": found.trials,
        "rate": shown(found.rate),
        "lower": shown(found.lower),
        "upper": shown(found.upper),
    }


def arm(attempts: Iterable[Attempt], grades: Mapping[Cell, Grade]) -> dict[str, Any]:
    """Return how many answers of an arm are correct, and what a correct one costs."""
    every = tuple(attempts)
    graded = [grades.get(each.cell) for each in every]
    right = [
        None if grade is None or grade.is_pending or grade.score is None else grade.score == 1
        for grade in graded
    ]
    rates = planned_and_scored(right)
    per_correct = cost_per_correct(
        CostOutcome(measured(cost(each)), None if grade and grade.is_pending else outcome is True)
        for each, grade, outcome in zip(every, graded, right, strict=True)
        if each.fate in {Fate.SETTLED, Fate.CUT_OFF}
    )
    return {
        "correctOfPlanned": rate(rates.planned),
        "correctOfScored": rate(rates.scored),
        "costPerCorrect": {
            "tag": per_correct.tag.value,
            "usd": shown(per_correct.amount),
            "knownCostUsd": text(per_correct.known_cost),
            "missingCosts": per_correct.missing_costs,
            "correct": per_correct.correct,
            "says": str(per_correct),
        },
    }


def distribution(values: Iterable[Value]) -> dict[str, Any]:
    """Return how an endpoint's values of one arm are spread."""
    every = tuple(values)
    known = ascending([one for one in map(measured, every) if one is not None])
    return {
        "measured": len(known),
        "missing": len(every) - len(known),
        "mean": shown(mean(known)),
        "median": shown(median(known)),
        "p95": shown(nearest_rank(known)),
        "least": shown(known[0] if known else None),
        "most": shown(known[-1] if known else None),
    }


def inputs(rows: Mapping[str, Iterable[Row]]) -> list[dict[str, Any]]:
    """Return the rows that everything is computed from, one for each planned pair.

    Values are exact: text of integers and decimals, null, or ``{"lower", "upper"}``.
    """
    found: dict[int, dict[str, Any]] = {}
    for name, of in rows.items():
        for row in of:
            line = found.setdefault(row.pair, _pair(row))
            line["values"][name] = [_exact(row.control), _exact(row.treatment)]
    return [found[pair] for pair in sorted(found)]


def shown(number: Number | None) -> str | None:
    """Return a figure with 6 significant digits, None where it was not measured."""
    return None if number is None else text(number)


def _pair(row: Row) -> dict[str, Any]:
    return {
        "pair": row.pair,
        "task": row.task,
        "repetition": row.repetition,
        "run": row.run,
        "treatmentFirst": row.treatment_first,
        "delivered": row.delivered,
        "values": {},
    }


def _exact(one: Value) -> Any:  # noqa: ANN401 - text, null or bounds
    if one is None:
        return None
    if isinstance(one, Missing):
        return {"lower": _exact(one.lower), "upper": _exact(one.upper)}
    return format(one, "f") if not isinstance(one, int) else str(one)


def _interval(found: Interval | NoInterval) -> dict[str, str]:
    if isinstance(found, NoInterval):
        return {"reason": found.reason}
    return {
        "lower": text(found.lower),
        "upper": text(found.upper),
        "level": text(found.level),
        "method": found.method,
    }


def _position(found: PositionEffect, *, p_values: bool) -> dict[str, Any]:
    return {
        "pairsFirst": found.pairs_first,
        "pairsSecond": found.pairs_second,
        "effect": shown(found.effect),
        "balanced": shown(found.balanced),
        **({"signFlip": _sign_flip(found.test)} if p_values else {}),
    }


def _warmth(found: WarmthEffect) -> dict[str, Any]:
    return {
        "pairs": found.pairs,
        "control": shown(found.control_warmth),
        "treatment": shown(found.treatment_warmth),
        "slope": shown(found.slope),
        "atEqualWarmth": shown(found.at_equal_warmth),
        "reason": found.reason,
    }


def _sign_flip(found: SignFlip | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "p": text(found.p),
        "tasks": found.tasks,
        "extreme": found.extreme,
        "arrangements": found.arrangements,
        "exact": found.exact,
    }


def _mcnemar(found: McNemar | None) -> dict[str, Any] | None:
    if found is None or not found.pairs:
        return None
    return {
        "p": text(found.p),
        "onlyTreatment": found.only_treatment,
        "onlyControl": found.only_control,
        "discordant": found.discordant,
        "pairs": found.pairs,
        "clustered": found.clustered,
    }
