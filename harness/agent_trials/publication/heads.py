"""Heads that are kept beside a ledger or a lock as files of one line, so that they can be signed.

``LEDGER.heads/<name>.head`` holds a head as it is printed, and ``<name>.head.sig`` its signature.
Beside a study's lock stand ``study.lock.head`` and ``study.lock.head.sig``, the head of a series
before its first ledger.
"""

from __future__ import annotations

import shutil
from pathlib import Path

LOCK_HEAD = "study.lock.head"
SUFFIXES = (".head", ".head.sig", ".signers")


def folder(ledger: Path) -> Path:
    """Return where a ledger's heads are kept."""
    return Path(f"{ledger}.heads")


def copy(ledger: Path, into: Path) -> None:
    """Copy a ledger's heads, their signatures and the signers' public keys; none is no fault."""
    kept = folder(ledger)
    if not kept.is_dir():
        return
    into.mkdir()
    for path in sorted(kept.iterdir()):
        if path.name.endswith(SUFFIXES) and path.is_file():
            shutil.copyfile(path, into / path.name)
