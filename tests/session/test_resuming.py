"""A ledger is gone on with by the plan it was begun with, and by no other."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agent_trials.ledger.budget import Totals
from agent_trials.session.resuming import Recorded, differences

ZERO = Decimal(0)
WAY = {"arm": "a", "slot": "low", "model": "small", "transport": "provider"}
OPENING: dict[str, Any] = {
    "study": "s", "mode": "paid", "seriesId": "sha256:0", "phase": "full",
    "compares": ["model"], "ways": [WAY], "providersDigest": "sha256-normalized-v1:0",
}  # fmt: skip


def recorded() -> Recorded:
    return Recorded(
        path=Path("run.jsonl"), origin="", opening=OPENING, latest=OPENING, run_ids=frozenset(),
        totals=Totals(ZERO, ZERO, ZERO, ZERO, ZERO, 0), statuses={}, kept=frozenset(),
    )  # fmt: skip


def test_the_same_plan_differs_in_nothing() -> None:
    assert differences(recorded(), dict(OPENING)) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ways", [{**WAY, "model": "large"}]),
        ("compares", ["transport"]),
        ("providersDigest", "sha256-normalized-v1:1"),
    ],
    ids=["a model of one arm", "what is compared", "the commands"],
)
def test_another_way_to_the_model_is_another_plan(field: str, value: object) -> None:
    """Half of its attempts would be made otherwise than the rest, under one plan."""
    (problem,) = differences(recorded(), {**OPENING, field: value})

    assert f"its {field} is" in str(problem)
