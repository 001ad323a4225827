"""A ledger is gone on with: what it holds is not run again, and nothing is paid twice."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fake_cli

if TYPE_CHECKING:
    from fake_cli import FakeCli
    from lab import Lab, Outcome

FIXTURES = str(Path(fake_cli.__file__).parent)


@pytest.fixture
def fake(lab: Lab) -> FakeCli:
    """The CLI that ``--claude-bin`` names; it counts its starts and the money it took."""
    return fake_cli.install(lab.root / "bin")


def begun(lab: Lab, policy: str) -> None:
    """Freeze the study with a resume policy."""
    lab.study(resume=policy)
    lab.freeze()


def run(
    lab: Lab, fake: FakeCli, *arguments: str, phase: str = "full", dies: str = "", **changes: str
) -> Outcome:
    """Start a paid run; ``dies`` is where it kills itself."""
    if dies:
        arguments = (*arguments, "-p", "dying_run")
        changes |= {"PYTHONPATH": FIXTURES, "DIES": dies}
    return lab.pytest(
        *lab.paid_arguments(phase), "--claude-bin", str(fake.path), *arguments,
        **(lab.paid_environment | changes),
    )  # fmt: skip


def resume(lab: Lab, fake: FakeCli, *arguments: str, **changes: str) -> Outcome:
    """Go on with the lab's ledger."""
    return run(lab, fake, "--resume", *arguments, **changes)


def cell(line: dict[str, Any]) -> str:
    """Return the place of an observation or a reservation."""
    return f"{line['task']}/{line['arm']}"


def at_risk(shown: dict[str, Any]) -> Decimal:
    """Return spent + reserved."""
    return Decimal(shown["budget"]["spentUsd"]) + Decimal(shown["budget"]["reservedUsd"])


STEPS = (
    "after run-opened",
    "before preflight-passed",
    "before pair-admitted",
    "after attempt-reserved",
    "before attempt-settled",
    "after attempt-settled",
    "before run-closed",
)


def test_a_kill_at_every_step_pays_for_nothing_twice(lab: Lab, fake: FakeCli) -> None:
    """Each session is killed at the next step; four attempts are all there is to pay for."""
    begun(lab, "skip-recorded")

    for number, step in enumerate(STEPS):
        killed = run(lab, fake, *(["--resume"] if number else []), dies=step)
        assert killed.code == -9, killed.text
    finished = resume(lab, fake)

    shown = lab.show()
    assert finished.code == 0, finished.text
    assert "4 of 4 attempts are recorded" in finished.out
    assert len(shown["runs"]) == len(STEPS)
    # The first reservation died before its agent began, the second with its answer unsettled.
    assert [cell(each) for each in shown["unsettled"]] == [
        "install-command/repository-only", "install-command/docs-mcp",
    ]  # fmt: skip
    assert {each["status"] for each in shown["unsettled"]} == {"interrupted"}
    assert [each["status"] for each in shown["observations"]] == ["completed", "completed"]
    assert len(fake.starts) == 3
    assert at_risk(shown) >= fake.took_usd
    assert lab.command("agent-trials", "verify", str(lab.ledger)).code == 0


def test_skip_completed_runs_again_what_did_not_complete_and_charges_both(
    lab: Lab, fake: FakeCli
) -> None:
    begun(lab, "skip-completed")
    fake.behave(attempts=[{}, {"exit_code": 3}, {}])
    assert run(lab, fake).code == 1
    assert run(lab, fake, "--resume", dies="before attempt-settled").code == -9

    finished = resume(lab, fake)

    assert finished.code == 0, finished.text
    shown = lab.show()
    assert Counter(map(cell, shown["observations"])) == {
        "install-command/repository-only": 1, "install-command/docs-mcp": 2,
        "retry-count/docs-mcp": 1, "retry-count/repository-only": 1,
    }  # fmt: skip
    (cut_off,) = shown["unsettled"]
    assert (cell(cut_off), cut_off["superseded"]) == ("install-command/docs-mcp", True)
    assert len(fake.starts) == 6
    assert at_risk(shown) >= fake.took_usd
    assert shown["budget"]["reservedUsd"] == "0.1"
    text = lab.command("agent-trials", "show", str(lab.ledger)).out
    assert "planned 4: 4 completed" in text
    assert "cut off and never settled, reserved again" in text


def test_what_is_recorded_is_deselected_with_one_line(lab: Lab, fake: FakeCli) -> None:
    """The ledger itself is what the further run knows of the first; no --prior-ledger is needed."""
    begun(lab, "skip-recorded")
    run(lab, fake, dies="after attempt-settled")

    outcome = resume(lab, fake)

    assert "1 of 4 attempts are recorded (1 completed), 3 to run" in outcome.out
    assert "4 items / 1 deselected / 3 selected" in outcome.out
    assert "1 attempt deselected: the ledger holds them already" in outcome.out
    assert "3 passed, 1 deselected" in outcome.out
    assert "4 completed" in outcome.out
    text = (lab.folder / "study.ledgers.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    shown = lab.show()
    assert [line["event"] for line in lines] == ["opened", "opened", "closed"]
    assert [line["runId"] for line in lines[:2]] == [each["runId"] for each in shown["runs"]]
    assert (lines[2]["head"], lines[2]["attempts"]) == (shown["head"], 3)
    assert [each["closedAt"] is not None for each in shown["runs"]] == [False, True]


def test_a_failed_attempt_is_recorded_and_not_run_again(lab: Lab, fake: FakeCli) -> None:
    begun(lab, "skip-recorded")
    fake.behave(attempts=[{"exit_code": 3}, {}])
    run(lab, fake)

    outcome = resume(lab, fake)

    assert outcome.code == 0, outcome.text
    assert "1 of 4 attempts are recorded (1 failed)" in outcome.out
    assert [o["status"] for o in lab.show()["observations"]] == ["failed"] + 3 * ["completed"]
    assert len(fake.starts) == 4


def test_where_nothing_is_left_no_run_is_opened(lab: Lab, fake: FakeCli) -> None:
    begun(lab, "skip-completed")
    assert run(lab, fake, phase="pilot").code == 0
    before = lab.ledger.read_bytes(), (lab.folder / "study.ledgers.jsonl").read_bytes()

    outcome = resume(lab, fake, phase="pilot")

    assert outcome.code == 0, outcome.text
    assert "2 of 2 attempts are recorded (2 completed), nothing is left to run" in outcome.out
    after = lab.ledger.read_bytes(), (lab.folder / "study.ledgers.jsonl").read_bytes()
    assert after == before
    assert len(fake.starts) == 2


def test_a_higher_cap_goes_on_where_the_money_ended(lab: Lab, fake: FakeCli) -> None:
    begun(lab, "skip-recorded")
    fake.behave(spend_usd="0.09")
    assert run(lab, fake, STUDY_BUDGET_USD="0.3").code == 1

    outcome = resume(lab, fake)

    assert outcome.code == 0, outcome.text
    shown = lab.show()
    assert len(shown["observations"]) == 4
    assert shown["refused"] == []
    assert len(fake.starts) == 4


def test_workers_leave_out_what_is_recorded(lab: Lab, fake: FakeCli) -> None:
    lab.study(concurrency=2)
    begun(lab, "skip-recorded")
    run(lab, fake, dies="after attempt-settled")

    outcome = resume(lab, fake, "-n", "2")

    assert outcome.code == 0, outcome.text
    assert len(lab.show()["observations"]) == 4
    assert len(fake.starts) == 4


def test_a_rehearsal_is_resumed_in_its_own_ledger(lab: Lab) -> None:
    lab.study(transport="http", resume="skip-recorded")
    arguments = ["evals", "-m", "full", "--root", f"handbook={lab.checkout}"]
    died = {"PYTHONPATH": FIXTURES, "DIES": "after attempt-settled"}
    lab.pytest(*arguments, "-p", "dying_run", **died)
    (ledger,) = lab.rehearsals()

    outcome = lab.pytest(*arguments, "--resume", "--ledger", str(ledger))

    assert outcome.code == 0, outcome.text
    assert lab.rehearsals() == [ledger]
    assert len(lab.show(ledger)["observations"]) == 4
    assert "REHEARSAL" in outcome.out


def refused(lab: Lab, fake: FakeCli, *arguments: str, sentence: str, **changes: str) -> None:
    """Resume, and hold that nothing came of it but the sentence."""
    before, starts = lab.ledger.read_bytes(), len(fake.starts)

    outcome = resume(lab, fake, *arguments, **changes)

    assert outcome.code == 4, outcome.text
    assert sentence in " ".join(outcome.text.split()), outcome.text
    assert "Traceback" not in outcome.text
    assert lab.ledger.read_bytes() == before
    assert len(fake.starts) == starts


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lab, FakeCli]:
    """A ledger of the pilot's first attempt; nothing that only refuses changes it."""
    from lab import Lab  # noqa: PLC0415 - beside its only user at run time

    lab = Lab(tmp_path_factory.mktemp("recorded"))
    fake = fake_cli.install(lab.root / "bin")
    begun(lab, "skip-recorded")
    run(lab, fake, phase="pilot", dies="after attempt-settled")
    return lab, fake


@pytest.mark.parametrize(
    ("phase", "changes", "sentence"),
    [
        ("full", {}, "its phase is pilot and this run's is full"),
        ("pilot", {"STUDY_BUDGET_USD": ""}, "STUDY_BUDGET_USD"),
    ],
    ids=["another phase", "no cap"],
)
def test_another_plan_is_refused(
    recorded: tuple[Lab, FakeCli], phase: str, changes: dict[str, str], sentence: str
) -> None:
    lab, fake = recorded

    refused(lab, fake, phase=phase, sentence=sentence, **changes)


def test_another_transport_is_refused(recorded: tuple[Lab, FakeCli]) -> None:
    lab, fake = recorded

    refused(
        lab, fake, "--transport", "http", phase="pilot",
        sentence="its transport is cli and this run's is http", ANTHROPIC_API_KEY="sk-of-the-test",
    )  # fmt: skip


def test_a_rehearsal_does_not_go_on_with_a_paid_ledger(recorded: tuple[Lab, FakeCli]) -> None:
    lab, fake = recorded
    before = lab.ledger.read_bytes()

    outcome = lab.pytest(
        "evals", "-m", "pilot", "--resume", "--ledger", str(lab.ledger), "--root",
        f"handbook={lab.checkout}", "--claude-bin", str(fake.path),
    )  # fmt: skip

    assert outcome.code == 4
    assert "its mode is paid and this run's is rehearsal" in outcome.text
    assert lab.ledger.read_bytes() == before


def test_a_ledger_that_is_not_there_is_refused(lab: Lab, fake: FakeCli) -> None:
    begun(lab, "skip-recorded")

    outcome = resume(lab, fake)

    assert outcome.code == 4
    assert "it does not exist" in outcome.text
    assert not lab.ledger.exists()


def test_a_study_that_is_never_resumed_refuses(lab: Lab, fake: FakeCli) -> None:
    lab.freeze()
    run(lab, fake, dies="after attempt-settled")

    refused(lab, fake, sentence='study sample is never resumed (schedule.resume = "never")')


def test_an_amended_study_does_not_go_on_with_the_old_ledger(lab: Lab, fake: FakeCli) -> None:
    """Half of the ledger would have been asked another question."""
    begun(lab, "skip-recorded")
    run(lab, fake, phase="pilot", dies="after run-opened")
    manifest = lab.folder / "study.toml"
    changed = manifest.read_text(encoding="utf-8").replace("How does the", "Please, how does the")
    manifest.write_text(changed, encoding="utf-8")
    amended = lab.command("agent-trials", "amend", str(lab.folder), "--reason", "clearer")
    assert amended.code == 0, amended.text

    refused(lab, fake, phase="pilot", sentence="its folderDigest is sha256:")


def test_a_grading_is_not_resumed_by_this_option(lab: Lab) -> None:
    outcome = lab.pytest("evals", "-m", "adjudicate", "--resume", "--ledger", str(lab.ledger))

    assert outcome.code == 4
    assert "--resume: it goes on with attempts" in outcome.text


def test_a_copy_of_the_ledger_beside_it_is_no_prior_ledger(
    recorded: tuple[Lab, FakeCli],
) -> None:
    lab, fake = recorded
    copy = lab.outside / "copy.jsonl"
    shutil.copy(lab.ledger, copy)

    refused(
        lab, fake, "--prior-ledger", str(copy), phase="pilot",
        sentence="it is the ledger that is resumed",
    )  # fmt: skip
