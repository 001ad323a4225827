"""One run at a time; a dead process holds nothing."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

import ledgers
from agent_trials.errors import LedgerInUseError
from agent_trials.ledger.chain import Reading, read
from agent_trials.ledger.disk import Disk
from agent_trials.ledger.locks import RunLock, is_open, run_file
from agent_trials.results.summary import summarise

if TYPE_CHECKING:
    from pathlib import Path

HOLDER = """
import sys
from pathlib import Path
from agent_trials.ledger.locks import RunLock
lock = RunLock.take(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.readline()
"""


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    """The lock is the system's, not a file that somebody has to remove."""
    path = tmp_path / "ledger.jsonl"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_open(path)
        with pytest.raises(LedgerInUseError):
            RunLock.take(path)
        holder.kill()
        holder.wait()

    assert not is_open(path)
    RunLock.take(path).release()


def test_who_only_looks_is_not_taken_for_a_run(tmp_path: Path) -> None:
    """``show`` in a loop must not keep a run from opening."""
    path = tmp_path / "ledger.jsonl"
    run_file(path).touch()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            is_open(path)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(20):
            RunLock.take(path).release()
    finally:
        done.set()
        looking.join()


def test_a_finished_ledger_is_shared_by_those_who_count_it(tmp_path: Path) -> None:
    """They do not exclude each other, only a run."""
    path = tmp_path / "ledger.jsonl"
    run_file(path).touch()
    one, other = RunLock.share(path), RunLock.share(path)

    assert one is not None
    assert other is not None
    assert not is_open(path)
    with pytest.raises(LedgerInUseError):
        RunLock.take(path)
    one.release()
    other.release()
    other.release()
    RunLock.take(path).release()


def test_a_ledger_that_never_had_a_run_file_is_counted_too(tmp_path: Path) -> None:
    """It may lie in a bundle that cannot be written to."""
    assert RunLock.share(tmp_path / "ledger.jsonl") is None
    assert not is_open(tmp_path / "ledger.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_an_open_ledger_is_read_by_others(tmp_path: Path) -> None:
    """Reading waits for an append under way and for nothing else."""
    attempts = ledgers.plan()
    journal = ledgers.create(tmp_path / "ledger.jsonl", attempts)
    journal.admit_and_reserve(attempts[0], attempts[:2], ledgers.AMOUNT)

    assert [line.seq for line in read(journal.path)] == [1, 2, 3]
    assert summarise(journal.path).is_open
    journal.settle(attempts[0], ledgers.result())


def test_a_reader_does_not_see_half_an_append(tmp_path: Path) -> None:
    """It would report a crash that did not happen."""

    class PausingDisk(Disk):
        """Lets somebody read when half of a line is written."""

        def write(self, descriptor: int, data: bytes, offset: int) -> int:
            if b'"run-stopped"' in data:
                half = super().write(descriptor, data[: len(data) // 2], offset)
                reader.start()
                reader.join(0.2)  # it waits for the lock; without one it would be through by now
                return half
            return super().write(descriptor, data, offset)

    torn: list[int] = []

    def look() -> None:
        reading = Reading(path)
        seen = [line.event for line in reading]
        torn.append(reading.torn if seen[-1] == "run-stopped" else -1)

    path = tmp_path / "ledger.jsonl"
    reader = threading.Thread(target=look)
    journal = ledgers.create(path, disk=PausingDisk())
    journal.stop("operator")
    reader.join()

    assert torn == [0]
