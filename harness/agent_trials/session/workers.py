"""What pytest-xdist's hooks need of us; imported only where xdist distributes.

The scheduler is ours: the unit is the pair, its attempts stay in order in one worker, and pairs are
handed out in schedule order. (xdist's own groups are ignored by the versions we support.) A worker
that dies is not replaced, and what it was given is given to nobody else: the ledger keeps its
reservation, and the run stops before the next one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from xdist.scheduler import LoadScopeScheduling

from agent_trials.session.keys import (
    CONTROLLER,
    DESELECTED,
    WORKER_INPUT,
    WORKER_OUTPUT,
    Deselected,
)

if TYPE_CHECKING:
    import pytest
    from xdist.remote import Producer
    from xdist.workermanage import WorkerController

_ATTEMPT = re.compile(r"\[([^/\]]+)/([^/\]]+)/[^/\]]+/(r[0-9]+)\]$")


class PairScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands out whole pairs, in order, and never the same attempt twice."""

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        """Return the pair of an attempt, the module of any other test."""
        match = _ATTEMPT.search(nodeid)
        if match is None:
            return str(super()._split_scope(nodeid))
        return f"{nodeid[: match.start()]}::{'/'.join(match.groups())}"

    def remove_node(self, node: WorkerController) -> str | None:
        """Forget a worker; what it was given is lost with it and not handed out again."""
        workload = self.assigned_work.pop(node)
        lost = (n for unit in workload.values() for n, done in unit.items() if not done)
        return next(lost, None)


class WorkerHooks:
    """Hands the controlling process's decisions to the workers and takes back what they counted."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_xdist_make_scheduler(
        self, config: pytest.Config, log: Producer
    ) -> PairScheduling | None:
        """Schedule by pairs where a run is open; leave any other session to xdist."""
        controller = config.stash.get(CONTROLLER, None)
        return PairScheduling(config, log) if controller and controller.runs else None

    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401 - xdist's WorkerController
        """Give a worker the runs that it takes part in, as plain data."""
        controller = self._config.stash.get(CONTROLLER, None)
        if controller:
            node.workerinput[WORKER_INPUT] = controller.hand_over()

    def pytest_testnodedown(self, node: Any, error: object) -> None:  # noqa: ANN401 - as above
        """Stop the runs where a worker was lost; learn whether it met only unwanted attempts."""
        controller = self._config.stash.get(CONTROLLER, None)
        if error and controller:
            controller.stop_all("worker-lost")
        counted = getattr(node, "workeroutput", {}).get(WORKER_OUTPUT)
        if counted:
            self._config.stash[DESELECTED] = Deselected(*counted)
