"""What a run may write: money first, one reservation a cell, one run at a time."""

from __future__ import annotations

import dataclasses
import json
import stat
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import ledgers
from agent_trials.errors import (
    CellTakenError,
    LedgerBrokenError,
    LedgerError,
    LedgerInUseError,
    LedgerStaleError,
    LineTooLongError,
    ReservationRefusedError,
    RunStoppedError,
)
from agent_trials.ledger import prior
from agent_trials.ledger.chain import read
from agent_trials.ledger.journal import Journal
from agent_trials.ledger.private import Artifact
from agent_trials.publication import verify_bundle
from agent_trials.records import Status
from agent_trials.results.summary import verify
from ledgers import AMOUNT

if TYPE_CHECKING:
    from pathlib import Path

    from agent_trials.records import PlannedAttempt


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the test's ledger goes."""
    return tmp_path / "ledger.jsonl"


def reserve(journal: Journal, attempt: PlannedAttempt, attempts: list[PlannedAttempt]) -> None:
    journal.admit_and_reserve(attempt, ledgers.pair_of(attempt, attempts), AMOUNT)


# Opening.


def test_a_new_ledger_belongs_to_its_owner_alone(path: Path) -> None:
    """Answers and prompts of the operator stand beside it."""
    ledgers.create(path)
    beside = path.with_name("ledger.jsonl.private")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.with_name("ledger.jsonl.run").stat().st_mode) == 0o600
    assert stat.S_IMODE(beside.stat().st_mode) == 0o700
    assert stat.S_IMODE((beside / "openings.jsonl").stat().st_mode) == 0o600
    assert stat.S_IMODE((beside / "artifacts").stat().st_mode) == 0o700
    for artifact in (beside / "artifacts").iterdir():
        assert stat.S_IMODE(artifact.stat().st_mode) == 0o600


def test_a_ledger_is_never_overwritten(path: Path) -> None:
    """An old record of spend is worth more than a new run."""
    path.write_bytes(b"somebody's\n")

    with pytest.raises(LedgerError, match="cannot be made"):
        ledgers.create(path)

    assert path.read_bytes() == b"somebody's\n"
    assert list(path.parent.iterdir()) == [path]


def test_the_openings_of_another_ledger_are_not_mixed_in(path: Path) -> None:
    """A ledger that was moved away may have left them."""
    path.with_name("ledger.jsonl.private").mkdir()

    with pytest.raises(LedgerError, match="File exists"):
        ledgers.create(path)

    assert not path.exists()
    assert not path.with_name("ledger.jsonl.run").exists()


@pytest.mark.parametrize("calls", range(14))
def test_a_ledger_that_cannot_be_made_leaves_nothing_behind(path: Path, calls: int) -> None:
    """Until run-opened stands nothing was spent, so nothing has to be kept."""
    disk = ledgers.FailingDisk(calls, part=0.5, fail=ledgers.fill_disk)

    with pytest.raises((LedgerError, OSError)):
        ledgers.create(path, disk=disk)

    assert list(path.parent.iterdir()) == []


def test_what_fails_as_the_run_begins_takes_the_ledger_with_it(path: Path) -> None:
    """The preflight's line, the record beside the study's lock: one without the other is a half."""

    def begin(journal: Journal) -> None:
        journal.passed_preflight({})
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        ledgers.create(path, begin=begin)

    assert list(path.parent.iterdir()) == []


def test_a_power_cut_after_the_opening_does_not_lose_the_ledger(path: Path) -> None:
    """Its name lasts, and those of its openings: what is reserved next can be found again."""
    attempts = ledgers.plan()
    disk = ledgers.FailingDisk(1_000, fail=ledgers.cut_power, forgets=path.parent)
    journal = ledgers.create(path, attempts, disk=disk)
    disk.left = 0
    with pytest.raises(ledgers.PowerCut):
        reserve(journal, attempts[0], attempts)
    verification = verify(path, journal.head)

    assert verification.opened == verification.committed == 3


@pytest.mark.parametrize("lacking", ["capUsd", "resume", "infraReruns", "attempts", "transport"])
def test_an_opening_that_lacks_what_the_rules_need_is_a_bug(path: Path, lacking: str) -> None:
    """It must not be found out by the first reservation."""
    fields = ledgers.opening()
    del fields[lacking]

    with pytest.raises(RuntimeError, match=lacking):
        Journal.create(
            path, opening=fields, private={}, series_id=ledgers.SERIES, clock=ledgers.clock()
        )

    assert not path.exists()


def test_the_opening_must_name_the_series_that_it_begins(path: Path) -> None:
    """The first line's prev and its series id are one."""
    with pytest.raises(LedgerError, match="does not begin the series"):
        Journal.create(
            path,
            opening=ledgers.opening(),
            private={},
            series_id=ledgers.OTHER_SERIES,
            clock=ledgers.clock(),
        )


def test_the_first_head_stands_for_everything_fixed_beforehand(path: Path) -> None:
    """It is printed at once, so that tamper evidence begins before the first attempt."""
    journal = ledgers.create(path)
    first = next(read(path))

    assert journal.head == f"1:{first.digest}"
    assert first.fields["seriesId"] == ledgers.SERIES
    assert set(first.fields["private"]) == {"study", "key", "parameters"}
    assert journal.run_id == first.fields["runId"]
    assert len(journal.run_id) == 32


# One writer run.


def test_a_second_run_is_refused_while_one_is_open(path: Path) -> None:
    """Two runs would each believe in the whole cap."""
    first = ledgers.create(path)

    with pytest.raises(LedgerInUseError, match="another run is writing"):
        ledgers.reopen(path)
    first.close()
    second = ledgers.reopen(path)

    assert second.run == 2
    assert ledgers.events(path) == ["run-opened", "run-closed", "run-opened"]


def test_a_run_that_died_makes_way_for_the_next(path: Path) -> None:
    """The system drops the lock of a dead process; its reservation stays."""
    attempts = ledgers.plan()
    first = ledgers.create(path, attempts)
    reserve(first, attempts[0], attempts)
    first.release()
    second = ledgers.reopen(path)

    assert second.totals().reserved == AMOUNT
    assert second.totals().held == Decimal(0)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"mode": "rehearsal"}, "its mode is rehearsal and the ledger's is paid"),
        ({"seriesId": ledgers.OTHER_SERIES}, "its seriesId is"),
    ],
)
def test_a_further_run_keeps_series_and_mode(
    path: Path, changed: dict[str, Any], reason: str
) -> None:
    """Rehearsed attempts and paid ones must never stand in one ledger."""
    ledgers.create(path).close()
    before = path.read_bytes()

    with pytest.raises(LedgerError, match=reason):
        ledgers.reopen(path, **changed)

    assert path.read_bytes() == before
    ledgers.reopen(path).close()


def test_a_further_run_counts_every_prior_ledger_that_the_one_before_counted(path: Path) -> None:
    """Leaving one out would make room under the cap for money that is gone."""
    counted = [{"origin": "a", "head": None, "spentUsd": "0.4", "runs": ["a"]}]
    ledgers.create(path, priorLedgers=counted).close()

    with pytest.raises(LedgerError, match="leaves out a prior ledger"):
        ledgers.reopen(path)

    more = [*counted, prior.lost("b", Decimal("0.3"))]
    assert ledgers.reopen(path, priorLedgers=more).totals().prior == Decimal("0.7")


def test_a_ledger_without_a_run_is_not_gone_on_with(path: Path) -> None:
    """A kill before the first line leaves it: nothing was spent, and nothing is known."""
    ledgers.create(path).release()
    path.write_bytes(path.read_bytes()[:100])

    with pytest.raises(LedgerError, match="holds no run; remove it"):
        ledgers.reopen(path)
    with pytest.raises(LedgerError, match="there is no ledger"):
        ledgers.reopen(path.with_name("other.jsonl"))


def test_prior_ledgers_cannot_be_opened_while_a_run_counts_them(tmp_path: Path) -> None:
    """A pilot that is graded meanwhile would spend under the same cap."""
    pilot, full = tmp_path / "pilot.jsonl", tmp_path / "full.jsonl"
    ledgers.create(pilot).close()
    priors = prior.read_all([pilot], series_id=ledgers.SERIES, mode="paid")
    journal = ledgers.create(full, priors=priors)

    with pytest.raises(LedgerInUseError):
        ledgers.reopen(pilot)
    journal.close()
    grading = ledgers.reopen(pilot)

    with pytest.raises(LedgerInUseError):
        ledgers.create(tmp_path / "third.jsonl", priors=priors)
    grading.close()
    assert not (tmp_path / "third.jsonl").exists()


def test_what_prior_ledgers_came_to_stands_in_the_opening(tmp_path: Path) -> None:
    """Their money counts under the same cap, what was never settled among it."""
    attempts = ledgers.plan()
    pilot = ledgers.create(tmp_path / "pilot.jsonl", attempts)
    ledgers.run_all(pilot, attempts, 2)
    reserve(pilot, attempts[2], attempts)
    pilot.close()
    priors = prior.read_all([pilot.path], series_id=ledgers.SERIES, mode="paid")
    journal = ledgers.create(tmp_path / "full.jsonl", priors=priors)
    [counted] = next(read(journal.path)).fields["priorLedgers"]

    assert counted["spentUsd"] == "0.2"
    assert counted["head"] == pilot.head
    assert counted["runs"] == [pilot.run_id]
    assert journal.totals().prior == Decimal("0.2")


# Workers.


def test_a_worker_takes_part_in_an_open_run(path: Path) -> None:
    """It folds what others wrote, and writes for others."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts)
    worker = Journal.join(path, run=1, clock=ledgers.clock())
    reserve(worker, attempts[0], attempts)
    reserve(journal, attempts[1], attempts)
    totals = worker.settle(attempts[0], ledgers.result("0.03"))

    assert totals.spent == Decimal("0.03")
    assert totals.reserved == AMOUNT
    with pytest.raises(CellTakenError):
        reserve(journal, attempts[0], attempts)


def test_a_worker_reserves_nothing_once_its_controller_is_gone(path: Path) -> None:
    """Nobody would stop it, and nobody would close the run."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts)
    worker = Journal.join(path, run=1, clock=ledgers.clock())
    reserve(worker, attempts[0], attempts)
    journal.release()

    with pytest.raises(RunStoppedError, match="process that opened the run has ended"):
        reserve(worker, attempts[1], attempts)
    assert worker.settle(attempts[0], ledgers.result()).spent == Decimal("0.05")
    with pytest.raises(RunStoppedError):
        Journal.join(path, run=1, clock=ledgers.clock())


def test_a_worker_does_not_close_the_run(path: Path) -> None:
    """Others may still be at work."""
    ledgers.create(path)
    worker = Journal.join(path, run=1, clock=ledgers.clock())

    with pytest.raises(RuntimeError, match="only the process that opened"):
        worker.close()


# Admission.


def test_a_pair_is_admitted_whole_before_its_first_attempt(path: Path) -> None:
    """The rest of it is held, so that no other pair can take its money."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts)
    reserve(journal, attempts[0], attempts)
    admitted = list(read(path))[1]

    assert ledgers.events(path) == ["run-opened", "pair-admitted", "attempt-reserved"]
    assert admitted.fields["amountUsd"] == "0.2"
    assert admitted.fields["cells"] == [each.cell.to_json() for each in attempts[:2]]
    assert (journal.totals().reserved, journal.totals().held) == (AMOUNT, AMOUNT)


UNEQUAL = {"repository-only": Decimal("0.1"), "docs-mcp": Decimal("0.25")}


def test_arms_that_may_spend_differently_are_held_for_differently(path: Path) -> None:
    """A product that spends by itself makes its own arm dearer, not the other one."""
    attempts = ledgers.plan(tasks=1)
    journal = ledgers.create(path, attempts, capUsd="0.35")
    for attempt in attempts:
        journal.admit_and_reserve(attempt, attempts, UNEQUAL)
        journal.settle(attempt, ledgers.result("0.1"))

    admitted = list(read(path))[1].fields
    assert (admitted["amountUsd"], admitted["amountsUsd"]) == ("0.35", ["0.1", "0.25"])
    verify(path)
    assert verify_bundle.verify(path).state.spent == verify_bundle.amount({"a": "0.2"}, "a")


@pytest.mark.parametrize(
    "parts",
    [["0.25", "0.1"], ["0.1"], ["0.1", "0.2"], "0.35", ["0.35", "0"]],
    ids=["swapped", "too few", "another sum", "no list", "nothing for one"],
)
def test_both_verifiers_refuse_parts_that_are_not_the_pairs(path: Path, parts: Any) -> None:  # noqa: ANN401
    """What is held for an arm is what it may reserve."""
    attempts = ledgers.plan(tasks=1)
    journal = ledgers.create(path, attempts)
    for attempt in attempts:
        journal.admit_and_reserve(attempt, attempts, UNEQUAL)
    ledgers.rewrite(path, lambda lines: lines[1].update(amountsUsd=parts))

    with pytest.raises(LedgerBrokenError):
        verify(path)
    with pytest.raises(verify_bundle.BrokenError):
        verify_bundle.verify(path)


def test_a_pair_that_does_not_fit_is_refused_and_stops_the_run(path: Path) -> None:
    """One arm of it would fit; half a pair is no evidence."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts, capUsd="0.35")
    ledgers.run_all(journal, attempts, 2, charged="0.1")

    with pytest.raises(ReservationRefusedError) as caught:
        reserve(journal, attempts[2], attempts)

    refused, stopped = list(read(path))[-2:]
    assert str(caught.value).startswith("pilot/task-1/repository-only/r1 refused: it needs 0.2 USD")
    assert (caught.value.needed, caught.value.available) == (Decimal("0.2"), Decimal("0.15"))
    assert refused.event == "attempt-refused"
    assert refused.fields["neededUsd"] == "0.2"
    assert refused.fields["availableUsd"] == "0.15"
    assert stopped.fields["reason"] == refused.fields["reason"] == "budget"
    with pytest.raises(RunStoppedError, match=r"stopped before \(budget\)"):
        reserve(journal, attempts[3], attempts)


def test_a_pair_that_just_fits_is_admitted(path: Path) -> None:
    """The cap is what may be spent, not what must be left."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts, capUsd="0.4")
    ledgers.run_all(journal, attempts, charged="0.1")

    assert journal.totals().available == Decimal(0)


def test_a_held_part_is_not_started_after_an_overshoot(path: Path) -> None:
    """The first arm took more than its reservation; the cap is looked at again."""
    attempts = ledgers.plan(tasks=1)
    journal = ledgers.create(path, attempts, capUsd="0.2")
    reserve(journal, attempts[0], attempts)
    journal.settle(attempts[0], ledgers.result("0.15"))

    with pytest.raises(ReservationRefusedError) as caught:
        reserve(journal, attempts[1], attempts)

    assert caught.value.available == Decimal("0.05")
    assert list(read(path))[-2].fields["reason"] == "overshoot"


def test_a_follow_up_turn_is_admitted_by_itself(path: Path) -> None:
    """Nobody knew beforehand that it would come, so nothing was held for it."""
    attempts = ledgers.plan(tasks=1)
    journal = ledgers.create(path, attempts, capUsd="0.3")
    reserve(journal, attempts[0], attempts)
    journal.settle(attempts[0], ledgers.result("0.1"))
    reserve(journal, ledgers.again(attempts[0]), attempts)
    journal.settle(ledgers.again(attempts[0]), ledgers.result("0.1"))
    reserve(journal, attempts[1], attempts)

    with pytest.raises(ReservationRefusedError):
        reserve(journal, ledgers.again(attempts[1]), attempts)


def test_a_second_reservation_of_a_cell_is_refused_by_the_ledger(path: Path) -> None:
    """A rerun plugin does not know what it pays for."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts)
    reserve(journal, attempts[0], attempts)
    with pytest.raises(CellTakenError, match="reserved and not settled; nothing was started"):
        reserve(journal, attempts[0], attempts)
    journal.settle(attempts[0], ledgers.result("0.1", Status.FAILED))
    before = path.read_bytes()

    with pytest.raises(CellTakenError, match="does not repeat an attempt"):
        reserve(journal, attempts[0], attempts)
    assert path.read_bytes() == before


def test_an_infrastructure_failure_is_rerun_in_place_as_often_as_the_study_says(
    path: Path,
) -> None:
    """The rerun has no hold; it is paid like every other attempt."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts, infraReruns=1)
    for _ in range(2):
        reserve(journal, attempts[0], attempts)
        journal.settle(attempts[0], ledgers.result("0.1", Status.INVALID_SETUP))

    with pytest.raises(CellTakenError, match="they are used"):
        reserve(journal, attempts[0], attempts)
    assert journal.totals().spent == Decimal("0.2")
    assert journal.totals().held == AMOUNT


def test_a_resumed_run_takes_up_what_is_left_of_a_pair(path: Path) -> None:
    """The arm that was recorded is not paid twice."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts, resume="skip-recorded")
    reserve(journal, attempts[0], attempts)
    journal.release()
    resumed = ledgers.reopen(path, resume="skip-recorded", attempts=4)

    with pytest.raises(CellTakenError, match="run 1 reserved it"):
        reserve(resumed, attempts[0], attempts)
    reserve(resumed, attempts[1], attempts)
    assert [len(x.fields["cells"]) for x in read(path) if x.event == "pair-admitted"] == [2, 1]


def test_a_released_hold_is_free_again(path: Path) -> None:
    """A study that skips the rest of a pair does not keep its money from others."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts, capUsd="0.3")
    reserve(journal, attempts[0], attempts)
    journal.settle(attempts[0], ledgers.result("0.1"))
    journal.release_pair(0, "skipped")
    journal.release_pair(0, "skipped")
    reserve(journal, attempts[2], attempts)

    assert ledgers.events(path).count("pair-released") == 1


def test_an_attempt_that_is_not_in_its_own_pair_is_a_bug(path: Path) -> None:
    """It would be paid from what is held for others."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts)

    with pytest.raises(RuntimeError, match="not in its own pair"):
        journal.admit_and_reserve(attempts[0], attempts[2:], AMOUNT)
    reserve(journal, attempts[0], attempts)
    with pytest.raises(RuntimeError, match="not what its pair was admitted with"):
        journal.admit_and_reserve(attempts[1], attempts[:2], AMOUNT / 2)
    with pytest.raises(RuntimeError, match="a reservation of 0 USD"):
        journal.admit_and_reserve(attempts[1], attempts[:2], Decimal(0))


# Settling, stopping, closing.


def test_a_settlement_without_reservation_is_a_bug(path: Path) -> None:
    """Money was spent that nobody had set aside."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts)

    with pytest.raises(RuntimeError, match="is not reserved"):
        journal.settle(attempts[0], ledgers.result())


def test_a_settlement_that_charges_too_little_is_a_bug_and_changes_nothing(path: Path) -> None:
    """The reservation stays, which is worth at least as much."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts)
    reserve(journal, attempts[0], attempts)
    before = path.read_bytes()

    with pytest.raises(RuntimeError, match=r"not settled: it charges 0\.05 USD where 0\.1 USD"):
        journal.settle(attempts[0], ledgers.result("0.05", Status.FAILED))

    assert path.read_bytes() == before
    assert journal.totals().reserved == AMOUNT


def test_an_observation_too_large_for_a_line_is_named_and_the_run_goes_on(path: Path) -> None:
    """Nothing was written, so nothing has to be read again."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts)
    reserve(journal, attempts[0], attempts)
    before = path.read_bytes()
    tools = tuple(f"tool-{n}" for n in range(9_000))

    with pytest.raises(LineTooLongError, match=r"most of them in observation\.tools") as caught:
        journal.settle(attempts[0], ledgers.result(tools=tools))

    assert caught.value.field == "observation.tools"
    assert path.read_bytes() == before
    assert len(list(path.with_name("ledger.jsonl.private").glob("artifacts/*"))) == 2
    journal.settle(attempts[0], ledgers.result())


def test_the_line_holds_nothing_private(path: Path) -> None:
    """A ledger is published as it is."""
    attempts = ledgers.plan()
    journal = Journal.create(
        path,
        opening=ledgers.opening(),
        private={"study": Artifact(b"the frozen folder"), "parameters": {"engine": "/private"}},
        series_id=ledgers.SERIES,
        clock=ledgers.clock(),
    )
    reserve(journal, attempts[0], attempts)
    result = dataclasses.replace(
        ledgers.result(), private={"answer": "a secret answer"}, artifacts={"transcript": b"words"}
    )
    journal.settle(attempts[0], result)
    text = path.read_text("ascii")

    for private in ("secret", "words", "/private", "frozen folder"):
        assert private not in text
    last = json.loads(text.splitlines()[-1])
    assert set(last["private"]) == {"answer", "transcript"}


def test_a_name_for_a_value_and_an_artifact_is_a_bug(path: Path) -> None:
    """One of them would be lost."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts)
    reserve(journal, attempts[0], attempts)
    result = dataclasses.replace(ledgers.result(), artifacts={"answer": b""})

    with pytest.raises(RuntimeError, match="both values and artifacts"):
        journal.settle(attempts[0], result)


def test_the_first_stop_is_the_one_that_stands(path: Path) -> None:
    """Several workers may find a reason at the same time."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts)
    worker = Journal.join(path, run=1, clock=ledgers.clock())
    worker.stop("failed", attempts[0].cell)
    journal.stop("session-ended")

    assert ledgers.events(path).count("run-stopped") == 1
    assert journal.stopped is not None
    assert (journal.stopped.reason, journal.stopped.cell) == ("failed", attempts[0].cell)
    with pytest.raises(RunStoppedError, match=r"blocked: the run was stopped before \(failed\)"):
        reserve(journal, attempts[0], attempts)


def test_a_settlement_stops_the_run_before_anybody_reserves(path: Path) -> None:
    """Both lines are one append; a run that is over already keeps its first reason."""
    attempts = ledgers.plan(tasks=3)
    journal = ledgers.create(path, attempts)
    for attempt in (attempts[0], attempts[2]):
        reserve(journal, attempt, attempts)
    before = path.stat().st_size
    journal.settle(attempts[0], ledgers.result("0.1", Status.FAILED), stop="failed")
    journal.settle(attempts[2], ledgers.result("0.1", Status.TIMED_OUT), stop="timed-out")

    assert ledgers.events(path)[-3:] == ["attempt-settled", "run-stopped", "attempt-settled"]
    assert path.read_bytes()[before:].count(b"\n") == 3
    assert journal.stopped is not None
    assert (journal.stopped.reason, journal.stopped.cell) == ("failed", attempts[0].cell)


def test_a_reason_is_a_code(path: Path) -> None:
    """Free text may hold anything, and lines are public."""
    journal = ledgers.create(path)

    with pytest.raises(RuntimeError, match="is a code"):
        journal.stop("Could not read /home/someone")
    with pytest.raises(RuntimeError, match="is a code"):
        journal.release_pair(0, "")
    with pytest.raises(RuntimeError, match="is a code"):
        journal.settle(ledgers.plan()[0], ledgers.result(), stop="it failed")


def test_a_closed_run_states_what_it_came_to(path: Path) -> None:
    """Closing twice is what a session's clean-up does."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts)
    ledgers.run_all(journal, attempts, 1)
    reserve(journal, attempts[1], attempts)
    totals = journal.close()
    again = journal.close()
    closed = list(read(path))[-1].fields

    assert totals == again
    assert totals.attempts == 2
    assert (closed["spentUsd"], closed["reservedUsd"]) == ("0.05", "0.1")
    assert closed["counts"] == {"completed": 1, "reserved": 2}
    assert ledgers.events(path).count("run-closed") == 1


def test_after_a_failed_append_the_writer_refuses_until_it_has_read_again(path: Path) -> None:
    """What reached the disk is not known; a torn line is cut off by the next append."""
    attempts = ledgers.plan()
    disk = ledgers.FailingDisk(1_000, part=0.6, fail=ledgers.fill_disk)
    journal = ledgers.create(path, attempts, disk=disk)
    before = path.read_bytes()
    disk.left = 0
    with pytest.raises(OSError, match="No space left"):
        reserve(journal, attempts[0], attempts)
    disk.left = 1_000
    torn = path.stat().st_size

    with pytest.raises(LedgerStaleError, match="read it again"):
        reserve(journal, attempts[0], attempts)
    with pytest.raises(LedgerStaleError):
        journal.totals()
    journal.reread()
    reserve(journal, attempts[1], attempts)

    assert torn > len(before)
    assert path.read_bytes().startswith(before)
    assert [x.event for x in read(path)][1:3] == ["pair-admitted", "attempt-reserved"]


def test_a_refusal_torn_from_its_stop_still_stops_the_run(path: Path) -> None:
    """Both are one write, and a crash may leave the first line of it."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts, capUsd="0.1", resume="skip-recorded")
    with pytest.raises(ReservationRefusedError):
        reserve(journal, attempts[0], attempts)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    worker = Journal.join(path, run=1, clock=ledgers.clock())

    with pytest.raises(RunStoppedError):
        reserve(worker, attempts[1], attempts)
