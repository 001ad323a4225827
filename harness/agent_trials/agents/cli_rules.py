"""The words in which a Claude CLI attempt is judged: problems, their classes, what is expected.

Every code belongs to one class, and the classes are in the order in which a status is decided: the
first class with a problem gives the status, and an attempt without a problem is completed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_trials.agents import cli_usage
from agent_trials.records import Status
from agent_trials.workspace.mcp_names import cli_tool_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal

    from agent_trials.agents.cli_prices import TierRule
    from agent_trials.agents.cli_usage import SessionTotals
    from agent_trials.study.settings import PriceTier

CLASSES: tuple[tuple[Status, tuple[str, ...]], ...] = (
    (Status.INTERRUPTED, ("interrupted",)),
    (Status.TIMED_OUT, ("deadline",)),
    (Status.FAILED, ("stdout-over-bound", "no-result", "provider-error", "ended-before-init")),
    (
        Status.INVALID_SETUP,
        (
            "line-not-json",
            "no-init",
            "init-repeated",
            "init-late",
            "result-repeated",
            "result-not-last",
            "result-of-another-session",
            "model-differs",
            "tools-missing",
            "tools-extra",
            "tools-repeated",
            "tools-changed",
            "mcp-servers-differ",
            "mcp-server-not-connected",
            "mcp-server-errors",
            "permission-mode-differs",
            "version-differs",
            "foreign-tool-call",
            "denial-not-accepted",
            "treatment-lost",
            "sub-agent",
            "hooks-not-loaded",
        ),
    ),
    (
        Status.INVALID_COST,
        (
            "reported-cost-invalid",
            "model-usage-missing",
            "counts-invalid",
            "foreign-model",
            "cost-basis-not-list",
            "costs-disagree",
        ),
    ),
    (Status.BUDGET_EXCEEDED, ("limit-reached", "charged-above-reservation")),
    (Status.FAILED, ("result-is-error", "result-not-success", "no-answer", "exit-code")),
)
CODES = tuple(code for _, codes in CLASSES for code in codes)


@dataclass(frozen=True)
class Finding:
    """One problem: its code, and what was seen, for the private record only."""

    code: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class ProcessFacts:
    """What the process showed apart from its output.

    ``exit_code`` is negative for a signal. ``arrivals`` pairs the bytes read so far with the
    milliseconds since the start.
    """

    exit_code: int | None
    timed_out: bool = False
    truncated: bool = False
    interrupted: bool = False
    wall_time_ms: int | None = None
    arrivals: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a valid attempt shows.

    ``tools`` are all that the session may list, as the CLI spells them; ``mcp_tools`` those of each
    server. ``denied`` are names that the study denies, ``hooks`` events at which a hook must have
    answered in a session that came to its end. ``prior`` is what the session had cost before.
    ``model`` may be an alias of letters alone, such as ``opus``.
    """

    model: str
    tools: tuple[str, ...]
    reservation_usd: Decimal
    prices: tuple[PriceTier, ...]
    web_search_usd: Decimal
    tier_rule: TierRule = "per-request"
    mcp_tools: Mapping[str, tuple[str, ...]]
    permission_mode: str | None = None
    accepted_denials: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    version: str | None = None
    hooks: tuple[str, ...] = ()
    prior: SessionTotals | None = None

    def is_model(self, name: str) -> bool:
        """Tell whether a name is the study's model, a dated name of it, or what its alias means."""
        if self.model.isalpha():
            return name == self.model or name.startswith(f"claude-{self.model}-")
        return cli_usage.same_model(name, self.model)


def status(codes: Iterable[str]) -> Status:
    """Return the status of the first class that has one of the problems."""
    found = set(codes)
    for name, members in CLASSES:
        if found.intersection(members):
            return name
    return Status.COMPLETED


def first_of(status: Status, codes: Iterable[str]) -> str | None:
    """Return the first of the problems that belongs to a status's class, None without one."""
    members = [code for name, class_ in CLASSES if name is status for code in class_]
    return next((code for code in codes if code in members), None)


def expected_tools(
    built_in: Iterable[str], servers: Mapping[str, Iterable[str]]
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Return all tools of an arm as the CLI spells them, and those of each server."""
    by_server = {
        server: tuple(sorted(cli_tool_name(server, tool) for tool in tools))
        for server, tools in servers.items()
    }
    return (*built_in, *(name for tools in by_server.values() for name in tools)), by_server
