"""What an append costs at 10 and at 100,000 events, and what memory it takes to read the latter.

    python benchmarks/ledger_append.py [--events N] [--sync]

Both appends are measured in one run, turn about, so that a busy machine weighs on both. An append
here is what a worker does: take the lock, read what is new, decide, write a reservation and its
settlement with two openings. ``--sync`` waits for the disk as a real run does.
"""

# ruff: noqa: T201 - figures are what it is for

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "fixtures"))

import ledgers
from agent_trials.ledger.chain import read
from agent_trials.ledger.disk import Disk
from agent_trials.results.summary import verify

if TYPE_CHECKING:
    from agent_trials.ledger.journal import Journal
    from agent_trials.records import PlannedAttempt

FEW = 10
ROUNDS = 200
LINES = 3
CAP = "1000000"


class WaitingDisk(Disk):
    """Waits for the disk only when told to: the ledger is built up without."""

    waits = False

    def sync(self, descriptor: int) -> None:
        """Wait, or do nothing."""
        if self.waits:
            super().sync(descriptor)


class Growing:
    """A ledger of a given length that goes on by attempts of its own."""

    def __init__(self, path: Path, events: int, disk: Disk) -> None:
        self._attempts = iter(ledgers.plan(tasks=events // LINES + ROUNDS + 1, arms=("one",)))
        self.journal: Journal = ledgers.create(path, [], disk=disk, capUsd=CAP)
        while int(self.journal.head.split(":")[0]) < events:
            self.append(next(self._attempts))

    def append(self, attempt: PlannedAttempt) -> None:
        """Reserve and settle: an admission, a reservation, a settlement, in two appends."""
        self.journal.admit_and_reserve(attempt, [attempt], ledgers.AMOUNT)
        self.journal.settle(attempt, ledgers.result())

    def timed(self) -> float:
        """Return the seconds that one attempt's appends take."""
        attempt = next(self._attempts)
        begin = time.perf_counter()
        self.append(attempt)
        return time.perf_counter() - begin


def main() -> None:
    """Print the medians, their ratio, and the memory."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--events", type=int, default=100_000)
    options.add_argument("--sync", action="store_true")
    given = options.parse_args()
    disk = WaitingDisk()
    with tempfile.TemporaryDirectory() as folder:
        few = Growing(Path(folder) / "few.jsonl", FEW, disk)
        many = Growing(Path(folder) / "many.jsonl", given.events, disk)
        disk.waits = given.sync
        times = [(few.timed(), many.timed()) for _ in range(ROUNDS)]
        short, long = (statistics.median(column) for column in zip(*times, strict=True))
        print(f"append at {FEW:>7,} events: {short * 1e3:.3f} ms")
        print(f"append at {given.events:>7,} events: {long * 1e3:.3f} ms, ratio {long / short:.3f}")
        measure_reading(many.journal.path)


def measure_reading(path: Path) -> None:
    """Print how fast the ledger is read, and in which memory."""
    size = path.stat().st_size
    begin = time.perf_counter()
    count = sum(1 for _ in read(path))
    seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    verify(path)
    rules = time.perf_counter() - begin
    tracemalloc.start()
    for line in read(path):
        if line.seq > count // 10:
            break
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"read   {count:,} events, {size / 1e6:.0f} MB: {seconds:.1f} s; verify {rules:.1f} s")
    print(f"memory while streaming a tenth of it: {peak / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
