"""Blind grading from outside: a pilot, then ``-m adjudicate`` on its ledger, in rehearsal."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

import grading
from agent_trials import canonical
from agent_trials.results.grades import grades
from agent_trials.session.grading_plan import drawn
from lab import Lab

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A project whose study registers two adjudicators and whose pilot was rehearsed."""
    lab = Lab(tmp_path_factory.mktemp("graded"))
    grading.register(lab, more='disagreement = "lower"\nguess_arm = true', tables=grading.SECOND)
    grading.answer(lab)
    return lab


@pytest.fixture
def answered(lab: Lab, request: pytest.FixtureRequest) -> Path:
    """Return a copy of the pilot's ledger."""
    name = re.sub(r"\W+", "-", request.node.name)
    return grading.copy(lab.rehearsals()[0], lab.outside / f"{name}.jsonl")


def test_grades_every_completed_observation_under_the_same_chain(lab: Lab, answered: Path) -> None:
    shown = grading.adjudicate(lab, answered)

    assert shown.code == 0, shown.text
    assert "REHEARSAL" in shown.out
    assert "0 pending" in shown.out
    assert "controls: 6 of 6 as expected" in shown.out
    assert "agreement: 2 of 2" in shown.out
    assert "claude-haiku-5-5 (the model that answered)" in shown.out
    assert len(re.findall(r"^[0-9a-f]{16}  \w+, \w+  spent", shown.out, re.MULTILINE)) == 2
    found = grades(answered)
    assert [row.outcome is not None for row in found.rows] == [True, True]
    assert all(len(row.by_grader) == 2 for row in found.rows)
    assert {guess for _, guess in found.guesses()} <= {"repository-only", "docs-mcp"}
    assert len(found.guesses()) == 2
    verified = lab.command("agent-trials", "verify", str(answered))
    assert verified.code == 0, verified.text
    assert lab.show(answered)["runs"][1]["closedAt"] is not None
    run = grading.lines(answered, "run-opened")[1]
    graded = [n["blindId"] for n in grading.lines(answered, "adjudicated") if "control" not in n]
    assert list(dict.fromkeys(graded)) == sorted(set(graded), key=lambda n: drawn(run["seed"], n))
    for grader in run["graders"]:
        beside = {"grader", "configurationDigest", "cliVersion", "sameModelAsAgent"}
        configuration = {name: each for name, each in grader.items() if name not in beside}
        assert grader["configurationDigest"] == canonical.digest_of(configuration)


def test_nothing_private_reaches_terminal_junit_or_ledger(lab: Lab, answered: Path) -> None:
    """Answers, propositions and reasons stay beside the ledger, and no item tells its arm."""
    shown = grading.adjudicate(lab, answered, "-v", "--junitxml", str(lab.outside / "junit.xml"))

    assert shown.code == 0, shown.text
    public = {
        "terminal": shown.text,
        "junit": (lab.outside / "junit.xml").read_text("utf-8"),
        "ledger": "".join(map(json.dumps, grading.lines(answered)[5:])),
    }
    for text in public.values():
        assert "queue install" not in text
        assert "installed by running" not in text
        assert str(lab.checkout) not in text.replace(f"handbook={lab.checkout}", "")
    graded = [n for line in grading.lines(answered) if line["run"] == 2 for n in [json.dumps(line)]]
    assert not any("docs-mcp" in line or "repository-only" in line for line in graded)
    items = re.findall(r"test_adjudicate\[(.*?)\]", shown.out)
    assert all(re.fullmatch("[0-9a-f]{16}", item) for item in items)


def test_every_collection_shows_the_same_items_in_the_same_order(lab: Lab, answered: Path) -> None:
    """Another order in another process would let two halves of a batch overlap."""
    commands = [grading.adjudicate(lab, answered, "--collect-only", "-q") for _ in range(2)]

    first, second = [re.findall(r"\[([0-9a-f]{16})\]", shown.out) for shown in commands]
    assert first == second
    assert len(set(first)) == 2
    assert "networkCalls: 0" in commands[0].out
    assert not grading.lines(answered, "grade-reserved")


def test_offset_and_limit_choose_and_a_grade_that_stands_is_not_asked_for_again(
    lab: Lab, answered: Path
) -> None:
    run_id = grading.lines(answered, "run-opened")[0]["runId"]
    for part in (("--limit", "1"), ("--offset", "1", "--run-id", run_id)):
        shown = grading.adjudicate(lab, answered, *part)
        assert shown.code == 0, shown.text
        assert "1 passed" in shown.out
    before = answered.read_bytes()
    again = grading.adjudicate(lab, answered)

    graded = [n["blindId"] for n in grading.lines(answered, "adjudicated") if "control" not in n]
    assert len(set(graded)) == 2
    assert again.code == 0, again.text
    assert "graded before" in again.out
    assert answered.read_bytes() == before


def test_the_study_is_the_ledgers_and_not_the_working_trees(lab: Lab, answered: Path) -> None:
    """A key that is changed after the attempts would grade another study."""
    key = lab.folder / "key.toml"
    before = key.read_text("utf-8")
    key.write_text(before.replace("running the command queue", "magic of 3 cats"), "utf-8")
    shown = grading.adjudicate(lab, answered, "--limit", "1")
    key.write_text(before, "utf-8")

    assert shown.code == 0, shown.text
    assert "controls: 6 of 6" in shown.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--approve-budget"], "it is a rehearsal ledger, and the command is a paid one"),
        (["-n", "2"], "gradings follow one another in one process"),
        (["--run-id", "nobody"], "no completed attempt is of this run"),
        (["--offset", "-1"], "it is below 0"),
        (
            ["--transport", "cli", "--claude-bin", "x", "--output-usd-per-million", "9"],
            "it is for attempts, and a ledger is graded as its study registers",
        ),
    ],
    ids=["wrong mode", "workers", "unknown run", "negative offset", "options of attempts"],
)
def test_refuses_with_exit_code_4_and_writes_nothing(
    lab: Lab, answered: Path, arguments: list[str], says: str
) -> None:
    before = answered.read_bytes()
    shown = grading.adjudicate(lab, answered, *arguments)

    assert shown.code == 4, shown.text
    assert says in shown.err
    assert answered.read_bytes() == before


def test_refuses_without_a_ledger_and_with_a_phase(lab: Lab, answered: Path) -> None:
    missing = lab.pytest("evals/sample", "-m", "adjudicate")
    both = grading.adjudicate(lab, answered, "-m", "pilot or adjudicate")
    elsewhere = lab.pytest("evals/sample", "-m", "pilot", "--limit", "1")

    assert (missing.code, both.code, elsewhere.code) == (4, 4, 4)
    assert "grading needs the ledger of the attempts" in missing.err
    assert "do it by itself: -m adjudicate" in both.err
    assert "it is an option of adjudicate" in elsewhere.err


def test_an_adjudicator_that_fails_its_controls_grades_nothing(tmp_path: Path) -> None:
    """A reference answer that it does not know as correct shows that it cannot grade."""
    lab = Lab(tmp_path)
    grading.register(lab, reference="It is installed somehow (docs/install.md:3).")
    ledger = grading.answer(lab)
    shown = grading.adjudicate(lab, ledger)

    assert shown.code == 1, shown.text
    assert "graded the reference answer of install-command incomplete and not correct" in shown.out
    reserved = grading.lines(ledger, "grade-reserved")
    assert [line["control"] for line in reserved] == ["reference"]
    assert [line["reason"] for line in grading.lines(ledger, "run-stopped")] == ["control-failed"]
    assert "2 pending (2 not-graded)" in shown.out


def test_the_cap_of_the_attempts_holds_for_gradings_too(lab: Lab, answered: Path) -> None:
    """What does not fit is refused before anybody is asked."""
    shown = grading.adjudicate(lab, answered, STUDY_BUDGET_USD="0.05")

    assert shown.code == 1, shown.text
    assert "needs 0.1 USD" in shown.out
    assert not grading.lines(answered, "grade-reserved")
    assert [line["reason"] for line in grading.lines(answered, "run-stopped")] == ["budget"]
