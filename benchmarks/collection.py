"""What the plugin costs pytest: 10,000 attempts, and a run that meets no study.

Prints two ratios of processor time, measured turn about; of each side the least of all rounds,
since whatever else the machine does can only add to it:
    collecting a study of 10,000 attempts over collecting a plain module of as many (at most 1.5)
    running one plain test with the plugin over running it without                   (at most 1.1)

    python benchmarks/collection.py [ROUNDS]

Ends with 1 where a ratio is above what it may be.
"""

# ruff: noqa: T201 - figures are what it is for

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
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
    """Measure both ratios, print them, and say whether they may be so."""
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
        off = ("-p", "no:agent_trials.plugin")
        fine = [
            shown("10,000 attempts / 10,000 plain tests", ratio(study, listed, rounds), 1.5),
            shown(
                "a run without a study, with / without the plugin",
                ratio(lambda: run("single"), lambda: run("single", *off), 3 * rounds),
                1.1,
            ),
        ]
    sys.exit(0 if all(fine) else 1)


def shown(what: str, found: float, most: float) -> bool:
    """Print a ratio beside what it may be; return whether it is not above it."""
    print(f"{what}: {found:.2f}, may be {most}")
    return found <= most


def ratio(one: Callable[[], None], other: Callable[[], None], rounds: int) -> float:
    """Return the least processor time of one action over that of the other, taken in turns."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for action, times in zip((one, other), taken, strict=True):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            action()
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(sum(after[:2]) - sum(before[:2]))
    return min(taken[0]) / min(taken[1])


if __name__ == "__main__":
    main()
