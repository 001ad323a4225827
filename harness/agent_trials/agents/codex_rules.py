"""The words in which a Codex run is judged: problems, their classes, what is expected.

Every code belongs to one class, and the classes are in the order in which a status is decided: the
first class with a problem gives the status, and a run without a problem is completed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials.agents.cli_rules import Finding, ProcessFacts
from agent_trials.records import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_trials.agents.codex_usage import Usage

CLASSES: tuple[tuple[Status, tuple[str, ...]], ...] = (
    (Status.INTERRUPTED, ("interrupted",)),
    (Status.TIMED_OUT, ("deadline",)),
    (Status.FAILED, ("stdout-over-bound", "no-turn-end", "turn-failed")),
    (
        Status.INVALID_SETUP,
        (
            "not-started",
            "required-server-failed",
            "key-missing",
            "sandbox-broken",
            "configuration-ignored",
            "line-not-json",
            "thread-repeated",
            "turn-repeated",
            "turn-end-not-last",
            "foreign-tool",
            "forbidden-program",
            "call-not-approved",
            "treatment-lost",
            "server-not-required",
        ),
    ),
    (Status.INVALID_COST, ("sub-agent", "counts-invalid", "foreign-model")),
    (Status.BUDGET_EXCEEDED, ("budget-reached",)),
    (Status.FAILED, ("no-answer", "answer-not-json", "answer-breaks-schema", "exit-code")),
)
CODES = tuple(code for _, codes in CLASSES for code in codes)

__all__ = ["CLASSES", "CODES", "Expected", "ExpectedServer", "Finding", "ProcessFacts", "status"]


@dataclass(frozen=True)
class ExpectedServer:
    """An MCP server of the arm.

    ``required`` makes the CLI wait for it and fail without it. ``tools`` are those that may be
    called, by the server's own names; None allows all.
    """

    name: str
    required: bool = True
    tools: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What the command line of a run lets it show.

    ``kinds`` are the items that it may have beside messages. ``sub_agents`` tells that they were
    left on: they spend what no figure of the stream holds. ``forbidden`` are programs that no
    command may name. ``schema`` is what the answer must fit, ``prior`` the session's total before.
    """

    kinds: frozenset[str]
    servers: tuple[ExpectedServer, ...] = ()
    sandboxed: bool = True
    sub_agents: bool = False
    forbidden: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None
    prior: Usage | None = None


def status(codes: Iterable[str]) -> Status:
    """Return the status of the first class that has one of the problems."""
    found = set(codes)
    for name, members in CLASSES:
        if found.intersection(members):
            return name
    return Status.COMPLETED


def in_order(codes: Iterable[str]) -> tuple[str, ...]:
    """Return every code once, in the order of the classes."""
    found = set(codes)
    return tuple(code for code in CODES if code in found)
