"""What a session keeps for its runs, and that nothing of it outlives the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_trials.session.runs import Runs

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("close", [True, False], ids=["controller", "worker"])
def test_the_supervisor_in_reserve_ends_with_the_session(tmp_path: Path, *, close: bool) -> None:
    """Nothing is started for a session before its first attempt, and nothing stays after it."""
    runs = Runs(tmp_path)
    assert runs._spare._one is None

    runs._spare.make_ready(has_input=False)
    waiting = runs._spare._one
    runs.finish(close=close)

    assert waiting is not None
    assert not waiting.lives
