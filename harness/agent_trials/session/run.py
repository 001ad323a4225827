"""One phase of one study on its way through a session: reserve, run, settle, stop, close.

The controller opens the run; a worker process joins it through plain data. Both reserve and settle
through the locked ledger, so that it does not matter who runs which pair.
"""

from __future__ import annotations

import dataclasses
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_trials import attempt, money
from agent_trials.ledger.journal import Journal
from agent_trials.records import ArmSetup, AttemptRequest, Secret, Status
from agent_trials.session import commands, pairs
from agent_trials.session.signals import held
from agent_trials.session.turns import Turns, is_infrastructure
from agent_trials.study import asked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from decimal import Decimal
    from pathlib import Path

    from agent_trials.preflight import Prepared
    from agent_trials.records import (
        AttemptResult,
        Cell,
        Launch,
        McpServer,
        PlannedAttempt,
        Sealed,
    )
    from agent_trials.session.admission import RunPlan
    from agent_trials.session.pairs import Looked
    from agent_trials.standby import Spare


@dataclass(frozen=True)
class Settled:
    """What one attempt came to, for the line that the terminal shows. Money in USD.

    ``notes`` tell its turns where a checker looked or one was repeated, ``pair`` how the run stands
    after a pair.
    """

    item: str
    status: str
    problems: tuple[str, ...]
    spent: str
    reserved: str
    cap: str
    elapsed_ms: int
    rehearsal: bool
    notes: tuple[str, ...] = ()
    pair: str | None = None


@dataclass(frozen=True)
class Handed:
    """What a worker needs to take part: no secret, and nothing of the operator's environment."""

    plan: RunPlan
    prepared: Prepared
    ledger: Path
    run: int
    base_url: str | None


class StudyRun:
    """The attempts of one phase, in this process.

    Args:
        plan: what was admitted.
        prepared: what the preflight found.
        journal: the open ledger.
        base_url: the rehearsal's scripted API; None for the provider's own.
        spare: the supervisor that this process keeps in reserve for whichever run is next.
    """

    def __init__(
        self,
        plan: RunPlan,
        prepared: Prepared,
        journal: Journal,
        base_url: str | None,
        spare: Spare,
    ) -> None:
        self.plan = plan
        self.prepared = prepared
        self.journal = journal
        self.base_url = base_url
        self.spare = spare
        self.closed = False
        self.owes_turn = False  # a first turn failed its checker, and the next is not taken yet
        self.tasks = {task.id: task for task in plan.study.manifest.tasks}
        self.planned = {each.cell: each for each in plan.attempts}
        self.pairs: dict[int, list[PlannedAttempt]] = {}
        for each in plan.attempts:
            self.pairs.setdefault(each.pair, []).append(each)

    def reservation(self, cell: Cell) -> Decimal:
        """Return what one turn of an attempt reserves, USD, the agent's part cut to 6 places."""
        return self.plan.way(cell).reserved_usd

    def launch(self, cell: Cell) -> Launch:
        """Return how a turn of the cell's arm is started."""
        first, further = self.prepared.writable.launches[cell.arm]
        return first if cell.turn == 1 else further

    def hand_over(self) -> Handed:
        """Return what a worker process needs to join."""
        options = dataclasses.replace(self.plan.options, environ={})
        names = dict.fromkeys(self.plan.secrets, Secret(""))  # each process reads its own
        plan = dataclasses.replace(self.plan, options=options, secrets=names)
        return Handed(plan, self.prepared, self.journal.path, self.journal.run, self.base_url)

    @classmethod
    def join(
        cls,
        handed: Handed,
        environ: Mapping[str, str],
        clock: Callable[[], datetime],
        spare: Spare,
    ) -> StudyRun:
        """Return the run as a worker process takes part in it."""
        plan = handed.plan
        known = {name: Secret(environ.get(name, "")) for name in plan.secrets}
        plan = dataclasses.replace(plan, secrets=known)
        journal = Journal.join(handed.ledger, run=handed.run, clock=clock)
        return cls(plan, handed.prepared, journal, handed.base_url, spare)

    def corpus(self, planned: PlannedAttempt) -> Sealed:
        """Return what the workspace of the attempt's task is made from."""
        task = planned.cell.task
        if task in self.prepared.writable.checkouts:
            return self.prepared.writable.checkouts[task]
        repository = self.tasks[task].repository
        if repository is None:
            return self.prepared.writable.trees[task]
        return self.prepared.corpora[repository]

    def servers(self, planned: PlannedAttempt) -> tuple[McpServer, ...]:
        """Return the MCP servers that the attempt's arm has for its task's repository."""
        repository = self.tasks[planned.cell.task].repository
        return self.prepared.servers.get((planned.cell.arm, repository or ""), ())

    def reserve(self, planned: PlannedAttempt) -> None:
        """Reserve the attempt's money, admitting its pair first; a further turn by itself.

        Raises:
            AdmissionError: it does not fit, was reserved before, or the run is stopped.
        """
        pair = self.pairs[planned.pair]
        amounts = {each.cell.arm: self.reservation(each.cell) for each in pair}
        with held():
            self.journal.admit_and_reserve(planned, pair, amounts)

    def request(
        self,
        planned: PlannedAttempt,
        corpus: Sealed,
        servers: tuple[McpServer, ...],
    ) -> AttemptRequest:
        """Return all that the attempt may know."""
        plan, way = self.plan, self.plan.way(planned.cell)
        return AttemptRequest(
            transport=way.transport,
            transport_settings=way.settings,
            model=way.model,
            prompt=asked.prompt(plan.study.manifest, planned.cell),
            limit_usd=money.limit(way.attempt_usd),
            corpus=corpus,
            mcp_servers=servers,
            denied_mcp_tools=self.prepared.denied[planned.cell.arm],
            executable=self.prepared.executable,
            executable_version=self.prepared.executable_version,
            base_url=self.base_url,
            rehearsal=plan.mode != "paid",
            secrets=plan.secrets,
            provider=commands.job(plan, planned),
            launch=self.launch(planned.cell),
            config_dir=plan.options.config_dir,
            side=self.prepared.writable.sides.get(planned.cell.arm),
            set_up=self.prepared.writable.arms.set_ups.get(planned.cell.arm, ArmSetup()),
            shielded=self.prepared.writable.arms.shielded,
        )

    def perform(self, planned: PlannedAttempt, request: AttemptRequest) -> Settled:
        """Take the turns of a reserved attempt, settle each, and stop the run as the study says.

        An interruption (Ctrl-C, SIGTERM, an outer time-out) is settled before it goes on.

        Raises:
            AdmissionError: a further turn, or a repetition in place, was refused.
        """
        settled = Turns(self).perform(planned, request)
        try:
            looked = self._after_pair(planned)
        except BaseException:
            # A rule that cannot be asked cannot let the run go on.
            self.journal.stop("after-pair-failed", planned.cell)
            raise
        return dataclasses.replace(settled, pair=looked.words) if looked else settled

    def _after_pair(self, planned: PlannedAttempt) -> Looked | None:
        """Look at the run where a pair has just ended and a checker has looked at its trees."""
        last = self.pairs[planned.pair][-1].cell == planned.cell
        if not last or not self.prepared.writable.checkers:
            return None
        totals, phase = self.journal.totals(), self.plan.study.manifest.phases[self.plan.phase]
        begun = {
            self.planned[cell].pair for cell in self.journal.reserved_cells() & {*self.planned}
        }
        looked = pairs.look(
            pairs.rows(self.journal.path),
            folder=self.plan.study.folder,
            remaining=len({*self.pairs} - begun),
            spent=money.text(totals.spent),
            scored=phase.scored,
            pair=planned.pair,
        )
        if looked.stop:
            self.journal.stop(looked.stop, planned.cell)
        return looked

    def may_repeat(self, result: AttemptResult) -> bool:
        """Return whether a turn whose infrastructure failed may be taken again in place."""
        allowed = self.plan.study.manifest.schedule.infra_reruns
        hopeless = attempt.UNEQUAL in result.observation.problems
        return is_infrastructure(result) and not hopeless and self.journal.reruns < allowed

    def settle(
        self,
        planned: PlannedAttempt,
        result: AttemptResult,
        started: float,
        *,
        repeats: bool = False,
        stop: str | None = None,
    ) -> Settled:
        """Settle a turn, and stop the run where its rule or ``stop`` says so.

        A turn that is repeated in place stops nothing.
        """
        status = result.observation.status
        # The name under which it is graded: drawn once, so that it tells nothing and never changes.
        named = {**result.private, "blindId": secrets.token_hex(8)}
        result = dataclasses.replace(result, private=named)
        if stop is None and not repeats and self.stops(planned, result):
            stop = status.value
        with held():
            totals = self.journal.settle(planned, result, stop=stop)
        return Settled(
            planned.cell.item,
            status.value,
            result.observation.problems,
            money.text(totals.spent),
            money.text(totals.reserved),
            money.text(totals.cap),
            round((time.monotonic() - started) * 1000),
            self.plan.mode != "paid",
        )

    def abandon(self, planned: PlannedAttempt) -> None:
        """Settle a reserved attempt that never ran, as interrupted."""
        way, amount = self.plan.way(planned.cell), self.reservation(planned.cell)
        result = attempt.unfinished(amount, way.transport, "never-run")
        self.settle(planned, result, time.monotonic())

    def reserved(self) -> int:
        """Return how many attempts were reserved in this run, by whichever process."""
        return len(self.journal.reserved_cells())

    def remaining(self) -> bool:
        """Return whether some planned attempt, or a turn that must follow, was never reserved."""
        reserved = self.journal.reserved_cells()
        return self.owes_turn or any(each.cell not in reserved for each in self.plan.remaining)

    def stops(self, planned: PlannedAttempt, result: AttemptResult) -> bool:
        """Return whether the study's rule ends the run after this attempt."""
        observation, rule = result.observation, self.plan.way(planned.cell).settings.stop_on
        if observation.status is Status.INTERRUPTED:
            return True
        if rule == "not-completed":
            return observation.status is not Status.COMPLETED
        if rule == "infrastructure":
            return is_infrastructure(result)
        return observation.status.value in rule
