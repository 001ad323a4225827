"""Freezes a study before its first paid attempt; the door to everything about its lock.

The rules:
    a study is frozen once, with a protocol, and holds nothing that cannot count   -> freeze
    a study that has had paid runs does not lose its lock and begin anew           -> freeze
    what changes afterwards is an amendment                                        -> amend
    a paid run needs the study as it was frozen or amended                         -> Frozen
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_trials.errors import FreezeRefusedError, Problem
from agent_trials.study import disk, ledgers, lock
from agent_trials.study.amend import Amended, amend
from agent_trials.study.archive import archive, key_archive
from agent_trials.study.folder import LOCK, folder_digest
from agent_trials.study.frozen import Frozen, lost_usd, open_ledgers, state
from agent_trials.study.lock import Entry, Text, time_text
from agent_trials.study.present import read_present

if TYPE_CHECKING:
    from datetime import datetime

    from agent_trials.study.manifest import Study

__all__ = [
    "Amended", "Frozen", "amend", "archive", "folder_digest", "freeze", "key_archive", "lost_usd",
    "open_ledgers", "state",
]  # fmt: skip


def freeze(study: Study, *, now: datetime) -> Frozen:
    """Write the lock of a study that has none.

    Raises:
        FreezeRefusedError: it is frozen already, has no protocol, or holds what cannot count.
    """
    with disk.locked(study.folder):
        present = read_present(study.folder)
        problems = present.unfreezable()
        if (study.folder / LOCK).exists():
            remedy = f"record a change with agent-trials amend {study.folder} --reason TEXT"
            problems.append(Problem(str(study.folder), "the study is frozen already", remedy))
        elif ledgers.read(study.folder):
            what = "the study has had paid runs, and the lock that they ran under is gone"
            remedy = "restore it, for example with git"
            problems.append(Problem(f"{study.folder}/{LOCK}", what, remedy))
        if problems:
            raise FreezeRefusedError(problems)
        entry = Entry(
            number=0,
            at=time_text(now),
            folder_digest=present.folder.digest,
            amendments=Text.of(present.folder.amendments),
            files=present.folder.files,
            manifest=present.manifest,
            key=present.key,
        )
        lock.write_lock(study.folder, [entry])
    return state(study)
