"""The dry run: the matrix of every study, and nothing opened, started or written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from lab import Lab


def snapshot(folder: Path) -> dict[str, int]:
    """Return every file below a folder with its time of change."""
    return {
        str(path): path.lstat().st_mtime_ns
        for path in sorted(folder.rglob("*"))
        if ".pytest_cache" not in str(path)
    }


def test_lists_the_attempts_of_every_phase_in_schedule_order(lab: Lab) -> None:
    shown = lab.pytest("evals", "--collect-only", "-q")

    items = [line for line in shown.out.splitlines() if "::test_attempt[" in line]
    assert shown.code == 0, shown.text
    assert items == [
        f"evals/sample/test_sample.py::test_attempt[{item}]"
        for item in (
            "pilot/install-command/repository-only/r1",
            "pilot/install-command/docs-mcp/r1",
            "full/install-command/repository-only/r1",
            "full/install-command/docs-mcp/r1",
            "full/retry-count/docs-mcp/r1",
            "full/retry-count/repository-only/r1",
        )
    ]


def test_prints_counts_reservations_and_that_nothing_was_started(lab: Lab) -> None:
    shown = lab.pytest("evals", "--collect-only", STUDY_BUDGET_USD="1")

    assert "sample/pilot: 2 attempts" in shown.out
    assert "sample/full: 4 attempts" in shown.out
    assert "reserves at most 0.2 USD; cap 1 USD" in shown.out
    assert shown.out.count("networkCalls: 0") == 2
    assert shown.out.count("claudeProcesses: 0") == 2


def test_lists_only_the_phase_that_is_named(lab: Lab) -> None:
    shown = lab.pytest("evals", "--collect-only", "-m", "pilot")

    assert "sample/pilot" in shown.out
    assert "sample/full" not in shown.out


def test_writes_nothing(lab: Lab) -> None:
    """Neither a ledger, nor byte code, nor anything beside the operator's files."""
    before = snapshot(lab.root)

    shown = lab.pytest("evals", "--collect-only", "-p", "no:cacheprovider")

    assert shown.code == 0, shown.text
    assert snapshot(lab.root) == before


def test_reads_the_checkouts_that_it_is_given(lab: Lab) -> None:
    (lab.checkout / "docs" / "install.md").write_text("changed\n", encoding="utf-8")

    shown = lab.pytest("evals", "--collect-only", "--root", f"handbook={lab.checkout}")

    assert shown.code == 4
    assert "handbook" in shown.text
    assert "Traceback" not in shown.text


def test_accepts_a_checkout_that_is_clean_and_at_its_pin(lab: Lab) -> None:
    shown = lab.pytest("evals", "--collect-only", "--root", f"handbook={lab.checkout}")

    assert shown.code == 0, shown.text
    assert "repositoriesChecked: handbook" in shown.out


def test_names_every_problem_of_every_manifest_at_once(lab: Lab) -> None:
    path = lab.folder / "study.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace("repetitions = 1\nconcurrency", "repetitons = 1\nconcurrency").replace(
            'rule = "paired-difference"', "rule = 3"
        ),
        encoding="utf-8",
    )

    shown = lab.pytest("evals", "--collect-only")

    assert shown.code == 4
    assert "repetitons" in shown.text
    assert "repetitions" in shown.text
    assert "verdict" in shown.text
    assert "Traceback" not in shown.text


def test_starts_no_process_of_the_study(lab: Lab) -> None:
    """A CLI on PATH that would leave a trace is not even asked for its version."""
    trace = lab.root / "trace"
    claude = lab.home / "claude"
    claude.write_text(f"#!/bin/sh\necho started >> {trace}\n", encoding="utf-8")
    claude.chmod(0o755)

    lab.pytest("evals", "--collect-only", PATH=f"{lab.home}{os.pathsep}{lab.environ({})['PATH']}")

    assert not trace.exists()
