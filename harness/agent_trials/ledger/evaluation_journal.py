"""The one writer of evaluations: one event for each report, of which nothing costs money."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_trials.ledger import fold
from agent_trials.ledger.announcements import Announcement
from agent_trials.ledger.events import Event
from agent_trials.ledger.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Mapping


class EvaluationJournal(Journal):
    """A run's hand on a ledger whose patches are being evaluated; made by ``reopen``.

    Controls before the attempts have a ledger of their own, made by ``create``.
    """

    def record_evaluation(self, public: Mapping[str, Any], private: Mapping[str, bytes]) -> None:
        """Write what one report says; its bytes and the predictions' stand beside the ledger.

        Raises:
            RuntimeError: the same report stands already, or another one for the same predictions
                that this one does not say it replaces; nothing was written.
            RunStoppedError: the run is over.
        """
        with self._writer.locked() as appender:
            self._must_be_current("an evaluation")
            if wrong := fold.evaluation_problem(self._state, public):
                raise RuntimeError(f"an evaluation is not recorded: {wrong}")
            self._write(appender, Announcement(Event.EVALUATED, public, private))
