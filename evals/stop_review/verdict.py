"""The registered verdict: does review give more correct outcomes per dollar than none?

``agent-trials report --trust-study-code`` runs this file as the ledger holds it. The order is
incomplete, against, for, no evidence; an incomplete run never comes here. PROTOCOL.md has the
reasons, and every threshold stands below once.

    against      the treatment has fewer final passes, or an intervention was harmful, or its
                 correct outcome costs more and no repair is to its credit
    for          no fewer final passes; its correct outcome costs at most 0.85 of the control's, or
                 the control has none and the treatment at least 2; credited repairs on at least 2
                 tasks; no harmful and at most 1 unnecessary intervention; and the control passed
                 after its first turn on fewer than 5 of 6 tasks
    no evidence  otherwise
"""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from agent_trials.results.cost import Comparison, Tag, at_most
from agent_trials.results.evidence import Finding
from agent_trials.results.interventions import credited, unnecessary
from agent_trials.results.numbers import text
from agent_trials.results.reviewed_arms import arm_figures
from agent_trials.results.reviewed_rows import reviewed_turns
from agent_trials.results.verdict import FUTILITY
from agent_trials.study.settings import ReviewSettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from agent_trials.results.evidence import Evidence
    from agent_trials.results.interventions import Intervention
    from agent_trials.results.reviewed_arms import ArmFigures

MAXIMUM_RATIO = Decimal("0.85")
PASSES_WHERE_CONTROL_HAS_NONE = 2
CREDITED_TASKS = 2
UNNECESSARY = 1
NOT_EXERCISED = Fraction(5, 6)
"""First-turn passes of the control, by pairs run, from which on there was nothing to repair."""


REVIEWS = ReviewSettings(
    event="SEMANTIC_REVIEW",
    continued="SEMANTIC_CONTINUE",
    wall_field="wall_ms",
    scope_field="scope",
)
"""What study.toml says of the product's events; pairs are looked at without it."""


def after_pair(rows: Sequence[Mapping[str, Any]], remaining: int) -> dict[str, Any]:
    """Return what the pairs so far came to, and ``futility`` where no claim can come of the rest.

    Args:
        rows: a row for each turn, with the observation and what the product wrote in it.
        remaining: how many pairs are still planned.
    """
    attempts = reviewed_turns(rows, REVIEWS)
    repairs, needless = credited(attempts), unnecessary(attempts)
    harmful = sum(each.harmful is True for each in needless)
    line = (
        f"credited repairs {len(repairs)}, unnecessary interventions {len(needless)}"
        f" (harmful {harmful})"
    )
    futile = 0 < remaining < CREDITED_TASKS - len(repairs)
    return {"line": line, "stop": FUTILITY if futile else None}


def find(evidence: Evidence) -> Finding:
    """Return what speaks against the claim, what for it, and why neither would do."""
    if evidence.review_soft_cap is None:
        raise RuntimeError("the study declares no soft cap for a review of unknown cost")
    old, new = (
        arm_figures(evidence.reviewed, arm, soft_cap=evidence.review_soft_cap)
        for arm in (evidence.control, evidence.treatment)
    )
    of_treatment = [each for each in evidence.reviewed if each.arm == evidence.treatment]
    repairs, needless = credited(of_treatment), unnecessary(of_treatment)
    against = _against(old, new, repairs, needless)
    lacking = _lacking(old, new, repairs, needless)
    supported = not against and not lacking
    return Finding(
        claim=_claim(evidence, old, new) if supported else _question(evidence, new),
        against=tuple(against),
        supports=(_claim(evidence, old, new),) if supported else (),
        neither=tuple(lacking),
        figures=_figures(old, new, repairs, needless),
        says=_says(old, new, repairs, needless),
    )


def _against(
    old: ArmFigures,
    new: ArmFigures,
    repairs: tuple[Intervention, ...],
    needless: tuple[Intervention, ...],
) -> list[str]:
    found = []
    if new.passes < old.passes:
        found.append(f"fewer final passes with review: {new.passes} against {old.passes}")
    if harmful := sum(each.harmful is True for each in needless):
        found.append(f"harmful interventions: {harmful}")
    if not repairs and at_most(new.per_correct, old.per_correct) is Comparison.FAILS:
        found.append("a correct outcome costs more with review, and no repair is credited to it")
    return found


def _lacking(
    old: ArmFigures,
    new: ArmFigures,
    repairs: tuple[Intervention, ...],
    needless: tuple[Intervention, ...],
) -> list[str]:
    """Return what would have to be otherwise for the claim to hold."""
    found = []
    if new.passes < old.passes:
        found.append("fewer final passes with review")
    if not _cheaper(old, new):
        found.append(f"a correct outcome does not cost at most {text(MAXIMUM_RATIO)} times as much")
    tasks = len({each.task for each in repairs})
    if tasks < CREDITED_TASKS:
        found.append(f"credited repairs on {tasks} tasks, where {CREDITED_TASKS} are needed")
    if any(each.harmful is not False for each in needless):
        found.append("an intervention was harmful")
    if len(needless) > UNNECESSARY:
        found.append(f"{len(needless)} unnecessary interventions, where {UNNECESSARY} is allowed")
    if old.attempts and Fraction(old.first_passes, old.attempts) >= NOT_EXERCISED:
        found.append(
            f"the mechanism was not exercised: without review {old.first_passes} of"
            f" {old.attempts} passed after the first turn"
        )
    return found


def _cheaper(old: ArmFigures, new: ArmFigures) -> bool:
    if old.per_correct.tag is Tag.INFINITE and new.passes < PASSES_WHERE_CONTROL_HAS_NONE:
        return False
    return at_most(new.per_correct, old.per_correct, MAXIMUM_RATIO) is Comparison.HOLDS


def _question(evidence: Evidence, new: ArmFigures) -> str:
    return f"at this scale, {_scope(evidence, new)}, review lowers list cost per correct outcome"


def _claim(evidence: Evidence, old: ArmFigures, new: ArmFigures) -> str:
    """Return the claim with its scope and no more."""
    passes = f"({new.passes} vs {old.passes} passes)"
    scope = _scope(evidence, new)
    if old.per_correct.amount is None or new.per_correct.amount is None:
        return f"{scope}, review gave correct outcomes where there were none without it {passes}"
    saved = 100 * (1 - new.per_correct.amount / old.per_correct.amount)
    share = (Decimal(saved.numerator) / Decimal(saved.denominator)).quantize(
        Decimal("0.1"), rounding=ROUND_FLOOR
    )
    return f"{scope}, review lowered list cost per correct outcome by {share}% {passes}"


def _scope(evidence: Evidence, new: ArmFigures) -> str:
    facts = evidence.facts
    return (
        f"on {new.attempts} fresh multi-step tasks, {facts.get('actor', 'actor not recorded')},"
        f" CLI {facts.get('cli', 'not recorded')}, product {facts.get('product', 'not recorded')}"
    )


def _figures(
    old: ArmFigures,
    new: ArmFigures,
    repairs: tuple[Intervention, ...],
    needless: tuple[Intervention, ...],
) -> dict[str, str]:
    return {
        "control.passes": str(old.passes),
        "treatment.passes": str(new.passes),
        "control.first_turn_passes": str(old.first_passes),
        "treatment.first_turn_passes": str(new.first_passes),
        "control.cost_per_correct": str(old.per_correct),
        "treatment.cost_per_correct": str(new.per_correct),
        "credited_repairs": str(len(repairs)),
        "credited_tasks": str(len({each.task for each in repairs})),
        "unnecessary_interventions": str(len(needless)),
        "harmful_interventions": str(sum(each.harmful is True for each in needless)),
        "spent_usd": text(old.spent + new.spent),
    }


def _says(
    old: ArmFigures,
    new: ArmFigures,
    repairs: tuple[Intervention, ...],
    needless: tuple[Intervention, ...],
) -> str:
    found = _figures(old, new, repairs, needless)
    return (
        f"final passes {new.passes} against {old.passes} of {old.attempts} (first turn"
        f" {new.first_passes} against {old.first_passes}), USD per correct outcome"
        f" {new.per_correct} against {old.per_correct}, credited repairs"
        f" {found['credited_repairs']}, unnecessary interventions"
        f" {found['unnecessary_interventions']} of which harmful"
        f" {found['harmful_interventions']}, spent {found['spent_usd']} USD"
    )
