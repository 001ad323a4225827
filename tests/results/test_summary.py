"""What a ledger shows: everything that happened, each figure from its lines, nothing private."""

from __future__ import annotations

import dataclasses
import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

import ledgers
import reportable
from agent_trials.errors import LedgerBrokenError, LedgerError, ReservationRefusedError
from agent_trials.ledger.grade_journal import Graded, GradeJournal
from agent_trials.ledger.private import private_folder
from agent_trials.records import Status
from agent_trials.results.show import to_show_json, to_text
from agent_trials.results.summary import GradeShown, summarise, verify
from ledgers import AMOUNT

if TYPE_CHECKING:
    from collections.abc import Callable

    from syrupy.assertion import SnapshotAssertion

    from agent_trials.ledger.journal import Journal
    from agent_trials.records import PlannedAttempt

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs/show.schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the test's ledger goes."""
    return tmp_path / "ledger.jsonl"


def reserve(journal: Journal, attempt: PlannedAttempt, attempts: list[PlannedAttempt]) -> None:
    journal.admit_and_reserve(attempt, ledgers.pair_of(attempt, attempts), AMOUNT)


def eventful(path: Path) -> Journal:
    """Return a closed ledger in which everything has happened that can."""
    attempts = ledgers.plan(tasks=4)
    lost = {"origin": "lost:r0", "head": None, "spentUsd": "0.25", "runs": ["r0"]}
    fields: dict[str, Any] = {
        "resume": "skip-recorded",
        "infraReruns": 1,
        "priorLedgers": [lost],
        "runId": "r1",
    }
    journal = ledgers.create(path, attempts, capUsd="0.9", **fields)
    journal.passed_preflight({"corpora": {"handbook": ledgers.SERIES}})
    reserve(journal, attempts[0], attempts)
    journal.settle(attempts[0], ledgers.result("0.1", Status.INVALID_SETUP, problems=("model",)))
    reserve(journal, attempts[0], attempts)
    journal.settle(attempts[0], ledgers.result("0.0312"))
    reserve(journal, attempts[1], attempts)
    journal.settle(attempts[1], ledgers.result("0.17"))
    reserve(journal, attempts[2], attempts)
    journal.release()
    fields["runId"] = "r2"
    resumed = ledgers.reopen(path, capUsd="0.9", attempts=8, **fields)
    reserve(resumed, attempts[3], attempts)
    reserve(resumed, ledgers.again(attempts[1]), attempts)
    resumed.settle(ledgers.again(attempts[1]), ledgers.result("0.02"))
    with pytest.raises(ReservationRefusedError):
        reserve(resumed, attempts[4], attempts)
    resumed.settle(attempts[3], ledgers.result("0.1", Status.TIMED_OUT))
    resumed.close()
    return resumed


def readable(path: Path) -> str:
    """Return the text with the head's digest, which random salts change, left out."""
    summary = summarise(path)
    return to_text(summary).replace(summary.head.split(":", 1)[1], "<digest>")


def cells(found: list[dict[str, Any]]) -> list[str]:
    """Return cells in short."""
    return [f"{each['task']}/{each['arm']}" for each in found]


def test_everything_that_happened_is_shown(path: Path) -> None:
    """Also what brought no observation: an attempt cut off, refused, blocked, a half pair."""
    journal = eventful(path)
    shown = to_show_json(summarise(path))

    assert shown["head"] == journal.head
    assert [each["status"] for each in shown["observations"]] == [
        "invalid-setup", "completed", "completed", "completed", "timed-out",
    ]  # fmt: skip
    assert [each["superseded"] for each in shown["observations"]] == [True] + [False] * 4
    assert [each["turn"] for each in shown["observations"]] == [1, 1, 1, 2, 1]
    assert cells(shown["unsettled"]) == ["task-1/repository-only"]
    assert cells(shown["refused"]) == ["task-2/repository-only"]
    assert cells(shown["blocked"]) == [
        "task-2/docs-mcp", "task-3/repository-only", "task-3/docs-mcp",
    ]  # fmt: skip
    [half] = shown["halfPairs"]
    assert cells(half["settled"]) == ["task-1/docs-mcp"]
    assert cells(half["missing"]) == ["task-1/repository-only"]
    assert shown["budget"] == {
        "capUsd": "0.9",
        "priorUsd": "0.25",
        "spentUsd": "0.4212",
        "reservedUsd": "0.1",
        "heldUsd": "0",
        "availableUsd": "0.1288",
        "cumulativeCapExceeded": False,
    }
    assert [each["closedAt"] is None for each in shown["runs"]] == [True, False]
    assert shown["runs"][1]["stopped"]["reason"] == "budget"
    assert shown["runs"][0]["counts"] == {"reserved": 4, "invalid-setup": 1, "completed": 2}
    assert shown["run"]["preflight"] == {"corpora": {"handbook": ledgers.SERIES}}


def test_what_is_shown_is_what_the_schema_describes(path: Path, tmp_path: Path) -> None:
    """Others build on it."""
    Draft202012Validator.check_schema(SCHEMA)
    validator = Draft202012Validator(SCHEMA)
    eventful(path)
    ledgers.create(tmp_path / "new.jsonl", mode="rehearsal")

    for each in (path, tmp_path / "new.jsonl"):
        validator.validate(json.loads(json.dumps(to_show_json(summarise(each)))))
    shown = to_show_json(summarise(path))
    shown["observations"][0]["chargedUsd"] = 0.1
    assert not validator.is_valid(shown)


def test_the_text_shows_the_same(path: Path, snapshot: SnapshotAssertion) -> None:
    """For a person: each attempt by what became of it."""
    eventful(path)

    assert readable(path) == snapshot


def test_the_text_of_an_open_rehearsal(path: Path, snapshot: SnapshotAssertion) -> None:
    """The word stands first; holds and the attempt in flight are shown while they count."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts, mode="rehearsal", capUsd="0.25", transport="http")
    reserve(journal, attempts[0], attempts)

    assert readable(path) == snapshot


def test_spend_above_the_cap_is_shown(path: Path) -> None:
    """An overshoot is money, and nobody may overlook it."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts, capUsd="0.2")
    reserve(journal, attempts[0], attempts)
    journal.settle(attempts[0], ledgers.result("0.3"))
    budget = to_show_json(summarise(path))["budget"]

    assert budget["cumulativeCapExceeded"]
    assert budget["availableUsd"] == "0"
    assert "SPEND HAS PASSED THE CAP" in to_text(summarise(path))


def test_a_hold_of_a_run_that_died_is_worth_nothing(path: Path) -> None:
    """While it is open the same lines come to something else."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts)
    reserve(journal, attempts[0], attempts)
    alive = to_show_json(summarise(path))
    journal.release()
    dead = to_show_json(summarise(path))

    assert (alive["open"], alive["budget"]["heldUsd"], alive["halfPairs"]) == (True, "0.1", [])
    assert (dead["open"], dead["budget"]["heldUsd"]) == (False, "0")
    assert dead["budget"]["reservedUsd"] == "0.1"
    assert len(dead["halfPairs"]) == 1


def test_without_the_studys_opening_the_blocked_are_not_known(path: Path) -> None:
    """Missing is null, never an empty list."""
    eventful(path)
    (private_folder(path) / "openings.jsonl").unlink()
    summary = summarise(path)

    assert to_show_json(summary)["blocked"] is None
    assert "planned cells were not opened" in to_text(summary)


def test_a_torn_tail_is_shown_and_counts_as_never_written(path: Path) -> None:
    """Whoever looks must learn that a crash happened."""
    journal = eventful(path)
    with path.open("ab") as stream:
        stream.write(b'{"amountUsd":"9')
    summary = summarise(path)

    assert summary.torn_bytes == 15
    assert summary.head == journal.head
    assert "torn    15 bytes" in to_text(summary)
    assert verify(path, journal.head).torn_bytes == 15


def test_nothing_private_is_shown(path: Path) -> None:
    """Neither an answer nor where the ledger lies."""
    eventful(path)
    summary = summarise(path)

    for shown in (json.dumps(to_show_json(summary)), to_text(summary)):
        assert "README.md" not in shown
        assert str(path.parent) not in shown


def test_a_ledger_to_which_nothing_was_written_shows_nothing(path: Path) -> None:
    """One sentence instead of a page of zeros."""
    path.write_bytes(b'{"torn')

    for look in (summarise, verify):
        with pytest.raises(LedgerError, match="nothing was ever written"):
            look(path)


def test_every_head_that_was_ever_published_still_verifies(path: Path) -> None:
    """The one after run-opened is what makes tampering evident early."""
    journal = ledgers.create(path)
    heads = [journal.head]
    attempts = ledgers.plan()
    for attempt in attempts:
        reserve(journal, attempt, attempts)
        heads.append(journal.head)
        journal.settle(attempt, ledgers.result())
        heads.append(journal.head)
    journal.close()

    for head in [f"0:{ledgers.SERIES}", *heads, journal.head, None]:
        assert verify(path, head).head == journal.head


def test_the_head_of_no_line_is_the_series(path: Path) -> None:
    """What a freeze publishes binds every ledger of its series, before there is one."""
    ledgers.create(path).close()

    with pytest.raises(LedgerBrokenError, match="head published for it") as caught:
        verify(path, f"0:{ledgers.OTHER_SERIES}")
    assert caught.value.seq == 1


def test_counts_are_whole_numbers(path: Path) -> None:
    """For Python true equals 1; for a second verifier it does not."""
    attempts = ledgers.plan(tasks=1)
    journal = ledgers.create(path, attempts)
    ledgers.run_all(journal, attempts, 1)
    journal.close()
    ledgers.rewrite(path, lambda lines: lines[-1]["counts"].update(reserved=True))

    with pytest.raises(LedgerBrokenError, match="counts"):
        verify(path)


def swap_arms(lines: list[dict[str, Any]]) -> None:
    """Give each arm what the other one showed, everywhere."""
    other = dict(zip(ledgers.ARMS, reversed(ledgers.ARMS), strict=True))
    for line in lines:
        for each in [line, *line.get("cells", ())]:
            if "arm" in each:
                each["arm"] = other[each["arm"]]


FORGERIES: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "raised cap": lambda lines: lines[0].update(capUsd="9"),
    "another answer": lambda lines: lines[4]["private"].update(answer=ledgers.SERIES),
    "swapped arms": swap_arms,
    "added line": lambda lines: lines.insert(9, {**lines[9], "event": "noted"}),
    "dropped tail": lambda lines: lines.pop(),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_with_a_new_chain_is_betrayed_by_a_published_head(
    path: Path, change: Callable[[list[dict[str, Any]]], Any]
) -> None:
    """Each keeps every rule, and without a head verifies: that is the limit of a chain."""
    journal = eventful(path)
    private_folder(path).rename(path.with_name("elsewhere"))
    ledgers.rewrite(path, change)

    assert verify(path)
    with pytest.raises(LedgerBrokenError, match="head published for it") as caught:
        verify(path, journal.head)
    assert journal.head.startswith(f"{caught.value.seq}:")


def test_a_ledger_of_another_series_is_named(path: Path) -> None:
    """Its first line's prev is the series that it begins."""
    ledgers.create(path)
    ledgers.rewrite(path, lambda lines: lines[0].update(seriesId=ledgers.OTHER_SERIES))

    with pytest.raises(LedgerBrokenError, match="does not begin the series") as caught:
        verify(path)

    assert caught.value.seq == 1


def test_shows_grades_by_blind_id_and_not_whose_they_are(tmp_path: Path) -> None:
    path = reportable.ledger(tmp_path, tasks=1, repetitions=1)

    shown = to_show_json(summarise(path))

    Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(shown)))
    assert [(each["outcome"], each["chargedUsd"], each["reason"]) for each in shown["grades"]] == [
        ("correct", "0", None)
    ] * 2
    assert all({"task", "arm"}.isdisjoint(each) for each in shown["grades"])
    assert "grades  2 correct" in to_text(summarise(path))


def test_the_tests_of_an_adjudicator_are_no_grades(tmp_path: Path) -> None:
    """They are answers of the key: counted among the grades they would look like attempts."""
    summary = summarise(reportable.ledger(tmp_path, tasks=1, repetitions=1))
    line = summary.grades[0].line
    fields = {**line.fields, "control": "wrong", "outcome": "incorrect"}
    control = GradeShown(dataclasses.replace(line, fields=fields), None)
    text = to_text(dataclasses.replace(summary, grades=(control, *summary.grades)))

    assert "grades  2 correct\n" in text
    assert "controls 1 incorrect\n" in text


def test_a_grade_and_its_charge_are_one_and_a_pending_one_has_its_reason(tmp_path: Path) -> None:
    """A grade's settlement and record are two lines of one append."""
    attempts = ledgers.plan(tasks=1)
    path = tmp_path / "run.jsonl"
    journal = ledgers.create(path, attempts)
    ledgers.run_all(journal, attempts)
    journal.close()
    grades = GradeJournal.reopen(
        path,
        opening=ledgers.opening(job="adjudicate", graders=[], attempts=0),
        private={},
        clock=ledgers.clock(),
        disk=ledgers.FastDisk(),
    )
    for blind_id, outcome, reason in (("a", "correct", None), ("b", "pending", "timed-out")):
        grade = (blind_id, "adjudicator")
        grades.reserve_grade(grade, Decimal("0.01"))
        given = Graded(outcome=outcome, reason=reason, charged_usd=Decimal("0.004"), private={})
        grades.settle_grade(grade, given)
    grades.close()

    shown = to_show_json(summarise(path))["grades"]

    assert [(each["blindId"], each["outcome"], each["reason"]) for each in shown] == [
        ("a", "correct", None),
        ("b", "pending", "timed-out"),
    ]
    assert [each["chargedUsd"] for each in shown] == ["0.004"] * 2
