"""What the terminal shows of an evaluation. Pure text: no patch, no log."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from agent_trials.graders.swebench_report import Class

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from agent_trials.graders.swebench_report import Evaluated
    from agent_trials.session.evaluation_plan import EvaluationPlan
    from agent_trials.session.evaluation_run import Outcome
    from agent_trials.session.evaluation_subjects import Subject

CODE = "agent-trials"


def heading(plan: EvaluationPlan) -> list[str]:
    """Return the header lines of an evaluation, missing patches named."""
    names = ", ".join(subject.name for subject in plan.subjects)
    lines = [f"{CODE}: evaluate {plan.name}: {names}; harness {plan.settings.harness_version}"]
    lacking = [each for each in plan.subjects if each.predictions.missing]
    return lines + [
        f"{CODE}: {each.name} left no patch of {', '.join(each.predictions.missing)}"
        for each in lacking
    ]


def kept(files: Iterable[Path]) -> list[str]:
    """Return where the predictions are."""
    return [f"{CODE}: predictions {file}" for file in files]


def dry_run(plan: EvaluationPlan) -> list[str]:
    """Return what the dry run says of an evaluation."""
    lines = [f"evaluate {plan.name}:"]
    for subject in plan.subjects:
        of, missing = len(subject.predictions.patches), len(subject.predictions.missing)
        stands = "; a report of them stands" if subject.stands else ""
        lines.append(f"  {subject.name}: {of} predictions, {missing} missing{stands}")
    return [*lines, "  networkCalls: 0", "  claudeProcesses: 0"]


def line(subject: Subject, outcome: Outcome | None) -> str:
    """Return the line of one arm."""
    if outcome is None:
        return f"{subject.name}  evaluated before: a report of these predictions stands"
    before = "" if outcome.recorded else " (the same report stands already)"
    return f"{subject.name}  {counts(outcome.evaluated)}{before}"


def counts(found: Evaluated) -> str:
    """Return the classes in words, infrastructure and doubtful failures apart."""
    by_class = Counter(found.classes.values())
    parts = [f"resolved {by_class[Class.RESOLVED]} of {len(found.classes)}"]
    parts += [f"{by_class[kind]} {kind.value}" for kind in Class if kind is not Class.RESOLVED]
    apart = f"infrastructure {len(found.infrastructure)}, ambiguous {len(found.ambiguous)}"
    return f"{', '.join(parts)}; of these {apart}"


def summary(
    plan: EvaluationPlan, outcomes: Mapping[str, Outcome], head: str
) -> tuple[str, list[str]]:
    """Return title and lines of what was evaluated; the ledger's path is the last line."""
    lines = [f"{name}: {counts(each.evaluated)}" for name, each in outcomes.items()]
    lines += [f"head {head}"] if head else ["nothing was recorded"]
    return f"{CODE}: evaluate {plan.name}", [*lines, str(plan.ledger)]
