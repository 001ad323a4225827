"""One process's hand on a ledger: what it has read, what that comes to, and how it appends.

Every method that reads or writes holds the ledger's append lock, and a write returns only when
what it announces is on disk. After an exception in the middle of an append every further one
raises LedgerStaleError until ``reread``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_trials.errors import RunStoppedError
from agent_trials.ledger import fold
from agent_trials.ledger.budget import State
from agent_trials.ledger.chain import Position, timestamp
from agent_trials.ledger.locks import is_open
from agent_trials.ledger.private import Vault, seal
from agent_trials.ledger.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack
    from datetime import datetime
    from pathlib import Path

    from agent_trials.ledger.announcements import Announcement
    from agent_trials.ledger.budget import Stop, Totals
    from agent_trials.ledger.chain import Line
    from agent_trials.ledger.disk import Disk
    from agent_trials.ledger.writer import Appender
    from agent_trials.records import Cell

    Clock = Callable[[], datetime]


class Hand:
    """What a journal is made of; see there.

    Attributes:
        path: the ledger, symlinks resolved.
        run: the number of the run, from 1.
    """

    def __init__(
        self, path: Path, *, run: int, clock: Clock, disk: Disk, locks: ExitStack | None
    ) -> None:
        self.path = path
        self.run = run
        self._clock = clock
        self._disk = disk
        self._locks = locks  # None in a process that joined: another one holds the run
        self._vault = Vault(path, disk)
        self._begin(Position())

    def _begin(self, position: Position) -> None:
        self._state = State()
        self._writer = Writer(self.path, self._disk, position, self._fold)

    def _fold(self, line: Line) -> None:
        fold.apply(self._state, line)

    @property
    def head(self) -> str:
        """Return count and digest of the last line that was read or written here."""
        return self._writer.position.head

    @property
    def run_id(self) -> str:
        """Return the random id that names this run beside the study's lock."""
        return str(self._state.runs[self.run - 1].opening["runId"])

    @property
    def stopped(self) -> Stop | None:
        """Return why the run was stopped, by whoever stopped it; None while it goes on."""
        with self._writer.locked():
            return self._state.runs[self.run - 1].stop

    @property
    def reruns(self) -> int:
        """Return how many attempts of the ledger were repeated in place."""
        with self._writer.locked():
            return self._state.reruns

    def totals(self) -> Totals:
        """Return the sums, whoever wrote last."""
        with self._writer.locked():
            return self._state.totals()

    def reserved_cells(self) -> frozenset[Cell]:
        """Return the cells whose latest reservation is this run's, whoever wrote last."""
        with self._writer.locked():
            cells = self._state.cells.items()
            return frozenset(cell for cell, record in cells if record.run == self.run)

    def reread(self) -> None:
        """Read the ledger anew from its beginning, as must be done after a failed append."""
        self._state = State()
        self._writer.reread()

    def release(self) -> None:
        """Let go of the run without closing it, as a process that dies does."""
        if self._locks is not None:
            self._locks.close()

    def _is_current(self) -> bool:
        return bool(self._state.runs) and self._state.run.number == self.run

    def _must_be_current(self, item: str) -> None:
        if not self._is_current():
            raise RunStoppedError(f"{item} blocked: run {self.run} is over")
        if self._locks is None and not is_open(self.path):
            raise RunStoppedError(f"{item} blocked: the process that opened the run has ended")

    def _write(self, appender: Appender, *announced: Announcement) -> None:
        openings, events = [], []
        for seq, each in enumerate(announced, start=appender.next_seq):
            sealed = seal(each.private)
            openings += [(seq, part) for part in sealed]
            event = {**each.fields, "event": each.event.value, "run": self.run}
            if sealed:
                event["private"] = {part.field: part.commitment for part in sealed}
            events.append(event)
        at = timestamp(self._clock())
        appender.append(events, at=at, before=lambda: self._vault.put(openings))
