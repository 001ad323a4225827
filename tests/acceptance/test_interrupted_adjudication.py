"""A grading that dies is gone on with: nothing is paid twice, and nothing stays ungraded.

Rehearsed over the CLI transport, with a CLI that counts its starts.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import fake_cli
import grading
from agent_trials.ledger.chain import read
from agent_trials.ledger.openings import Openings
from agent_trials.results.grades import grades
from grading import CORRECT, INCORRECT

if TYPE_CHECKING:
    from lab import Lab

FIXTURES = str(Path(fake_cli.__file__).parent)
STEPS = {
    "after grade-reserved 3": 0,  # the adjudicator of the first observation was not asked
    "before grade-settled 3": 1,  # it was asked, and nobody wrote down what it said
    "after grade-settled 3": 1,  # graded
}
"""Where a session dies, and how many observations were asked about; two controls come before."""


def test_a_kill_at_every_step_pays_for_no_grade_twice(lab: Lab) -> None:
    grading.register_cli(lab)
    answering = fake_cli.install(lab.root / "answering", answer=grading.REFERENCE)
    claude = ("--claude-bin", str(answering.path))
    done = lab.pytest("evals", "-m", "pilot", "--root", f"handbook={lab.checkout}", *claude)
    assert done.code == 0, done.text
    ledger = lab.rehearsals()[-1]
    batch = [CORRECT, INCORRECT, CORRECT]
    asked = [CORRECT, INCORRECT] + batch * len(STEPS)
    fake = fake_cli.install(lab.root / "grading", attempts=asked)
    claude = ("--claude-bin", str(fake.path))

    for step, observations in STEPS.items():
        before = len(fake.starts)
        killed = grading.adjudicate(
            lab, ledger, *claude, "-p", "dying_run", PYTHONPATH=FIXTURES, DIES=step
        )
        assert killed.code == -9, killed.text
        assert len(fake.starts) - before == 2 + observations
    finished = grading.adjudicate(lab, ledger, *claude)

    assert finished.code == 0, finished.text
    assert "REHEARSAL" in finished.out
    assert "2 correct, 0 pending" in finished.out
    assert [row.outcome for row in grades(ledger).rows] == ["correct", "correct"]
    graded = [n for n in grading.lines(ledger, "adjudicated") if "control" not in n]
    assert Counter(line["blindId"] for line in graded).most_common(1)[0][1] == 1
    reserved = [n for n in grading.lines(ledger, "grade-reserved") if "control" not in n]
    # Two reservations died, each of the first observation; both stay charged.
    assert sorted(Counter(line["blindId"] for line in reserved).values()) == [1, 3]
    openings, lines = Openings(ledger), read(ledger)
    found = [
        openings.find(line, "packet")
        for line in lines
        if line.event == "adjudicated" and "control" not in line.fields
    ]
    assert len(found) == len({each.seq for each in found if each}) == 2
    packets = {each.data for each in found if each}
    assert len(packets) == 1  # both arms gave the same answer, and nothing else is in a packet
    shown = lab.show(ledger)
    assert Decimal(shown["budget"]["reservedUsd"]) == Decimal("0.2")
    assert lab.command("agent-trials", "verify", str(ledger)).code == 0

    again = grading.adjudicate(lab, ledger, *claude)
    assert again.out.count("graded before") == 2
    assert len(fake.starts) == len(asked)
