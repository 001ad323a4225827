"""A session's signed heads: tried before anything is spent, written when a run opens and closes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent_trials.errors import Problem, RunRefusedError, SigningError
from agent_trials.publication import heads
from agent_trials.publication.signing import Signer, sign_ledger

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from agent_trials.ledger.journal import Journal
    from agent_trials.publication.signing import Signed


def find(key: Path | None, new: Iterable[Path]) -> tuple[SignedHeads, list[Problem]]:
    """Return what signs the session's heads, and why it cannot.

    Args:
        key: the SSH key; without one nothing is signed.
        new: ledgers that are to be made.
    """
    if key is None:
        return SignedHeads(None), []
    problems = [
        Problem(f"--ledger {each}", f"{heads.folder(each)} exists", "give a new path")
        for each in new
        if os.path.lexists(heads.folder(each))
    ]
    try:
        return SignedHeads(Signer.of(key)), problems
    except SigningError as error:
        problem = Problem(f"--sign {key}", str(error), "or leave out --sign")
        return SignedHeads(None), [*problems, problem]


class SignedHeads:
    """Signs the heads of runs; without a signer it does nothing.

    Attributes:
        lines: what to say at the end of each run's summary, by its ledger.
    """

    def __init__(self, signer: Signer | None) -> None:
        self._signer = signer
        self.lines: dict[Path, list[str]] = {}

    def opened(self, journal: Journal) -> list[str]:
        """Sign the head of a run that has just been opened; return what to say of it.

        Raises:
            RunRefusedError: it could not be signed; no attempt was made.
        """
        if self._signer is None:
            return []
        try:
            return _said(self._sign(self._signer, journal, "opened"))
        except SigningError as error:
            problem = Problem("--sign", str(error), "the ledger holds no attempt; begin a new one")
            raise RunRefusedError([problem]) from error

    def closed(self, journal: Journal) -> None:
        """Sign the head of a closed run; where that fails the ledger is whole all the same."""
        if self._signer is None:
            return
        try:
            said = _said(self._sign(self._signer, journal, "closed"))
        except SigningError as error:
            said = [f"the last head could not be signed: {error}"]
        self.lines[journal.path] = said

    @staticmethod
    def _sign(signer: Signer, journal: Journal, moment: str) -> Signed:
        name = f"run-{journal.run}-{moment}"
        return sign_ledger(signer, journal.path, name, journal.head)


def _said(signed: Signed) -> list[str]:
    return [f"signed {signed.path.name}; check it with", f"  {signed.command}"]
