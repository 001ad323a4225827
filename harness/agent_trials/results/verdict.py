"""The verdict: what a rule registered beforehand says of the evidence, and why.

The rules are looked at in this order, and the first that applies holds:
    incomplete   a planned pair was not run, an answer is not graded, or more values are missing
                 than the study allows: no evidence, and the figures state over how many pairs
                 (a stop for futility was registered, and leaves no pair out that could matter)
    against      the rule's condition against the treatment
    for          the rule's condition for it
    no evidence  neither
A rehearsal goes through all of it, and its verdict reads REHEARSAL: it says nothing of the world.
The thresholds come with the rule (``rules.read``), from the frozen study; nothing here has a
default that a report could change.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from agent_trials.results.conditions import endpoints_of, find
from agent_trials.results.evidence import Evidence, Finding, complete
from agent_trials.results.numbers import text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_trials.results.rules import Rule


FUTILITY = "futility"
"""The reason of a stop that a study registered: what is left cannot change its outcome any more."""


class Outcome(StrEnum):
    """What a verdict comes to."""

    INCOMPLETE = "incomplete"
    AGAINST = "against"
    FOR = "for"
    NO_EVIDENCE = "no-evidence"


@dataclass(frozen=True)
class Verdict:
    """The conclusion: one sentence for readers, the reasons behind it, and its figures as text."""

    outcome: Outcome
    sentence: str
    reasons: tuple[str, ...]
    figures: Mapping[str, str]
    rehearsal: bool = False


def decide(
    rule: Rule,
    evidence: Evidence,
    *,
    seed: int = 0,
    finder: Callable[[Evidence], Finding] | None = None,
) -> Verdict:
    """Return what the rule says of the evidence.

    Args:
        rule: with its thresholds, as ``rules.read`` gives it.
        evidence: rows of every endpoint that the rule decides on.
        seed: of sign flips above 16 tasks.
        finder: a study's own rule; the named one then only says which endpoints must be there.

    Raises:
        RuntimeError: the evidence lacks an endpoint of the rule, or its endpoints differ in pairs.
    """
    planned, run = _counts(rule, evidence)
    finding = finder(evidence) if finder else find(rule, evidence, seed=seed)
    gaps = _gaps(rule, evidence, planned, run)
    outcome, reasons = _first_that_applies(gaps, finding)
    figures = {"pairs_planned": str(planned), "pairs_run": str(run), **finding.figures}
    return Verdict(
        outcome=outcome,
        sentence=_sentence(outcome, evidence, finding, reasons, f"{run} of {planned}"),
        reasons=reasons,
        figures=figures,
        rehearsal=evidence.rehearsal,
    )


def _first_that_applies(gaps: tuple[str, ...], finding: Finding) -> tuple[Outcome, tuple[str, ...]]:
    if gaps:
        return Outcome.INCOMPLETE, gaps
    if finding.against:
        return Outcome.AGAINST, finding.against
    if finding.supports:
        return Outcome.FOR, finding.supports
    return Outcome.NO_EVIDENCE, finding.neither


def _counts(rule: Rule, evidence: Evidence) -> tuple[int, int]:
    of = endpoints_of(rule)
    if unknown := [name for name in of if name not in evidence.rows]:
        raise RuntimeError(f"the evidence has no rows of {', '.join(unknown)}")
    pairs = {frozenset((row.pair, row.run) for row in evidence.rows[name]) for name in of}
    if len(pairs) != 1:
        raise RuntimeError(f"the rows of {' and '.join(of)} are not of the same pairs")
    rows = evidence.rows[of[0]]
    return len(rows), sum(row.run for row in rows)


def _gaps(rule: Rule, evidence: Evidence, planned: int, run: int) -> tuple[str, ...]:
    found = []
    if run < planned and evidence.stopped != FUTILITY:
        why = f" (stopped: {evidence.stopped})" if evidence.stopped else ""
        found.append(f"{run} of {planned} planned pairs were run{why}")
    if evidence.owed:
        found.append(f"further turns that were owed and not taken: {evidence.owed}")
    if evidence.undecided:
        found.append(f"trees without a checker's verdict: {evidence.undecided}")
    if evidence.pending:
        found.append(f"answers not graded yet: {evidence.pending}")
    for name in endpoints_of(rule):
        started = [row for row in evidence.rows[name] if row.run]
        missing = sum(not complete(row) for row in started)
        if missing == len(started) or Fraction(missing, planned) > Fraction(rule.maximum_missing):
            most = text(rule.maximum_missing)
            found.append(f"{missing} of {run} pairs run lack {name} (maximum_missing is {most})")
    return tuple(found)


def _sentence(
    outcome: Outcome,
    evidence: Evidence,
    finding: Finding,
    reasons: tuple[str, ...],
    pairs: str,
) -> str:
    heads = {
        Outcome.INCOMPLETE: f"Incomplete, no evidence: {'; '.join(reasons)}",
        Outcome.AGAINST: f"Evidence against: {finding.claim}",
        Outcome.FOR: f"Evidence for: {finding.claim}",
        Outcome.NO_EVIDENCE: f"No evidence: {finding.claim} ({'; '.join(reasons)})",
    }
    rehearsal = "REHEARSAL, says nothing of the world. " if evidence.rehearsal else ""
    return (
        f"{rehearsal}{heads[outcome]}. Compared with {evidence.control} over {pairs} planned"
        f" pairs: {finding.says}."
    )
