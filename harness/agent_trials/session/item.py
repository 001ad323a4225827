"""The attempt as a test meets it: reserved in set-up, run and settled in the test's body."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_trials.errors import AdmissionError, LedgerError
from agent_trials.records import Status
from agent_trials.session import keys, text
from agent_trials.session.collection import planned_of

if TYPE_CHECKING:
    from agent_trials.records import McpServer, PlannedAttempt, Sealed
    from agent_trials.session.controller import Controller
    from agent_trials.session.run import Settled, StudyRun


class Gate:
    """Reserves and settles the attempts of a session's runs, in this process."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def corpus(self, item: pytest.Item) -> Sealed:
        """Return what the workspace of the item's task is made from."""
        return self._run(item).corpus(self._planned(item))

    def servers(self, item: pytest.Item) -> tuple[McpServer, ...]:
        """Return the servers of the item's arm."""
        return self._run(item).servers(self._planned(item))

    def reserve(
        self,
        item: pytest.Item,
        planned: PlannedAttempt,
        corpus: Sealed,
        servers: tuple[McpServer, ...],
    ) -> Attempt:
        """Reserve the attempt's money; what does not fit is an error at set-up, never a skip."""
        run = self._run(item)
        refusal = _refusal(run, planned)
        if refusal is not None:
            pytest.fail(refusal, pytrace=False)
        return Attempt(item, run, planned, corpus, servers)

    def _run(self, item: pytest.Item) -> StudyRun:
        """Return the item's run; skip where a rehearsal lacks what the study needs."""
        run = self._controller.run_of(item)
        if run is None:
            raise RuntimeError(f"{item.nodeid} belongs to no run that was opened")
        if isinstance(run, str):
            pytest.skip(run)
        return run

    @staticmethod
    def _planned(item: pytest.Item) -> PlannedAttempt:
        planned = planned_of(item)
        if planned is None:
            raise RuntimeError(f"{item.nodeid} is no attempt of a study")
        return planned


def _refusal(run: StudyRun, planned: PlannedAttempt) -> str | None:
    """Reserve the attempt, or return why the ledger does not let it start."""
    try:
        run.reserve(planned)
    except AdmissionError as refusal:
        return str(refusal)
    except (LedgerError, OSError) as error:
        return f"{planned.cell.item} not started, for no money could be reserved: {error}"
    return None


class Attempt:
    """One reserved attempt; ``run`` may be called once."""

    def __init__(
        self,
        item: pytest.Item,
        run: StudyRun,
        planned: PlannedAttempt,
        corpus: Sealed,
        servers: tuple[McpServer, ...],
    ) -> None:
        self.planned = planned
        self.corpus = corpus
        self.servers = servers
        self._item = item
        self._run = run
        self._started = False

    def run(self) -> Settled:
        """Run the attempt, settle it, and fail the test where it did not complete."""
        __tracebackhide__ = True
        if self._started:
            raise RuntimeError("an attempt runs once")
        self._started = True
        request = self._run.request(self.planned, self.corpus, self.servers)
        try:
            settled = self._run.perform(self.planned, request)
        except AdmissionError as refusal:
            pytest.fail(str(refusal), pytrace=False)
        except (LedgerError, OSError) as error:
            item = self.planned.cell.item
            pytest.fail(f"{item} not settled, its reservation stays: {error}", pytrace=False)
        self._item.stash[keys.LINE] = text.attempt_line(settled)
        if settled.status != Status.COMPLETED:
            pytest.fail(text.failure(settled), pytrace=False)
        return settled

    def close(self) -> None:
        """Settle a reservation that no test used, as interrupted: it stays charged."""
        if not self._started:
            self._started = True
            self._run.abandon(self.planned)
