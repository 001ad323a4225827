"""Every task of the stop-review trial: its checker goes red, requirement by requirement."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

STUDY = Path(__file__).parents[2] / "evals/stop_review"
TASKS = sorted(path.name for path in (STUDY / "tasks").iterdir())
CALIBRATION = "recipes"
THREADS = 2


def solutions(task: str) -> dict[str, tuple[str, ...]]:
    """Return the patches of every tree that is checked, the starter itself without any."""
    variants = sorted(path.stem for path in (STUDY / "solutions" / task / "variants").iterdir())
    trees = {name: ("reference", name) for name in variants}
    return {"original": (), "reference": ("reference",), **trees}


def tree(task: str, patches: tuple[str, ...], into: Path) -> Path:
    """Return the starter with patches applied, one after the other."""
    shutil.copytree(STUDY / "tasks" / task / "starter", into)
    for name in patches:
        patch = next((STUDY / "solutions" / task).rglob(f"{name}.patch"))
        # Inside another repository git would look for the files there.
        command = ["git", "apply", "-p1", str(patch)]
        subprocess.run(
            command, cwd=into, env={"GIT_CEILING_DIRECTORIES": str(into.parent)}, check=True
        )
    return into


def failed_groups(task: str, folder: Path) -> tuple[int, list[str]]:
    """Return the exit code of the checker, and the groups that it failed."""
    checker = STUDY / "checkers" / f"check_{task}.py"
    done = subprocess.run(
        [sys.executable, "-B", str(checker), str(folder)], capture_output=True, check=False
    )
    groups = json.loads(done.stdout)["groups"]
    return done.returncode, sorted(name for name, found in groups.items() if not found["ok"])


def suite(folder: Path) -> None:
    command = [sys.executable, "-B", "-m", "unittest"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_there_are_six_tasks_and_one_to_calibrate_on() -> None:
    assert len(TASKS) == 7
    assert CALIBRATION in TASKS


@pytest.mark.parametrize("task", TASKS)
def test_the_starter_is_a_program_of_some_size_with_a_green_suite(task: str) -> None:
    starter = STUDY / "tasks" / task / "starter"
    lines = sum(
        len(path.read_text("utf-8").splitlines())
        for path in starter.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )

    assert task == CALIBRATION or 1000 <= lines <= 5000
    suite(starter)


@pytest.mark.parametrize("task", TASKS)
def test_the_checker_fails_the_original_passes_the_reference_and_tells_every_variant(
    task: str, tmp_path: Path
) -> None:
    trees = {
        name: tree(task, patches, tmp_path / name) for name, patches in solutions(task).items()
    }
    suite(trees["reference"])
    with ThreadPoolExecutor(THREADS) as threads:
        checked = threads.map(lambda folder: failed_groups(task, folder), trees.values())
        found = dict(zip(trees, checked, strict=True))
    original, reference = found.pop("original"), found.pop("reference")

    assert original[0] == 1
    assert reference == (0, [])
    assert found == {name: (1, [name]) for name in found}
    assert 8 <= len(found) <= 12
    assert list(found) == [f"r{number:02}" for number in range(1, len(found) + 1)]


def test_a_tree_that_ends_the_checks_process_has_not_passed(tmp_path: Path) -> None:
    """A program that exits with 0 while it is looked at must not turn a group green."""
    folder = tree(CALIBRATION, ("reference",), tmp_path / "tree")
    shopping = folder / "recipes/shopping.py"
    shopping.write_text(
        'import os\nos.write(1, b\'{"groups": {"r01": {"ok": true}}}\')\nos._exit(0)\n', "utf-8"
    )

    code, failed = failed_groups(CALIBRATION, folder)

    assert code == 1
    assert {"r01", "r02", "r03", "r04", "r05"} <= set(failed)
