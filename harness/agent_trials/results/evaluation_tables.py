"""What a report shows of evaluated patches: tables of words, the same in every rendering."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_trials.results.provider_tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

_MISSING = "missing"
HEADING = "Evaluated patches"


def tables(found: Mapping[str, Any] | None) -> list[Table]:
    """Return what a report shows of the evaluation."""
    if found is None:
        return []
    arms = found["arms"]
    shown = [
        Table("Resolved, of a fixed N", _RATES, tuple(_rates(each) for each in arms)),
        Table("USD per resolved task", _COSTS, tuple(_costs(each) for each in arms)),
        Table("Medians, where they were measured", _FIGURES, tuple(map(_medians, arms))),
        Table("Adoption of the tool, from transcripts", _USED, tuple(map(_adoption, arms))),
        Table("Pairs", _PAIRS, tuple(_pairs(each) for each in found["pairs"])),
        Table("Reports", _REPORTS, tuple(_reports(found))),
    ]
    return [each for each in shown if each.rows]


_RATES = (
    "arm", "N", "resolved", "rate", "95 % interval", "at most, with what has no verdict",
    "infrastructure failures", "without verdict", "classes", "ambiguous failures",
)  # fmt: skip
_COSTS = ("arm", "reported runs alone", "usage missing", "at least, all runs", "at most, all runs")
_FIGURES = ("arm", "input tokens with caches", "output tokens", "wall time ms", "model requests")
_USED = ("arm", "attempts that called it", "calls")
_PAIRS = (
    "treatment", "planned", "complete", "both", "only treatment", "only control", "neither",
    "exact McNemar p",
)  # fmt: skip
_REPORTS = ("of", "report", "predictions", "evaluation", "harness", "source", "resolved")


def _rates(each: Mapping[str, Any]) -> tuple[str, ...]:
    rate, most, stated = each["resolved"], each["atMost"], each["evaluation"]
    classes = stated["classes"] if stated else {}
    return (
        each["arm"],
        str(each["planned"]),
        str(rate["successes"]),
        rate["rate"] or _MISSING,
        f"{rate['lower']} to {rate['upper']}",
        f"{most['successes']} of {most['trials']}",
        str(each["infrastructureFailures"]),
        str(each["withoutVerdict"]),
        ", ".join(f"{count} {name}" for name, count in classes.items()) or "not evaluated",
        str(len(stated["ambiguous"])) if stated else _MISSING,
    )


def _costs(each: Mapping[str, Any]) -> tuple[str, ...]:
    reported, bounds = each["costPerResolved"]["reported"], each["costPerResolved"]["bounds"]
    infinite = bounds["tag"]
    return (
        each["arm"],
        f"{reported['says']} ({reported['resolved']} resolved of {reported['attempts']})",
        str(each["usageMissing"]),
        bounds["lowerUsd"] or infinite,
        bounds["upperUsd"] or infinite,
    )


def _medians(each: Mapping[str, Any]) -> tuple[str, ...]:
    names = ("totalInputTokens", "outputTokens", "wallTimeMs", "turns")
    of = [each["medians"][name] for name in names]
    return (each["arm"], *(f"{m['median'] or _MISSING} ({m['measured']} of {m['of']})" for m in of))


def _adoption(each: Mapping[str, Any]) -> tuple[str, ...]:
    used = each["adoption"]
    return each["arm"], f"{used['attempts']} of {used['of']}", str(used["calls"])


def _pairs(each: Mapping[str, Any]) -> tuple[str, ...]:
    names = ("planned", "complete", "both", "onlyTreatment", "onlyControl", "neither")
    p = each.get("mcnemarP")
    return (each["treatment"], *(str(each[name]) for name in names), p or "none")


def _reports(found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    named = [(each["arm"], each["evaluation"]) for each in found["arms"] if each["evaluation"]]
    named += [(f"control {each['control']}", each) for each in found["controls"]]
    names = ("reportDigest", "predictionsDigest", "evaluationId", "harnessVersion", "source")
    return [
        (name, *(of[key] for key in names), str(of["classes"].get("resolved", 0)))
        for name, of in named
    ]
