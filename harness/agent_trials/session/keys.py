"""Where the session keeps its things on pytest's and xdist's own objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from agent_trials.session.controller import Controller


@dataclass(frozen=True)
class Deselected:
    """How many attempts nobody asked for, and whether the session met nothing that it ran.

    ``recorded`` attempts are those that a resumed ledger holds already.
    """

    attempts: int
    nothing_else: bool
    recorded: int = 0


CONTROLLER: pytest.StashKey[Controller] = pytest.StashKey()
BYTECODE: pytest.StashKey[bool] = pytest.StashKey()
LINE: pytest.StashKey[str] = pytest.StashKey()
DESELECTED: pytest.StashKey[Deselected] = pytest.StashKey()

WORKER_INPUT = "agent_trials"
WORKER_OUTPUT = "agent_trials_deselected"
