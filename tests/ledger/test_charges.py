"""What a settlement must at least charge."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any

import pytest

from agent_trials.errors import MoneyError
from agent_trials.ledger import charges
from agent_trials.records import Observation, Status

RESERVATION = Decimal("0.1")
REPORTED, COMPUTED, COST, LOWER = (
    "cli_reported_cost_usd", "computed_cost_usd", "cost_usd", "cost_lower_usd",
)  # fmt: skip


def problem(transport: str, status: Status, charged: str, **costs: str) -> str | None:
    bare = Observation(status=status, transport=transport, charged_usd=Decimal(charged))
    amounts: dict[str, Any] = {name: Decimal(cost) for name, cost in costs.items()}
    observation = dataclasses.replace(bare, **amounts)
    return charges.problem(observation.to_json(), RESERVATION)


@pytest.mark.parametrize(
    ("transport", "status", "charged", "costs"),
    [
        ("cli", Status.COMPLETED, "0.05", {REPORTED: "0.05", COMPUTED: "0.04"}),
        ("cli", Status.COMPLETED, "0.05", {REPORTED: "0.04", COMPUTED: "0.05"}),
        ("cli", Status.COMPLETED, "0", {REPORTED: "0", COMPUTED: "0"}),
        ("cli", Status.COMPLETED, "0.010000001", {REPORTED: "0.0100000001"}),
        ("provider", Status.COMPLETED, "0.1", {}),
        ("cli", Status.FAILED, "0.1", {}),
        ("cli", Status.TIMED_OUT, "0.1", {REPORTED: "0.02"}),
        ("cli", Status.BUDGET_EXCEEDED, "0.3", {REPORTED: "0.3", COMPUTED: "0.2"}),
        ("cli", Status.INTERRUPTED, "0.2", {LOWER: "0.2"}),
        ("http", Status.COMPLETED, "0.05", {COST: "0.05"}),
        ("http", Status.FAILED, "0.02", {LOWER: "0.01"}),
        ("http", Status.FAILED, "0", {}),
        ("gateway", Status.TIMED_OUT, "0.1", {}),
    ],
)
def test_accepts_what_the_money_rule_demands(
    transport: str, status: Status, charged: str, costs: dict[str, str]
) -> None:
    """The smallest charge that each case allows; metered ones are charged what was metered."""
    assert problem(transport, status, charged, **costs) is None


@pytest.mark.parametrize(
    ("transport", "status", "charged", "costs"),
    [
        ("cli", Status.COMPLETED, "0.04", {REPORTED: "0.05", COMPUTED: "0.04"}),
        ("cli", Status.COMPLETED, "0.04", {REPORTED: "0.04", COMPUTED: "0.05"}),
        ("cli", Status.COMPLETED, "0.04", {COST: "0.05"}),
        ("provider", Status.COMPLETED, "0.09", {}),
        ("cli", Status.FAILED, "0.099999999", {}),
        ("cli", Status.TIMED_OUT, "0.02", {REPORTED: "0.02"}),
        ("cli", Status.INVALID_COST, "0.1", {REPORTED: "0.3"}),
        ("cli", Status.INVALID_COST, "0.1", {COMPUTED: "0.3"}),
        ("cli", Status.INTERRUPTED, "0.1", {LOWER: "0.2"}),
        ("http", Status.COMPLETED, "0.04", {COST: "0.05"}),
        ("http", Status.FAILED, "0.01", {LOWER: "0.02"}),
        ("http", Status.COMPLETED, "0.100000001", {COST: "0.05"}),
    ],
)
def test_refuses_a_charge_that_was_lowered(
    transport: str, status: Status, charged: str, costs: dict[str, str]
) -> None:
    """Who lowers a charge makes room under the cap for money that is gone."""
    found = problem(transport, status, charged, **costs)

    assert found is not None
    assert charged in found


def test_an_amount_that_is_none_is_no_charge() -> None:
    """A negative charge would give money back."""
    line = {"status": "completed", "transport": "cli", "chargedUsd": "-1"}

    with pytest.raises(MoneyError):
        charges.problem(line, RESERVATION)
