"""What a ledger shows: figures folded from its lines, and nothing that is not in them.

``summarise`` reads a ledger and, for the planned cells, its opening of ``study``; ``show`` words
it. ``verify`` is ``agent-trials verify``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_trials.errors import LedgerBrokenError, LedgerError
from agent_trials.ledger import fold
from agent_trials.ledger.budget import State
from agent_trials.ledger.chain import Reading, parse_head
from agent_trials.ledger.events import Event
from agent_trials.ledger.locks import is_open
from agent_trials.ledger.openings import Openings
from agent_trials.records import Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from agent_trials.ledger.budget import Run, Totals
    from agent_trials.ledger.chain import Line


@dataclass(frozen=True)
class Settled:
    """A settled attempt by its two lines; ``is_superseded`` if its cell was reserved again."""

    cell: Cell
    reserved: Line
    line: Line
    is_superseded: bool


@dataclass(frozen=True)
class HalfPair:
    """A pair of which some arms were settled and others not; it is in no paired figure."""

    pair: int
    settled: tuple[Cell, ...]
    missing: tuple[Cell, ...]


@dataclass(frozen=True)
class GradeShown:
    """One grade by the line that tells it last, and what settling it charged (None: nothing)."""

    line: Line
    settled: Line | None


@dataclass(frozen=True)
class Summary:
    """A ledger at one moment.

    ``unsettled`` are reservations without a settlement: attempts in flight while a run is open,
    and else attempts that were cut off. ``refused`` are refusals of cells that no run reserved
    later. ``blocked`` is None where the opening of ``study`` was not kept. ``torn_bytes`` stand
    behind the last line and count as never written.
    """

    runs: tuple[Run, ...]
    preflight: Mapping[str, Any] | None
    totals: Totals
    settled: tuple[Settled, ...]
    unsettled: tuple[Line, ...]
    refused: tuple[Line, ...]
    half_pairs: tuple[HalfPair, ...]
    blocked: tuple[Cell, ...] | None
    head: str
    is_open: bool
    torn_bytes: int
    grades: tuple[GradeShown, ...] = ()
    evaluations: tuple[Line, ...] = ()

    @property
    def in_flight(self) -> tuple[Line, ...]:
        """Return the reservations of the run that is open, if one is."""
        if not self.is_open:
            return ()
        return tuple(line for line in self.unsettled if line.run == self.runs[-1].number)

    @property
    def interrupted(self) -> tuple[Line, ...]:
        """Return the reservations that nothing came of and that no later run made again."""
        in_flight = {line.seq for line in self.in_flight}
        over = (line for line in self.unsettled if line.seq not in in_flight)
        return tuple(line for line in over if not self.is_repeated(line))

    def is_repeated(self, reserved: Line) -> bool:
        """Return whether a later run reserved the cell of an unsettled reservation again."""
        cell = Cell.from_json(reserved.fields)
        later = [*self.unsettled, *(each.reserved for each in self.settled)]
        return any(
            each.run > reserved.run and Cell.from_json(each.fields) == cell for each in later
        )

    @property
    def statuses(self) -> Counter[str]:
        """Return how many attempts ended with each status, superseded ones apart."""
        return Counter(
            str(each.line.fields["observation"]["status"])
            for each in self.settled
            if not each.is_superseded
        )


@dataclass(frozen=True)
class Verification:
    """What a ledger that verifies holds.

    ``committed`` private fields stand in its lines; ``opened`` of them have an opening beside the
    ledger, and it is the one that was committed to.
    """

    head: str
    torn_bytes: int
    committed: int
    opened: int


def summarise(
    path: Path,
    *,
    openings: Openings | None = None,
    watch: Callable[[State, Line], None] | None = None,
) -> Summary:
    """Return what the ledger shows, its lines and rules verified on the way.

    Args:
        path: the ledger.
        openings: those beside it, where they are wanted further, so that they are indexed once.
        watch: is shown every line and the state after it, so that the ledger is read once.

    Raises:
        LedgerError: there is no such ledger, or nothing was ever written to it.
        LedgerBrokenError: it does not verify.
    """
    is_running = is_open(path)
    reading, state, found = Reading(path), State(), _Found()
    for line in reading:
        fold.apply(state, line)
        found.take(line)
        if watch:
            watch(state, line)
    if found.first is None:
        raise LedgerError(f"nothing was ever written to the ledger {path}; remove it")
    study = (openings or Openings(path)).value(found.first, "study")
    return Summary(
        runs=tuple(state.runs),
        preflight=found.preflight,
        totals=state.totals(is_open=is_running),
        settled=tuple(found.settlements()),
        unsettled=tuple(found.unsettled(state)),
        refused=tuple(found.refusals(state)),
        half_pairs=tuple(found.half_pairs(is_running=is_running and not state.run.is_over)),
        blocked=None if study is None else tuple(found.blocked(state, study["cells"])),
        head=reading.position.head,
        is_open=is_running,
        torn_bytes=reading.torn,
        grades=tuple(found.grades),
        evaluations=tuple(found.evaluations),
    )


def verify(path: Path, head: str | None = None) -> Verification:
    """Return what the ledger holds, once every line, rule, opening and the head have been checked.

    Args:
        path: the ledger.
        head: a head that was published for it, at whatever moment; without one a forgery whose
            chain was made anew verifies.

    Raises:
        LedgerError: there is no such ledger, or the head is none.
        LedgerBrokenError: it does not verify; names the first line that is wrong.
    """
    published = None if head is None else parse_head(head)
    reading, state, openings = Reading(path), State(), Openings(path)
    committed = opened = 0
    for line in reading:
        fold.apply(state, line)
        if published and _contradicts(line, *published):
            raise LedgerBrokenError(line.seq, f"the head published for it is {head}")
        fields = line.fields.get("private", {})
        committed += len(fields)
        opened += sum(_is_opened(openings, line, name) for name in fields)
    count = reading.position.seq
    if published and count < published[0]:
        reason = f"lines are missing from here on: the head published for it is {head}"
        raise LedgerBrokenError(count + 1, reason)
    if not count:
        raise LedgerError(f"nothing was ever written to the ledger {path}; remove it")
    return Verification(reading.position.head, reading.torn, committed, opened)


def _grade_of(line: Line) -> tuple[str, str]:
    return str(line.fields["blindId"]), str(line.fields["grader"])


def _contradicts(line: Line, count: int, digest: str) -> bool:
    """Return whether the line shows that the head is another's; head 0 holds the series id."""
    if count == 0:
        return line.seq == 1 and bool(line.fields["prev"] != digest)
    return line.seq == count and line.digest != digest


def _is_opened(openings: Openings, line: Line, name: str) -> bool:
    try:
        return openings.find(line, name) is not None
    except LedgerError as error:
        raise LedgerBrokenError(line.seq, str(error)) from error


@dataclass
class _Found:
    """The lines that a summary shows, kept while the ledger streams by."""

    first: Line | None = None
    preflight: Mapping[str, Any] | None = None
    pairs: dict[int, dict[Cell, None]] = field(default_factory=dict)
    reserved: dict[tuple[int, Cell], Line] = field(default_factory=dict)
    latest: dict[Cell, Line] = field(default_factory=dict)
    settled: list[tuple[Cell, Line, Line]] = field(default_factory=list)
    refused: list[Line] = field(default_factory=list)
    grades: list[GradeShown] = field(default_factory=list)
    evaluations: list[Line] = field(default_factory=list)

    def take(self, line: Line) -> None:
        self.first = self.first or line
        if line.event in {Event.GRADE_SETTLED, Event.ADJUDICATED}:
            self._grade(line)
        if line.event == Event.EVALUATED:
            self.evaluations.append(line)
        elif line.event == Event.PREFLIGHT_PASSED:
            self.preflight = self.preflight or line.fields
        elif line.event == Event.PAIR_ADMITTED:
            cells = map(Cell.from_json, line.fields["cells"])
            self.pairs.setdefault(line.fields["pair"], {}).update(dict.fromkeys(cells))
        elif line.event == Event.ATTEMPT_REFUSED:
            self.refused.append(line)
        elif line.event == Event.ATTEMPT_RESERVED:
            cell = Cell.from_json(line.fields)
            self.reserved[line.run, cell] = self.latest[cell] = line
        elif line.event == Event.ATTEMPT_SETTLED:
            cell = Cell.from_json(line.fields)
            self.settled.append((cell, self.reserved[line.run, cell], line))

    def _grade(self, line: Line) -> None:
        """Take a settlement, or the record of a valid grade that is written with its settlement."""
        if line.event == Event.GRADE_SETTLED:
            self.grades.append(GradeShown(line, line))
            return
        last = self.grades[-1].settled if self.grades else None
        if last and last.seq == line.seq - 1 and _grade_of(last) == _grade_of(line):
            self.grades[-1] = GradeShown(line, last)
        else:
            self.grades.append(GradeShown(line, None))

    def settlements(self) -> Iterator[Settled]:
        for cell, reserved, line in self.settled:
            yield Settled(cell, reserved, line, self.latest[cell] is not reserved)

    def unsettled(self, state: State) -> Iterator[Line]:
        for run, subject in state.unsettled:
            if isinstance(subject, Cell):
                yield self.reserved[run, subject]

    def refusals(self, state: State) -> Iterator[Line]:
        return (each for each in self.refused if Cell.from_json(each.fields) not in state.cells)

    def half_pairs(self, *, is_running: bool) -> Iterator[HalfPair]:
        """Yield what was begun and is not whole; while a run goes on it may still become so."""
        done = {cell for cell, _, _ in self.settled}
        for pair, cells in self.pairs.items():
            settled = tuple(cell for cell in cells if cell in done)
            missing = tuple(cell for cell in cells if cell not in done)
            begun = settled or any(cell in self.latest for cell in cells)
            if begun and missing and not is_running:
                yield HalfPair(pair, settled, missing)

    def blocked(self, state: State, planned: list[Mapping[str, Any]]) -> Iterator[Cell]:
        refused = {Cell.from_json(line.fields) for line in self.refused}
        for fields in planned:
            cell = Cell.from_json(fields)
            if cell not in state.cells and cell not in refused:
                yield cell
