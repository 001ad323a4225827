"""The ledgers before this one: verified, finished, of the same series, each counted once.

Their spend counts under the cumulative cap: what was charged, and what was reserved and never
settled. Holds of runs that are over are worth nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.errors import LedgerError, Problem
from agent_trials.ledger import fold
from agent_trials.ledger.budget import State
from agent_trials.ledger.chain import Reading
from agent_trials.ledger.events import Event
from agent_trials.ledger.locks import is_open
from agent_trials.records import Cell, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal
    from pathlib import Path

OPTION = "--prior-ledger"


@dataclass(frozen=True)
class PriorAttempt:
    """One settled attempt: how it ended, what it was charged, and the observation as recorded."""

    cell: Cell
    status: Status
    charged: Decimal
    observation: Mapping[str, Any]


@dataclass(frozen=True)
class PriorLedger:
    """A finished ledger of the series.

    ``origin`` is the digest of its first line: the same for every copy of it. ``spent`` is charges
    and unsettled reservations, USD. ``opening`` and ``preflight`` are the lines of its first run;
    ``run_ids`` are those of all of its runs. ``controls`` are those of an evaluation that came out
    as they must: ``gold`` wholly resolved, ``empty`` not at all.
    """

    path: Path
    origin: str
    head: str
    spent: Decimal
    cap: Decimal
    opening: Mapping[str, Any]
    preflight: Mapping[str, Any] | None
    run_ids: tuple[str, ...]
    closed: bool
    complete: bool
    attempts: tuple[PriorAttempt, ...]
    controls: frozenset[str] = frozenset()

    @property
    def phase(self) -> str:
        """Return the phase of its attempts."""
        return str(self.opening["phase"])

    @property
    def mode(self) -> str:
        """Return ``paid`` or ``rehearsal``."""
        return str(self.opening["mode"])

    @property
    def transport(self) -> str:
        """Return the transport of its attempts."""
        return str(self.opening["transport"])

    @property
    def run_id(self) -> str:
        """Return the id of the run that made its attempts."""
        return self.run_ids[0]

    def satisfies(self, phase: str, transport: str) -> bool:
        """Return whether it is that phase over that transport, closed, every attempt completed."""
        same = self.phase == phase and self.transport == transport
        return same and self.closed and self.complete

    def to_json(self) -> dict[str, Any]:
        """Return what a run-opened line says of it under ``priorLedgers``."""
        return {
            "origin": self.origin,
            "head": self.head,
            "spentUsd": money.text(self.spent),
            "runs": list(self.run_ids),
        }


def lost(run_id: str, cap: Decimal) -> dict[str, Any]:
    """Return the ``priorLedgers`` entry of a lost ledger: its whole cap counts as spent."""
    return {"origin": f"lost:{run_id}", "head": None, "spentUsd": money.text(cap), "runs": [run_id]}


def read(path: Path) -> PriorLedger:
    """Return what a ledger comes to, its lines and rules verified.

    Raises:
        LedgerError: there is no such file, or it holds no run.
        LedgerBrokenError: it does not verify.
    """
    reading, state, gathered = Reading(path), State(), _Gathered()
    for line in reading:
        fold.apply(state, line)
        gathered.take(line.event, line.fields)
        if line.seq == 1:
            gathered.origin = line.digest
    if not state.runs:
        raise LedgerError(f"the ledger {path} holds no run; leave it out")
    totals, first = state.totals(is_open=False), state.runs[0]
    completed = {cell for cell, record in state.cells.items() if record.completed}
    planned = first.opening["attempts"]
    return PriorLedger(
        path,
        gathered.origin,
        reading.position.head,
        money.total(totals.spent, totals.reserved),
        totals.cap,
        first.opening,
        gathered.preflight,
        tuple(run.opening["runId"] for run in state.runs),
        state.run.closed_at is not None,
        len({cell for cell in completed if cell.turn == 1}) == planned > 0
        and len(completed) == len(state.cells),
        tuple(gathered.attempts),
        frozenset(name for name, passed in gathered.controls.items() if passed),
    )


@dataclass
class _Gathered:
    origin: str = ""
    preflight: Mapping[str, Any] | None = None
    attempts: list[PriorAttempt] = field(default_factory=list)
    controls: dict[str, bool] = field(default_factory=dict)

    def take(self, event: str, fields: Mapping[str, Any]) -> None:
        if event == Event.PREFLIGHT_PASSED and self.preflight is None:
            self.preflight = fields
        elif event == Event.EVALUATED and "control" in fields:
            classes = list(fields["classes"].values())
            resolved = classes.count("resolved")
            wanted = len(classes) if fields["control"] == "gold" else 0
            self.controls[fields["control"]] = resolved == wanted
        elif event == Event.ATTEMPT_SETTLED:
            observation = fields["observation"]
            charged = money.parse(observation["chargedUsd"])
            status = Status(observation["status"])
            cell = Cell.from_json(fields)
            self.attempts.append(PriorAttempt(cell, status, charged, observation))


def check(
    paths: Iterable[Path], *, series_id: str, mode: str, transport: str | None = None
) -> tuple[tuple[PriorLedger, ...], list[Problem]]:
    """Return the prior ledgers that can be counted, and what is wrong with the others.

    Args:
        paths: the ledgers given, in order.
        series_id: the series that they must belong to.
        mode: ``paid`` or ``rehearsal``; the run's own.
        transport: refuse others, where given.
    """
    expected = {"seriesId": series_id, "mode": mode}
    if transport is not None:
        expected["transport"] = transport
    good: list[PriorLedger] = []
    problems: list[Problem] = []
    for path in paths:
        where = f"{OPTION} {path}"
        if not path.exists():
            problems.append(
                Problem(where, "it does not exist", "give the ledger as it was written")
            )
            continue
        if is_open(path.resolve()):
            problems.append(Problem(where, "a run is open on it", "wait until it has ended"))
            continue
        try:
            ledger = read(path)
        except LedgerError as error:
            problems.append(Problem(where, str(error), "give the ledger as it was written"))
            continue
        found = [_difference(where, ledger, name, value) for name, value in expected.items()]
        found.append(_twice(where, ledger, good))
        wrong = [problem for problem in found if problem is not None]
        problems += wrong
        if not wrong:
            good.append(ledger)
    return tuple(good), problems


def read_all(
    paths: Iterable[Path], *, series_id: str, mode: str, transport: str | None = None
) -> tuple[PriorLedger, ...]:
    """Return the prior ledgers; arguments as ``check``.

    Raises:
        LedgerError: at least one cannot be counted; every problem is named.
    """
    ledgers, problems = check(paths, series_id=series_id, mode=mode, transport=transport)
    if problems:
        raise LedgerError("; ".join(str(problem) for problem in problems))
    return ledgers


def _difference(where: str, ledger: PriorLedger, name: str, value: str) -> Problem | None:
    found = ledger.opening[name]
    if found == value:
        return None
    return Problem(where, f"its {name} is {found} and this run's is {value}", "leave it out")


def _twice(where: str, ledger: PriorLedger, good: Iterable[PriorLedger]) -> Problem | None:
    for other in good:
        if other.origin == ledger.origin:
            return Problem(where, f"it is the same ledger as {other.path}", "give each once")
        if both := set(other.run_ids) & set(ledger.run_ids):
            return Problem(where, f"it holds run {min(both)} of {other.path}", "give each once")
    return None
