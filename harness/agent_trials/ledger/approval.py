"""Appends the approval of a publication to a ledger on which no run is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_trials.errors import LedgerError
from agent_trials.ledger.announcements import Announcement
from agent_trials.ledger.disk import REAL_DISK
from agent_trials.ledger.events import Event
from agent_trials.ledger.hand import Hand
from agent_trials.ledger.locks import RunLock

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from agent_trials.ledger.disk import Disk
    from agent_trials.ledger.hand import Clock

LONGEST_NAME = 200


class Approver(Hand):
    """A hand on a finished ledger that writes one line."""

    @classmethod
    def on(cls, path: Path, *, clock: Clock, disk: Disk = REAL_DISK) -> Self:
        """Return a hand on the ledger.

        Raises:
            LedgerError: there is no such ledger.
        """
        path = path.resolve()
        if not path.is_file():
            raise LedgerError(f"there is no ledger {path}; give one that exists")
        return cls(path, run=0, clock=clock, disk=disk, locks=None)

    def approve(self, name: str) -> str:
        """Append who approves what stands in the ledger now, and return that head.

        Raises:
            LedgerError: the name is none, or the ledger holds nothing.
            LedgerInUseError: a run is open on it.
            LedgerBrokenError: it does not verify; nothing was written.
        """
        if not 0 < len(name.strip()) <= LONGEST_NAME or not name.isprintable():
            raise LedgerError(
                f"{name!r} is no name of at most {LONGEST_NAME} printable characters; say who"
                " approves"
            )
        lock = RunLock.take(self.path)
        try:
            with self._writer.locked() as appender:
                if not self._state.runs:
                    raise LedgerError(f"nothing was ever written to the ledger {self.path}")
                self.run = self._state.run.number
                approved = self.head
                fields = {"by": name.strip(), "head": approved}
                self._write(appender, Announcement(Event.APPROVED, fields))
        finally:
            lock.release()
        return approved
