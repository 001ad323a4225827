"""A run that ends in the middle of any of its steps leaves at least the money at risk on record."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

import dying_writer
import ledgers
from agent_trials.errors import LedgerError
from agent_trials.ledger.chain import read
from agent_trials.ledger.openings import Openings
from agent_trials.results.summary import Summary, summarise, verify

RESERVATION = ledgers.AMOUNT


def amounts(path: Path) -> list[Decimal]:
    """Return the amounts that a child wrote down, one a line."""
    return [Decimal(line) for line in path.read_text().split()] if path.exists() else []


def summary_of(path: Path) -> Summary | None:
    """Return what a ledger shows, None if nothing was ever written to it."""
    try:
        return summarise(path)
    except LedgerError:
        return None


@pytest.mark.parametrize("how", ["killed", "half", "full"])
def test_at_every_step_the_record_covers_what_may_have_been_taken(tmp_path: Path, how: str) -> None:
    """SIGKILL before a call, in the middle of a write, and a disk that is full after n bytes."""
    program = Path(dying_writer.__file__)
    subprocess.run([sys.executable, program, tmp_path, how], check=True, timeout=120)
    paths = sorted(tmp_path.glob("*.jsonl"), key=lambda path: int(path.stem))
    torn = 0

    assert len(paths) >= 25
    for path in paths:
        took, told = amounts(path.with_suffix(".took")), amounts(path.with_suffix(".told"))
        summary = summary_of(path)
        if summary is None:
            assert took == []
            continue
        recorded = summary.totals.spent + summary.totals.reserved
        in_flight = [RESERVATION for _ in took[len(told) :]]
        assert recorded >= sum([*told, *in_flight], Decimal(0))
        assert recorded <= Decimal("0.23")
        verification = verify(path, summary.head)
        assert verification.opened == verification.committed
        torn += summary.torn_bytes > 0

    last = summary_of(paths[-1])
    assert last is not None
    assert last.totals.spent == Decimal("0.23")
    assert (torn > 0) is (how != "killed")


def test_the_run_after_a_kill_goes_on_from_what_stands(tmp_path: Path) -> None:
    """Its torn tail is cut off, its openings without a line are passed over."""
    program = Path(dying_writer.__file__)
    subprocess.run([sys.executable, program, tmp_path, "half"], check=True, timeout=120)
    attempts = ledgers.plan(tasks=1)
    resumed = 0
    for path in tmp_path.glob("*.jsonl"):
        if summary_of(path) is None:
            continue
        journal = ledgers.reopen(path, resume="skip-completed")
        journal.admit_and_reserve(attempts[0], attempts, RESERVATION)
        journal.settle(attempts[0], ledgers.result())
        journal.close()
        verification = verify(path, journal.head)
        resumed += 1

        assert verification.torn_bytes == 0
        assert verification.opened == verification.committed
        openings = Openings(path)
        answers = [
            openings.value(line, "answer") for line in read(path) if line.event == "attempt-settled"
        ]
        assert set(answers) == {"It is in README.md:3."}
    assert resumed > 20
