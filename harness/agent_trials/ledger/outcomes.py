"""The five outcomes of a grading, their scores, and the other names under which they are known."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum


class Outcome(StrEnum):
    """What a graded answer is worth; ``score`` says how much."""

    CORRECT = "correct"
    PARTIAL = "partial"
    INCORRECT = "incorrect"
    INCOMPLETE = "incomplete"
    BLOCKED = "blocked"

    @property
    def score(self) -> Decimal | None:
        """Return 1, 0.5 or 0; None where the figure is missing."""
        return _SCORES[self]


_SCORES = {
    Outcome.CORRECT: Decimal(1),
    Outcome.PARTIAL: Decimal("0.5"),
    Outcome.INCORRECT: Decimal(0),
    Outcome.INCOMPLETE: Decimal(0),
    Outcome.BLOCKED: None,
}
ALIASES = {"success": Outcome.CORRECT}
"""Names of the study provider CLI contract that are not ours."""


def parse(written: object) -> Outcome | None:
    """Return the outcome of that name, None where there is none."""
    if not isinstance(written, str):
        return None
    try:
        return ALIASES.get(written) or Outcome(written)
    except ValueError:
        return None
