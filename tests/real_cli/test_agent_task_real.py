"""The agent-task study over the toy benchmark with the real CLI: Read, Edit, Bash and a server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import toy_trial
from agent_trials.ledger.chain import read
from agent_trials.ledger.openings import Openings

if TYPE_CHECKING:
    from toy_trial import Trial

MENDED = {"toy-calc-1": "resolved", "toy-calc-2": "resolved"}


@pytest.fixture(scope="module")
def trial(claude: str, tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """Return a trial that the real CLI rehearsed, its patches evaluated."""
    made = toy_trial.laid_out(tmp_path_factory.mktemp("trial"))
    ran = made.rehearse(claude)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    evaluated = made.evaluate("--controls", "--ledger", str(made.ledger))
    assert evaluated.returncode == 0, evaluated.stdout + evaluated.stderr
    return made


def test_edits_of_the_real_cli_are_patches_that_the_benchmark_judges(trial: Trial) -> None:
    gold, empty, native, tool = trial.events("evaluated")

    assert set(gold["classes"].values()) == {"resolved"}
    assert set(empty["classes"].values()) == {"empty-patch"}
    assert native["classes"] == {**MENDED, "toy-words-1": "empty-patch"}
    assert tool["classes"] == {**MENDED, "toy-words-1": "resolved"}


def test_the_agent_found_one_commit_and_the_tool_in_its_own_arm_alone(trial: Trial) -> None:
    openings = Openings(trial.ledger)
    settled = [line for line in read(trial.ledger) if line.event == "attempt-settled"]
    for line in settled:
        opening = openings.find(line, "transcript")
        assert opening is not None
        transcript = opening.data.decode()
        called = line.fields["observation"]["mcpToolCalls"]

        assert re.search(r"[0-9a-f]{7,} initial", transcript)
        assert not re.search(r"[0-9a-f]{7,} files", transcript)  # as upstream's commits are called
        assert (called > 0) == (line.fields["arm"] == "tool")
        assert ('"name":"Edit"' in transcript.replace(" ", "")) == (
            (line.fields["task"], line.fields["arm"]) != ("toy-words-1", "native")
        )
