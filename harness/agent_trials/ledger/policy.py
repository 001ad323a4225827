"""Whether a cell may be reserved again: the study's resume and rerun rules, over what is recorded.

Rules (``taken`` returns the sentence of the one that forbids):
    never            only the ledger's first run reserves attempts, each cell once
    skip-recorded    a later run reserves what no run has reserved
    skip-completed   a later run also reserves what an earlier one reserved and did not complete
    infra_reruns     up to so many reruns in place, in the whole ledger: a cell of this run that was
                     settled as invalid-setup, or as failed before its first tool call
A rerun plugin's second try of a failed item falls under none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials.ledger import shapes
from agent_trials.records import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

NEVER = "never"
SKIP_RECORDED = "skip-recorded"
SKIP_COMPLETED = "skip-completed"


@dataclass(frozen=True)
class Policy:
    """A run's rules for cells that were reserved before."""

    resume: str
    infra_reruns: int

    @classmethod
    def read(cls, opening: Mapping[str, Any]) -> Policy:
        """Return the policy that a run-opened line states.

        Raises:
            KeyError, TypeError, ValueError: it states none, or one that is not known.
        """
        resume, reruns = opening["resume"], shapes.number(opening, "infraReruns")
        if resume not in (NEVER, SKIP_RECORDED, SKIP_COMPLETED):
            raise ValueError(f"resume {resume!r}")
        return cls(resume, reruns)


@dataclass
class CellRecord:
    """What the ledger holds of one cell: its latest reservation, and whether any was completed.

    ``infrastructure`` is None while the latest reservation is not settled.
    """

    run: int
    completed: bool = False
    infrastructure: bool | None = None

    def settle(self, run: int, observation: Mapping[str, Any]) -> None:
        """Take in how a reservation of the cell ended."""
        status = Status(observation["status"])
        if observation.get("toolCalls") is not None:
            shapes.number(observation, "toolCalls")
        self.completed = self.completed or status is Status.COMPLETED
        if run == self.run:
            before_tools = status is Status.FAILED and not observation.get("toolCalls")
            self.infrastructure = status is Status.INVALID_SETUP or before_tools


def taken(policy: Policy, record: CellRecord | None, *, run: int, reruns: int) -> str | None:
    """Return why a run may not reserve a cell; None if it may.

    Args:
        policy: of the run that asks.
        record: what is recorded of the cell; None if it was never reserved.
        run: the number of the run that asks.
        reruns: reruns in place so far, over the whole ledger.
    """
    if policy.resume == NEVER and run > 1:
        return "the study is never resumed (schedule.resume)"
    if record is None:
        return None
    if record.run == run:
        return _rerun(policy, record, reruns)
    if policy.resume != SKIP_COMPLETED:
        return f"run {record.run} reserved it, and the study does not reserve a cell twice"
    return f"run {record.run} or one before completed it" if record.completed else None


def _rerun(policy: Policy, record: CellRecord, reruns: int) -> str | None:
    if record.infrastructure is None:
        return "it is reserved and not settled"
    if not record.infrastructure or not policy.infra_reruns:
        return "it was reserved in this run, and the study does not repeat an attempt"
    if reruns >= policy.infra_reruns:
        return f"the study allows {policy.infra_reruns} infrastructure reruns, and they are used"
    return None
