"""What evaluated patches came to, as plain JSON: rates over a fixed N, costs, medians, adoption.

Of a cost that was not reported two things are shown. ``reported`` leaves the attempts without a
usage report (``usageMissing``) out of both sum and count; ``bounds`` is over all attempts: what is
known at least, and at most what was charged or set aside, each by all resolved ones. No resolved
one at all is ``infinite``, never a number and never nothing.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from agent_trials.results.cost import CostOutcome, Tag, cost_per_correct
from agent_trials.results.evaluated import ARM, CONTROL, INFRASTRUCTURE
from agent_trials.results.hypotheses import mcnemar
from agent_trials.results.numbers import ascending, median, text
from agent_trials.results.rates import wilson
from agent_trials.results.report_figures import rate, shown
from agent_trials.results.rows import Missing, measured
from agent_trials.results.rows_from_ledger import INPUT, cost

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_trials.ledger.chain import Line
    from agent_trials.records import Cell
    from agent_trials.results.record import Attempt, Record
    from agent_trials.results.rows import Row
    from agent_trials.results.rows_from_ledger import Grade

MEDIANS: Mapping[str, tuple[str, ...]] = {
    "totalInputTokens": INPUT,
    "inputTokens": INPUT[:1],
    "outputTokens": ("outputTokens",),
    "wallTimeMs": ("wallTimeMs",),
    "turns": ("turns",),
}


def evaluation(
    record: Record, graded: Mapping[Cell, Grade], rows: Mapping[str, Sequence[Row]]
) -> dict[str, Any]:
    """Return the figures of a ledger whose patches are evaluated.

    Args:
        record: the ledger.
        graded: the grade of each settled attempt.
        rows: by treatment arm, the rows of ``resolved``.
    """
    arms = dict.fromkeys(each.cell.arm for each in record.attempts)
    manifest = record.frozen.manifest
    p_values = manifest is None or manifest.endpoints.p_values
    return {
        "arms": [_arm(arm, record, graded) for arm in arms],
        "controls": [
            {"control": name, **_stated(line)}
            for (kind, name), line in record.evaluations.items()
            if kind == CONTROL
        ],
        "pairs": [{"treatment": arm, **_pairs(of, p_values=p_values)} for arm, of in rows.items()],
    }


def _arm(arm: str, record: Record, graded: Mapping[Cell, Grade]) -> dict[str, Any]:
    of = [each for each in record.attempts if each.cell.arm == arm]
    grades = [graded.get(each.cell) for each in of]
    resolved = sum(grade is not None and grade.score == 1 for grade in grades)
    unknown = sum(grade is None or grade.score is None for grade in grades)
    failed = sum(grade is not None and grade.outcome == INFRASTRUCTURE for grade in grades)
    line = record.evaluations.get((ARM, arm))
    return {
        "arm": arm,
        "planned": len(of),
        "resolved": rate(wilson(resolved, len(of))),
        "atMost": rate(wilson(resolved + unknown, len(of))),
        "infrastructureFailures": failed,
        "withoutVerdict": unknown,
        "evaluation": None if line is None else _stated(line),
        "usageMissing": sum(_lacks_usage(each) for each in of),
        "costPerResolved": _costs(of, graded),
        "medians": {name: _median(of, fields) for name, fields in MEDIANS.items()},
        "adoption": _adoption(of),
    }


def _stated(line: Line) -> dict[str, Any]:
    fields = line.fields
    names = ("predictionsDigest", "reportDigest", "evaluationId", "harnessVersion", "source")
    return {
        "classes": dict(sorted(Counter(fields["classes"].values()).items())),
        "tasks": dict(fields["classes"]),
        "infrastructure": list(fields["infrastructure"]),
        "ambiguous": list(fields["ambiguous"]),
        **{name: fields[name] for name in names},
    }


def _lacks_usage(attempt: Attempt) -> bool:
    return any(turn.get("usageMissing") for turn in attempt.turns)


def _costs(of: Sequence[Attempt], graded: Mapping[Cell, Grade]) -> dict[str, Any]:
    ran = [each for each in of if each.turns]
    reported = cost_per_correct(
        CostOutcome(measured(cost(each)), _is_resolved(graded.get(each.cell)))
        for each in ran
        if not _lacks_usage(each)
    )
    begun = [each for each in of if each.turns or each.reserved is not None]
    resolved = sum(_is_resolved(graded.get(each.cell)) is True for each in of)
    least = sum((_least(each) for each in begun), Decimal(0))
    most = sum((_most(each) for each in begun), Decimal(0))
    return {
        "reported": {
            "tag": reported.tag.value,
            "usd": shown(reported.amount),
            "knownCostUsd": text(reported.known_cost),
            "resolved": reported.correct,
            "attempts": reported.attempts,
            "says": str(reported),
        },
        "bounds": {
            "tag": "bounds" if resolved else Tag.INFINITE.value,
            "lowerUsd": shown(least / resolved) if resolved else None,
            "upperUsd": shown(most / resolved) if resolved else None,
            "resolved": resolved,
            "attempts": len(begun),
        },
    }


def _is_resolved(grade: Grade | None) -> bool | None:
    if grade is None or grade.is_pending:
        return None
    return grade.score == 1


def _least(attempt: Attempt) -> Decimal:
    found = cost(attempt)
    known = found.lower if isinstance(found, Missing) else found
    return Decimal(0) if known is None else Decimal(str(known))


def _most(attempt: Attempt) -> Decimal:
    """Return at most what an attempt cost: its charge, its reservation while that is open."""
    found = cost(attempt)
    if found is not None and not isinstance(found, Missing):
        return Decimal(str(found))
    if attempt.turns:
        return sum((Decimal(turn["chargedUsd"]) for turn in attempt.turns), Decimal(0))
    return Decimal(attempt.reserved.fields["amountUsd"]) if attempt.reserved else Decimal(0)


def _median(of: Iterable[Attempt], names: tuple[str, ...]) -> dict[str, Any]:
    every = tuple(of)
    found = [total for each in every if (total := _total(each, names)) is not None]
    return {"median": shown(median(ascending(found))), "measured": len(found), "of": len(every)}


def _total(attempt: Attempt, names: tuple[str, ...]) -> Fraction | None:
    """Return the sum of some counts, whatever the status; None where one was not measured."""
    if not attempt.turns:
        return None
    if names[0].endswith("Tokens") and not all(t.get("usageComplete") for t in attempt.turns):
        return None
    counts = [turn.get(name) for turn in attempt.turns for name in names]
    known = [count for count in counts if count is not None]
    return sum(map(Fraction, known), Fraction(0)) if len(known) == len(counts) else None


def _adoption(of: Iterable[Attempt]) -> dict[str, int]:
    calls = [
        sum(turn["mcpToolCalls"] for turn in each.turns)
        for each in of
        if each.turns and all(turn.get("mcpToolCalls") is not None for turn in each.turns)
    ]
    return {"attempts": sum(map(bool, calls)), "of": len(calls), "calls": sum(calls)}


def _pairs(rows: Iterable[Row], *, p_values: bool) -> dict[str, Any]:
    every = tuple(rows)
    found = mcnemar(every)
    both = sum(
        row.control == 1 and row.treatment == 1
        for row in every
        if measured(row.control) is not None and measured(row.treatment) is not None
    )
    return {
        "planned": len(every),
        "complete": found.pairs,
        "both": both,
        "onlyTreatment": found.only_treatment,
        "onlyControl": found.only_control,
        "neither": found.pairs - both - found.discordant,
        **({"mcnemarP": text(found.p)} if p_values and found.pairs else {}),
    }
