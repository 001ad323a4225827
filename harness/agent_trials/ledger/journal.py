"""The one writer of attempts: money is reserved before it is spent, and settled after."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

from agent_trials.errors import LedgerError, ReservationRefusedError
from agent_trials.ledger import admission, announcements, charges, files, fold
from agent_trials.ledger.admission import Refused
from agent_trials.ledger.announcements import Announcement
from agent_trials.ledger.chain import Position
from agent_trials.ledger.disk import REAL_DISK
from agent_trials.ledger.events import Event
from agent_trials.ledger.hand import Hand
from agent_trials.ledger.locks import RunLock
from agent_trials.ledger.private import private_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from agent_trials.ledger.budget import Totals
    from agent_trials.ledger.disk import Disk
    from agent_trials.ledger.hand import Clock
    from agent_trials.ledger.prior import PriorLedger
    from agent_trials.records import AttemptResult, Cell, PlannedAttempt

_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")


class Journal(Hand):
    """A run's hand on its ledger. Made by ``create``, ``reopen`` or ``join``.

    Attributes:
        path: the ledger, symlinks resolved.
        run: the number of the run, from 1.
    """

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        opening: Mapping[str, Any],
        private: Mapping[str, Any],
        series_id: str,
        clock: Clock,
        priors: Sequence[PriorLedger] = (),
        begin: Callable[[Self], None] = lambda _: None,
        disk: Disk = REAL_DISK,
    ) -> Self:
        """Make a new ledger and open run 1 in it; on an error nothing is left behind.

        Args:
            path: must not exist; made exclusively with mode 0600.
            opening: the public fields of run-opened; its ``runId`` is drawn here, and its
                ``priorLedgers`` begins with what ``prior.lost`` gives and goes on with ``priors``.
            private: JSON values, or bytes as artifacts, that run-opened commits to.
            series_id: what the first line names as ``prev``.
            clock: gives the time in UTC.
            priors: prior ledgers, kept from being opened as long as this run is.
            begin: what else must succeed before there is a ledger; it reserves nothing.
            disk: what makes bytes last.

        Raises:
            LedgerError: the path exists, or its folder cannot be written to.
            LedgerInUseError: a run is open on one of the prior ledgers.
        """
        path = path.parent.resolve() / path.name
        with files.keep_closed(priors) as locks, files.make(path, disk, locks) as undo:
            journal = cls(path, run=1, clock=clock, disk=disk, locks=locks)
            journal._begin(Position(digest=series_id))
            journal._open_run(opening, priors, private)
            begin(journal)
            undo.pop_all()
            journal._locks = locks.pop_all()
        return journal

    @classmethod
    def reopen(
        cls,
        path: Path,
        *,
        opening: Mapping[str, Any],
        private: Mapping[str, Any],
        clock: Clock,
        priors: Sequence[PriorLedger] = (),
        disk: Disk = REAL_DISK,
    ) -> Self:
        """Open a further run in an existing ledger: to resume, adjudicate or evaluate.

        Raises:
            LedgerError: there is no such ledger, it is of another series or mode, or it counts a
                prior ledger that this run leaves out.
            LedgerInUseError: a run is open on it, or on one of the prior ledgers.
            LedgerBrokenError: it does not verify.
        """
        path = path.resolve()
        if not path.is_file():
            raise LedgerError(f"there is no ledger {path}; give one that exists")
        with files.keep_closed(priors) as locks:
            locks.callback(RunLock.take(path).release)
            journal = cls(path, run=0, clock=clock, disk=disk, locks=locks)
            with journal._writer.locked():
                journal.run = len(journal._state.runs) + 1
            if journal.run == 1:
                raise LedgerError(f"the ledger {path} holds no run; remove it and begin anew")
            if not private_folder(path).exists():
                journal._vault.create()
            journal._open_run(opening, priors, private)
            journal._locks = locks.pop_all()
        return journal

    @classmethod
    def join(cls, path: Path, *, run: int, clock: Clock, disk: Disk = REAL_DISK) -> Self:
        """Take part in a run that another process holds open.

        Raises:
            RunStoppedError: the run is over, or the process that opened it has ended.
        """
        journal = cls(path.resolve(), run=run, clock=clock, disk=disk, locks=None)
        with journal._writer.locked():
            journal._must_be_current("a worker")
        return journal

    def _open_run(
        self,
        opening: Mapping[str, Any],
        priors: Sequence[PriorLedger],
        private: Mapping[str, Any],
    ) -> None:
        announced = announcements.opening(opening, priors, private)
        with self._writer.locked() as appender:
            fields = {**announced.fields, "run": self.run, "prev": appender.prev}
            if wrong := fold.opening_problem(self._state, fields):
                raise LedgerError(f"no run is opened in {self.path}: {wrong}")
            self._write(appender, announced)

    def passed_preflight(
        self, fields: Mapping[str, Any], private: Mapping[str, Any] | None = None
    ) -> None:
        """Record what the preflight found, before any reservation."""
        with self._writer.locked() as appender:
            self._must_be_current("the preflight")
            self._write(appender, Announcement(Event.PREFLIGHT_PASSED, fields, private or {}))

    def admit_and_reserve(
        self,
        planned: PlannedAttempt,
        pair: Sequence[PlannedAttempt],
        amount: Decimal | Mapping[str, Decimal],
    ) -> None:
        """Set an attempt's money aside; when this returns, the attempt may start.

        Its pair is admitted first, if it was not, so that no pair is begun that does not fit. A
        follow-up turn and a rerun in place are admitted by themselves.

        Args:
            planned: the attempt.
            pair: every attempt of its pair, itself among them.
            amount: what each of them reserves, USD; by arm where that is not the same.

        Raises:
            ReservationRefusedError: it does not fit; the refusal stands in the ledger and the run
                is stopped.
            CellTakenError: the cell was reserved before, and the policy allows no other.
            RunStoppedError: the run is over.
        """
        if isinstance(amount, Decimal):
            amounts = dict.fromkeys([each.cell.arm for each in (planned, *pair)], amount)
        else:
            amounts = dict(amount)
        if min(amounts.values()) <= 0:
            raise RuntimeError(f"a reservation of {amount} USD")
        with self._writer.locked() as appender:
            self._must_be_current(planned.cell.item)
            decision = admission.decide(self._state, planned, pair, amounts)
            if isinstance(decision, Refused):
                self._write(appender, *announcements.refusal(planned, decision))
                raise ReservationRefusedError(
                    planned.cell.item,
                    needed=decision.needed,
                    available=decision.available,
                    cap=self._state.cap,
                )
            self._write(appender, *announcements.reservation(planned, decision.admitted, amounts))

    def settle(
        self, planned: PlannedAttempt, result: AttemptResult, *, stop: str | None = None
    ) -> Totals:
        """Record what a reserved attempt came to; its private parts first.

        Args:
            planned: the attempt.
            result: what it gave back.
            stop: why the run is stopped by it, if it is; nobody reserves in between.

        Raises:
            RuntimeError: it is not reserved, or it charges less than its own figures demand;
                nothing was written, and the reservation stays.
        """
        if stop is not None:
            _must_be_code(stop)
        settlement = announcements.settlement(planned, result)
        with self._writer.locked() as appender:
            reservation = self._state.unsettled.get((self.run, planned.cell))
            if reservation is None:
                raise RuntimeError(f"{planned.cell.item} is not reserved")
            if wrong := charges.problem(settlement.fields["observation"], reservation):
                raise RuntimeError(f"{planned.cell.item} is not settled: {wrong}")
            stops = stop is not None and self._is_current() and not self._state.run.is_over
            stopping = [announcements.stop(stop, planned.cell)] if stop and stops else []
            self._write(appender, settlement, *stopping)
            return self._state.totals()

    def release_pair(self, pair: int, reason: str) -> None:
        """Give back what is held for the rest of a pair, if anything is."""
        _must_be_code(reason)
        with self._writer.locked() as appender:
            hold = self._state.holds.get(pair)
            if self._is_current() and hold is not None and hold.amount:
                self._write(appender, announcements.release(pair, hold.amount, reason))

    def stop(self, reason: str, cell: Cell | None = None) -> None:
        """Stop the run: nothing more is reserved in it. The first stop is the one that stands."""
        _must_be_code(reason)
        with self._writer.locked() as appender:
            if self._is_current() and not self._state.run.is_over:
                self._write(appender, announcements.stop(reason, cell))

    def close(self) -> Totals:
        """Close the run with its sums, and let the next one in; safe to call twice."""
        if self._locks is None:
            raise RuntimeError("only the process that opened a run closes it")
        with self._writer.locked() as appender:
            if self._is_current() and self._state.run.closed_at is None:
                self._write(appender, announcements.closing(self._state))
            totals = self._state.totals(is_open=False)
        self.release()
        return totals


def _must_be_code(reason: str) -> None:
    if not _CODE.fullmatch(reason):
        raise RuntimeError(f"a reason in a ledger is a code, not {reason!r}")
