"""A command grades: the study contract's adjudicator, as one more transport."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

import fake_cli
import grading
from agent_trials.results.grades import grades
from lab import Lab

if TYPE_CHECKING:
    from pathlib import Path

    from lab import Outcome

COMMAND = """
[adjudicator]
transport = "command"
model = "reference-model"
limit_usd = "0.10"
[adjudicator.command]
timeout_seconds = 30
"""
WRONG = "The worker is installed by running 77 commands (docs/retry.md:3)."
# It grades as the rehearsal's stand-in does; the third time it is asked it says two things.
JUDGE = """\
import json, pathlib, sys
from agent_trials.rehearsal import judge

request = json.load(sys.stdin)
log = pathlib.Path(sys.argv[1])
with log.open("a", encoding="utf-8") as lines:
    lines.write(json.dumps(request) + "\\n")
said = json.dumps({**judge.reply(request["instruction"], request["packet"]),
                   "inputTokens": 100, "outputTokens": 10, "tokenMethod": "provider",
                   "measurements": {"wallTimeMs": 1}})
sys.stdout.write(said * (2 if len(log.read_text("utf-8").splitlines()) == 3 else 1))
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A frozen study whose adjudicator is a command, and the ledger of a paid pilot."""
    lab = Lab(tmp_path_factory.mktemp("commanded"))
    grading.register_command(lab, COMMAND, WRONG)
    fake = fake_cli.install(lab.root / "pilot", answer=grading.REFERENCE)
    done = lab.pytest(*lab.paid_arguments(), "--claude-bin", str(fake.path), **lab.paid_environment)
    assert done.code == 0, done.text
    (lab.outside / "judge.py").write_text(JUDGE, encoding="utf-8")
    return lab


def configured(lab: Lab, **changes: Any) -> Path:  # noqa: ANN401 - JSON
    """Write a providers file whose adjudicator is the judge."""
    bounds = {"providerNetwork": False, "maxInputBytes": 100_000, "maxOutputBytes": 10_000}
    adjudicator = {
        "id": "independent-reviewer", "modelId": "reference-model", "command": sys.executable,
        "args": ["-I", str(lab.outside / "judge.py"), str(lab.outside / "asked.jsonl")],
        **bounds, **changes,
    }  # fmt: skip
    provider = {"modelId": "m", "scenarioIds": ["docs-mcp"], "command": "./answer", **bounds}
    path = lab.outside / "providers.json"
    document = {
        "type": "study-provider-cli-config", "schemaVersion": 1, "providers": [provider],
        "adjudicator": adjudicator,
    }  # fmt: skip
    path.write_text(json.dumps(document), encoding="utf-8")
    made = lab.command("agent-trials", "providers", str(path), "--write")
    assert made.code == 0, made.text
    return path


def grade(lab: Lab, *arguments: str) -> Outcome:
    return grading.adjudicate(lab, lab.ledger, "--approve-budget", *arguments, STUDY_BUDGET_USD="2")


def test_what_is_wrong_with_the_command_is_named_before_anybody_is_asked(lab: Lab) -> None:
    before = lab.ledger.read_bytes()
    path = configured(lab, modelId="other-model", command="./gone")
    unfit, missing = grade(lab, "--providers", str(path)), grade(lab)

    assert (unfit.code, missing.code) == (4, 4)
    assert "its adjudicator is other-model, and the study registers reference-model" in unfit.err
    assert "the adjudicator's command './gone' is no executable" in unfit.err
    assert "an adjudicator is a command, and none is given" in missing.err
    assert lab.ledger.read_bytes() == before


def test_a_command_grades_and_what_it_says_of_itself_stands_apart(lab: Lab) -> None:
    """A reply that is none leaves its observation pending, and it is asked for again."""
    path = configured(lab)
    first = grade(lab, "--providers", str(path))

    assert first.code == 1, first.text
    assert "pending (adjudicator: two-objects)" in first.out
    assert "1 correct, 1 pending (1 two-objects)" in first.out
    again = grade(lab, "--providers", str(path))
    assert again.code == 0, again.text
    assert [row.outcome for row in grades(lab.ledger).rows] == ["correct", "correct"]

    run = grading.lines(lab.ledger, "run-opened")[-1]
    digest = json.loads(path.read_text("utf-8"))["contentHash"]
    (grader,) = run["graders"]
    assert grader["command"]["providersDigest"] == f"sha256-normalized-v1:{digest}"
    assert (run["packet"], grader["transport"]) == ("structured", "command")
    graded = [n for n in grading.lines(lab.ledger, "adjudicated") if n["method"] == "agent"]
    assert {n["configurationDigest"] for n in graded} == {grader["configurationDigest"]}
    assert {n["command"]["measurements"]["wallTimeMs"] for n in graded} == {"1"}
    attempts = [n["observation"] for n in grading.lines(lab.ledger, "attempt-settled")]
    assert not any(n.get("provider") or n["wallTimeMs"] == 1 for n in attempts)
    assert lab.command("agent-trials", "verify", str(lab.ledger)).code == 0

    asked = (lab.outside / "asked.jsonl").read_text("utf-8")
    packets = [json.loads(line)["packet"] for line in asked.splitlines()]
    assert len(packets) == 7  # two controls a batch, two observations, one of them twice
    assert all(
        set(p) == {"question", "propositions", "citations", "sources", "record"} for p in packets
    )
    private = (str(lab.root), "repository-only", "docs-mcp", grading.REFERENCE)
    assert not any(json.dumps(word)[1:-1] in asked for word in private)
    assert str(lab.outside) not in lab.ledger.read_text("utf-8")


def test_a_rehearsal_starts_a_stand_in_and_no_command_of_the_operator(lab: Lab) -> None:
    asked = lab.outside / "asked.jsonl"
    before = asked.read_bytes() if asked.exists() else None
    fake = fake_cli.install(lab.root / "rehearsal", answer=grading.REFERENCE)
    done = lab.pytest(
        "evals", "-m", "pilot", "--root", f"handbook={lab.checkout}", "--claude-bin", str(fake.path)
    )
    assert done.code == 0, done.text
    path = configured(lab)
    shown = grading.adjudicate(lab, lab.rehearsals()[-1], "--providers", str(path))

    assert shown.code == 0, shown.text
    assert "REHEARSAL" in shown.out
    assert "controls: 3 of 3 as expected" in shown.out
    assert "2 correct, 0 pending" in shown.out
    assert (asked.read_bytes() if asked.exists() else None) == before


def test_a_right_and_a_wrong_answer_that_cite_the_same_are_refused(lab: Lab) -> None:
    """A structured packet shows citations alone, so no adjudicator could tell the two apart."""
    key = lab.folder / "key.toml"
    before = key.read_text("utf-8")
    key.write_text(before.replace("docs/retry.md:3", "docs/install.md:3"), "utf-8")
    fake = fake_cli.install(lab.root / "same", answer=grading.REFERENCE)
    lab.pytest(
        "evals", "-m", "pilot", "--root", f"handbook={lab.checkout}", "--claude-bin", str(fake.path)
    )
    key.write_text(before, "utf-8")
    shown = grading.adjudicate(lab, lab.rehearsals()[-1])

    assert shown.code == 4, shown.text
    assert "make the same packet" in shown.err
