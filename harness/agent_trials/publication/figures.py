"""What a ledger and its openings come to, as one JSON value: a bundle's ``summary.json``.

docs/ledger.md says how each figure is made, and a bundle's ``verify.py`` makes all of them anew, by
code of its own. So this holds what can be recomputed exactly from the lines, and nothing else.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.results.effects import paired_difference
from agent_trials.results.numbers import text
from agent_trials.results.rates import wilson
from agent_trials.results.rows import Missing
from agent_trials.results.rows_from_ledger import grades_of, rows
from agent_trials.study.endpoints import endpoints_of
from agent_trials.study.phases import phase_arms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_trials.ledger.budget import Run, Totals
    from agent_trials.records import Cell
    from agent_trials.results.numbers import Number
    from agent_trials.results.record import Attempt, Record
    from agent_trials.results.rows import Row, Value
    from agent_trials.results.rows_from_ledger import Grade
    from agent_trials.study.settings import ArmSettings

SCHEMA = 1
KIND = "agent-trials-figures"


def figures(record: Record) -> dict[str, Any]:
    """Return every figure of a finished ledger."""
    graded, manifest = grades_of(record), record.frozen.manifest
    names = list(dict.fromkeys(each.cell.arm for each in record.attempts))
    arms = phase_arms(manifest, record.opening["phase"]) if manifest else ()
    if manifest is not None:
        names = [arm.id for arm in arms]
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "head": record.summary.head,
        **{name: record.opening[name] for name in ("mode", "phase", "seriesId")},
        "approved": record.approved is not None,
        "budget": _budget(record.summary.totals),
        "runs": [_run(run) for run in record.summary.runs],
        "attempts": [_attempt(each, graded.get(each.cell)) for each in record.attempts],
        "halfPairs": [each.pair for each in record.summary.half_pairs],
        "arms": {name: _arm(name, record.attempts, graded) for name in names},
        "comparisons": manifest
        and _comparisons(arms, record.attempts, graded, endpoints_of(manifest)),
    }


def _budget(totals: Totals) -> dict[str, Any]:
    return {
        "capUsd": money.text(totals.cap),
        "priorUsd": money.text(totals.prior),
        "spentUsd": money.text(totals.spent),
        "reservedUsd": money.text(totals.reserved),
        "availableUsd": money.text(max(totals.available, money.ZERO)),
        "cumulativeCapExceeded": totals.cap_exceeded,
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "run": run.number,
        "runId": run.opening["runId"],
        "closed": run.closed_at is not None,
        "stopped": run.stop and run.stop.reason,
        "counts": dict(run.counts),
    }


def _attempt(each: Attempt, grade: Grade | None) -> dict[str, Any]:
    charged = money.total(*(money.parse(turn["chargedUsd"]) for turn in each.turns))
    return {
        **each.cell.to_json(),
        "pair": each.pair,
        "position": each.position,
        "status": each.status,
        "grade": grade and grade.outcome,
        "chargedUsd": money.text(charged) if each.turns else None,
    }


def _arm(name: str, attempts: Iterable[Attempt], graded: Mapping[Cell, Grade]) -> dict[str, Any]:
    of = [each for each in attempts if each.cell.arm == name]
    statuses: dict[str, int] = {}
    for each in of:
        statuses[each.status] = statuses.get(each.status, 0) + 1
    scores = [graded[each.cell].score for each in of if each.cell in graded]
    known = [score == 1 for score in scores if score is not None]
    return {
        "statuses": statuses,
        "completed": _rate(statuses.get("completed", 0), len(of)),
        "correctOfPlanned": _rate(sum(known), len(of)),
        "correctOfScored": _rate(sum(known), len(known)),
    }


def _rate(successes: int, trials: int) -> dict[str, Any]:
    found = wilson(successes, trials)
    return {
        "successes": found.successes,
        "trials": found.trials,
        **{name: _shown(getattr(found, name)) for name in ("rate", "lower", "upper")},
    }


def _comparisons(
    arms: Iterable[ArmSettings],
    attempts: tuple[Attempt, ...],
    graded: Mapping[Cell, Grade],
    endpoints: tuple[str, ...],
) -> list[dict[str, Any]]:
    control, *others = arms
    found = []
    for arm in others:
        of = rows(attempts, graded, control=control, treatment=arm, endpoints=endpoints)
        found.append(
            {
                "control": control.id,
                "treatment": arm.id,
                "rows": _rows(of),
                "endpoints": {endpoint: _differences(each) for endpoint, each in of.items()},
            }
        )
    return found


def _rows(of: Mapping[str, tuple[Row, ...]]) -> list[dict[str, Any]]:
    """Return one object for each pair, with the values of every endpoint."""
    found: dict[int, dict[str, Any]] = {}
    for endpoint, each in of.items():
        for row in each:
            shared = {
                "pair": row.pair,
                "task": row.task,
                "repetition": row.repetition,
                "run": row.run,
                "treatmentFirst": row.treatment_first,
                "delivered": row.delivered,
                "values": {},
            }
            values = found.setdefault(row.pair, shared)["values"]
            values[endpoint] = [_exact(row.control), _exact(row.treatment)]
    return list(found.values())


def _exact(value: Value) -> Any:  # noqa: ANN401 - text, null or bounds
    if value is None:
        return None
    if isinstance(value, Missing):
        return {"lower": _exact(value.lower), "upper": _exact(value.upper)}
    if isinstance(value, int | Decimal):
        return money.text(Decimal(value))
    raise RuntimeError(f"a value of a ledger that is no decimal: {value!r}")


def _differences(of: Iterable[Row]) -> dict[str, Any]:
    found = paired_difference(of)
    return {
        "pairs": found.pairs,
        "tasks": found.tasks,
        "mean": _shown(found.mean),
        "pairMean": _shown(found.pair_mean),
        "median": _shown(found.median),
        "taskMedian": _shown(found.task_median),
        "byTask": {task: text(amount) for task, amount in found.by_task.items()},
    }


def _shown(number: Number | None) -> str | None:
    return None if number is None else text(number)
