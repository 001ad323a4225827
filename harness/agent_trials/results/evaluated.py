"""What the official evaluation made of each attempt's patch, from the lines that state it; pure.

Rules, the first that applies:
    the arm has no evaluation, or one from before the attempt's last turn   pending
    the evaluation's own ground failed                                      infrastructure, no score
    the attempt left no patch                                               missing-patch, no score
    resolved                                                                1
    unresolved, empty-patch, error                                          0
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_trials.ledger.chain import Line
    from agent_trials.results.record import Attempt, Record

ARM, CONTROL = "arm", "control"
PENDING, NOT_EVALUATED = "pending", "not-evaluated"
INFRASTRUCTURE = "infrastructure"
MISSING = "missing-patch"
RESOLVED = "resolved"


def key(line: Line) -> tuple[str, str]:
    """Return whose report a line states: an arm's or a control's, and its name."""
    kind = ARM if ARM in line.fields else CONTROL
    return kind, str(line.fields[kind])


def is_evaluated(record: Record) -> bool:
    """Return whether the patches of a ledger are evaluated: by its study, or by what it holds."""
    if record.frozen.manifest is not None:
        return record.frozen.manifest.evaluation is not None
    return any(kind == ARM for kind, _ in record.evaluations)


def grade(
    attempt: Attempt, evaluations: Mapping[tuple[str, str], Line]
) -> tuple[str, Decimal | None, str | None]:
    """Return outcome, score and reason of an attempt that was settled."""
    line = evaluations.get((ARM, attempt.cell.arm))
    if line is None or attempt.lines[-1].seq > line.seq:
        return PENDING, None, NOT_EVALUATED
    found = line.fields["classes"].get(attempt.cell.task)
    if found is None:
        return PENDING, None, NOT_EVALUATED
    if attempt.cell.task in line.fields["infrastructure"]:
        return INFRASTRUCTURE, None, None
    if found == MISSING:
        return MISSING, None, None
    return str(found), Decimal(found == RESOLVED), None
