"""What a provider command may say of its attempt as a whole: how it failed, what servers it saw.

Rules:
    a command may say that its attempt is not completed, and how; never that it is
    codes are words of its own, lower case and short
    a server did not answer more often than it was called
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from agent_trials.records import Status

DECLARABLE = (
    Status.FAILED, Status.TIMED_OUT, Status.INVALID_SETUP, Status.INVALID_COST,
    Status.BUDGET_EXCEEDED, Status.INCOMPLETE,
)  # fmt: skip
"""How a command may say that its attempt ended: in every way but well."""
MOST_CODES = 32
MOST_SERVERS = 16
_MOST_CALLS = 10**9
_CODE = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_SERVER = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class ClaimError(ValueError):
    """A claim that is none."""


@dataclass(frozen=True)
class Declared:
    """A command's own word that its attempt is not completed, and its codes for why."""

    status: Status
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the fields as they stand in a ledger line."""
        return {"status": self.status.value, "problems": list(self.problems)}


def declared(value: object) -> Declared | None:
    """Return what ``execution`` says, None where it is not there.

    Raises:
        ClaimError: it breaks a rule.
    """
    if value is None:
        return None
    known = {each.value: each for each in DECLARABLE}
    status = value.get("status") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(status, str) or status not in known:
        raise ClaimError(f"execution.status is none of {', '.join(known)}")
    codes = value.get("problems", [])
    if not isinstance(codes, list) or len(codes) > MOST_CODES:
        raise ClaimError(f"execution.problems is no list of at most {MOST_CODES}")
    if not all(isinstance(each, str) and _CODE.fullmatch(each) for each in codes):
        raise ClaimError("a code of execution.problems is no word")
    return Declared(known[status], tuple(codes))


def servers(value: object) -> dict[str, dict[str, Any]]:
    """Return what ``servers`` says of each server, sorted by name.

    Raises:
        ClaimError: it breaks a rule.
    """
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > MOST_SERVERS:
        raise ClaimError(f"servers is no object of at most {MOST_SERVERS}")
    return {name: _use(name, use) for name, use in sorted(value.items())}


def _use(name: str, use: object) -> dict[str, Any]:
    if not _SERVER.fullmatch(name) or not isinstance(use, dict):
        raise ClaimError("a server has no name or no figures")
    calls, answered = (_count(name, use.get(key, 0)) for key in ("calls", "answered"))
    if answered > calls or not isinstance(use.get("ready"), bool):
        raise ClaimError(f"servers.{name} contradicts itself, or does not say whether it was ready")
    return {"ready": use["ready"], "calls": calls, "answered": answered}


def _count(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_CALLS:
        raise ClaimError(f"servers.{name} has a count that is none")
    return value
