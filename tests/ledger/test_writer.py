"""Appending under the lock: what others wrote is folded first, and the end is read from disk."""

from __future__ import annotations

import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import joining_writer
import ledgers
from agent_trials.errors import LedgerBrokenError, LedgerError
from agent_trials.ledger.chain import read
from agent_trials.ledger.journal import Journal
from agent_trials.results.summary import verify
from ledgers import AMOUNT, FastDisk

if TYPE_CHECKING:
    from collections.abc import Callable

WRITERS = 4


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the test's ledger goes."""
    return tmp_path / "ledger.jsonl"


def test_appends_of_several_processes_interleave(path: Path) -> None:
    """Each reads on under the lock before it decides: one chain, one cap, no cell twice."""
    attempts = joining_writer.attempts()
    journal = ledgers.create(path, attempts, capUsd="1.05")
    program = Path(joining_writer.__file__)
    writers = [
        subprocess.Popen(
            [sys.executable, program, path, str(n)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(0, WRITERS * 4, 4)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    took = sum((Decimal(writer.communicate("go\n")[0]) for writer in writers), Decimal(0))
    totals = journal.totals()

    assert [writer.returncode for writer in writers] == [0] * WRITERS
    assert totals.spent == took > 0
    assert totals.reserved == 0
    assert totals.spent <= Decimal("1.05")
    assert journal.stopped is not None
    assert journal.stopped.reason == "budget"
    assert verify(path, journal.head).torn_bytes == 0
    assert [line.seq for line in read(path)] == list(range(1, len(list(read(path))) + 1))


def test_threads_of_one_process_exclude_each_other(path: Path) -> None:
    """The lock is taken on a file opened anew, so that threads are no exception."""
    attempts = ledgers.plan(tasks=20)
    journal = ledgers.create(path, attempts, disk=FastDisk(), capUsd="9")
    failures: list[BaseException] = []

    def work(mine: int) -> None:
        try:
            for attempt in attempts[mine::4]:
                journal.admit_and_reserve(attempt, ledgers.pair_of(attempt, attempts), AMOUNT)
                journal.settle(attempt, ledgers.result("0.01"))
        except BaseException as error:  # noqa: BLE001 - shown below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert verify(path, journal.head)
    assert journal.totals().spent == Decimal("0.4")


def test_an_append_reads_the_last_line_and_what_came_after_it_and_nothing_else(
    path: Path,
) -> None:
    """So it costs the same at 10 and at 100,000 events; what stands before is for ``verify``."""
    attempts = ledgers.plan(tasks=5)
    journal = ledgers.create(path, attempts, disk=FastDisk(), capUsd="9")
    ledgers.run_all(journal, attempts, 5)
    raw = path.read_bytes()
    last = raw.splitlines(keepends=True)[-1]
    garbled = b"#" * (len(raw) - len(last)) + last
    path.write_bytes(garbled)

    journal.admit_and_reserve(attempts[5], attempts[4:6], AMOUNT)

    assert path.read_bytes().startswith(garbled)
    with pytest.raises(LedgerBrokenError):
        verify(path)


def test_an_append_does_the_same_work_however_long_the_ledger_is(path: Path) -> None:
    """Counted in calls, which no busy machine can change: at 10 events and at a thousand."""
    few, many = (work_of_an_attempt(path.with_name(f"{n}.jsonl"), n) for n in (3, 333))

    assert few == many


def work_of_an_attempt(path: Path, before: int) -> tuple[int, int]:
    """Return how many calls a reservation and a settlement take behind so many attempts."""
    attempts = ledgers.plan(tasks=before + 1, arms=("one",))
    journal = ledgers.create(path, attempts, disk=FastDisk(), capUsd="1000")
    for attempt in attempts[:-1]:
        journal.admit_and_reserve(attempt, [attempt], AMOUNT)
        journal.settle(attempt, ledgers.result())
    last = attempts[-1]
    return (
        calls(lambda: journal.admit_and_reserve(last, [last], AMOUNT)),
        calls(lambda: journal.settle(last, ledgers.result())),
    )


def calls(action: Callable[[], object]) -> int:
    """Return how many functions an action calls, C's among them."""
    counted = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(before)
    return counted


def test_notices_that_the_last_line_was_changed(path: Path) -> None:
    """What it names as ``prev`` is what stands on disk, and must be what it knew."""
    journal = ledgers.create(path)
    path.write_bytes(path.read_bytes().replace(b'"capUsd":"1"', b'"capUsd":"9"'))

    with pytest.raises(LedgerBrokenError, match="not what it was when it was read last"):
        journal.stop("operator")


def test_notices_that_lines_were_cut_off(path: Path) -> None:
    """A reservation that another worker made may have been among them."""
    journal = ledgers.create(path)
    before = path.read_bytes()
    journal.stop("operator")
    path.write_bytes(before)

    with pytest.raises(LedgerBrokenError, match="not what it was"):
        journal.close()


def test_notices_that_the_file_was_replaced(path: Path) -> None:
    """Money recorded in a file that nobody finds again is not recorded."""
    journal = ledgers.create(path)
    copy = path.read_bytes()
    path.rename(path.with_name("moved.jsonl"))
    path.write_bytes(copy)

    with pytest.raises(LedgerBrokenError, match="replaced by another"):
        journal.stop("operator")
    with pytest.raises(LedgerBrokenError, match="replaced by another"):
        journal.reread()


def test_a_link_in_place_of_the_ledger_is_not_followed(path: Path, tmp_path: Path) -> None:
    """It could lead an append anywhere."""
    journal = ledgers.create(path)
    target = tmp_path / "target.jsonl"
    path.rename(target)
    path.symlink_to(target)

    with pytest.raises(LedgerError, match="cannot be opened for writing"):
        journal.stop("operator")


def test_refuses_to_go_on_after_another_writers_broken_line(path: Path) -> None:
    """A line that breaks a rule is found out by the next writer, not by a verifier months later."""
    attempts = ledgers.plan()
    journal = ledgers.create(path, attempts)
    worker = Journal.join(path, run=1, clock=ledgers.clock())
    worker.admit_and_reserve(attempts[0], attempts[:2], AMOUNT)
    ledgers.rewrite(path, lambda lines: lines[2].update(amountUsd="0.01"))

    with pytest.raises(LedgerBrokenError, match="not what was held") as caught:
        journal.totals()

    assert caught.value.seq == 3


def test_a_torn_tail_is_cut_off_by_the_next_append_and_nothing_else_is(path: Path) -> None:
    """Just the bytes that were never written."""
    journal = ledgers.create(path)
    whole = path.read_bytes()
    with path.open("ab") as stream:
        stream.write(b'{"torn":"' + b"x" * 5_000)
    journal.stop("operator")
    raw = path.read_bytes()

    assert raw.startswith(whole)
    assert b"torn" not in raw
    assert verify(path, journal.head).torn_bytes == 0


def test_the_lock_is_not_left_behind(path: Path) -> None:
    """Neither by a failure nor by a success."""
    disk = ledgers.FailingDisk(1_000, fail=ledgers.fill_disk)
    journal = ledgers.create(path, disk=disk)
    open_before = len(list(Path("/dev/fd").iterdir()))
    disk.left = 0
    with pytest.raises(OSError, match="No space"):
        journal.stop("operator")
    disk.left = 1_000
    journal.reread()
    journal.stop("operator")

    assert len(list(Path("/dev/fd").iterdir())) == open_before
