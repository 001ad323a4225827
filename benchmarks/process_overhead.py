"""What the supervisor costs: the same program bare and through ``process.run``, turn about.

    python benchmarks/process_overhead.py [--runs N] [--seconds S] [--lines N]

The program sleeps for S seconds and prints N lines, as an agent's stream does. What is printed are
medians; the harness may cost 3 % of an attempt of 1.5 s, workspace and ledger included.
"""

# ruff: noqa: T201 - figures are what it is for

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials import process

if TYPE_CHECKING:
    from collections.abc import Callable

ATTEMPT_SECONDS = 1.5
LIMITS = process.Limits(deadline_seconds=60)


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def main() -> None:
    """Run turn about, and print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--lines", type=int, default=100)
    options = parser.parse_args()
    script = f"sleep {options.seconds}; for i in $(seq {options.lines}); do echo line $i; done"
    argv = ("/bin/sh", "-c", script)
    environment = {"PATH": "/usr/bin:/bin"}
    command = process.Command(argv, Path("/"), environment)
    bare, supervised = [], []
    for _ in range(options.runs):
        bare.append(
            seconds(lambda: subprocess.run(argv, check=True, env=environment, capture_output=True))
        )
        supervised.append(seconds(lambda: process.run(command, process.Silent(), LIMITS)))
    cost = statistics.median(supervised) - statistics.median(bare)
    print(f"bare        {statistics.median(bare) * 1000:8.1f} ms")
    print(f"supervised  {statistics.median(supervised) * 1000:8.1f} ms")
    print(f"cost        {cost * 1000:8.1f} ms, {cost / ATTEMPT_SECONDS:.2%} of {ATTEMPT_SECONDS} s")


if __name__ == "__main__":
    main()
