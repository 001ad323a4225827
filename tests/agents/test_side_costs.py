"""What a product says that it spent is charged, and what it does not say as well."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from agent_trials.agents import side_costs
from agent_trials.agents.side_costs import Mark
from agent_trials.records import SideFile

if TYPE_CHECKING:
    from pathlib import Path

SIDE = SideFile("{home}/events.jsonl", "event", "COST", "usd", Decimal("0.25"), 2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the product's file."""
    return tmp_path / "events.jsonl"


def read(path: Path, text: str, before: str = "") -> side_costs.SideCosts:
    """Return what is read of a file that held ``before`` when the turn began."""
    path.write_text(before + text, encoding="utf-8")
    return side_costs.read(SIDE, Mark(path, len(before.encode())))


def test_only_lines_of_the_turn_count(path: Path) -> None:
    """The same file goes on through both turns of an attempt."""
    found = read(path, '{"event":"COST","usd":0.1}\n', before='{"event":"COST","usd":5}\n')

    assert (found.calls, found.charged) == (1, Decimal("0.1"))


@pytest.mark.parametrize(
    ("line", "charged", "missing"),
    [
        ('{"event":"COST","usd":0.05}', "0.05", 0),
        ('{"event":"COST","usd":"0.05"}', "0.05", 0),
        ('{"event":"COST","usd":0}', "0", 0),
        ('{"event":"COST","usd":null}', "0.25", 1),
        ('{"event":"COST"}', "0.25", 1),
        ('{"event":"COST","usd":-1}', "0.25", 1),
        ('{"event":"COST","usd":true}', "0.25", 1),
        ('{"event":"COST","usd":"much"}', "0.25", 1),
        ('{"event":"COST","usd":NaN}', "0.25", 1),
        ('{"event":"OTHER","usd":9}', "0", 0),
        ("no json", "0", 0),
        ('["COST"]', "0", 0),
    ],
)
def test_a_call_without_a_valid_cost_is_charged_its_soft_cap(
    path: Path, line: str, charged: str, missing: int
) -> None:
    """A cost that is not known was not nothing."""
    found = read(path, line + "\n")

    assert (found.charged, found.missing) == (Decimal(charged), missing)
    assert found.to_json()["costUsd"] == (None if missing else charged)


def test_calls_beyond_the_reserved_ones_are_charged_and_reported(path: Path) -> None:
    """The reservation was for two; the money of a third is gone all the same."""
    found = read(path, '{"event":"COST"}\n' * 3)

    assert (found.charged, found.overshoot) == (Decimal("0.75"), Decimal("0.25"))


def test_no_file_is_no_call(path: Path) -> None:
    """An arm without the product never makes it."""
    found = side_costs.read(dataclasses.replace(SIDE, max_calls=0), Mark(path, 0))

    assert (found.calls, found.declared) == (0, False)


def test_a_file_that_was_made_anew_is_read_from_its_beginning(path: Path) -> None:
    """A product that rotates its file must not hide what it spent."""
    path.write_text('{"event":"COST","usd":1}\n', encoding="utf-8")

    assert side_costs.read(SIDE, Mark(path, 1_000)).charged == Decimal(1)
