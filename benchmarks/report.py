"""How long a report of 10,000 attempts takes, and how much memory it needs.

    python benchmarks/report.py [ATTEMPTS] [--same]

The ledger is made first, without waiting for the disk; that is not measured. Every attempt has
counts of its own, as a model's have; ``--same`` gives all of them the same few, which is easier.
Then ``agent-trials report`` is run as a user runs it, start of Python and imports included.

Measured on two cores at a load of 5 to 8, where the CPU time of equal runs varied by a half (CPU of
the whole process, peak memory):

    10,000 attempts          before                  after
    counts of their own      not done after 208 s    20 s, 440 MiB
    the same few counts      25.5 s, 439 MiB         15 to 18 s, 440 MiB

On a machine that does nothing else, counts of their own: 14.0 s elapsed, 16.1 s of CPU, 442 MiB.

Before, every sum over shares (the warmth of a cache) carried the common denominator of thousands of
attempts, differences were made anew for each figure, each sign-flip test and each bootstrap drew
anew, and the collector went through all of the ledger again and again. The numbers are the same.
"""

# ruff: noqa: T201 - figures are what it is for

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "fixtures"))

import ledgers
import reportable

ATTEMPTS = 10_000
REPETITIONS = 5
PROGRAM = "from agent_trials.cli import main; main()"


def main() -> None:
    """Print what there is, what it took, and what came of it."""
    same = "--same" in sys.argv
    numbers = [int(word) for word in sys.argv[1:] if word != "--same"]
    tasks = max(1, (numbers or [ATTEMPTS])[0] // (2 * REPETITIONS))
    with tempfile.TemporaryDirectory() as folder:
        shape = reportable.Shape(tasks, REPETITIONS, varied=not same, disk=ledgers.FastDisk())
        path = reportable.ledger(Path(folder), shape)
        print(f"{tasks} tasks, {tasks * REPETITIONS * 2} attempts, {path.stat().st_size} bytes")
        into = Path(folder) / "report"
        began = time.perf_counter()
        command = [sys.executable, "-c", PROGRAM, "report", str(path), "--into", str(into)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"elapsed      {time.perf_counter() - began:6.1f} s")
        print(f"CPU          {used.ru_utime + used.ru_stime:6.1f} s")
        peak = used.ru_maxrss / (1024 if sys.platform == "linux" else 1048576)
        print(f"peak memory  {peak:6.0f} MiB")
        for file in sorted(into.iterdir()):
            print(f"  {file.name:14} {file.stat().st_size / 1e6:6.1f} MB")


if __name__ == "__main__":
    main()
