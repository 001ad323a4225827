"""Where the session keeps its things on pytest's and xdist's own objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from agent_trials.session.controller import Controller

CONTROLLER: pytest.StashKey[Controller] = pytest.StashKey()
BYTECODE: pytest.StashKey[bool] = pytest.StashKey()
LINE: pytest.StashKey[str] = pytest.StashKey()
ONLY_ATTEMPTS: pytest.StashKey[bool] = pytest.StashKey()

WORKER_INPUT = "agent_trials"
WORKER_ONLY_ATTEMPTS = "agent_trials_only_attempts"
