"""Grading that costs money: a paid ledger, a cap, and a CLI that counts what it takes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import fake_cli
import grading
from agent_trials.results.grades import grades
from grading import CORRECT, INCORRECT
from lab import Lab

if TYPE_CHECKING:
    from pathlib import Path

    from fake_cli import FakeCli
    from lab import Outcome


NONSENSE = {"answer": "It is surely correct, trust me."}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A frozen study whose adjudicator is a CLI; its ledger is that of a paid pilot."""
    lab = Lab(tmp_path_factory.mktemp("paid"))
    grading.register_cli(lab)
    fake = fake_cli.install(lab.root / "pilot", answer=grading.REFERENCE)
    done = lab.pytest(*lab.paid_arguments(), "--claude-bin", str(fake.path), **lab.paid_environment)
    assert done.code == 0, done.text
    return lab


def grade(lab: Lab, fake: FakeCli, *arguments: str, **environment: str) -> Outcome:
    return grading.adjudicate(
        lab, lab.ledger, "--approve-budget", "--claude-bin", str(fake.path), *arguments,
        **{"STUDY_BUDGET_USD": "1", **environment},
    )  # fmt: skip


def test_a_paid_ledger_is_not_graded_without_approval_cap_and_checkout(
    lab: Lab, tmp_path: Path
) -> None:
    """What is missing is said all at once, and nobody is asked."""
    fake = fake_cli.install(tmp_path)
    before = lab.ledger.read_bytes()
    unapproved = grading.adjudicate(lab, lab.ledger)
    bare = lab.pytest(
        "evals/sample", "-m", "adjudicate", "--approve-budget", "--ledger", str(lab.ledger)
    )

    assert unapproved.code == 4
    assert "it is a paid ledger, and the command is a rehearsal" in unapproved.err
    assert bare.code == 4
    assert "a paid grading needs a cap" in bare.err
    assert lab.ledger.read_bytes() == before
    assert not fake.starts


def test_an_invalid_reply_stays_pending_and_is_asked_for_again(lab: Lab, tmp_path: Path) -> None:
    """Nothing is guessed from a reply that is not valid; its money is spent all the same.

    Who is asked gets the packet on standard input, and no tool to look further with.
    """
    fake = fake_cli.install(tmp_path, attempts=[CORRECT, INCORRECT, NONSENSE, CORRECT])
    shown = grade(lab, fake)

    assert shown.code == 1, shown.text
    assert "pending (adjudicator: not-one-object)" in shown.out
    assert "1 correct, 1 pending (1 not-one-object)" in shown.out
    assert "trust me" not in shown.text + lab.ledger.read_text("utf-8")
    pending = [n for n in grading.lines(lab.ledger, "grade-settled") if n["outcome"] == "pending"]
    assert [line["reason"] for line in pending] == ["not-one-object"]
    for start in fake.starts:
        assert start["argv"][start["argv"].index("--tools") + 1] == ""
        assert "PACKET" in start["prompt"]
        assert "docs-mcp" not in start["prompt"]
        assert start["cwd"] != str(lab.checkout)
    assert len(fake.starts) == 4

    fake = fake_cli.install(tmp_path / "again", attempts=[CORRECT, INCORRECT, CORRECT])
    again = grade(lab, fake)

    assert again.code == 0, again.text
    assert len(fake.starts) == 3
    assert [row.outcome for row in grades(lab.ledger).rows] == ["correct", "correct"]
    spent = lab.show()["budget"]["spentUsd"]
    records = (lab.folder / "study.ledgers.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["event"] for line in records] == ["opened", "closed"] * 3
    assert json.loads(records[-1])["spentUsd"] == spent
