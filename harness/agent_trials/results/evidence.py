"""What a verdict is decided on, and what one rule finds in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent_trials.results.rows import is_measured

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from agent_trials.results.reviewed import Reviewed
    from agent_trials.results.rows import Row


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a rule decides on: for each endpoint a row for each planned pair of two arms.

    ``pending`` counts answers that are not graded yet, ``stopped`` is the code of the reason for
    which the run stopped early (None if it did not). Where a product reviewed the agent,
    ``reviewed`` holds the attempts in schedule order, and ``review_soft_cap`` what a review of
    unknown cost counts, USD. ``facts`` is what a claim's scope names, in words; ``owed`` counts
    attempts whose further turn a run's end left out, ``undecided`` those whose tree no checker
    could look at.
    """

    control: str
    treatment: str
    rows: Mapping[str, tuple[Row, ...]]
    pending: int = 0
    stopped: str | None = None
    rehearsal: bool = False
    reviewed: tuple[Reviewed, ...] = ()
    review_soft_cap: Decimal | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    owed: int = 0
    undecided: int = 0


@dataclass(frozen=True)
class Finding:
    """What speaks against a rule's claim, what for it, and why neither would do.

    ``claim`` is what the rule is about, ``says`` states the figures for readers.
    """

    claim: str
    against: tuple[str, ...] = ()
    supports: tuple[str, ...] = ()
    neither: tuple[str, ...] = ()
    figures: Mapping[str, str] = field(default_factory=dict)
    says: str = ""


def complete(row: Row) -> bool:
    """Return whether both arms of the pair have a value."""
    return is_measured(row.control) and is_measured(row.treatment)
