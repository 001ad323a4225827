"""Who graded, how far two graders agree, and how far one could tell the arms apart."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from agent_trials.results import evaluated
from agent_trials.results.agreement import agreement, blinding_index
from agent_trials.results.report_figures import shown

if TYPE_CHECKING:
    from agent_trials.results.grades import Grades
    from agent_trials.results.record import Record

_OF_A_GRADER = ("grader", "transport", "model", "configurationDigest", "sameModelAsAgent")


def grading(record: Record) -> dict[str, Any]:
    """Return what is to be said of the grading; without one, that nothing was graded."""
    if evaluated.is_evaluated(record):
        return _evaluated(record)
    found = record.grades
    rules = found.rules or {}
    outcomes = Counter(
        f"pending: {row.reason}" if row.outcome is None else row.outcome.value for row in found.rows
    )
    return {
        "graders": [
            {name: each[name] for name in _OF_A_GRADER if name in each}
            for each in rules.get("graders", ())
        ],
        "seed": rules.get("seed"),
        "packet": rules.get("packet"),
        "disagreement": rules.get("disagreement"),
        "outcomes": dict(sorted(outcomes.items())),
        "agreement": _agreement(found),
        "blinding": _blinding(found),
    }


def _evaluated(record: Record) -> dict[str, Any]:
    """Return who judged patches: the official evaluation, by whose version, run or imported."""
    lines = {name: line for (kind, name), line in record.evaluations.items() if kind == "arm"}
    grades = [evaluated.grade(each, record.evaluations) for each in record.attempts if each.turns]
    outcomes = Counter(f"pending: {why}" if why else outcome for outcome, _, why in grades)
    return {
        "graders": [
            {
                "grader": f"official evaluation of {name}",
                "transport": line.fields["source"],
                "model": f"harness {line.fields['harnessVersion']}",
            }
            for name, line in lines.items()
        ],
        "seed": None,
        "packet": None,
        "disagreement": None,
        "outcomes": dict(sorted(outcomes.items())),
        "agreement": None,
        "blinding": {},
    }


def _agreement(found: Grades) -> dict[str, Any] | None:
    both = found.both()
    if not both:
        return None
    one = agreement(both)
    return {
        "pairs": one.pairs,
        "unpaired": one.unpaired,
        "agreed": one.agreed,
        "share": shown(one.share),
        "kappa": shown(one.kappa),
    }


def _blinding(found: Grades) -> dict[str, Any]:
    """Return Bang's index of each arm of which somebody guessed."""
    guesses = found.guesses()
    indices = {}
    for arm in sorted({true for true, _ in guesses}):
        of = [guess for true, guess in guesses if true == arm]
        right, undecided = of.count(arm), of.count("undecided")
        index = blinding_index(right=right, wrong=len(of) - right - undecided, undecided=undecided)
        indices[arm] = {
            "guesses": index.guesses,
            "right": index.right,
            "wrong": index.wrong,
            "undecided": index.undecided,
            "index": shown(index.index),
            "lower": shown(index.lower),
            "upper": shown(index.upper),
        }
    return indices
