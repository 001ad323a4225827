"""Every rule of the fold, broken one at a time in a ledger whose chain was made anew."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any

import pytest

import ledgers
from agent_trials.errors import LedgerBrokenError
from agent_trials.ledger import fold
from agent_trials.ledger.budget import State
from agent_trials.ledger.chain import Reading
from agent_trials.records import Status
from ledgers import AMOUNT, FastDisk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Lines = list[dict[str, Any]]
    Change = Callable[[Lines], None]

# Where the events of ``ledger`` stand, counted from 0.
OPENED, ADMITTED, RESERVED, SETTLED, CLOSED = 0, 1, 2, 3, 6


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Return a ledger of one pair: opened, admitted, twice reserved and settled, closed."""
    path = tmp_path / "ledger.jsonl"
    attempts = ledgers.plan(tasks=1)
    journal = ledgers.create(path, attempts, disk=FastDisk())
    ledgers.run_all(journal, attempts)
    journal.close()
    return path


def folded(path: Path) -> State:
    """Return what the lines of a ledger come to."""
    state = State()
    for line in Reading(path):
        fold.apply(state, line)
    return state


def insert(at: int, copy_of: int, **changed: Any) -> Change:  # noqa: ANN401 - any field
    """Return a change that puts in a line made from another."""

    def change(lines: Lines) -> None:
        lines.insert(at, {**lines[copy_of], **changed})

    return change


def put(at: int, **changed: Any) -> Change:  # noqa: ANN401 - any field
    """Return a change of some fields of one line."""
    return lambda lines: lines[at].update(changed)


def observe(at: int, **changed: Any) -> Change:  # noqa: ANN401 - any field
    """Return a change of some fields of one observation."""
    return lambda lines: lines[at]["observation"].update(changed)


def drop(at: int) -> Change:
    """Return a change that leaves out one line."""

    def change(lines: Lines) -> None:
        del lines[at]

    return change


def lack(at: int, field: str) -> Change:
    """Return a change that leaves out one field."""

    def change(lines: Lines) -> None:
        del lines[at][field]

    return change


def every(*changes: Change) -> Change:
    """Return all the changes, one after the other."""

    def change(lines: Lines) -> None:
        for each in changes:
            each(lines)

    return change


GRADE = {"event": "grade-reserved", "blindId": "b1", "grader": "first", "amountUsd": "0.1"}
GRADED = {
    "event": "grade-settled", "blindId": "b1", "grader": "first", "chargedUsd": "0",
    "outcome": "correct",
}  # fmt: skip
RELEASE = {"event": "pair-released", "reason": "skipped", "amountUsd": "0.1"}
STOP = {"event": "run-stopped", "reason": "operator"}
REFUSAL = {"event": "attempt-refused", "reason": "budget", "turn": 2}
PRIOR = [{"origin": "a", "spentUsd": "0.81"}]

# What was changed, in which line it is found out, and what is said of it.
BROKEN: dict[str, tuple[Change, int, str]] = {
    "another series' id": (put(OPENED, seriesId=ledgers.OTHER_SERIES), 1, "not begin the series"),
    "a later schema": (put(OPENED, schema=2), 1, "schema is 2"),
    "no cap": (lack(OPENED, "capUsd"), 1, "garbled.*capUsd"),
    "a cap of nothing": (put(OPENED, capUsd="0"), 1, "garbled.*not above zero"),
    "a cap that is no text": (put(OPENED, capUsd=1), 1, "garbled.*no amount"),
    "a policy nobody knows": (put(OPENED, resume="always"), 1, "garbled.*always"),
    "attempts in words": (put(OPENED, attempts="two"), 1, "attempts is no whole number"),
    "a cap with a space": (put(OPENED, capUsd="1 "), 1, "white space"),
    "a schema that is true": (put(OPENED, schema=True), 1, "schema is no whole number"),
    "a run id that is no text": (put(OPENED, runId=7), 1, "runId is no text"),
    "a prior ledger twice": (put(OPENED, priorLedgers=PRIOR * 2), 1, "prior ledger twice"),
    "run 2 first": (put(OPENED, run=2), 1, "opens run 2 after 0"),
    "no run-opened": (drop(OPENED), 1, "run 1 was never opened"),
    "a run that was not opened": (put(ADMITTED, run=2), 2, "run 2 was never opened"),
    "a pair above the cap": (put(OPENED, capUsd="0.19"), 2, "do not fit"),
    "a pair above what is left": (put(OPENED, priorLedgers=PRIOR), 2, "do not fit"),
    "an empty pair": (put(ADMITTED, cells=[]), 2, "the pair is empty"),
    "a pair in words": (put(ADMITTED, pair="0"), 2, "pair is no whole number"),
    "a repetition below 1": (put(RESERVED, repetition=0), 3, "repetition is below 1"),
    "an arm that is no text": (put(RESERVED, arm=None), 3, "arm is no text"),
    "a refusal without a reason": (insert(2, RESERVED, event="attempt-refused"), 3, "reason"),
    "a preflight of a run that is over": (
        every(insert(2, OPENED, run=2), insert(3, OPENED, event="preflight-passed")),
        4, "run 2 was opened after it",
    ),
    "a cell without an arm": (put(ADMITTED, cells=[{"task": "t"}]), 2, "garbled"),
    "a pair twice": (insert(2, ADMITTED), 3, "admitted before"),
    "no pair-admitted": (drop(ADMITTED), 2, "pair was not admitted"),
    "an attempt of another pair": (put(RESERVED, pair=1), 3, "pair was not admitted"),
    "less than was held": (put(RESERVED, amountUsd="0.05"), 3, "not what was held"),
    "a negative reservation": (put(RESERVED, amountUsd="-0.1"), 3, "garbled"),
    "a cell in flight": (insert(3, RESERVED), 4, "reserved and not settled"),
    "a cell settled before": (insert(4, RESERVED), 5, "was reserved in this run"),
    "a settlement without reservation": (drop(RESERVED), 3, "settles what is not reserved"),
    "a settlement twice": (insert(4, SETTLED), 5, "settles what is not reserved"),
    "a settlement of another cell": (put(SETTLED, task="t"), 4, "settles what is not reserved"),
    "a lowered charge": (observe(SETTLED, chargedUsd="0.04"), 4, "0.05 USD is the least"),
    "a failure below its reservation": (
        observe(SETTLED, status="failed"), 4, "0.1 USD is the least",
    ),
    "a negative charge": (observe(SETTLED, chargedUsd="-0.05"), 4, "garbled"),
    "a transport that is no text": (observe(SETTLED, transport=7), 4, "transport is no text"),
    "calls in words": (observe(SETTLED, toolCalls="3"), 4, "toolCalls is no whole number"),
    "prior ledgers that are no list": (put(OPENED, priorLedgers={}), 1, "priorLedgers is no list"),
    "no charge": (observe(SETTLED, chargedUsd=None), 4, "garbled"),
    "a status nobody knows": (observe(SETTLED, status="fine"), 4, "garbled"),
    "a held part after an overshoot": (
        every(put(OPENED, capUsd="0.2"), observe(SETTLED, chargedUsd="0.15")),
        5, "an overshoot has taken",
    ),
    "a follow-up above the cap": (
        every(put(OPENED, capUsd="0.24"), insert(5, RESERVED, turn=2)), 6, "do not fit",
    ),
    "spend left out at the end": (put(CLOSED, spentUsd="0.09"), 7, "spentUsd is 0.09"),
    "a reservation made up": (put(CLOSED, reservedUsd="0.1"), 7, "reservedUsd is 0.1"),
    "attempts left out at the end": (put(CLOSED, counts={"reserved": 2}), 7, "counts"),
    "an end twice": (insert(7, CLOSED), 8, "closed already"),
    "an attempt after the end": (insert(7, RESERVED, turn=2), 8, "stopped or closed"),
    "a grade after the end": (insert(7, OPENED, **GRADE), 8, "stopped or closed"),
    "an attempt after a stop": (insert(2, CLOSED, **STOP), 4, "stopped or closed"),
    "a pair after a stop": (insert(1, CLOSED, **STOP), 3, "stopped or closed"),
    "an attempt after a refusal": (insert(3, RESERVED, **REFUSAL), 6, "stopped or closed"),
    "a refusal after a stop": (
        every(insert(5, CLOSED, **STOP), insert(6, RESERVED, **REFUSAL)), 7, "stopped or closed",
    ),
    "more released than was held": (insert(2, ADMITTED, **RELEASE), 3, "not what is held"),
    "an attempt of a released pair": (
        insert(3, ADMITTED, **RELEASE), 6, "pair was not admitted",
    ),
    "a grade without reservation": (
        insert(1, OPENED, **GRADED), 2, "settles what is not reserved",
    ),
    "a grade twice": (
        every(insert(1, OPENED, **GRADE), insert(1, OPENED, **GRADE)), 3, "being graded",
    ),
    "a grade above the cap": (
        insert(1, OPENED, **{**GRADE, "amountUsd": "1.01"}), 2, "do not fit",
    ),
    "a grader that is no text": (insert(1, OPENED, **{**GRADE, "grader": 1}), 2, "no text"),
    "a later run without a prior ledger": (
        every(insert(7, OPENED, run=2), put(OPENED, priorLedgers=[{**PRIOR[0], "spentUsd": "0"}])),
        8, "it leaves out a prior",
    ),
    "a later run of another mode": (insert(7, OPENED, run=2, mode="rehearsal"), 8, "its mode is"),
    "a later run of another series": (
        insert(7, OPENED, run=2, seriesId=ledgers.OTHER_SERIES), 8, "its seriesId is",
    ),
    "an attempt of a run that is over": (
        every(insert(2, OPENED, run=2)), 4, "run 2 was opened after it",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "seq", "reason"), BROKEN.values(), ids=BROKEN)
def test_refuses_a_line_that_breaks_a_rule(
    ledger: Path, change: Change, seq: int, reason: str
) -> None:
    """The chain holds each time: a forger without a published head against him can do that."""
    ledgers.rewrite(ledger, change)

    with pytest.raises(LedgerBrokenError, match=reason) as caught:
        folded(ledger)

    assert caught.value.seq == seq


def test_an_event_that_is_not_known_changes_nothing(ledger: Path) -> None:
    """A later version's adjudications must not make an old reader give up."""
    before = folded(ledger).totals()
    ledgers.rewrite(ledger, insert(4, SETTLED, event="adjudicated", amountUsd="9"))

    assert folded(ledger).totals() == before


def test_a_later_run_forgets_holds_and_keeps_reservations(tmp_path: Path) -> None:
    """A hold promises money to nobody once its run is over; an agent may still be taking."""
    path = tmp_path / "ledger.jsonl"
    attempts = ledgers.plan(tasks=1)
    journal = ledgers.create(path, attempts, disk=FastDisk())
    journal.admit_and_reserve(attempts[0], attempts, AMOUNT)
    journal.release()
    ended = folded(path).totals(is_open=False)
    ledgers.reopen(path, disk=FastDisk()).release()
    later = folded(path).totals()

    assert (ended.reserved, ended.held) == (AMOUNT, Decimal(0))
    assert (later.reserved, later.held) == (AMOUNT, Decimal(0))
    assert folded(path).totals().available == Decimal("0.9")


def test_an_orphaned_worker_settles_after_its_run_is_over(tmp_path: Path) -> None:
    """What its agent took is the truth, and may be more than the reservation."""
    path = tmp_path / "ledger.jsonl"
    attempts = ledgers.plan(tasks=1)
    journal = ledgers.create(path, attempts, disk=FastDisk())
    journal.admit_and_reserve(attempts[0], attempts, AMOUNT)
    journal.release()
    ledgers.reopen(path, disk=FastDisk())
    journal.settle(attempts[0], ledgers.result("0.17", Status.FAILED))

    assert folded(path).totals().spent == Decimal("0.17")
    assert folded(path).totals().reserved == 0


@pytest.mark.parametrize(("outcome", "free"), [("pending", True), ("correct", False), (None, True)])
def test_a_grade_is_reserved_again_while_it_is_pending(
    ledger: Path, outcome: str | None, *, free: bool
) -> None:
    """A grader that failed is asked again; one that died with its run as well."""

    def grade_twice(lines: Lines) -> None:
        opened = {**lines[OPENED], "run": 2}
        lines += [opened, {**opened, **GRADE}]
        if outcome:
            lines.append({**opened, **GRADED, "outcome": outcome, "chargedUsd": "0.02"})
        lines += [{**opened, "run": 3}, {**opened, **GRADE, "run": 3}]

    ledgers.rewrite(ledger, grade_twice)

    if free:
        totals = folded(ledger).totals()
        assert totals.spent + totals.reserved == Decimal("0.2") + (
            Decimal("0.02") if outcome else AMOUNT
        )
    else:
        with pytest.raises(LedgerBrokenError, match="it is graded: correct"):
            folded(ledger)


def test_sums_are_exact_in_any_decimal_context(ledger: Path) -> None:
    """A study's own code may have set the precision to four digits."""
    charged = observe(SETTLED, chargedUsd="0.123456789")
    ledgers.rewrite(ledger, every(charged, put(CLOSED, spentUsd="0.173456789")))
    with localcontext(prec=4):
        totals = folded(ledger).totals()

    assert str(totals.spent) == "0.173456789"
    assert str(totals.available) == "0.826543211"
