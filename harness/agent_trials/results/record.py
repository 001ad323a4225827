"""Everything of a ledger that a report is made of, read once: attempts, money over time, grades.

Private openings are left where they are, but for the frozen study: its manifest, protocol and lock.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.errors import LedgerError, LedgerInUseError
from agent_trials.ledger.events import Event
from agent_trials.ledger.openings import Openings
from agent_trials.records import Cell
from agent_trials.results import evaluated, grades
from agent_trials.results.summary import summarise
from agent_trials.study import archived

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from decimal import Decimal
    from pathlib import Path

    from agent_trials.ledger.budget import State
    from agent_trials.ledger.chain import Line
    from agent_trials.results.grades import Gathered, Grades
    from agent_trials.results.summary import Settled, Summary
    from agent_trials.study.settings import Manifest


class Fate(StrEnum):
    """What became of a planned attempt."""

    SETTLED = "settled"
    CUT_OFF = "cut-off"
    REFUSED = "refused"
    BLOCKED = "blocked"


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One planned attempt and what became of it.

    ``turns`` are the observations of its turns, as they stand in the ledger; none unless settled.
    ``lines`` are their settlements, the first one's before the others'.
    """

    cell: Cell
    pair: int
    position: int
    fate: Fate
    admitted: bool
    turns: tuple[Mapping[str, Any], ...] = ()
    lines: tuple[Line, ...] = ()
    reserved: Line | None = None

    @property
    def status(self) -> str:
        """Return the status of its last turn, or what kept it from having one."""
        return str(self.turns[-1]["status"]) if self.turns else self.fate.value


@dataclass(frozen=True)
class Moment:
    """The money of a ledger after one line, USD; ``prior`` is in ``spent``."""

    at: str
    run: int
    spent: Decimal
    reserved: Decimal
    held: Decimal
    cap: Decimal


@dataclass(frozen=True)
class Frozen:
    """The study as the ledger holds it; without a manifest the reason stands in ``problem``."""

    manifest: Manifest | None
    problem: str | None
    files: Mapping[str, str]
    lock: str | None


@dataclass(frozen=True, kw_only=True)
class Record:
    """A finished ledger, ready to be reported.

    ``attempts`` are in schedule order, ``grading`` the lines with a valid grade; ``approved`` is
    the latest approval, where nothing came after it. ``evaluations`` has the latest line of each
    arm and control, by kind and name.
    """

    path: Path
    summary: Summary
    frozen: Frozen
    attempts: tuple[Attempt, ...]
    superseded: tuple[Settled, ...]
    moments: tuple[Moment, ...]
    grades: Grades
    grading: tuple[Line, ...]
    approved: Line | None
    evaluations: Mapping[tuple[str, str], Line] = field(default_factory=dict)

    @property
    def opening(self) -> Mapping[str, Any]:
        """Return the fields of the line that opened the run of the attempts."""
        return self.summary.runs[0].opening

    @property
    def is_rehearsal(self) -> bool:
        """Return whether nothing of it says anything about the world."""
        return bool(self.opening["mode"] == "rehearsal")


def read(path: Path) -> Record:
    """Return what the ledger holds, its lines and rules verified on the way.

    Raises:
        LedgerError: there is no such ledger, or nothing was ever written to it.
        LedgerInUseError: a run is open on it.
        LedgerBrokenError: it does not verify.
    """
    watched, openings = _Watched(), Openings(path)
    summary = summarise(path, openings=openings, watch=watched.take)
    if summary.is_open:
        raise LedgerInUseError(
            f"a run is writing to {path}; wait for its end, or look at it with agent-trials show"
        )
    study, frozen = _frozen(openings, watched.lines[0])
    return Record(
        path=path,
        summary=summary,
        frozen=frozen,
        attempts=tuple(_attempts(summary, watched, study)),
        superseded=tuple(each for each in summary.settled if each.is_superseded),
        moments=tuple(watched.moments),
        grades=grades.of(watched.grades, openings),
        grading=tuple(watched.grading),
        approved=watched.approved,
        evaluations=watched.evaluations,
    )


@dataclass
class _Watched:
    """What a summary does not keep, taken while the ledger streams by."""

    lines: list[Line] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    admitted: set[Cell] = field(default_factory=set)
    places: dict[Cell, tuple[int, int]] = field(default_factory=dict)
    grading: list[Line] = field(default_factory=list)
    grades: Gathered = field(default_factory=grades.Gathered)
    approved: Line | None = None
    evaluations: dict[tuple[str, str], Line] = field(default_factory=dict)

    def take(self, state: State, line: Line) -> None:
        self.grades.take(line)
        if not self.lines:
            self.lines.append(line)
        self.approved = line if line.event == Event.APPROVED else None
        self._money(state, line)
        if line.event == Event.ADJUDICATED:
            self.grading.append(line)
        elif line.event == Event.EVALUATED:
            self.evaluations[evaluated.key(line)] = line
        elif line.event == Event.PAIR_ADMITTED:
            self.admitted.update(map(Cell.from_json, line.fields["cells"]))
        elif line.event in {Event.ATTEMPT_RESERVED, Event.ATTEMPT_REFUSED}:
            cell = Cell.from_json(line.fields)
            self.places[cell] = (line.fields["pair"], line.fields["position"])

    def _money(self, state: State, line: Line) -> None:
        spent = money.total(state.prior, state.spent)
        now = Moment(line.at, line.run, spent, state.reserved, state.held, state.cap)
        self.moments.append(now)


def _frozen(openings: Openings, first: Line) -> tuple[Mapping[str, Any] | None, Frozen]:
    study = openings.value(first, "study")
    if study is None:
        return None, Frozen(None, "the opening of the frozen study was not kept", {}, None)
    files = {name: each["text"] for name, each in study["files"].items() if "text" in each}
    try:
        held = archived.read(
            {"digests": {}, **study}, {"files": {}}, folder_digest=first.fields["folderDigest"]
        )
    except LedgerError as error:
        return study, Frozen(None, str(error), files, study.get("lock"))
    return study, Frozen(held.manifest, None, files, study.get("lock"))


def _attempts(
    summary: Summary, watched: _Watched, study: Mapping[str, Any] | None
) -> Iterator[Attempt]:
    settled: defaultdict[Cell, list[Settled]] = defaultdict(list)
    for each in summary.settled:
        if not each.is_superseded:
            settled[_first_turn(each.cell)].append(each)
    unsettled = {_first_turn(Cell.from_json(line.fields)): line for line in summary.unsettled}
    refused = {Cell.from_json(line.fields) for line in summary.refused}
    for position, (pair, cell) in enumerate(_planned(watched, study)):
        turns = sorted(settled.get(cell, ()), key=lambda one: one.cell.turn)
        cut_off = unsettled.get(cell)
        if cut_off and summary.is_repeated(cut_off):
            cut_off = None  # a later run made it again
        yield Attempt(
            cell=cell,
            pair=pair,
            position=position,
            fate=_fate(settled=bool(turns), cut_off=bool(cut_off), refused=cell in refused),
            admitted=cell in watched.admitted,
            turns=() if cut_off else tuple(one.line.fields["observation"] for one in turns),
            lines=tuple(one.line for one in turns),
            reserved=cut_off or (turns[0].reserved if turns else None),
        )


def _planned(watched: _Watched, study: Mapping[str, Any] | None) -> Iterable[tuple[int, Cell]]:
    """Return pair and cell of every planned attempt; where that was withheld, of those begun."""
    if study is None:
        by_place = sorted((place, cell) for cell, place in watched.places.items())
        return [(pair, cell) for (pair, _), cell in by_place if cell.turn == 1]
    cells = [Cell.from_json(each) for each in study["cells"]]
    pairs: dict[tuple[str, int], int] = {}
    for cell in cells:
        pairs.setdefault((cell.task, cell.repetition), len(pairs))
    return [(pairs[cell.task, cell.repetition], cell) for cell in cells]


def _fate(*, settled: bool, cut_off: bool, refused: bool) -> Fate:
    if cut_off:
        return Fate.CUT_OFF
    if settled:
        return Fate.SETTLED
    return Fate.REFUSED if refused else Fate.BLOCKED


def _first_turn(cell: Cell) -> Cell:
    return Cell(cell.phase, cell.task, cell.arm, cell.repetition)
