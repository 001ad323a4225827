"""What the terminal shows of a batch of gradings. Pure text: no answer, no arm, no reason."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from agent_trials import money
from agent_trials.results import ways
from agent_trials.results.agreement import agreement
from agent_trials.session.text import REHEARSAL
from agent_trials.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_trials.ledger.budget import Totals
    from agent_trials.results.grades import Grades
    from agent_trials.results.summary import Summary
    from agent_trials.session.grading_plan import Case, GradingPlan
    from agent_trials.session.grading_run import Given


def heading(plan: GradingPlan) -> list[str]:
    """Return the header lines of a batch."""
    mode = "PAID GRADING" if plan.is_paid else REHEARSAL
    answered = ways.models(plan.opening)
    cap = money.text(plan.cap_usd)
    counts = _counts(plan)
    lines = [f"agent-trials: {mode}: adjudicate {plan.name}, {counts}, cap {cap} USD"]
    for grader in plan.graders:
        same = " (the model that answered)" if grader.model in answered else ""
        lines.append(
            f"agent-trials: {grader.name}: {grader.model}{same} over {grader.transport}, at most"
            f" {money.text(grader.limit_usd)} USD a grading"
        )
    return lines


def _counts(plan: GradingPlan) -> str:
    return f"{counted(len(plan.cases), 'observation')}, {len(plan.open_cases)} to be graded"


def dry_run(plan: GradingPlan) -> list[str]:
    """Return what the dry run says of a batch."""
    to_grade = len(plan.open_cases)
    total = money.text(plan.settings.reserves(to_grade) if to_grade else money.ZERO)
    counts = _counts(plan)
    return [
        f"adjudicate {plan.name}: {counts}",
        f"  reserves at most {total} USD, controls included; cap {money.text(plan.cap_usd)} USD",
        "  networkCalls: 0",
        "  claudeProcesses: 0",
    ]


def line(plan: GradingPlan, blind_id: str, given: Sequence[Given], totals: Totals) -> str:
    """Return the line of one observation: outcomes and money."""
    outcomes = ", ".join(
        f"{each.outcome} ({each.reason})" if each.reason else each.outcome for each in given
    )
    rehearsal = "" if plan.is_paid else " REHEARSAL"
    return (
        f"{blind_id}  {outcomes}  spent {money.text(totals.spent)}, reserved"
        f" {money.text(totals.reserved)}, cap {money.text(totals.cap)} USD{rehearsal}"
    )


def before(plan: GradingPlan, case: Case) -> str:
    """Return the line of an observation that was graded before."""
    outcomes = [
        str(plan.records[case.blind_id, grader.name].fields["outcome"])
        for grader in plan.graders
        if (case.blind_id, grader.name) in plan.records
    ]
    return f"{case.blind_id}  {', '.join(outcomes)} (graded before)"


def pending(blind_id: str, given: Sequence[Given]) -> str:
    """Return the one sentence of an observation that got no valid grade."""
    why = ", ".join(f"{each.grader}: {each.reason}" for each in given)
    return (
        f"{blind_id}: pending ({why}); nothing was guessed, and the reply is private, beside the"
        " ledger; run the same command again to ask again"
    )


def summary(
    plan: GradingPlan, found: Grades, summarised: Summary, controls: int
) -> tuple[str, list[str]]:
    """Return title and lines of what a ledger's grades come to; its path is the last line."""
    mode = "PAID GRADING" if plan.is_paid else REHEARSAL
    counts = Counter(row.outcome.value for row in found.rows if row.outcome)
    waiting = Counter(row.reason or "pending" for row in found.rows if row.outcome is None)
    parts = [f"{count} {name}" for name, count in sorted(counts.items())]
    why = ", ".join(f"{count} {name}" for name, count in sorted(waiting.items()))
    parts.append(f"{waiting.total()} pending{f' ({why})' if why else ''}")
    lines = [f"{plan.name}: {', '.join(parts)}"]
    if controls:
        lines.append(f"controls: {controls} of {controls} as expected")
    if len(plan.graders) > 1 and (both := agreement(found.both())).share is not None:
        kappa = "none (one category)" if both.kappa is None else f"{float(both.kappa):.3f}"
        lines.append(
            f"agreement: {both.agreed} of {both.pairs} ({float(both.share):.0%}), kappa {kappa}"
        )
    totals = summarised.totals
    lines.append(
        f"spent {money.text(totals.spent)}, reserved {money.text(totals.reserved)}, prior"
        f" {money.text(totals.prior)}, cap {money.text(totals.cap)} USD"
    )
    stop = summarised.runs[-1].stop
    if stop is not None:
        lines.append(f"stopped: {stop.reason}")
    lines += [f"head {summarised.head}", str(plan.ledger)]
    return f"agent-trials: {mode}: adjudicate {plan.name}", lines
