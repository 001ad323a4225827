"""No order of events makes the recorded money smaller than what is at risk, nor passes the cap.

The model keeps what the agents really took; the ledger only knows what it was told. An agent takes
at most its reservation and one response more that was already under way.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import ledgers
from agent_trials import money
from agent_trials.errors import AdmissionError, RunStoppedError
from agent_trials.ledger.chain import read
from agent_trials.ledger.journal import Journal
from agent_trials.records import Cell, PlannedAttempt, Status
from agent_trials.results.summary import verify
from ledgers import FailingDisk, FastDisk, PowerCut

ZERO = Decimal(0)
PRIOR = Decimal("0.37")
RESERVATION = Decimal("0.1")
WORKERS = 3
# What prior ledgers leave under the cap: so little that one reservation decides, or enough.
LEFT = [Decimal(text) for text in ("0.2", "0.3", "0.35", "0.4", "0.5", "0.599", "0.8", "1.7")]
PRIORS = [{"origin": "a", "head": None, "spentUsd": money.text(PRIOR), "runs": ["a"]}]
# What an agent really takes: nothing, half, just all of it, a trifle too much, far too much.
TAKES = st.sampled_from([Decimal(t) for t in ("0", "0.05", "0.1", "0.100000001", "0.6")]) | (
    st.decimals(min_value=0, max_value="0.6", places=9)
)


RARELY = st.integers(0, 3).map(lambda drawn: drawn == 3)


@dataclass(eq=False)
class Agent:
    """An agent at work: whose it is, its attempt, and what it will have taken in the end."""

    journal: Journal
    attempt: PlannedAttempt
    takes: Decimal

    @property
    def overshoot(self) -> Decimal:
        """Return what it takes beyond its reservation."""
        return max(self.takes - RESERVATION, ZERO)


class Money(RuleBasedStateMachine):
    """Several writers of one ledger, the agents that they start, and what can befall them."""

    folder: Path | None = None

    @initialize(
        left=st.sampled_from(LEFT),
        resume=st.sampled_from(["never", "skip-recorded", "skip-completed"]),
        reruns=st.integers(0, 2),
    )
    def open(self, left: Decimal, resume: str, reruns: int) -> None:
        """Open the first run, with workers."""
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "ledger.jsonl"
        self.cap, self.resume, self.reruns = PRIOR + left, resume, reruns
        self.attempts = ledgers.plan(tasks=4)
        self.flying: list[Agent] = []
        self.told = ZERO  # what agents took and said so
        self.untold = 0  # agents that died without a word
        self.passing = ZERO  # overshoot of those in flight when the cap was passed
        self.take_over(ledgers.create(self.path, self.attempts, disk=FastDisk(), **self.fields()))

    def fields(self) -> dict[str, Any]:
        """Return what every run of this ledger states."""
        return {
            "capUsd": money.text(self.cap),
            "resume": self.resume,
            "infraReruns": self.reruns,
            "priorLedgers": PRIORS,
        }

    def take_over(self, controller: Journal) -> None:
        """Begin a run with its workers."""
        self.controller = controller
        self.workers = [self.join(FastDisk()) for _ in range(WORKERS)]

    def join(self, disk: FastDisk | FailingDisk) -> Journal:
        """Return one more worker's journal."""
        run = self.controller.run
        return Journal.join(self.path, run=run, clock=ledgers.clock(), disk=disk)

    def teardown(self) -> None:
        """Hold what was written to the rules, by the package and by hand."""
        if self.folder is not None:
            verify(self.path, self.controller.head)
            recount(self.path, self.cap, self.resume, self.reruns)
            self.controller.release()
            shutil.rmtree(self.folder)

    # What happens.

    @rule(
        worker=st.integers(0, WORKERS - 1),
        which=st.integers(0, 7),
        turn=st.sampled_from([1, 1, 1, 2]),
        takes=TAKES,
    )
    def start(self, worker: int, which: int, turn: int, takes: Decimal) -> None:
        """Start an agent if the ledger lets it."""
        attempt = self.attempts[which]
        agent = Agent(self.workers[worker], ledgers.again(attempt, turn), takes)
        with contextlib.suppress(AdmissionError):
            self.reserve(agent)

    @rule(worker=st.integers(0, WORKERS - 1), pair=st.integers(0, 3), takes=st.tuples(TAKES, TAKES))
    def orderly(self, worker: int, pair: int, takes: tuple[Decimal, Decimal]) -> None:
        """Run a pair as most studies do: one arm to its end, and then the other."""
        with contextlib.suppress(AdmissionError):
            for attempt, each in zip(self.attempts[2 * pair :], takes, strict=False):
                self.reserve(Agent(self.workers[worker], attempt, each))
                self.tell(self.flying.pop(), Status.COMPLETED)

    def reserve(self, agent: Agent) -> None:
        """Reserve, and then let the agent take money."""
        pair = ledgers.pair_of(agent.attempt, self.attempts)
        agent.journal.admit_and_reserve(agent.attempt, pair, RESERVATION)
        self.flying.append(agent)

        assert self.recorded() <= self.cap

    @precondition(lambda self: self.flying)
    @rule(
        which=st.integers(0, 100),
        status=st.sampled_from([Status.COMPLETED, Status.FAILED, Status.INVALID_SETUP]),
        tool_calls=st.integers(0, 1),
    )
    def settle(self, which: int, status: Status, tool_calls: int) -> None:
        """Let an agent end and say what it took; its run may be over by then."""
        self.tell(self.flying.pop(which % len(self.flying)), status, tool_calls)

    def tell(self, agent: Agent, status: Status, tool_calls: int = 3) -> None:
        """Settle an agent that is no longer in flight."""
        charged = agent.takes if status is Status.COMPLETED else max(RESERVATION, agent.takes)
        before = self.recorded()
        agent.journal.settle(
            agent.attempt,
            ledgers.result(
                charged, status, cli_reported_cost_usd=agent.takes, tool_calls=tool_calls
            ),
        )
        self.told += agent.takes
        self.note_passing(before, [agent, *self.flying])

    def note_passing(self, before: Decimal, in_flight: list[Agent]) -> None:
        """Keep the overshoot of those in flight if a settlement has just passed the cap."""
        if before <= self.cap < self.recorded():
            self.passing = sum((agent.overshoot for agent in in_flight), ZERO)

    @rule(worker=st.integers(0, WORKERS - 1), really=RARELY)
    def stop(self, worker: int, *, really: bool) -> None:
        """Let a worker stop the run, seldom: nothing much happens after it."""
        if really:
            self.workers[worker].stop("operator")

    @rule(pair=st.integers(0, 3))
    def release(self, pair: int) -> None:
        """Give back what is held for the rest of a pair."""
        self.controller.release_pair(pair, "skipped")

    @rule(how=st.sampled_from(["closed", "died", "orphaned"]), really=RARELY)
    def restart(self, how: str, *, really: bool) -> None:
        """End the run one way or another, and open the next."""
        if really:
            self.end(how)

    def end(self, how: str) -> None:
        """End the run, its agents with it unless they are orphaned, and open the next."""
        if how == "closed":
            self.controller.close()
        if how != "orphaned":  # the agents die with it
            self.untold += len(self.flying)
            self.flying.clear()
        self.controller.release()
        orphan = self.workers[0]
        self.take_over(ledgers.reopen(self.path, disk=FastDisk(), **self.fields()))
        with pytest.raises(RunStoppedError):
            orphan.admit_and_reserve(self.attempts[0], self.attempts[:2], RESERVATION)

    @rule(
        which=st.integers(0, 7),
        calls=st.integers(0, 10),
        part=st.sampled_from([0, 0.5, 0.97]),
        power_cut=st.booleans(),
        takes=TAKES,
    )
    def crash(
        self, which: int, calls: int, part: float, *, power_cut: bool, takes: Decimal
    ) -> None:
        """Let everything end in the middle of a reservation or a settlement."""
        forgets = self.folder if power_cut else None
        disk = FailingDisk(calls, part=part, fail=ledgers.cut_power, forgets=forgets)
        agent = Agent(self.join(disk), self.attempts[which], takes)
        before = self.recorded()
        with contextlib.suppress(PowerCut, AdmissionError):
            self.reserve(agent)
            before = self.recorded()
            charged = max(agent.takes, RESERVATION)
            agent.journal.settle(agent.attempt, ledgers.result(charged, Status.FAILED))
            self.flying.remove(agent)
            self.told += agent.takes
        self.end("died")
        self.note_passing(before, [agent])

    # What must hold.

    def recorded(self) -> Decimal:
        """Return spend and reservations of the series, as the ledger says now."""
        totals = self.controller.totals()
        return totals.prior + totals.spent + totals.reserved

    @precondition(lambda self: self.folder is not None)
    @invariant()
    def nothing_at_risk_is_missing(self) -> None:
        """Count what was told in full, and all that an agent may take which told nothing."""
        at_risk = self.told + RESERVATION * (len(self.flying) + self.untold)

        assert self.recorded() >= PRIOR + at_risk

    @precondition(lambda self: self.folder is not None)
    @invariant()
    def the_cap_is_passed_by_overshoot_alone(self) -> None:
        """Allow one overshoot for each attempt that was in flight when it was passed."""
        assert self.recorded() <= self.cap + self.passing


def recount(path: Path, cap: Decimal, resume: str, reruns: int) -> None:
    """Go through the lines by hand: every pair fitted when it was begun, no cell came twice."""
    spent, held = PRIOR, ZERO
    in_flight: dict[tuple[int, Cell], Decimal] = {}
    waiting: dict[int, set[Cell]] = defaultdict(set)
    times: Counter[Cell] = Counter()
    in_run: set[tuple[int, Cell]] = set()
    completed: set[Cell] = set()
    stopped: set[int] = set()
    repeated = 0
    for line in read(path):
        fields = line.fields
        cell = Cell.from_json(fields) if "task" in fields else None
        if line.event in {"run-opened", "run-closed"}:
            waiting.clear()
            held = ZERO
        elif line.event in {"attempt-refused", "run-stopped"}:
            stopped.add(line.run)
        elif line.event == "pair-admitted":
            assert line.run not in stopped
            needed = RESERVATION * len(fields["cells"])
            assert spent + sum(in_flight.values()) + held + needed <= cap
            waiting[fields["pair"]] = {Cell.from_json(each) for each in fields["cells"]}
            held += needed
        elif line.event == "pair-released":
            held -= RESERVATION * len(waiting.pop(fields["pair"]))
        elif line.event == "attempt-reserved":
            assert cell is not None
            assert line.run not in stopped
            assert spent + sum(in_flight.values()) + held <= cap
            again = (line.run, cell) in in_run
            repeated += again
            if cell in waiting[fields["pair"]]:
                waiting[fields["pair"]].remove(cell)
                held -= RESERVATION
            else:
                assert cell.turn > 1 or again, "begun without its pair"
            assert again or not times[cell] or resume == "skip-completed"
            assert cell not in completed
            assert resume != "never" or line.run == 1
            times[cell] += 1
            in_run.add((line.run, cell))
            in_flight[line.run, cell] = Decimal(fields["amountUsd"])
        elif line.event == "attempt-settled":
            assert cell is not None
            del in_flight[line.run, cell]
            spent += Decimal(fields["observation"]["chargedUsd"])
            if fields["observation"]["status"] == "completed":
                completed.add(cell)
    assert repeated <= reruns


TestMoney = Money.TestCase
TestMoney.settings = settings(
    max_examples=100,
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
