"""docs/ledger.md is the format: whatever a line may hold is named there."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

from agent_trials.ledger.events import Event
from agent_trials.records import Observation, Status
from agent_trials.session import opening

SESSION = Path(opening.__file__).parent
TEXT = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text("utf-8")
NAMED = set(re.findall(r"`([A-Za-z_-]+)`", TEXT))
_KEY = re.compile(r'^ +(?:\*\*\(?\{)?"([a-zA-Z]+)":', re.MULTILINE)


def test_every_event_is_named() -> None:
    assert {each.value for each in Event} - NAMED == set()


def test_every_field_of_an_observation_is_named() -> None:
    """A stranger who opens a ledger must find out what its figures are."""
    whole = Observation(status=Status.COMPLETED, transport="cli", charged_usd=Decimal(1))

    assert whole.to_json().keys() - NAMED == set()


def test_every_field_of_a_run_is_named() -> None:
    written = {
        name
        for module in ("opening", "grading")
        for name in _KEY.findall((SESSION / f"{module}.py").read_text("utf-8"))
    }

    assert {"capUsd", "stopOn", "graders"} < written
    assert written - NAMED - {"slot", "arm"} == set()
