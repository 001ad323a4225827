"""A new ledger's files, made together or not at all: ``FILE``, ``FILE.run``, ``FILE.private/``."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

from agent_trials.errors import LedgerError
from agent_trials.ledger.disk import sync_folder
from agent_trials.ledger.locks import RunLock, run_file
from agent_trials.ledger.private import Vault

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from agent_trials.ledger.disk import Disk
    from agent_trials.ledger.prior import PriorLedger


def make(path: Path, disk: Disk, locks: ExitStack) -> ExitStack:
    """Make the empty files and lock the run; return what removes them again.

    The names are durable on return. The run's lock goes to ``locks``.

    Raises:
        LedgerError: the path exists, or its folder cannot be written to; nothing is left behind.
        LedgerInUseError: another run holds the path.
    """
    try:
        with ExitStack() as undo:
            os.close(disk.create(path))
            undo.callback(path.unlink)
            fresh = not run_file(path).exists()
            locks.callback(RunLock.take(path).release)
            if fresh:
                undo.callback(run_file(path).unlink)
            vault = Vault(path, disk)
            vault.create()
            undo.callback(vault.remove)
            sync_folder(disk, path.parent)
            return undo.pop_all()
    except OSError as error:
        raise LedgerError(
            f"the ledger {path} cannot be made ({error.strerror});"
            " give a path that does not exist, in a folder of yours"
        ) from error


def keep_closed(priors: Iterable[PriorLedger]) -> ExitStack:
    """Keep finished ledgers from being opened; return what lets go of them.

    Raises:
        LedgerInUseError: a run is open on one of them.
    """
    with ExitStack() as locks:
        for prior in priors:
            lock = RunLock.share(prior.path.resolve())
            if lock is not None:
                locks.callback(lock.release)
        return locks.pop_all()
