"""The conditions of the named rules: when evidence is against the treatment, when for it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from agent_trials.results.cost import (
    Comparison,
    CostOutcome,
    CostPerCorrect,
    Tag,
    at_most,
    cost_per_correct,
)
from agent_trials.results.effects import paired_difference
from agent_trials.results.evidence import Evidence, Finding, complete
from agent_trials.results.hypotheses import sign_flip
from agent_trials.results.numbers import rounded, text
from agent_trials.results.rows import Row, Value, measured
from agent_trials.results.rules import (
    CORRECTNESS,
    COST,
    CheaperNotWorseRule,
    CostPerCorrectRule,
    EquivalenceRule,
    PairedDifferenceRule,
    Rule,
)
from agent_trials.results.statistics import (
    EquivalenceClass,
    Interval,
    equivalence,
    one_sided_bound,
)

if TYPE_CHECKING:
    from decimal import Decimal

    from agent_trials.results.effects import PairedDifference
    from agent_trials.results.hypotheses import SignFlip


@dataclass(frozen=True)
class _Effect:
    difference: PairedDifference
    test: SignFlip | None

    @property
    def mean(self) -> Fraction:
        return self.difference.mean or Fraction(0)

    def significant(self, alpha: Decimal) -> bool:
        return self.test is not None and self.test.p <= Fraction(alpha)


def endpoints_of(rule: Rule) -> tuple[str, ...]:
    """Return the endpoints that a rule decides on."""
    match rule:
        case PairedDifferenceRule() | EquivalenceRule():
            return (rule.endpoint,)
        case CheaperNotWorseRule():
            return (CORRECTNESS, rule.cost)
        case CostPerCorrectRule():
            return (CORRECTNESS, COST)


def find(rule: Rule, evidence: Evidence, *, seed: int = 0) -> Finding:
    """Return what the rule finds in the evidence, over the complete pairs; seed as for flips."""
    match rule:
        case PairedDifferenceRule():
            return _paired(rule, evidence, seed)
        case EquivalenceRule():
            return _equivalent(rule, evidence, seed)
        case CheaperNotWorseRule():
            return _cheaper(rule, evidence, seed)
        case CostPerCorrectRule():
            return _per_correct(rule, evidence)


def _paired(rule: PairedDifferenceRule, evidence: Evidence, seed: int) -> Finding:
    effect = _effect(evidence, rule.endpoint, seed)
    better = effect.mean if rule.higher_is_better else -effect.mean
    found = effect.significant(rule.alpha)
    level = f"with p <= {text(rule.alpha)}"
    least = text(rule.minimum_difference)
    wanted = f" by at least {least}" if rule.minimum_difference else ""
    neither = f"{rule.endpoint} does not differ {level}"
    return Finding(
        claim=f"{evidence.treatment} improves {rule.endpoint}{wanted}",
        against=(f"{rule.endpoint} is worse {level}",) if found and better < 0 else (),
        supports=(
            (f"{rule.endpoint} is better{wanted} {level}",)
            if found and better > 0 and better >= Fraction(rule.minimum_difference)
            else ()
        ),
        neither=(f"{rule.endpoint} is better {level}, by less than {least}" if found else neither,),
        figures=_figures(rule.endpoint, effect),
        says=_says(rule.endpoint, effect),
    )


def _equivalent(rule: EquivalenceRule, evidence: Evidence, seed: int) -> Finding:
    effect = _effect(evidence, rule.endpoint, seed)
    result = equivalence(
        effect.difference.by_task.values(), rule.margin, alpha=rule.alpha, seed=seed
    )
    inside = {EquivalenceClass.EQUIVALENT, EquivalenceClass.DIFFERENT_WITHIN_MARGIN}
    reason = f"{rule.endpoint} is {result.outcome.value} at a margin of {text(rule.margin)}"
    figures = {**_figures(rule.endpoint, effect), f"{rule.endpoint}.class": result.outcome.value}
    if isinstance(result.interval, Interval):
        lower, upper = text(result.interval.lower), text(result.interval.upper)
        interval = f"{text(100 * result.interval.level)} % interval {lower} to {upper}"
        figures |= {f"{rule.endpoint}.lower": lower, f"{rule.endpoint}.upper": upper}
    else:
        interval = f"no interval ({result.interval.reason})"
        reason = f"{rule.endpoint} has no interval: {result.interval.reason}"
    return Finding(
        claim=(
            f"{evidence.treatment} and {evidence.control} are equivalent in {rule.endpoint} within"
            f" {text(rule.margin)}"
        ),
        against=(reason,) if result.outcome is EquivalenceClass.DIFFERENT else (),
        supports=(reason,) if result.outcome in inside else (),
        neither=(reason,),
        figures=figures,
        says=f"{_says(rule.endpoint, effect)}, {interval}",
    )


def _cheaper(rule: CheaperNotWorseRule, evidence: Evidence, seed: int) -> Finding:
    right, cost = _effect(evidence, CORRECTNESS, seed), _effect(evidence, rule.cost, seed)
    lowest = one_sided_bound(right.difference.by_task.values(), alpha=rule.alpha)
    not_worse = lowest is not None and lowest > -rule.correctness_margin
    cheaper = cost.significant(rule.alpha) and cost.mean < 0
    level = f"with p <= {text(rule.alpha)}"
    worse = f"worse by {text(rule.correctness_margin)} or more"
    against = []
    if right.significant(rule.alpha) and right.mean < 0:
        against.append(f"{CORRECTNESS} is lower {level}")
    if cost.significant(rule.alpha) and cost.mean > 0:
        against.append(f"{rule.cost} is higher {level}")
    neither = [] if not_worse else [f"{CORRECTNESS} may be {worse}"]
    neither += [] if cheaper else [f"{rule.cost} is not lower {level}"]
    supports = (f"{CORRECTNESS} is not {worse}", f"{rule.cost} is lower {level}")
    bound = "missing" if lowest is None else text(lowest)
    return Finding(
        claim=f"{evidence.treatment} lowers {rule.cost} with {CORRECTNESS} not {worse}",
        against=tuple(against),
        supports=() if neither else supports,
        neither=tuple(neither),
        figures={
            **_figures(CORRECTNESS, right),
            **_figures(rule.cost, cost),
            f"{CORRECTNESS}.above": bound,
        },
        says=(
            f"{_says(CORRECTNESS, right)}, above {bound} with {text(100 * (1 - rule.alpha))} %"
            f" confidence; {_says(rule.cost, cost)}"
        ),
    )


def _per_correct(rule: CostPerCorrectRule, evidence: Evidence) -> Finding:
    old, new = _arm(evidence, "control"), _arm(evidence, "treatment")
    graded = [row for row in evidence.rows[CORRECTNESS] if complete(row)]
    passed_old = sum(measured(row.control) == 1 for row in graded)
    passed_new = sum(measured(row.treatment) == 1 for row in graded)
    within = at_most(new, old, rule.maximum_ratio) is Comparison.HOLDS
    enough = old.tag is not Tag.INFINITE or passed_new >= rule.minimum_correct
    against = []
    if passed_new < passed_old:
        against.append("fewer outcomes are correct")
    if at_most(new, old) is Comparison.FAILS:
        against.append("a correct outcome costs more")
    wanted = f"costs at most {text(rule.maximum_ratio)} times as much"
    return Finding(
        claim=f"a correct outcome of {evidence.treatment} {wanted}",
        against=tuple(against),
        supports=(
            ("no fewer outcomes are correct", f"a correct outcome {wanted}")
            if within and enough
            else ()
        ),
        neither=(f"it is not known to hold that a correct outcome {wanted}",),
        figures={
            "pairs_complete": str(len(graded)),
            "control.correct": str(passed_old),
            "treatment.correct": str(passed_new),
            "control.cost_per_correct": str(old),
            "treatment.cost_per_correct": str(new),
        },
        says=(
            f"correct {passed_new} against {passed_old} of {len(graded)} complete pairs, USD per"
            f" correct outcome {new} against {old}"
        ),
    )


def _arm(evidence: Evidence, arm: str) -> CostPerCorrect:
    outcomes = {row.pair: _value(row, arm) for row in evidence.rows[CORRECTNESS]}
    return cost_per_correct(
        CostOutcome(measured(_value(row, arm)), measured(outcomes[row.pair]) == 1)
        for row in evidence.rows[COST]
        if row.run or measured(_value(row, arm)) is not None
    )


def _value(row: Row, arm: str) -> Value:
    return row.control if arm == "control" else row.treatment


def _effect(evidence: Evidence, endpoint: str, seed: int) -> _Effect:
    difference = paired_difference(evidence.rows[endpoint])
    return _Effect(difference, sign_flip(difference.by_task.values(), seed=seed))


def _figures(endpoint: str, effect: _Effect) -> dict[str, str]:
    found = effect.difference
    return {
        f"{endpoint}.pairs": str(found.pairs),
        f"{endpoint}.tasks": str(found.tasks),
        f"{endpoint}.mean_difference": "missing" if found.mean is None else text(found.mean),
        f"{endpoint}.p": "missing" if effect.test is None else text(rounded(effect.test.p)),
    }


def _says(endpoint: str, effect: _Effect) -> str:
    found = effect.difference
    if found.mean is None or effect.test is None:
        return f"{endpoint} has no complete pair"
    return (
        f"mean difference in {endpoint} {text(found.mean)} over {found.tasks} tasks"
        f" ({found.pairs} complete pairs), sign-flip p {text(effect.test.p)}"
    )
