"""What the plugin costs pytest: 10,000 attempts, and a run that meets no study.

Prints two ratios of medians, measured side by side in one run:
    collecting a study of 10,000 attempts over collecting a plain module of as many (at most 1.5)
    running one plain test with the plugin over running it without                   (at most 1.1)

    python benchmarks/collection.py [ROUNDS]
"""

# ruff: noqa: T201 - figures are what it is for

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fixtures"))

from lab import Lab

if TYPE_CHECKING:
    from collections.abc import Callable

TASKS = 1000
REPETITIONS = 5

PLAIN = """\
import pytest

IDS = [
    f"full/task-{{task}}/{{arm}}/r{{repetition}}"
    for task in range({tasks})
    for repetition in range(1, {repetitions} + 1)
    for arm in ("repository-only", "docs-mcp")
]


@pytest.mark.parametrize("planned", IDS, ids=IDS)
def test_attempt(planned):
    pass
"""


def main() -> None:
    """Measure both ratios and print them."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder) / "lab", questions=tuple(f"task-{n}" for n in range(TASKS)))
        lab.study(repetitions=REPETITIONS)
        manifest = lab.folder / "study.toml"
        text = manifest.read_text(encoding="utf-8")
        start, end = text.index("[phases.pilot]"), text.index("[phases.full]")
        manifest.write_text(text[:start] + text[end:], encoding="utf-8")
        plain = lab.project / "plain" / "test_plain.py"
        plain.parent.mkdir()
        plain.write_text(PLAIN.format(tasks=TASKS, repetitions=REPETITIONS), encoding="utf-8")
        single = lab.project / "single" / "test_single.py"
        single.parent.mkdir()
        single.write_text("def test_single(): pass\n", encoding="utf-8")

        def run(*arguments: str) -> None:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
                cwd=lab.project, env=lab.environ({}), check=False, capture_output=True,
            )  # fmt: skip
            if done.returncode:
                raise SystemExit(done.stdout.decode() + done.stderr.decode())

        study = lambda: run("evals", "--collect-only")  # noqa: E731 - two of a kind
        listed = lambda: run("plain", "--collect-only")  # noqa: E731
        shown = ratio(study, listed, rounds)
        print(f"collecting 10,000 attempts / 10,000 plain tests: {shown}")
        off = ("-p", "no:agent_trials.plugin")
        shown = ratio(lambda: run("single"), lambda: run("single", *off), rounds)
        print(f"a run without a study, with / without the plugin: {shown}")


def ratio(one: Callable[[], None], other: Callable[[], None], rounds: int) -> str:
    """Return the ratio of the medians of two actions, taken in turns, with both medians."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for action, times in zip((one, other), taken, strict=True):
            started = time.perf_counter()
            action()
            times.append(time.perf_counter() - started)
    first, second = (statistics.median(times) for times in taken)
    return f"{first / second:.2f} ({first:.2f} s / {second:.2f} s, {rounds} rounds)"


if __name__ == "__main__":
    main()
