"""Where a study stands against its lock, and which paid runs its series has had."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from agent_trials.errors import Problem
from agent_trials.study import ledgers, lock
from agent_trials.study.folder import LOCK, folder_digest
from agent_trials.study.lock import LockBrokenError
from agent_trials.study.present import read_present

if TYPE_CHECKING:
    from pathlib import Path

    from agent_trials.study.ledgers import LedgerRecord
    from agent_trials.study.manifest import Study


@dataclass(frozen=True)
class Frozen:
    """Where a study stands against its lock.

    Attributes:
        folder: the study's folder.
        series_id: folder digest of the current series' freeze; of the folder as it is, without one.
        folder_digest: of the folder as it is.
        amendment: number of the amendment in force, 0 for the freeze itself, None without a lock.
        frozen: whether there is a lock.
        changed: what differs from the lock, by file and field; empty means that the lock holds.
        lock_digest: digest of the lock's last entry, None without a lock.
        lost_ledgers: run ids of the paid runs whose ledgers were declared lost.
        pools: digests of runners that an amendment lets count together.
    """

    folder: Path
    series_id: str
    folder_digest: str
    amendment: int | None = None
    frozen: bool = False
    changed: tuple[str, ...] = ()
    lock_digest: str | None = None
    lost_ledgers: frozenset[str] = frozenset()
    pools: tuple[frozenset[str], ...] = ()

    def problems(self) -> list[Problem]:
        """Return why a paid run may not start with the study as it is."""
        if not self.frozen:
            remedy = f"freeze it first: agent-trials freeze {self.folder}"
            return [Problem(str(self.folder), "the study is not frozen", remedy)]
        what = "it changed since the freeze"
        remedy = f"take that back, or agent-trials amend {self.folder} --reason TEXT"
        return [Problem(f"{self.folder}/{name}", what, remedy) for name in self.changed]

    def pooled(self, runner: str, other: str) -> bool:
        """Return whether ledgers of two runners count together: the same one, or by amendment."""
        return runner == other or any({runner, other} <= pool for pool in self.pools)


def state(study: Study) -> Frozen:
    """Return where the study stands against its lock; a changed study is no error."""
    return state_of(study.folder)


def state_of(folder: Path) -> Frozen:
    """Return where the study in a folder stands against its lock."""
    try:
        entries = lock.read_lock(folder)
        locked = lock.fold(entries) if entries else None
    except LockBrokenError as error:
        digest = folder_digest(folder)
        return Frozen(folder, digest, digest, frozen=True, changed=(f"{LOCK}: {error}",))
    if locked is None:
        digest = folder_digest(folder)
        return Frozen(folder, digest, digest)
    present = read_present(folder)
    digest = present.folder.digest
    return Frozen(
        folder,
        locked.series_id,
        digest,
        locked.last.number,
        frozen=True,
        changed=present.changed(locked),
        lock_digest=locked.last.digest,
        lost_ledgers=locked.lost_ledgers,
        pools=locked.pools,
    )


def open_ledgers(study: Study) -> tuple[LedgerRecord, ...]:
    """Return the paid runs of the current series whose ledgers a further paid run must be given.

    Raises:
        StudyError: the record of paid runs cannot be read.
    """
    frozen = state(study)
    records = ledgers.of_series(ledgers.read(study.folder), frozen.series_id)
    return tuple(each for each in records if each.run_id not in frozen.lost_ledgers)


def lost_usd(study: Study) -> Decimal:
    """Return what the current series' lost ledgers count as spent: their whole caps, USD.

    Raises:
        StudyError: the record of paid runs cannot be read.
    """
    frozen = state(study)
    records = ledgers.of_series(ledgers.read(study.folder), frozen.series_id)
    lost = [each.cap_usd for each in records if each.run_id in frozen.lost_ledgers]
    return sum(lost, Decimal(0))
