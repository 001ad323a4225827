"""The errors of the package; each carries its facts and a sentence for the user.

    TrialsError
    ├── ProblemsError            all that is wrong with something, found at once
    │   ├── StudyError           a study's files
    │   │   └── FreezeRefusedError   a freeze or an amendment that was not made
    │   ├── ProvidersError       a file of --providers
    │   ├── PrepareRefusedError  checkouts that were not made
    │   └── RunRefusedError      a run that may not start (pytest exits with 4)
    ├── MoneyError               an amount that is none
    ├── LedgerError              a ledger that cannot be created, read or appended to
    │   ├── LedgerBrokenError    a line that does not follow from the one before
    │   ├── LedgerInUseError     another writer run holds it
    │   ├── LedgerStaleError     an append failed; read again before the next
    │   └── LineTooLongError     an event that does not fit in one line
    ├── AdmissionError           an attempt that the ledger does not let start
    │   ├── ReservationRefusedError   its money does not fit under the cap
    │   ├── CellTakenError       the cell was reserved before
    │   ├── FollowUpRefusedError      a further turn that was refused: the run says nothing
    │   └── RunStoppedError      the run was stopped earlier
    ├── WorkspaceError           git, export or checkout
    │   └── PatchTooLargeError   what an agent changed is more than the study takes
    │   └── UnequalError         files that must be the same in all arms are not
    ├── McpServerError           a server that does not start, answer or offer what it should
    ├── AgentError               an agent that cannot be started at all
    ├── EvaluationError          an evaluation of patches that cannot be run or used
    ├── ReportError              a report that cannot be written where it is to be
    ├── SigningError             a key that cannot sign
    └── BundleError              a bundle that was not made
        └── SecretFoundError     ... because something in it looks like a secret

A caller's bug is a RuntimeError, and a bad pytest option a pytest.UsageError; neither is here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong: where it stands, what it is, and the way out."""

    where: str
    what: str
    remedy: str

    def __str__(self) -> str:
        """Return one line: ``where: what; remedy``."""
        return f"{self.where}: {self.what}; {self.remedy}"


class TrialsError(Exception):
    """Base of every error that a user may see."""


class ProblemsError(TrialsError):
    """Everything that is wrong, collected before refusing.

    Attributes:
        problems: at least one problem, in the order found.
    """

    heading = "refused"

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        if not self.problems:
            raise RuntimeError("an error without a problem")
        super().__init__("\n".join([self.heading, *(f"  - {p}" for p in self.problems)]))


class StudyError(ProblemsError):
    """The files of one or more studies cannot be used as they are."""

    heading = "agent-trials: the study cannot be used:"


class FreezeRefusedError(StudyError):
    """A freeze or an amendment that was not made; nothing was written."""

    heading = "agent-trials: refused, nothing was written:"


class RowsError(StudyError):
    """A benchmark's rows cannot be selected from as they are."""

    heading = "agent-trials: the rows cannot be used:"


class ProvidersError(ProblemsError):
    """A file of provider commands that cannot be used as it is."""

    heading = "agent-trials: the providers cannot be used:"


class PrepareRefusedError(ProblemsError):
    """Checkouts that were not made; nothing was left behind."""

    heading = "agent-trials: refused, no checkout was made:"


class RunRefusedError(ProblemsError):
    """A run that may not start; nothing was written and nothing started."""

    heading = "agent-trials: the run is refused; nothing was written or started:"


class MoneyError(TrialsError):
    """A text that is no amount of money."""


class LedgerError(TrialsError):
    """A ledger that cannot be created, read or appended to."""


class LedgerBrokenError(LedgerError):
    """A ledger whose lines do not follow from one another.

    Attributes:
        seq: the sequence number of the first line that is wrong, counted from 1.
        reason: what is wrong with it.
    """

    def __init__(self, seq: int, reason: str) -> None:
        self.seq = seq
        self.reason = reason
        super().__init__(f"ledger broken at line {seq}: {reason}")


class LedgerInUseError(LedgerError):
    """Another run is writing to this ledger."""


class LedgerStaleError(LedgerError):
    """An earlier append failed, so that what stands on disk is not known; read again first."""


class LineTooLongError(LedgerError):
    """An event that does not fit in one line; nothing was written.

    Attributes:
        field: the largest field of the event.
    """

    def __init__(self, event: str, field: str, *, size: int, limit: int) -> None:
        self.field = field
        super().__init__(
            f"{event} not written: its line would have {size} bytes of at most {limit}, most of"
            f" them in {field}; put {field} beside the ledger as an artifact, or shorten it"
        )


class AdmissionError(TrialsError):
    """An attempt that the ledger does not let start."""


class ReservationRefusedError(AdmissionError):
    """The money of a pair or an attempt does not fit under the cap.

    Attributes:
        needed: what had to fit, USD.
        available: what was left under the cap, USD.
        cap: the cumulative cap, USD.
    """

    def __init__(self, subject: str, *, needed: Decimal, available: Decimal, cap: Decimal) -> None:
        self.needed = needed
        self.available = available
        self.cap = cap
        super().__init__(
            f"{subject} refused: it needs {needed.normalize():f} USD and"
            f" {available.normalize():f} USD is left under the cap of {cap.normalize():f} USD;"
            " nothing was started. Approve a higher cap (STUDY_BUDGET_USD) for a new run"
        )


class CellTakenError(AdmissionError):
    """The ledger holds a reservation of this cell, and the study's policy allows no other."""


class FollowUpRefusedError(AdmissionError):
    """A further turn that does not fit under the cap; the run is stopped, and is no evidence."""


class RunStoppedError(AdmissionError):
    """The run was stopped before this attempt; it is blocked, and nothing was spent on it."""


class WorkspaceError(TrialsError):
    """A corpus, checkout or export that is not what the study names."""


class UnequalError(WorkspaceError):
    """Files that must be the same whenever a task's tree is laid out are not."""


class PatchTooLargeError(WorkspaceError):
    """A patch above the study's bound: what the agent did, and no failure of the ground."""


class McpServerError(TrialsError):
    """An MCP server that does not start, does not answer, or offers other tools than declared.

    Attributes:
        what: which server, and what is wrong with it.
        remedy: the way out, if there is one to name.
        private_detail: what the server itself said; may hold paths of this machine, so it is for
            the private record only.
    """

    def __init__(self, what: str, *, remedy: str = "", private_detail: str = "") -> None:
        super().__init__(f"{what}; {remedy}" if remedy else what)
        self.what = what
        self.remedy = remedy
        self.private_detail = private_detail


class AgentError(TrialsError):
    """An agent that cannot be started at all."""


class EvaluationError(TrialsError):
    """An evaluation of patches that cannot be run, or whose report cannot be used."""


class ReportError(TrialsError):
    """A report that cannot be written where it is to be; nothing was written."""


class SigningError(TrialsError):
    """A key, or a program, that cannot sign a head."""


class BundleError(TrialsError):
    """A bundle that was not made; nothing was left behind."""


class SecretFoundError(BundleError):
    """Something in a bundle looks like a secret; nothing was left behind.

    Attributes:
        hits: where, and what it looks like; never the secret itself.
    """

    def __init__(self, hits: Iterable[str], remedy: str) -> None:
        self.hits = tuple(hits)
        found = [f"  - {hit}" for hit in self.hits]
        heading = "agent-trials: no bundle was made, since it would hold what looks like a secret:"
        super().__init__("\n".join([heading, *found, remedy]))
