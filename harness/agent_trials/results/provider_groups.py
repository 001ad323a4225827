"""What attempts over provider commands came to, by group, and whose word each figure is.

Groups are those of the study provider CLI contract: all, scenario (arm), category, difficulty,
repository, model, task, replicate, variant. Kinds of figures, never mixed:
    measured      by the harness: time, bytes, the checks that it ran itself
    counted       tokens by the provider's own count; ``providerTokenCostUnits`` is tokens, no money
    derived       USD from those counts at configured rates, both counts being there; no bill
    selfReported  what the command says of its own work, measurements by name among it
    estimates     what nobody counted
A 95th percentile is the nearest rank. ``missingMetrics`` names each figure that no attempt of the
group has, and, with ``-partial`` behind it, each that only some of them have.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from agent_trials.results.numbers import exact, mean, median, nearest_rank
from agent_trials.results.rates import wilson
from agent_trials.results.report_figures import arm, rate, shown
from agent_trials.study import asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from fractions import Fraction

    from agent_trials.records import Cell
    from agent_trials.results.numbers import Number
    from agent_trials.results.record import Attempt
    from agent_trials.results.rows_from_ledger import Grade
    from agent_trials.study.settings import Manifest

TRANSPORT = "provider"
MEASURED = ("wallTimeMs",)
OF_PROVIDER = ("requestBytes", "responseBytes", "stderrBytes")
COUNTED = ("totalInputTokens", "inputTokens", "cacheReadInputTokens", "outputTokens")
REPORTED = ("clarificationRequests", "reworkCount", "toolCalls", "firstEvidenceLatencyMs")
CANONICAL = (
    "searchHitRate", "acceptanceChecksPassed", "acceptanceChecksTotal", "errorRate",
    "documentationFindingCount", "analysisCostUsd", "agentCostUsd",
)  # fmt: skip
"""Measurements that the contract names; any others are kept under their own names."""
KINDS = ("measured", "counted", "derived", "selfReported", "estimates")


def providers(
    manifest: Manifest | None,
    every: Iterable[Attempt],
    grades: Mapping[Cell, Grade],
    opening: Mapping[str, Any],
) -> dict[str, Any] | None:
    """Return the groups; None where no provider command was to answer.

    Args:
        manifest: the study, if it could be read.
        every: every planned attempt.
        grades: by its cell.
        opening: the line that opened the run of the attempts.
    """
    attempts = [each for each in every if _is_ours(opening, each)]
    if manifest is None or not attempts:
        return None
    return {
        "groups": {
            name: [_group(value, of, grades) for value, of in _by(attempts, key).items()]
            for name, key in _keys(manifest).items()
        },
        "outcomes": {
            "says": "self-reports of the commands, never grades",
            **{
                arm: _reported_outcomes(of)
                for arm, of in _by(attempts, lambda each: each.cell.arm).items()
            },
        },
    }


def _is_ours(opening: Mapping[str, Any], attempt: Attempt) -> bool:
    ways = {way["arm"]: way["transport"] for way in opening.get("ways", ())}
    return bool(ways.get(attempt.cell.arm, opening["transport"]) == TRANSPORT)


def _keys(manifest: Manifest) -> dict[str, Callable[[Attempt], str | None]]:
    tasks = {task.id: task for task in manifest.tasks}
    provider = manifest.transports.provider
    told = provider.tasks if provider else {}

    def pair(attempt: Attempt) -> asked.Asked:
        return asked.asked(manifest, attempt.cell.task, attempt.cell.repetition)

    def difficulty(attempt: Attempt) -> str | None:
        table = told.get(attempt.cell.task)
        return table.difficulty if table else None

    return {
        "all": lambda _: "all",
        "scenario": lambda each: each.cell.arm,
        "category": lambda each: tasks[each.cell.task].category,
        "difficulty": difficulty,
        "repository": lambda each: tasks[each.cell.task].repository,
        "model": lambda each: asked.model(manifest, each.cell),
        "task": lambda each: each.cell.task,
        "replicate": lambda each: str(pair(each).replicate),
        "variant": lambda each: pair(each).variant,
    }


def _by(
    attempts: Iterable[Attempt], key: Callable[[Attempt], str | None]
) -> dict[str, list[Attempt]]:
    """Return the attempts by group, those of no group left out, groups in order of appearance."""
    found: dict[str, list[Attempt]] = {}
    for each in attempts:
        value = key(each)
        if value is not None:
            found.setdefault(value, []).append(each)
    return found


def _group(name: str, attempts: Sequence[Attempt], grades: Mapping[Cell, Grade]) -> dict[str, Any]:
    seen: dict[str, dict[str, list[Fraction]]] = {kind: {} for kind in KINDS}
    for each in attempts:
        for kind, figures in _figures(each).items():
            for figure, amount in figures.items():
                seen[kind].setdefault(figure, []).append(exact(amount))
    statuses = Counter(each.status for each in attempts)
    return {
        "group": name,
        "attempts": len(attempts),
        "statuses": dict(sorted(statuses.items())),
        "completed": rate(wilson(statuses["completed"], len(attempts))),
        "checks": _checks(attempts),
        "graded": {
            name: of for name, of in arm(attempts, grades).items() if name.startswith("correct")
        },
        "figures": {
            kind: {
                figure: _spread(amounts, len(attempts)) for figure, amounts in sorted(of.items())
            }
            for kind, of in seen.items()
        },
        "missingMetrics": _missing(seen, len(attempts)),
    }


def _figures(attempt: Attempt) -> dict[str, dict[str, Number]]:
    """Return every figure that an attempt shows, by kind; what it does not show is not there."""
    last: Mapping[str, Any] = attempt.turns[-1] if attempt.turns else {}
    told: Mapping[str, Any] = last.get("provider") or {}
    reported, estimates = told.get("selfReported", {}), told.get("estimates", {})
    return {
        "measured": _numbers(last, MEASURED) | _numbers(told, OF_PROVIDER),
        "counted": _numbers(last, COUNTED) | _numbers(told, ("providerTokenCostUnits",)),
        "derived": _numbers({"agentCostUsd": last.get("computedCostUsd")}, ("agentCostUsd",)),
        "selfReported": _numbers(reported, REPORTED)
        | {name: Decimal(amount) for name, amount in told.get("measurements", {}).items()},
        "estimates": _numbers(estimates, ("contextTokens", "inputTokens", "outputTokens")),
    }


def _numbers(fields: Mapping[str, Any], names: Iterable[str]) -> dict[str, Number]:
    return {name: Decimal(fields[name]) for name in names if fields.get(name) is not None}


def _spread(amounts: Sequence[Fraction], attempts: int) -> dict[str, Any]:
    return {
        "measured": len(amounts),
        "missing": attempts - len(amounts),
        "mean": shown(mean(amounts)),
        "median": shown(median(amounts)),
        "p95": shown(nearest_rank(amounts)),
    }


def _missing(seen: Mapping[str, Mapping[str, Sequence[Fraction]]], attempts: int) -> list[str]:
    expected = {
        "measured": (*MEASURED, *OF_PROVIDER),
        "counted": (*COUNTED, "providerTokenCostUnits"),
        "derived": ("agentCostUsd",),
        "selfReported": (*REPORTED, *CANONICAL),
        "estimates": ("contextTokens",),
    }
    found = []
    for kind, names in expected.items():
        for name in dict.fromkeys((*names, *sorted(seen[kind]))):
            have = len(seen[kind].get(name, ()))
            if have < attempts:
                found.append(f"{kind}.{name}{'-partial' if have else ''}")
    return found


def _checks(attempts: Iterable[Attempt]) -> dict[str, Any] | None:
    """Return what the checks came to that the harness ran; None where there are none."""
    found = [
        turn["acceptance"] for each in attempts for turn in each.turns if turn.get("acceptance")
    ]
    if not found:
        return None
    decided = [each for each in found if each["outcome"] not in {None, "blocked"}]
    outcomes = Counter(str(each["outcome"] or "missing") for each in found)
    correct = outcomes["correct"]
    return {
        "outcomes": dict(sorted(outcomes.items())),
        "correctOfChecked": rate(wilson(correct, len(found))),
        "correctOfDecided": rate(wilson(correct, len(decided))),
        "passed": sum(each["passed"] for each in decided),
        "ran": sum(each["passed"] + each["failed"] for each in decided),
    }


def _reported_outcomes(attempts: Iterable[Attempt]) -> dict[str, dict[str, int]]:
    names = ("taskOutcome", "evidenceQuality", "safetyOutcome")
    found: dict[str, Counter[str]] = {name: Counter() for name in names}
    for each in attempts:
        told = (each.turns[-1].get("provider") or {}) if each.turns else {}
        for name in names:
            found[name][str(told.get("selfReported", {}).get(name) or "missing")] += 1
    return {name: dict(sorted(counts.items())) for name, counts in found.items()}
