"""What every agent offers, and the small rules that all of them share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from agent_trials.records import AttemptRequest, AttemptResult

OTHER = "other"
"""The name under which calls of unpublishable tool names are counted."""

_PUBLIC_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Agent(Protocol):
    """What answers one attempt's question through one transport; it serves one attempt."""

    def ask(self, request: AttemptRequest, folder: Path) -> AttemptResult:
        """Return what the attempt showed, whatever happened to it.

        Args:
            request: the question and all that the attempt may know.
            folder: the attempt's own export, which is all that the agent may read.

        Raises:
            AgentError: the agent cannot be started at all; nothing was spent.
        """
        ...


class InterruptibleAgent(Agent, Protocol):
    """An agent that still knows what it spent when something outside ends it."""

    def interrupted(self) -> AttemptResult:
        """Return what is known of an attempt whose ``ask`` ended with an exception of another's.

        The status is interrupted; money that may have been spent is charged.
        """
        ...


def public_tool_name(name: object, expected: Collection[str]) -> str:
    """Return the name under which a call is counted in the ledger.

    A model may invent a name that holds private text, so a name outside the expected ones is
    published only if it looks like a tool's.
    """
    if isinstance(name, str) and (name in expected or _PUBLIC_NAME.fullmatch(name)):
        return name
    return OTHER
