"""One process's hand on a ledger file: what it has read of it, and appending under the lock.

An append costs the same however long the ledger is: it reads again the last line that it knows,
which gives ``prev``, and whatever others have written behind it since.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agent_trials import canonical
from agent_trials.errors import LedgerBrokenError, LedgerStaleError
from agent_trials.ledger.chain import Position, Scan, encode, parse_line
from agent_trials.ledger.disk import write_all
from agent_trials.ledger.locks import exclusively

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from agent_trials.ledger.chain import Line
    from agent_trials.ledger.disk import Disk


class Writer:
    """Reads on and appends; hands every line, its own too, to ``fold`` in the file's order.

    Attributes:
        position: the end of what was read or written so far.
    """

    def __init__(
        self, path: Path, disk: Disk, position: Position, fold: Callable[[Line], None]
    ) -> None:
        self._path = path
        self._disk = disk
        self._fold = fold
        self._file: tuple[int, int] | None = None
        self._stale = False
        self.position = position

    @contextmanager
    def locked(self) -> Iterator[Appender]:
        """Hold the append lock, having read what others wrote.

        Raises:
            LedgerStaleError: an append failed before; what stands on disk is not known.
            LedgerBrokenError: the file is not what it was, or goes on with a line that is wrong.
        """
        with exclusively(self._path) as descriptor:
            if self._stale:
                raise LedgerStaleError(
                    f"an append to {self._path} failed, so that what stands there is not known;"
                    " read it again before the next"
                )
            self._stale = True
            self._check_tail(descriptor)
            self._read_on(descriptor)
            self._stale = False
            yield Appender(self, descriptor)

    def reread(self) -> None:
        """Read the file anew from its beginning; the fold must have begun anew.

        Raises:
            LedgerBrokenError: it is another file, does not hold what was known to stand there, or
                does not verify.
        """
        with exclusively(self._path) as descriptor:
            self._stale = True
            self._check_tail(descriptor)
            self.position = Position()
            self._read_on(descriptor)
            self._stale = False

    def _check_tail(self, descriptor: int) -> None:
        facts = os.fstat(descriptor)
        known = self.position
        if self._file is None:
            self._file = facts.st_dev, facts.st_ino
        elif self._file != (facts.st_dev, facts.st_ino):
            raise LedgerBrokenError(known.seq, "the file was replaced by another")
        if known.seq:
            raw = os.pread(descriptor, known.end - known.start, known.start)
            if canonical.digest(raw) != known.digest:
                raise LedgerBrokenError(known.seq, "it is not what it was when it was read last")

    def _read_on(self, descriptor: int) -> None:
        size = os.fstat(descriptor).st_size
        if size == self.position.end:
            return
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            scan = Scan(stream, self.position, size)
            for line in scan:
                self._fold(line)
                self.position = scan.position

    def append(
        self, descriptor: int, raw_lines: Sequence[bytes], before: Callable[[], None]
    ) -> None:
        """Write lines that are known to fit and to follow; ``Appender.append`` is for others."""
        self._stale = True
        before()
        end = self.position.end
        if os.fstat(descriptor).st_size > end:  # torn off by a crash: never written
            self._disk.truncate(descriptor, end)
        write_all(self._disk, descriptor, b"".join(raw_lines), end)
        self._disk.sync(descriptor)
        for raw in raw_lines:
            self._fold(parse_line(raw, self.position))
            self.position = self.position.after(raw)
        self._stale = False


class Appender:
    """The right to append, as long as the lock is held."""

    def __init__(self, writer: Writer, descriptor: int) -> None:
        self._writer = writer
        self._descriptor = descriptor

    @property
    def prev(self) -> str:
        """Return the digest that the next line names."""
        return self._writer.position.digest

    @property
    def next_seq(self) -> int:
        """Return the number of the line that comes next."""
        return self._writer.position.seq + 1

    def append(
        self, events: Sequence[Mapping[str, Any]], *, at: str, before: Callable[[], None]
    ) -> None:
        """Write the events as the next lines; durable on return, all in one write.

        Args:
            events: fields without ``seq``, ``prev`` and ``at``.
            at: the time of all of them.
            before: makes durable what the lines commit to; called once every line is known to fit.

        Raises:
            LineTooLongError: a line does not fit; nothing was written.
        """
        position = self._writer.position
        raw_lines = []
        for fields in events:
            raw = encode({**fields, "at": at, "prev": position.digest, "seq": position.seq + 1})
            raw_lines.append(raw)
            position = position.after(raw)
        self._writer.append(self._descriptor, raw_lines, before)
