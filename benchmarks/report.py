"""How long a report of 10,000 attempts takes, and how much memory it needs.

    python benchmarks/report.py [ATTEMPTS]

The ledger is made first, without waiting for the disk; that is not measured.
"""

# ruff: noqa: T201 - figures are what it is for

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "fixtures"))

import ledgers
import reportable
from agent_trials.results import record, report_files

ATTEMPTS = 10_000
REPETITIONS = 5


def main() -> None:
    """Print one line for each step."""
    attempts = int(sys.argv[1]) if len(sys.argv) > 1 else ATTEMPTS
    tasks = max(1, attempts // (2 * REPETITIONS))
    with tempfile.TemporaryDirectory() as folder:
        shape = reportable.Shape(tasks, REPETITIONS, disk=ledgers.FastDisk())
        path = reportable.ledger(Path(folder), shape)
        print(f"{tasks} tasks, {tasks * REPETITIONS * 2} attempts, {path.stat().st_size} bytes")
        began = time.perf_counter()
        found = record.read(path)
        print(f"read and verified  {time.perf_counter() - began:6.1f} s")
        report_files.write(found, Path(folder) / "report")
        print(f"report written     {time.perf_counter() - began:6.1f} s")
        for file in sorted((Path(folder) / "report").iterdir()):
            print(f"  {file.name:14} {file.stat().st_size / 1e6:6.1f} MB")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak memory        {peak / (1024 if sys.platform == 'linux' else 1048576):6.0f} MiB")


if __name__ == "__main__":
    main()
