"""Who approves a publication, and what that approval is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import ledgers
from agent_trials.errors import LedgerError, LedgerInUseError
from agent_trials.ledger.approval import Approver
from agent_trials.results.record import read
from agent_trials.results.summary import verify

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Return a finished ledger."""
    path = tmp_path / "run.jsonl"
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts)
    ledgers.run_all(journal, attempts)
    journal.close()
    return path


def approve(path: Path, name: str = "Ada Example") -> str:
    return Approver.on(path, clock=ledgers.clock()).approve(name)


def test_an_approval_names_the_head_that_was_approved(ledger: Path) -> None:
    """What was published before the approval still verifies against the head of then."""
    before = verify(ledger).head

    assert approve(ledger) == before
    assert verify(ledger, before).head != before
    found = read(ledger).approved
    assert found is not None
    assert (found.fields["by"], found.fields["head"]) == ("Ada Example", before)


def test_an_approval_does_not_hold_for_what_was_appended_behind_it(ledger: Path) -> None:
    """A run that goes on after the approval has shown nobody what it adds."""
    approve(ledger)
    ledgers.reopen(ledger, attempts=4, resume="skip-recorded").close()

    assert read(ledger).approved is None


def test_refuses_an_approval_while_a_run_is_open(tmp_path: Path) -> None:
    """Whoever approves must have seen the end."""
    path = tmp_path / "run.jsonl"
    journal = ledgers.create(path)

    with pytest.raises(LedgerInUseError):
        approve(path)
    journal.close()


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "x" * 201])
def test_refuses_what_is_no_name(ledger: Path, name: str) -> None:
    """The name is published; nothing is written without one."""
    before = ledger.read_bytes()

    with pytest.raises(LedgerError, match="say who"):
        approve(ledger, name)
    assert ledger.read_bytes() == before


def test_refuses_a_ledger_that_is_not_there(tmp_path: Path) -> None:
    """And makes none."""
    with pytest.raises(LedgerError, match="there is no ledger"):
        approve(tmp_path / "none.jsonl")
    assert not list(tmp_path.iterdir())


def test_a_report_waits_for_the_end_of_a_run(tmp_path: Path) -> None:
    """A page of half a run would be taken for one of all of it."""
    path = tmp_path / "run.jsonl"
    journal = ledgers.create(path)

    with pytest.raises(LedgerInUseError, match="agent-trials show"):
        read(path)
    journal.close()
