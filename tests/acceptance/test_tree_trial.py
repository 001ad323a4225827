"""A whole trial over trees: a plain arm and one behind a launcher, checked and followed up."""

from __future__ import annotations

import json
import re
import select
import shutil
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from agent_trials import cli
from agent_trials.ledger.private import private_folder
from agent_trials.results.evidence import Finding
from agent_trials.results.judgement import _owed, _undecided
from agent_trials.results.record import read
from agent_trials.results.report import document
from tree_lab import FAILS, PASSES, REPAIRED, TreeLab

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from syrupy.assertion import SnapshotAssertion

PLAIN_1, PLAIN_2 = ("one", "plain", 1), ("one", "plain", 2)
REVIEW_1 = ("one", "review", 1)
PER_ATTEMPT = re.compile(
    r"(workspace|surround)-[0-9a-f]{16}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> tuple[TreeLab, str]:
    """Return a lab in which one task was tried: the first process of all crashed."""
    lab = TreeLab(tmp_path_factory.mktemp("trial"), questions=("calibration", "one"))
    lab.behave({"plain": [FAILS, PASSES], "review": [REPAIRED], "starts": [{"crash": True}, None]})
    done = lab.run()
    return lab, done.stdout + done.stderr


def test_the_plain_arm_is_followed_up_in_its_own_session(trial: tuple[TreeLab, str]) -> None:
    """The same session, the fixed prompt, and the tree as the first turn left it."""
    lab, said = trial
    found = lab.observations()
    first, second = [each for each in lab.records() if each["arm"] == "plain"][1:]

    assert found[PLAIN_1]["checker"]["passed"] is False, said
    assert found[PLAIN_2]["checker"]["passed"] is True
    assert second["argv"][-1] == "The result does not meet the request; re-read it."
    assert second["cwd"] == first["cwd"]
    session = first["argv"][first["argv"].index("--session-id") + 1]
    assert second["argv"][second["argv"].index("--resume") + 1] == session


def test_the_cost_of_a_session_is_counted_once(trial: tuple[TreeLab, str]) -> None:
    """The CLI's total of the second turn holds the first one's: adding both counts it twice."""
    found = trial[0].observations()

    assert [found[each]["costUsd"] for each in (PLAIN_1, PLAIN_2)] == ["0.02", "0.02"]
    assert [found[each]["sessionCostUsd"] for each in (PLAIN_1, PLAIN_2)] == ["0.02", "0.04"]


def test_every_stop_has_a_snapshot_that_the_checker_looked_at(trial: tuple[TreeLab, str]) -> None:
    """Whether a review repaired anything is seen between two stops of one turn."""
    stops = trial[0].observations()[REVIEW_1]["stops"]

    assert [stop["passed"] for stop in stops] == [False, True]
    assert [stop["stopHookActive"] for stop in stops] == [False, True]
    assert stops[0]["groups"] == {"code": False, "notes": False}


def test_what_the_product_spends_is_charged_beside_the_agent(trial: tuple[TreeLab, str]) -> None:
    """Two reviews of 0.05 and a turn of 0.02."""
    lab, _ = trial
    found = lab.observations()[REVIEW_1]

    assert found["sideCosts"]["calls"] == 2
    assert (found["costUsd"], found["chargedUsd"]) == ("0.02", "0.12")
    assert lab.observations()[PLAIN_1]["sideCosts"]["calls"] == 0
    assert lab.events("pair-admitted")[0]["amountsUsd"] == ["0.1", "0.22"]


def test_a_crash_before_the_first_tool_is_repeated_in_place_once(
    trial: tuple[TreeLab, str],
) -> None:
    """It is logged, and counted against the reruns of the whole run."""
    lab, said = trial
    tried = [line for line in lab.events("attempt-settled") if line["arm"] == "plain"]

    assert [line["observation"]["status"] for line in tried] == ["failed"] + ["completed"] * 2
    assert "repeated in place after no-result, ended-before-init" in said


def test_nothing_of_an_attempt_stays(trial: tuple[TreeLab, str]) -> None:
    """The next agent would find it."""
    lab, _ = trial

    assert [
        each.name for each in lab.place.iterdir() if each.name.startswith(("work", "surr"))
    ] == []
    assert len({each["environment"]["CLAUDE_CONFIG_DIR"] for each in lab.records()}) == 3


def test_the_place_of_the_checker_reaches_no_agent(trial: tuple[TreeLab, str]) -> None:
    """Neither by its arguments nor by its environment."""
    lab, _ = trial

    assert all("checkers" not in repr(each) for each in lab.records())
    assert lab.observations()[PLAIN_1]["checker"]["pathHits"] == 0


def test_the_arms_differ_in_the_switch_alone(
    trial: tuple[TreeLab, str], snapshot: SnapshotAssertion
) -> None:
    """Both get a session id, the same array, the same environment but for what is tried."""
    lab, _ = trial
    plain = next(each for each in lab.records()[1:] if each["arm"] == "plain")
    review = next(each for each in lab.records() if each["arm"] == "review")

    assert _shown(lab, plain["argv"]) == _shown(lab, review["argv"])
    given = re.compile(r"(CLAUDE.*|ANTHROPIC.*|HOME|PATH|TMPDIR|USER|LANG|LC_ALL|WORKSPACE_.*)$")
    alike = [
        {name: value for name, value in sorted(each["environment"].items()) if given.match(name)}
        for each in (plain, review)
    ]
    assert "REVIEW" in review["environment"]
    assert _shown(lab, alike[0]) == _shown(lab, alike[1])
    shown = {"argv": plain["argv"], "environment": sorted(alike[0])}
    assert _shown(lab, shown) == snapshot


def test_the_line_after_a_pair_says_where_the_run_stands(
    trial: tuple[TreeLab, str], snapshot: SnapshotAssertion
) -> None:
    """Spent, passes, calls of the product, whole costs."""
    lines = [line for line in trial[1].splitlines() if "after this pair" in line]

    assert lines == snapshot


def test_hooks_that_did_not_load_are_an_infrastructure_failure_and_the_second_one_stops(
    tmp_path: Path,
) -> None:
    """An arm without its hooks is the other arm; one rerun, wherever it was needed."""
    lab = TreeLab(tmp_path, questions=("calibration", "one"))
    lab.behave({"plain": [PASSES], "review": [{**PASSES, "hooks": False}]})
    lab.run()
    tried = [line["observation"] for line in lab.events("attempt-settled")]

    assert [each["status"] for each in tried] == ["completed", "invalid-setup", "invalid-setup"]
    assert tried[2]["problems"] == ["hooks-not-loaded"]
    assert [each["reason"] for each in lab.events("run-stopped")] == ["invalid-setup"]


def test_a_follow_up_that_does_not_fit_stops_the_run_as_incomplete(tmp_path: Path) -> None:
    """Left out in one arm only, it would give the other a second chance."""
    lab = TreeLab(tmp_path, questions=("calibration", "one"))
    lab.behave({"plain": [FAILS, PASSES], "review": [PASSES]})
    done = lab.run(STUDY_BUDGET_USD="0.33")

    refused = lab.events("attempt-refused")[0]
    assert (refused["turn"], refused["neededUsd"], refused["availableUsd"]) == (2, "0.1", "0.09")
    assert lab.events("run-stopped")[0]["reason"] == "budget"
    assert "incomplete, no evidence" in done.stdout
    assert (_judged(lab.ledger)["owed"], _judged(lab.ledger)["outcome"]) == (1, "incomplete")
    assert not any(each.name.startswith("workspace") for each in lab.place.iterdir())


@pytest.mark.parametrize(
    ("last", "owed", "said"),
    [
        (("attempt-settled", "plain", 1), 1, "further turns that were owed and not taken: 1"),
        (("attempt-reserved", "plain", 2), 0, "0 of 1 planned pairs were run"),
        (("attempt-settled", "review", 1), 0, None),
    ],
    ids=["killed before the follow-up", "killed within the follow-up", "run to its end"],
)
def test_what_a_killed_harness_left_is_incomplete_and_never_decided(
    trial: tuple[TreeLab, str],
    tmp_path: Path,
    last: tuple[str, str, int],
    owed: int,
    said: str | None,
) -> None:
    """A ledger that ends there, as a reader finds it."""
    found = _judged(_cut(trial[0].ledger, tmp_path / "run.jsonl", last))

    assert found["owed"] == owed
    assert found["undecided"] == 0
    assert (said in found["reasons"] or said in found["text"]) if said else True
    assert (found["outcome"] == "incomplete") is (said is not None)


def test_a_rule_on_what_a_product_said_decides_nothing_where_it_was_withheld(
    trial: tuple[TreeLab, str], tmp_path: Path
) -> None:
    """Without its reviews no repair is credited: the verdict would be another one."""
    last = ("attempt-settled", "review", 1)
    ledger = _cut(trial[0].ledger, tmp_path / "run.jsonl", last)
    path = private_folder(ledger) / "openings.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    finding = Finding(claim="c", against=(), supports=(), neither=("n",), figures={}, says="s")

    (kept,) = document(read(ledger), study_rule=lambda _: finding)["verdicts"]
    path.write_bytes(b"".join(each for each in lines if b'"sideEvents"' not in each))
    (withheld,) = document(read(ledger), study_rule=lambda _: finding)["verdicts"]

    assert kept["outcome"] != "not-decided"
    assert withheld["outcome"] == "not-decided"
    assert "withheld in 1 turns" in withheld["sentence"]


def _cut(ledger: Path, to: Path, last: tuple[str, str, int]) -> Path:
    """Copy a ledger up to the last line of an event, an arm and a turn, with what is private."""
    lines = ledger.read_bytes().splitlines(keepends=True)
    read = [json.loads(line) for line in lines]
    places = [(each["event"], each.get("arm"), each.get("turn")) for each in read]
    end = len(places) - places[::-1].index(last)
    to.write_bytes(b"".join(lines[:end]))
    shutil.copytree(private_folder(ledger), private_folder(to))
    return to


def _judged(ledger: Path) -> dict[str, Any]:
    """Return what the verdict of a ledger comes to, and what of it keeps it from one."""
    record = read(ledger)
    (verdict,) = document(record)["verdicts"]
    arms = {"plain", "review"}
    own = {"owed": _owed(record, arms), "undecided": _undecided(record, arms)}
    return {**verdict, **own, "text": " ".join(verdict["reasons"])}


def _shown(lab: TreeLab, value: Any) -> str:  # noqa: ANN401 - what a process was given
    """Return it without what differs in every attempt and on every machine."""
    text = PER_ATTEMPT.sub("…", repr(value)).replace(str(lab.place), "PLACE")
    return re.sub(r"127\.0\.0\.1:[0-9]+", "LOOPBACK", text)


def test_a_rule_of_the_study_ends_the_run_after_a_pair(tmp_path: Path) -> None:
    """What can show nothing more costs nothing more."""
    lab = TreeLab(tmp_path)
    (lab.folder / "verdict.py").write_text(
        "def after_pair(rows, remaining):\n"
        "    assert remaining, 'nothing remains'\n"
        "    return {'line': f'{len(rows)} rows', 'stop': None if len(rows) < 2 else 'futility'}\n",
        encoding="utf-8",
    )
    done = lab.run()

    assert "2 rows; the run stops: futility" in done.stdout
    assert [each["reason"] for each in lab.events("run-stopped")] == ["futility"]
    assert len(lab.events("attempt-settled")) == 2


def _interrupt(lab: TreeLab, when: Callable[[], bool]) -> None:
    """Rehearse, and press Ctrl-C as soon as something is so."""
    process = lab.start()
    deadline = time.monotonic() + 60
    while not when() and process.poll() is None and time.monotonic() < deadline:
        select.select([], [], [], 0.05)
    process.send_signal(signal.SIGINT)
    process.communicate()


def test_an_interrupted_follow_up_is_settled_and_leaves_nothing(tmp_path: Path) -> None:
    """Its whole reservation stays charged; the run says why it ended."""
    lab = TreeLab(tmp_path, questions=("calibration", "one"))
    lab.behave({"plain": [FAILS, {**PASSES, "hang": True}], "review": [PASSES]})
    _interrupt(lab, lambda: len(lab.records()) > 1)

    found = lab.observations()[PLAIN_2]
    assert (found["status"], found["chargedUsd"]) == ("interrupted", "0.1")
    assert [each["reason"] for each in lab.events("run-stopped")] == ["interrupted"]
    assert lab.events("run-closed")[0]["reservedUsd"] == "0"
    assert not any(each.name.startswith("workspace") for each in lab.place.iterdir())


def test_a_turn_whose_checker_was_interrupted_is_settled_without_a_verdict(
    tmp_path: Path,
) -> None:
    """The agent's money is known; the run stops, for a further turn may be owed."""
    lab = TreeLab(tmp_path, questions=("calibration", "one"))
    begun = tmp_path / "begun"
    hanging = (
        "import pathlib, time\n"
        "if 'half' in pathlib.Path('app.py').read_text():\n"
        f"    pathlib.Path({str(begun)!r}).touch()\n"
        "    time.sleep(60)\n"
    )
    check = lab.folder / "checkers" / "check.py"
    check.write_text(hanging + check.read_text(encoding="utf-8"), encoding="utf-8")
    lab.behave({"plain": [FAILS], "review": [PASSES]})
    _interrupt(lab, begun.exists)

    found = lab.observations()[PLAIN_1]
    assert (found["status"], found["checker"]) == ("completed", None)
    assert [each["reason"] for each in lab.events("run-stopped")] == ["not-checked"]
    assert (_judged(lab.ledger)["undecided"], _judged(lab.ledger)["outcome"]) == (1, "incomplete")
    assert not any(each.name.startswith("workspace") for each in lab.place.iterdir())


def test_a_paid_trial_uses_one_login_for_both_arms_and_leaves_nothing_in_it(
    tmp_path: Path,
) -> None:
    """Sessions and memory of an attempt are gone before the next; the login stays as it is."""
    lab = TreeLab(tmp_path, questions=("calibration", "one"))
    lab.behave({"plain": [FAILS, PASSES], "review": [PASSES]})
    login = tmp_path / "login"
    (login / "projects" / "old" / "memory").mkdir(parents=True)
    (login / ".credentials.json").write_text("{}", encoding="utf-8")
    (lab.folder / "verdict.py").write_text("def after_pair(rows): pass\n", encoding="utf-8")
    arguments = ("--approve-budget", "-m", "smoke")
    paid = {"STUDY_MODEL": "claude-haiku-5-5", "STUDY_BUDGET_USD": "12"}
    refused = lab.run(*arguments, **paid)
    CliRunner().invoke(cli.main, ["freeze", str(lab.folder)])
    lab.run(*arguments, "--config-dir", str(login), **paid)

    assert "--config-dir: the study's login has a folder of its own" in refused.stderr
    assert lab.events("run-opened")[0]["capUsd"] == "1.5"  # the phase's own limit
    assert {each["environment"]["CLAUDE_CONFIG_DIR"] for each in lab.records()} == {str(login)}
    # A rule after a pair that cannot be asked cannot let the run go on.
    assert [each["reason"] for each in lab.events("run-stopped")] == ["after-pair-failed"]
    assert not (login / "projects" / "old").exists()
    assert len([*(login / "projects").iterdir()]) == 1
    assert [line["observation"]["status"] for line in lab.events("attempt-settled")] == [
        "completed"
    ] * 3
