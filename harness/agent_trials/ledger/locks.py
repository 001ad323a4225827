"""Who may write: a short lock per append on the ledger, a long one per run on ``FILE.run``.

Both are flock locks: the system drops them when a process dies, however it dies.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials.errors import LedgerError, LedgerInUseError
from agent_trials.ledger.disk import open_for_writing

if TYPE_CHECKING:
    from collections.abc import Iterator

# A reader that looks whether a run is open holds the lock for microseconds; do not mistake it
# for a run.
_TRIES = 25
_PAUSE_SECONDS = 0.01


def run_file(ledger: Path) -> Path:
    """Return ``FILE.run``, which is locked while a run writes to the ledger."""
    return Path(f"{ledger}.run")


@contextmanager
def exclusively(ledger: Path) -> Iterator[int]:
    """Hold the ledger's append lock; give its descriptor for reading and writing.

    Each use opens the file anew, so that threads exclude each other as processes do, and a file
    that was replaced is noticed.

    Raises:
        LedgerError: there is no such file.
    """
    try:
        descriptor = open_for_writing(ledger)
    except OSError as error:
        raise LedgerError(
            f"the ledger {ledger} cannot be opened for writing ({error.strerror}); give one that"
            " exists and is yours"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def written_size(descriptor: int) -> int:
    """Return the file's size at a moment when no append is under way."""
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    try:
        return os.fstat(descriptor).st_size
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def is_open(ledger: Path) -> bool:
    """Return whether a run is writing to the ledger now: somebody holds ``FILE.run``."""
    held = _try(run_file(ledger), fcntl.LOCK_SH)
    if held is None:
        return False
    if held >= 0:
        os.close(held)
    return held < 0


class RunLock:
    """``FILE.run``, held until released or until this process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, ledger: Path) -> RunLock:
        """Hold the ledger for one writer run; make ``FILE.run`` if it is not there.

        Raises:
            LedgerInUseError: another run holds it.
        """
        path = run_file(ledger)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        os.close(os.open(path, flags, 0o600))
        return cls(_persist(ledger, fcntl.LOCK_EX))

    @classmethod
    def share(cls, ledger: Path) -> RunLock | None:
        """Keep others from opening a run on a finished ledger; None if it never had ``FILE.run``.

        Raises:
            LedgerInUseError: a run is open on it.
        """
        if not run_file(ledger).exists():
            return None
        return cls(_persist(ledger, fcntl.LOCK_SH))

    def release(self) -> None:
        """Let the next run in; safe to call twice."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _persist(ledger: Path, kind: int) -> int:
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE_SECONDS)
        held = _try(run_file(ledger), kind)
        if held is not None and held >= 0:
            return held
    raise LedgerInUseError(
        f"another run is writing to the ledger {ledger}; wait until it has ended"
    )


def _try(path: Path, kind: int) -> int | None:
    """Return a descriptor that holds the lock, -1 if somebody else does, None without a file."""
    try:
        # NFS locks a file exclusively only for somebody who could write to it.
        access = os.O_RDWR if kind == fcntl.LOCK_EX else os.O_RDONLY
        descriptor = os.open(path, access | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return -1
        raise
    return descriptor
