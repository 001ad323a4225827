"""Which ledgers count before a run, and what they come to."""

from __future__ import annotations

import shutil
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

import ledgers
from agent_trials.errors import LedgerError
from agent_trials.ledger import prior
from agent_trials.records import Status

if TYPE_CHECKING:
    from pathlib import Path

    from agent_trials.ledger.prior import PriorLedger


@pytest.fixture
def pilot(tmp_path: Path) -> Path:
    """Return a finished pilot, every attempt completed."""
    path = tmp_path / "pilot.jsonl"
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts)
    journal.passed_preflight({"servers": {"docs": {"tools": 2}}})
    ledgers.run_all(journal, attempts)
    journal.close()
    return path


def read(*paths: Path, mode: str = "paid", transport: str | None = None) -> tuple[PriorLedger, ...]:
    return prior.read_all(paths, series_id=ledgers.SERIES, mode=mode, transport=transport)


def test_a_finished_pilot_counts_and_satisfies_what_requires_it(pilot: Path) -> None:
    """Its figures are what is printed again before the scored run."""
    [ledger] = read(pilot)

    assert ledger.spent == Decimal("0.2")
    assert ledger.cap == 1
    assert (ledger.phase, ledger.mode, ledger.transport) == ("pilot", "paid", "cli")
    assert ledger.closed
    assert ledger.complete
    assert ledger.satisfies("pilot", "cli")
    assert not ledger.satisfies("pilot", "http")
    assert not ledger.satisfies("smoke", "cli")
    assert [each.charged for each in ledger.attempts] == [Decimal("0.05")] * 4
    assert ledger.preflight is not None
    assert ledger.preflight["servers"] == {"docs": {"tools": 2}}
    assert ledger.to_json() == {
        "origin": ledger.origin,
        "head": ledger.head,
        "spentUsd": "0.2",
        "runs": [ledger.run_id],
    }


def test_what_was_never_settled_counts_as_spent(tmp_path: Path) -> None:
    """Its agent may have taken all of it. What was only held is free."""
    attempts = ledgers.plan()
    journal = ledgers.create(tmp_path / "dead.jsonl", attempts)
    journal.admit_and_reserve(attempts[0], attempts[:2], ledgers.AMOUNT)
    journal.release()
    [ledger] = read(journal.path)

    assert ledger.spent == ledgers.AMOUNT
    assert not ledger.closed
    assert not ledger.satisfies("pilot", "cli")


@pytest.mark.parametrize("how", ["failed", "cut short", "not closed"])
def test_a_pilot_that_did_not_run_to_its_end_satisfies_nothing(tmp_path: Path, how: str) -> None:
    """It counts for the cap all the same."""
    attempts = ledgers.plan()
    journal = ledgers.create(tmp_path / "pilot.jsonl", attempts)
    ledgers.run_all(journal, attempts, 3)
    if how != "cut short":
        journal.admit_and_reserve(attempts[3], attempts[2:], ledgers.AMOUNT)
        status = Status.FAILED if how == "failed" else Status.COMPLETED
        journal.settle(attempts[3], ledgers.result("0.1", status))
    if how == "not closed":
        journal.release()
    else:
        journal.close()
    [ledger] = read(journal.path)

    assert not ledger.satisfies("pilot", "cli")
    assert ledger.spent >= Decimal("0.15")


def test_an_open_ledger_is_refused(tmp_path: Path) -> None:
    """What it will have come to is not known."""
    journal = ledgers.create(tmp_path / "open.jsonl")

    with pytest.raises(LedgerError, match="a run is open on it; wait until it has ended"):
        read(journal.path)
    journal.close()
    assert read(journal.path)


def test_a_copy_of_a_ledger_is_not_counted_beside_it(pilot: Path, tmp_path: Path) -> None:
    """Nor the same one by another path, nor a copy that was taken before its end."""
    copy, link, early = (tmp_path / name for name in ("copy.jsonl", "link.jsonl", "early.jsonl"))
    shutil.copy(pilot, copy)
    link.symlink_to(pilot)
    early.write_bytes(b"".join(pilot.read_bytes().splitlines(keepends=True)[:3]))

    for again in (copy, link, early, pilot):
        with pytest.raises(LedgerError, match=f"the same ledger as {pilot}; give each once"):
            read(pilot, again)


def test_a_run_is_not_counted_twice_by_a_forged_copy(pilot: Path, tmp_path: Path) -> None:
    """Another first line, and the same run."""
    other = tmp_path / "other.jsonl"
    shutil.copy(pilot, other)
    ledgers.rewrite(other, lambda lines: lines[0].update(capUsd="2"))

    with pytest.raises(LedgerError, match="it holds run"):
        read(pilot, other)


def test_another_series_another_mode_and_another_transport_are_refused(
    pilot: Path, tmp_path: Path
) -> None:
    """Every problem of every ledger is named at once."""
    other = tmp_path / "other.jsonl"
    ledgers.create(other, seriesId=ledgers.OTHER_SERIES, folderDigest="").close()

    with pytest.raises(LedgerError) as caught:
        read(pilot, other, tmp_path / "none.jsonl", mode="rehearsal", transport="http")

    said = str(caught.value)
    assert f"--prior-ledger {pilot}: its mode is paid and this run's is rehearsal" in said
    assert f"--prior-ledger {pilot}: its transport is cli and this run's is http" in said
    assert f"--prior-ledger {other}: its seriesId is {ledgers.OTHER_SERIES}" in said
    assert "none.jsonl: it does not exist; give the ledger as it was written" in said


def test_a_ledger_that_does_not_verify_is_refused(pilot: Path) -> None:
    """With the line's number."""
    pilot.write_bytes(pilot.read_bytes().replace(b'"chargedUsd":"0.05"', b'"chargedUsd":"0.01"', 1))

    with pytest.raises(LedgerError, match="ledger broken at line 5"):
        read(pilot)


def test_a_ledger_without_a_run_is_refused(tmp_path: Path) -> None:
    """A kill before the first line left it."""
    (tmp_path / "empty.jsonl").touch()

    with pytest.raises(LedgerError, match="holds no run"):
        read(tmp_path / "empty.jsonl")


def test_a_lost_ledger_counts_its_whole_cap() -> None:
    """Nobody can say what was spent under it."""
    assert prior.lost("r7", Decimal("1.50")) == {
        "origin": "lost:r7",
        "head": None,
        "spentUsd": "1.5",
        "runs": ["r7"],
    }
