"""Verifies a published bundle, or a ledger alone, and recomputes its figures.

    python verify.py [BUNDLE or LEDGER] [--head COUNT:sha256:HEX] [--json]

Without an argument it looks at the folder that it lies in. Exit code 0: everything follows, and
the head is printed. Exit code 1: the first line that does not follow is named, or the figure that
is not what the lines come to. One file, standard library only, Python 3.11 and newer, no network.

It was written from docs/ledger.md and shares no code with the program that wrote the ledger, so
that a mistake in one of them shows as a difference between the two. Its parts, in that page's
order: values, lines, openings, the fold, what else follows, figures, the bundle's other files.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import sys
import tomllib
import zlib
from collections import Counter
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LEDGER = "ledger.jsonl"
LINE_BYTES = 65536
UNIT = 10**18
LARGEST = 10**9 * UNIT
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
AMOUNT = re.compile(r"([0-9]{1,10})(?:\.([0-9]{1,18}))?")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
EVENT = re.compile(r"[a-z]+(-[a-z]+)*")
HEAD = re.compile(r"(0|[1-9][0-9]{0,17}):(sha256:[0-9a-f]{64})")
SALT = re.compile(r"[0-9a-f]{64}")
ARTIFACT = re.compile(r"[0-9a-f]{32}\.gz")
STATUSES = frozenset(
    {
        *("interrupted", "timed-out", "failed", "invalid-setup", "invalid-cost"),
        *("budget-exceeded", "incomplete", "completed"),
    }
)
METERED = frozenset({"http", "gateway"})
COSTS = ("cliReportedCostUsd", "computedCostUsd", "costUsd", "costLowerUsd")


class BrokenError(Exception):
    """A line that does not follow; ``seq`` is its number."""

    def __init__(self, seq: int, reason: str) -> None:
        self.seq = seq
        super().__init__(f"broken at line {seq}: {reason}")


class DiffersError(Exception):
    """Something beside the ledger that is not what the ledger comes to."""


class RuleError(ValueError):
    """A rule that a line breaks."""


# Values


class Cell(NamedTuple):
    """Phase, task, arm, repetition, turn."""

    phase: str
    task: str
    arm: str
    repetition: int
    turn: int

    def first_turn(self) -> Cell:
        """Return the attempt's own cell."""
        return self._replace(turn=1)


def digest(data: bytes) -> str:
    """Return the digest of some bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def canonical(value: object) -> bytes:
    """Return a value's canonical JSON."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def no_float(text: str) -> NoReturn:
    """Refuse a float, NaN or Infinity."""
    raise ValueError(f"{text} is no whole number")


def load(raw: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Return the JSON value of some bytes, without floats."""
    return json.loads(raw, parse_float=no_float, parse_constant=no_float)


def text(fields: Any, name: str) -> str:  # noqa: ANN401 - any JSON value
    """Return a field that must be text."""
    value = fields[name]
    if not isinstance(value, str):
        raise RuleError(f"{name} is no text")
    return value


def whole(fields: Any, name: str, least: int = 0) -> int:  # noqa: ANN401 - any JSON value
    """Return a field that must be a whole number; true is none."""
    value = fields[name]
    if type(value) is not int or value < least:
        raise RuleError(f"{name} is no whole number from {least}")
    return value


def amount(fields: Any, name: str, *, positive: bool = False) -> int:  # noqa: ANN401 - as above
    """Return a field that must be an amount, in units of 1e-18 USD."""
    match = AMOUNT.fullmatch(text(fields, name))
    if match is None:
        raise RuleError(f"{name} is no amount")
    value = int(match[1]) * UNIT + int((match[2] or "").ljust(18, "0"))
    if value > LARGEST or (positive and value == 0):
        raise RuleError(f"{name} is out of range")
    return value


def optional_amount(fields: Any, name: str) -> int | None:  # noqa: ANN401 - as above
    """Return an amount, None where it was not measured."""
    return None if fields.get(name) is None else amount(fields, name)


def usd(units: int) -> str:
    """Return units of 1e-18 USD as plain decimal text."""
    sign, units = ("-", -units) if units < 0 else ("", units)
    before, after = divmod(units, UNIT)
    return f"{sign}{before}.{after:018}".rstrip("0").rstrip(".")


def read_cell(fields: Any) -> Cell:  # noqa: ANN401 - any JSON value
    """Return the cell that some fields name."""
    phase, task, arm = (text(fields, name) for name in ("phase", "task", "arm"))
    return Cell(phase, task, arm, whole(fields, "repetition", 1), whole(fields, "turn", 1))


# Lines


class Line(NamedTuple):
    """One line of a ledger."""

    seq: int
    fields: dict[str, Any]
    digest: str


def written(data: bytes) -> Iterator[bytes]:
    """Yield the lines of the written part, each with its newline."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield data[start : end + 1]
        start = end + 1


def chain(data: bytes) -> Iterator[Line]:
    """Yield the lines of a ledger, each written after the one before."""
    raws = list(written(data))
    before = ""
    for seq, raw in enumerate(raws, start=1):
        fields = parse(raw, seq)
        own = digest(raw)
        if seq > 1 and fields["prev"] != before:
            follower = raws[seq] if seq < len(raws) else b""
            known = not follower or f'"prev":"{own}"'.encode() in follower
            if known:
                raise BrokenError(seq - 1, f"it is not the line that line {seq} was written after")
            raise BrokenError(seq, f"it was not written after line {seq - 1} as that stands here")
        before = own
        yield Line(seq, fields, own)


def parse(raw: bytes, seq: int) -> dict[str, Any]:
    """Return the fields of a line whose bytes and whose own fields are as they must be."""
    if len(raw) > LINE_BYTES:
        raise BrokenError(seq, f"it is longer than {LINE_BYTES} bytes")
    try:
        fields = load(raw)
        if not isinstance(fields, dict) or canonical(fields) + b"\n" != raw:
            raise RuleError("it is no canonical JSON object")
        if whole(fields, "seq") != seq:
            raise RuleError(f"it is numbered {fields['seq']}")
        whole(fields, "run", 1)
        for name, shape in (("prev", DIGEST), ("at", TIME), ("event", EVENT)):
            if not shape.fullmatch(text(fields, name)):
                raise RuleError(f"its {name} is misshapen")
        check_commitments(fields.get("private", {}))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BrokenError(seq, str(error)) from error
    return fields


def check_commitments(private: object) -> None:
    """Refuse a private part that is no object of digests."""
    if not isinstance(private, dict):
        raise RuleError("its private part is no object")
    for name in private:
        if not DIGEST.fullmatch(text(private, name)):
            raise RuleError(f"what it says of {name} is no commitment")


# Openings


class Openings:
    """What stands beside a ledger in ``FILE.private``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._by_field: dict[tuple[int, str], list[dict[str, Any]]] = {}
        path = folder / "openings.jsonl"
        for raw in written(path.read_bytes() if path.is_file() else b""):
            opening = self._read(raw)
            if opening is not None:
                name = (opening["seq"], opening["field"])
                self._by_field.setdefault(name, []).append(opening)

    @staticmethod
    def _read(raw: bytes) -> dict[str, Any] | None:
        """Return an opening, None where the line is none."""
        try:
            fields = load(raw)
            text(fields, "field")
            if fields.get("artifact") is None:
                is_known = "value" in fields
            else:
                is_known = ARTIFACT.fullmatch(text(fields, "artifact")) is not None
            has_salt = SALT.fullmatch(text(fields, "salt")) is not None
            is_opening = type(fields["seq"]) is int and has_salt and is_known
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return fields if is_opening else None

    def open(self, line: Line, name: str) -> bytes | None:
        """Return the bytes behind a commitment, None where they were withheld."""
        found = False
        for opening in self._by_field.get((line.seq, name), ()):
            data = self._bytes(opening)
            if data is None:
                continue
            salted = bytes.fromhex(opening["salt"]) + name.encode() + b"\0" + data
            if digest(salted) == line.fields["private"][name]:
                return data
            found = True
        if found:
            raise BrokenError(line.seq, f"the opening of {name} is not what it commits to")
        return None

    def _bytes(self, opening: dict[str, Any]) -> bytes | None:
        if opening.get("artifact") is None:
            return canonical(opening["value"])
        path = self.folder / "artifacts" / str(opening["artifact"])
        if not path.is_file():
            return None
        packed = path.read_bytes()
        try:
            return gzip.decompress(packed)
        except (OSError, EOFError, zlib.error):
            return packed  # it matches no commitment


# The fold


@dataclass
class Hold:
    """Money kept for the rest of an admitted pair."""

    waiting: set[Cell]
    count: int
    total: int
    left: int
    parts: dict[Cell, int] = field(default_factory=dict)


@dataclass
class Run:
    """One run of a ledger."""

    fields: dict[str, Any]
    cap: int
    prior: int
    stop: tuple[str, Cell | None] | None = None
    closed: bool = False
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def number(self) -> int:
        """Return its number."""
        return int(self.fields["run"])


@dataclass
class Known:
    """What is known of a cell: its latest reservation, how that ended, whether any completed."""

    run: int
    seq: int
    repeatable: bool | None = None
    completed: bool = False


@dataclass
class Settled:
    """A settlement and the number of the line that reserved it."""

    cell: Cell
    line: Line
    reserved: int


@dataclass
class State:
    """What the lines so far come to; amounts in units of 1e-18 USD."""

    spent: int = 0
    reserved: int = 0
    runs: list[Run] = field(default_factory=list)
    holds: dict[int, Hold] = field(default_factory=dict)
    cells: dict[Cell, Known] = field(default_factory=dict)
    grades: dict[tuple[str, str], tuple[int, str | None]] = field(default_factory=dict)
    open_cells: dict[tuple[int, Cell], tuple[int, int]] = field(default_factory=dict)
    open_grades: dict[tuple[int, tuple[str, str]], int] = field(default_factory=dict)
    reruns: int = 0
    # What else follows from the lines.
    lines: int = 0
    head: str = ""
    pairs: dict[int, dict[Cell, None]] = field(default_factory=dict)
    places: dict[Cell, tuple[int, int]] = field(default_factory=dict)
    settled: list[Settled] = field(default_factory=list)
    refused: list[Cell] = field(default_factory=list)
    graded: dict[tuple[str, str], Line] = field(default_factory=dict)
    evaluated: dict[tuple[str, str], Line] = field(default_factory=dict)
    approved: bool = False

    @property
    def run(self) -> Run:
        """Return the latest run."""
        return self.runs[-1]

    @property
    def held(self) -> int:
        """Return what is held."""
        return sum(hold.left for hold in self.holds.values())

    @property
    def available(self) -> int:
        """Return what the cap leaves; below zero after an overshoot."""
        return self.run.cap - self.run.prior - self.spent - self.reserved - self.held


def fold(state: State, line: Line) -> None:
    """Move the state on by one line."""
    try:
        check_run(state, line)
        rule = RULES.get(line.fields["event"])
        if rule is not None:
            rule(state, line)
    except (RuleError, KeyError, TypeError, AttributeError) as error:
        reason = f"a field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise BrokenError(line.seq, f"{line.fields['event']}: {reason}") from error
    state.lines, state.head = line.seq, f"{line.seq}:{line.digest}"
    state.approved = line.fields["event"] == "approved"


def check_run(state: State, line: Line) -> None:
    """Refuse a line of a run that may not write it."""
    run, event = line.fields["run"], line.fields["event"]
    if event == "run-opened":
        require(run == len(state.runs) + 1, f"it opens run {run} after {len(state.runs)}")
        return
    require(run <= len(state.runs), f"run {run} was never opened")
    if event in LATEST_ONLY:
        require(run == len(state.runs), f"run {run} is over")


def require(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - an assertion reads so
    """Refuse the line unless something holds."""
    if not holds:
        raise RuleError(otherwise)


def run_opened(state: State, line: Line) -> None:
    """Open a run."""
    fields = line.fields
    for name in ("mode", "phase", "transport", "runId", "seriesId"):
        text(fields, name)
    require(whole(fields, "schema") == 1, "its schema is not 1")
    whole(fields, "attempts")
    whole(fields, "infraReruns")
    resume = text(fields, "resume")
    require(resume in {"never", "skip-recorded", "skip-completed"}, f"its resume is {resume}")
    require(isinstance(fields["priorLedgers"], list), "priorLedgers is no list")
    named = origins(fields)
    require(len(set(named)) == len(named), "it counts a prior ledger twice")
    prior = sum(amount(each, "spentUsd") for each in fields["priorLedgers"])
    run = Run(fields, amount(fields, "capUsd", positive=True), prior)
    if state.runs:
        before = state.run.fields
        for name in ("seriesId", "mode"):
            require(fields[name] == before[name], f"its {name} is not the ledger's")
        require(set(origins(before)) <= set(named), "it leaves out a prior ledger")
    else:
        require(fields["prev"] == fields["seriesId"], "it does not begin the series that it names")
    state.runs.append(run)
    state.holds.clear()


def origins(fields: dict[str, Any]) -> list[str]:
    """Return the prior ledgers that a run counts."""
    return [text(each, "origin") for each in fields["priorLedgers"]]


def pair_admitted(state: State, line: Line) -> None:
    """Hold a pair's money."""
    goes_on(state)
    cells = [read_cell(each) for each in line.fields["cells"]]
    pair, total = whole(line.fields, "pair"), amount(line.fields, "amountUsd", positive=True)
    require(pair not in state.holds, "the pair has a hold")
    require(bool(cells) and len(set(cells)) == len(cells), "the pair is empty, or has a cell twice")
    for cell in cells:
        may_be_reserved(state, cell)
        require(not stands_alone(state, cell), "one of its cells needs no hold")
    require(total <= state.available, "it does not fit under the cap")
    state.holds[pair] = Hold(set(cells), len(cells), total, total, parts(line, cells, total))
    state.pairs.setdefault(pair, {}).update(dict.fromkeys(cells))


def parts(line: Line, cells: list[Cell], total: int) -> dict[Cell, int]:
    """Return what is held for each cell; nothing where it is the same for all."""
    if "amountsUsd" not in line.fields:
        return {}
    written = line.fields["amountsUsd"]
    require(isinstance(written, list), "its amountsUsd is no list")
    found = [amount({"amountsUsd": each}, "amountsUsd", positive=True) for each in written]
    fit = len(found) == len(cells) and sum(found) == total
    require(fit, "its amountsUsd are not one for each cell, or do not come to its amountUsd")
    return dict(zip(cells, found, strict=True))


def goes_on(state: State) -> None:
    """Refuse a reservation in a run that is over."""
    require(state.run.stop is None and not state.run.closed, "the run is over")


def stands_alone(state: State, cell: Cell) -> bool:
    """Return whether a cell is reserved without a hold."""
    known = state.cells.get(cell)
    return cell.turn > 1 or (known is not None and known.run == state.run.number)


def may_be_reserved(state: State, cell: Cell) -> None:
    """Refuse a cell that the latest run may not reserve."""
    run, known = state.run, state.cells.get(cell)
    resume, reruns = run.fields["resume"], run.fields["infraReruns"]
    require(resume != "never" or run.number == 1, "the study is never resumed")
    if known is None:
        return
    if known.run == run.number:
        again = known.repeatable is True and state.reruns < reruns
        require(again, "it was reserved in this run, and may not be again")
        return
    require(resume == "skip-completed", "an earlier run reserved it")
    require(not known.completed, "an earlier run completed it")


def attempt_reserved(state: State, line: Line) -> None:
    """Set an attempt's money aside."""
    goes_on(state)
    cell, reserved = read_cell(line.fields), amount(line.fields, "amountUsd", positive=True)
    may_be_reserved(state, cell)
    before = state.cells.get(cell)
    if stands_alone(state, cell):
        require(reserved <= state.available, "it does not fit under the cap")
        state.reruns += before is not None and before.run == state.run.number
    else:
        take_part(state, whole(line.fields, "pair"), cell, reserved)
    state.open_cells[state.run.number, cell] = (reserved, line.seq)
    state.reserved += reserved
    completed = before is not None and before.completed
    state.cells[cell] = Known(state.run.number, line.seq, completed=completed)
    state.run.counts["reserved"] += 1
    place(state, cell, line)


def take_part(state: State, pair: int, cell: Cell, reserved: int) -> None:
    """Turn a part of a pair's hold into a reservation."""
    hold = state.holds.get(pair)
    if hold is None or cell not in hold.waiting:
        raise RuleError("its pair was not admitted")
    fits = hold.parts[cell] == reserved if hold.parts else reserved * hold.count == hold.total
    require(fits, "it is not what was held for it")
    require(state.available >= 0, "an overshoot has taken what was held for it")
    hold.waiting.remove(cell)
    hold.left -= reserved


def place(state: State, cell: Cell, line: Line) -> None:
    """Remember where in the schedule a cell stands, as far as its line says."""
    pair, position = line.fields.get("pair"), line.fields.get("position")
    if type(pair) is int and type(position) is int:
        state.places[cell] = (pair, position)


def attempt_settled(state: State, line: Line) -> None:
    """Turn a reservation into a charge."""
    run, cell, observation = line.fields["run"], read_cell(line.fields), line.fields["observation"]
    require((run, cell) in state.open_cells, "it settles what is not reserved")
    reserved, seq = state.open_cells[run, cell]
    charged = charge(observation, reserved)
    status = observation["status"]
    calls = observation.get("toolCalls")
    require(calls is None or whole(observation, "toolCalls") >= 0, "toolCalls is below 0")
    del state.open_cells[run, cell]
    state.reserved -= reserved
    state.spent += charged
    known = state.cells[cell]
    known.completed = known.completed or status == "completed"
    if known.run == run:
        known.repeatable = status == "invalid-setup" or (status == "failed" and not calls)
    state.runs[run - 1].counts[status] += 1
    state.settled.append(Settled(cell, line, seq))


def charge(observation: Any, reserved: int) -> int:  # noqa: ANN401 - any JSON value
    """Return what an attempt is charged, once the money rule holds."""
    status, transport = text(observation, "status"), text(observation, "transport")
    require(status in STATUSES, f"no status {status}")
    charged = amount(observation, "chargedUsd")
    costs = [cost for name in COSTS if (cost := optional_amount(observation, name)) is not None]
    if transport in METERED:
        require(charged <= reserved, "it charges more than its reservation")
        least = max(costs, default=0)
    elif status == "completed":
        least = max(costs, default=reserved)
    else:
        least = max([reserved, *costs])
    require(charged >= least, f"it charges {usd(charged)} USD where {usd(least)} is the least")
    return charged


def attempt_refused(state: State, line: Line) -> None:
    """Refuse an attempt; nothing is reserved in the run from here on."""
    goes_on(state)
    cell = read_cell(line.fields)
    state.run.stop = (text(line.fields, "reason"), cell)
    state.run.counts["refused"] += 1
    state.refused.append(cell)
    place(state, cell, line)


def pair_released(state: State, line: Line) -> None:
    """Give back a hold."""
    hold = state.holds.get(whole(line.fields, "pair"))
    released = amount(line.fields, "amountUsd")
    require(hold is not None and hold.left == released, "it is not what is held for the pair")
    del state.holds[line.fields["pair"]]


def run_stopped(state: State, line: Line) -> None:
    """End a run's reservations; the first reason stands."""
    if state.run.stop is None:
        cell = read_cell(line.fields) if "task" in line.fields else None
        state.run.stop = (text(line.fields, "reason"), cell)


def run_closed(state: State, line: Line) -> None:
    """Close a run on what the lines come to."""
    require(not state.run.closed, "the run is closed already")
    for name, stands in (("spentUsd", state.spent), ("reservedUsd", state.reserved)):
        stated = amount(line.fields, name)
        require(stated == stands, f"its {name} is {usd(stated)}, and the lines say {usd(stands)}")
    counts = line.fields["counts"]
    require(canonical(counts) == canonical(dict(state.run.counts)), "its counts are not the lines'")
    state.run.closed = True
    state.holds.clear()


def read_grade(fields: dict[str, Any]) -> tuple[str, str]:
    """Return the name of a grade."""
    return text(fields, "blindId"), text(fields, "grader")


def grade_reserved(state: State, line: Line) -> None:
    """Set a grade's money aside."""
    goes_on(state)
    grade, reserved = read_grade(line.fields), amount(line.fields, "amountUsd", positive=True)
    if grade in state.grades:
        run, outcome = state.grades[grade]
        cut_off = outcome is None and run != state.run.number
        require(cut_off or outcome == "pending", "it is graded, or being graded")
    require(reserved <= state.available, "it does not fit under the cap")
    state.grades[grade] = (state.run.number, None)
    state.open_grades[state.run.number, grade] = reserved
    state.reserved += reserved


def grade_settled(state: State, line: Line) -> None:
    """Turn a grade's reservation into a charge."""
    run, grade = line.fields["run"], read_grade(line.fields)
    require((run, grade) in state.open_grades, "it settles what is not reserved")
    outcome, charged = text(line.fields, "outcome"), amount(line.fields, "chargedUsd")
    state.reserved -= state.open_grades.pop((run, grade))
    state.spent += charged
    if state.grades[grade][0] == run:
        state.grades[grade] = (run, outcome)


def adjudicated(state: State, line: Line) -> None:
    """Keep a grade's record; no rule reads it."""
    grade = (line.fields.get("blindId"), line.fields.get("grader"))
    if isinstance(grade[0], str) and isinstance(grade[1], str):
        state.graded.setdefault((grade[0], grade[1]), line)


CLASSES = frozenset({"resolved", "unresolved", "empty-patch", "error", "missing-patch"})


def evaluated(state: State, line: Line) -> None:
    """Keep an arm's report, or a control's; one for the same predictions says what it replaces."""
    fields = line.fields
    kinds = [kind for kind in ("arm", "control") if kind in fields]
    require(len(kinds) == 1, "it names no arm and no control, or both")
    subject = (kinds[0], text(fields, kinds[0]))
    for name in ("predictionsDigest", "reportDigest"):
        require(DIGEST.fullmatch(text(fields, name)) is not None, f"{name} is no digest")
    check_classes(fields)
    before = state.evaluated.get(subject)
    stands = None
    if before and before.fields["predictionsDigest"] == fields["predictionsDigest"]:
        stands = before.fields["reportDigest"]
    require(stands != fields["reportDigest"], "the same report stands already")
    require(fields["replaces"] == stands, "its replaces is not the report that stands")
    state.evaluated[subject] = line


def check_classes(fields: dict[str, Any]) -> None:
    """Refuse classes that are none, and a failure of the ground that no class allows."""
    classes = fields["classes"]
    require(isinstance(classes, dict), "classes is no object")
    for task in classes:
        require(text(classes, task) in CLASSES, f"no class {classes[task]}")
    for name in ("infrastructure", "ambiguous"):
        tasks = fields[name]
        require(isinstance(tasks, list), f"{name} is no list")
        require(len({*tasks}) == len(tasks), f"{name} names a task twice")
        for task in tasks:
            failed = classes.get(task) in {"unresolved", "error"}
            require(failed, f"{name} names a task that did not fail")


RULES: dict[str, Callable[[State, Line], None]] = {
    "run-opened": run_opened,
    "pair-admitted": pair_admitted,
    "attempt-reserved": attempt_reserved,
    "attempt-settled": attempt_settled,
    "attempt-refused": attempt_refused,
    "pair-released": pair_released,
    "run-stopped": run_stopped,
    "run-closed": run_closed,
    "grade-reserved": grade_reserved,
    "grade-settled": grade_settled,
    "adjudicated": adjudicated,
    "evaluated": evaluated,
}
SETTLEMENTS = frozenset({"attempt-settled", "grade-settled"})
LATEST_ONLY = (
    (frozenset(RULES) | {"preflight-passed"}) - SETTLEMENTS - {"run-opened", "adjudicated"}
)


# A whole ledger


@dataclass
class Verified:
    """A ledger that verifies, and what of it was opened."""

    state: State
    torn: int
    committed: int
    opened: int
    study: dict[str, Any] | None
    blind_ids: dict[int, str]
    heads: dict[int, str]


def regular(path: Path) -> Path:
    """Return a path that can be read to its end; refuse a pipe, which may have none."""
    if path.exists() and not path.is_file():
        raise DiffersError(f"{path.name} is no regular file")
    return path


def verify(path: Path, heads: Iterable[str] = ()) -> Verified:
    """Return what a ledger holds, once all of it and every published head has been checked."""
    published = [parse_head(head) for head in heads]
    data = regular(path).read_bytes()
    openings = Openings(Path(f"{path}.private"))
    torn = len(data) - (data.rfind(b"\n") + 1)
    found = Verified(State(), torn, 0, 0, None, {}, {})
    for line in chain(data):
        fold(found.state, line)
        found.heads[line.seq - 1] = line.fields["prev"]
        found.heads[line.seq] = line.digest
        check_heads(found, line.seq, published)
        for name in line.fields.get("private", {}):
            take_opening(found, line, name, openings.open(line, name))
    for count, expected in published:
        if count > found.state.lines:
            reason = f"lines are missing: a head published for it is {count}:{expected}"
            raise BrokenError(found.state.lines + 1, reason)
    if not found.state.lines:
        raise BrokenError(1, "nothing was ever written to the ledger")
    return found


def check_heads(found: Verified, seq: int, published: list[tuple[int, str]]) -> None:
    """Refuse a line that is not the one whose head was published; head 0 is the series id."""
    for count, expected in published:
        if count in {seq, seq - 1} and found.heads[count] != expected:
            raise BrokenError(max(count, 1), f"a head published for it is {count}:{expected}")


def parse_head(written_head: str) -> tuple[int, str]:
    """Return count and digest of a published head; a count of 0 is that of a series id."""
    match = HEAD.fullmatch(written_head.strip())
    if match is None:
        raise DiffersError(f"{written_head!r} is no head; write <count>:sha256:<64 hex digits>")
    return int(match[1]), match[2]


def take_opening(found: Verified, line: Line, name: str, data: bytes | None) -> None:
    """Count a private field, and keep those that figures are made of."""
    found.committed += 1
    if data is None:
        return
    found.opened += 1
    if name == "study" and line.seq == 1:
        found.study = json.loads(data)
    elif name == "blindId" and line.fields["event"] == "attempt-settled":
        found.blind_ids[line.seq] = str(json.loads(data))


# What else follows from the lines


@dataclass
class Attempt:
    """A planned attempt and what became of it; ``turns`` are its observations."""

    cell: Cell
    pair: int
    position: int
    fate: str
    turns: list[dict[str, Any]]

    @property
    def status(self) -> str:
        """Return its last turn's status, or what kept it from having one."""
        return str(self.turns[-1]["status"]) if self.turns else self.fate


def attempts(found: Verified) -> list[Attempt]:
    """Return every planned attempt, in schedule order."""
    state = found.state
    turns: dict[Cell, list[tuple[int, dict[str, Any]]]] = {}
    for each in latest(state):
        observed = (each.cell.turn, each.line.fields["observation"])
        turns.setdefault(each.cell.first_turn(), []).append(observed)
    cut_off = {
        cell.first_turn()
        for (_, cell), (_, seq) in state.open_cells.items()
        if state.cells[cell].seq == seq
    }
    refused = {cell for cell in state.refused if cell not in state.cells}
    every = []
    for position, (pair, cell) in enumerate(planned(found)):
        shown = [observation for _, observation in sorted(turns.get(cell, []), key=first)]
        fate = "settled" if shown else "refused" if cell in refused else "blocked"
        if cell in cut_off:
            fate, shown = "cut-off", []
        every.append(Attempt(cell, pair, position, fate, shown))
    return every


def first(pair: tuple[int, Any]) -> int:
    """Return the turn, to order by."""
    return pair[0]


def latest(state: State) -> Iterator[Settled]:
    """Yield the settlements whose cell was not reserved again."""
    return (each for each in state.settled if state.cells[each.cell].seq == each.reserved)


def planned(found: Verified) -> list[tuple[int, Cell]]:
    """Return pair and cell of every planned attempt; of those begun where that was withheld."""
    if found.study is None:
        by_place = sorted((at, cell) for cell, at in found.state.places.items() if cell.turn == 1)
        return [(pair, cell) for (pair, _), cell in by_place]
    pairs: dict[tuple[str, int], int] = {}
    cells = [read_cell(each) for each in found.study["cells"]]
    for cell in cells:
        pairs.setdefault((cell.task, cell.repetition), len(pairs))
    return [(pairs[cell.task, cell.repetition], cell) for cell in cells]


def half_pairs(state: State) -> list[int]:
    """Return the pairs of which one cell was reserved and one was not settled."""
    done = {each.cell for each in state.settled}
    return [
        pair
        for pair, cells in state.pairs.items()
        if any(cell in state.cells for cell in cells) and any(cell not in done for cell in cells)
    ]


# Grades


SCORES = {
    "correct": Fraction(1),
    "partial": Fraction(1, 2),
    "incorrect": Fraction(0),
    "incomplete": Fraction(0),
    "blocked": None,
    "resolved": Fraction(1),
    "unresolved": Fraction(0),
    "empty-patch": Fraction(0),
    "error": Fraction(0),
}
GIVEN = ("correct", "partial", "incorrect", "incomplete", "blocked")


@dataclass
class Grade:
    """What an attempt was graded as: an outcome, ``pending`` or ``disagreement``."""

    outcome: str

    @property
    def score(self) -> Fraction | None:
        """Return its worth, None where it is missing."""
        return SCORES.get(self.outcome)


def grades(found: Verified) -> dict[Cell, Grade]:
    """Return the grade of every settled attempt; of several turns the last one's."""
    runs = [run.fields for run in found.state.runs if run.fields.get("job") == "adjudicate"]
    rules = runs[-1] if runs else {}
    by_cell = {}
    if is_evaluated(found):
        settled = latest_settled(found.state)
        return {each.cell.first_turn(): judged(found.state, each) for each in settled}
    for each in sorted(latest_settled(found.state), key=lambda one: one.cell):
        observation = each.line.fields["observation"]
        status, checked = observation["status"], observation.get("checker")
        if checked:
            words = {True: "correct", False: "incorrect", None: "not-checked"}
            grade = Grade(words[checked["passed"]])
        elif status != "completed":
            counts = status == "incomplete" or status in rules.get("counted", ())
            grade = Grade("incomplete" if counts else "blocked")
        else:
            grade = graded(found, found.blind_ids.get(each.line.seq), rules)
        by_cell[each.cell.first_turn()] = grade
    return by_cell


def is_evaluated(found: Verified) -> bool:
    """Return whether patches are evaluated: by the frozen study, or by what the ledger holds."""
    known = manifest(found.study)
    if known is None:
        return any(kind == "arm" for kind, _ in found.state.evaluated)
    return "evaluation" in known


def judged(state: State, each: Settled) -> Grade:
    """Return what the evaluation of an attempt's arm says of its patch."""
    line = state.evaluated.get(("arm", each.cell.arm))
    if line is None or line.seq < each.line.seq:
        return Grade("pending")
    if each.cell.task in line.fields["infrastructure"]:
        return Grade("infrastructure")
    return Grade(line.fields["classes"].get(each.cell.task, "pending"))


def latest_settled(state: State) -> Iterator[Settled]:
    """Yield each cell's last settlement, unless the cell was reserved again since."""
    last = {each.cell: each for each in state.settled}
    return (each for each in last.values() if state.cells[each.cell].seq < each.line.seq)


def graded(found: Verified, blind_id: str | None, rules: dict[str, Any]) -> Grade:
    """Return what the registered graders made of an answer."""
    graders = [each["grader"] for each in rules.get("graders", ())]
    given = []
    for grader in graders:
        line = found.state.graded.get((blind_id or "", grader))
        outcome = line and {"success": "correct"}.get(
            line.fields["outcome"], line.fields["outcome"]
        )
        if outcome not in GIVEN:
            return Grade("pending")
        given.append(str(outcome))
    if not given:
        return Grade("pending")
    rule = rules.get("disagreement")
    if len(set(given)) == 1 or rule == "first":
        return Grade(given[0])
    return Grade(min(given, key=worth)) if rule == "lower" else Grade("disagreement")


def worth(outcome: str) -> tuple[Fraction, bool]:
    """Order outcomes; of two that are worth 0, incorrect says more than incomplete."""
    return SCORES[outcome] or Fraction(0), outcome != "incorrect"


# Figures


INPUT = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
COUNTS: dict[str, tuple[str, ...]] = {
    "total_input_tokens": INPUT,
    "input_tokens": INPUT[:1],
    "output_tokens": ("outputTokens",),
    "cache_read_input_tokens": INPUT[1:2],
    "cache_creation_input_tokens": INPUT[2:],
    "tool_calls": ("toolCalls",),
    "wall_time_ms": ("wallTimeMs",),
    "turns": ("turns",),
}
ENDPOINTS = ("correctness", "cost_usd", *COUNTS)
EVALUATED = ("resolved", "cost_usd", *COUNTS)


@dataclass
class Bounds:
    """A cost that was not measured, and what is known of it."""

    lower: Fraction | None
    upper: Fraction | None


Value = Fraction | Bounds | None


@dataclass
class Arm:
    """An arm of the study: its name, whether it has MCP servers, and a product that spends."""

    name: str
    has_servers: bool
    has_product: bool


def manifest(study: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the manifest of the frozen study, None where none was opened."""
    files = (study or {}).get("files", {})
    if "study.toml" in files:
        return tomllib.loads(files["study.toml"]["text"])
    if "study.json" in files:
        found: dict[str, Any] = json.loads(files["study.json"]["text"])
        return found
    return None


def arms(study: dict[str, Any] | None, phase: str) -> list[Arm] | None:
    """Return the arms that a phase of the frozen study runs, None where no manifest was opened."""
    known = manifest(study)
    if known is None:
        return None
    chosen = known["phases"].get(phase, {}).get("arms")
    return [
        Arm(
            each["id"],
            bool(each.get("mcp_servers") or each.get("registration")),
            bool(each.get("side_costs")),
        )
        for each in known["arms"]
        if chosen is None or each["id"] in chosen
    ]


def figures(found: Verified) -> dict[str, Any]:
    """Return everything that is computed from a ledger, as it stands in summary.json."""
    every, marks, state = attempts(found), grades(found), found.state
    opening = state.runs[0].fields
    known = arms(found.study, opening["phase"])
    names = EVALUATED if is_evaluated(found) else ENDPOINTS
    return {
        "schema": 1,
        "kind": "agent-trials-figures",
        "head": state.head,
        "mode": opening["mode"],
        "phase": opening["phase"],
        "seriesId": opening["seriesId"],
        "approved": state.approved,
        "budget": budget(state),
        "runs": [run_figures(run) for run in state.runs],
        "attempts": [attempt_figures(each, marks.get(each.cell)) for each in every],
        "halfPairs": half_pairs(state),
        "arms": {name: arm_figures(name, every, marks) for name in arm_names(known, every)},
        "comparisons": None if known is None else comparisons(known, every, marks, names),
    }


def budget(state: State) -> dict[str, Any]:
    """Return the sums; no run is open, so nothing is held."""
    available = state.run.cap - state.run.prior - state.spent - state.reserved
    return {
        "capUsd": usd(state.run.cap),
        "priorUsd": usd(state.run.prior),
        "spentUsd": usd(state.spent),
        "reservedUsd": usd(state.reserved),
        "availableUsd": usd(max(available, 0)),
        "cumulativeCapExceeded": state.run.prior + state.spent > state.run.cap,
    }


def run_figures(run: Run) -> dict[str, Any]:
    """Return how a run went."""
    return {
        "run": run.number,
        "runId": run.fields["runId"],
        "closed": run.closed,
        "stopped": None if run.stop is None else run.stop[0],
        "counts": dict(run.counts),
    }


def attempt_figures(each: Attempt, grade: Grade | None) -> dict[str, Any]:
    """Return what became of an attempt."""
    charged = sum(amount(turn, "chargedUsd") for turn in each.turns)
    return {
        **each.cell._asdict(),
        "pair": each.pair,
        "position": each.position,
        "status": each.status,
        "grade": None if grade is None else grade.outcome,
        "chargedUsd": usd(charged) if each.turns else None,
    }


def arm_names(known: list[Arm] | None, every: list[Attempt]) -> list[str]:
    """Return the arms in the study's order, or as they come."""
    if known is None:
        return list(dict.fromkeys(each.cell.arm for each in every))
    return [arm.name for arm in known]


def arm_figures(name: str, every: list[Attempt], marks: dict[Cell, Grade]) -> dict[str, Any]:
    """Return an arm's statuses and rates."""
    of = [each for each in every if each.cell.arm == name]
    scores = [marks[each.cell].score for each in of if each.cell in marks]
    known = [score == 1 for score in scores if score is not None]
    return {
        "statuses": dict(Counter(each.status for each in of)),
        "completed": rate(sum(each.status == "completed" for each in of), len(of)),
        "correctOfPlanned": rate(sum(known), len(of)),
        "correctOfScored": rate(sum(known), len(known)),
    }


def rate(successes: int, trials: int) -> dict[str, Any]:
    """Return a rate and its Wilson interval at 95 %."""
    shown: dict[str, Any] = {"successes": successes, "trials": trials}
    if not trials:
        return {**shown, "rate": None, "lower": None, "upper": None}
    z, share = NormalDist().inv_cdf(0.975), successes / trials
    middle = share + z * z / (2 * trials)
    spread = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    lower = 0.0 if successes == 0 else (middle - spread) / scale
    upper = (middle + spread) / scale
    return {
        **shown,
        "rate": six(Fraction(successes, trials)),
        "lower": six(Fraction(lower)),
        "upper": six(Fraction(upper)),
    }


def six(value: Fraction | None) -> str | None:
    """Return a figure with 6 significant digits, half-even."""
    if value is None:
        return None
    with localcontext(prec=6, rounding=ROUND_HALF_EVEN):
        plain = format(Decimal(value.numerator) / Decimal(value.denominator), "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def comparisons(
    known: list[Arm], every: list[Attempt], marks: dict[Cell, Grade], names: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Return the rows and differences of the first arm against each other one."""
    found = []
    for other in known[1:]:
        rows = compare((known[0], other), every, marks, names)
        found.append(
            {
                "control": known[0].name,
                "treatment": other.name,
                "rows": [row_figures(row) for row in rows],
                "endpoints": {name: differences(rows, name) for name in names},
            }
        )
    return found


@dataclass
class Row:
    """A planned pair of two arms, and what both show at every endpoint."""

    task: str
    repetition: int
    pair: int
    run: bool
    treatment_first: bool
    delivered: bool | None
    values: dict[str, tuple[Value, Value]]


def compare(
    of: tuple[Arm, Arm], every: list[Attempt], marks: dict[Cell, Grade], names: tuple[str, ...]
) -> list[Row]:
    """Return a row for each planned pair that has both arms, the control first."""
    control, treatment = of
    pairs: dict[int, dict[str, Attempt]] = {}
    for each in every:
        pairs.setdefault(each.pair, {})[each.cell.arm] = each
    rows = []
    for pair, by_arm in sorted(pairs.items()):
        if control.name not in by_arm or treatment.name not in by_arm:
            continue
        old, new = by_arm[control.name], by_arm[treatment.name]
        values = {
            name: (value(old, name, marks.get(old.cell)), value(new, name, marks.get(new.cell)))
            for name in names
        }
        ran = old.fate == new.fate == "settled"
        used = both(delivered(old, control), delivered(new, treatment))
        before = new.position < old.position
        rows.append(Row(old.cell.task, old.cell.repetition, pair, ran, before, used, values))
    return rows


def both(one: bool | None, other: bool | None) -> bool | None:  # noqa: FBT001 - two answers
    """Return whether both hold; one that does not is enough to know."""
    if one is None or other is None:
        return False if False in {one, other} else None
    return one and other


def delivered(each: Attempt, arm: Arm) -> bool | None:
    """Return whether an attempt used what its arm offers; None where that is not known."""
    if each.status != "completed":
        return None
    products = [turn["sideCosts"]["calls"] for turn in each.turns if turn.get("sideCosts")]
    if products:
        return any(products) == arm.has_product
    evidence = [turn.get("treatmentEvidence") for turn in each.turns]
    if any(evidence):
        seen = [one or {} for one in evidence]
        known = all(one.get("watched") or "handoffBytes" in one for one in seen)
        return not any(one["problems"] for one in seen) if known else None
    calls = [turn.get("mcpToolCalls") for turn in each.turns]
    return None if None in calls else any(calls) == arm.has_servers


def value(each: Attempt, endpoint: str, grade: Grade | None) -> Value:
    """Return what an attempt shows at an endpoint."""
    if endpoint in {"correctness", "resolved"}:
        return None if grade is None else grade.score
    if endpoint == "cost_usd":
        return cost(each)
    return count(each, COUNTS[endpoint])


def cost(each: Attempt) -> Value:
    """Return an attempt's cost, or its bounds."""
    if not each.turns:
        return None
    measured = total(each, "costUsd")
    if measured is not None:
        return measured
    return Bounds(total(each, "costUsd", "costLowerUsd"), total(each, "costUsd", "costUpperUsd"))


def total(each: Attempt, *names: str) -> Fraction | None:
    """Return the sum over turns of the first figure that each turn has."""
    whole_sum = Fraction(0)
    for turn in each.turns:
        name = next((name for name in names if turn.get(name) is not None), None)
        if name is None:
            return None
        whole_sum += Fraction(amount(turn, name), UNIT)
        if turn.get("sideCosts"):  # what the arm's product spent by itself
            whole_sum += Fraction(amount(turn["sideCosts"], "chargedUsd"), UNIT)
    return whole_sum


def count(each: Attempt, names: tuple[str, ...]) -> Fraction | None:
    """Return the sum of some counts of a completed attempt, None where one is missing."""
    if each.status != "completed":
        return None
    if names[0].endswith("Tokens") and not all(turn.get("usageComplete") for turn in each.turns):
        return None
    counts: list[Any] = []
    for turn in each.turns:
        whole_input = len(names) > 1 and turn.get("totalInputTokens") is not None
        counts += [turn["totalInputTokens"]] if whole_input else [turn.get(name) for name in names]
    known = [Fraction(one) for one in counts if one is not None]
    return sum(known, Fraction(0)) if len(known) == len(counts) else None


def row_figures(row: Row) -> dict[str, Any]:
    """Return a row as text: exact values, null, or bounds."""
    return {
        "pair": row.pair,
        "task": row.task,
        "repetition": row.repetition,
        "run": row.run,
        "treatmentFirst": row.treatment_first,
        "delivered": row.delivered,
        "values": {name: [exact(one) for one in two] for name, two in row.values.items()},
    }


def exact(one: Value) -> Any:  # noqa: ANN401 - text, null or bounds
    """Return a value as exact text."""
    if one is None:
        return None
    if isinstance(one, Bounds):
        return {"lower": exact(one.lower), "upper": exact(one.upper)}
    return usd(int(one * UNIT))


def differences(rows: list[Row], endpoint: str) -> dict[str, Any]:
    """Return the differences over complete pairs: per task, over tasks, over pairs."""
    by_task: dict[str, list[Fraction]] = {}
    for row in rows:
        control, treatment = row.values[endpoint]
        if isinstance(control, Fraction) and isinstance(treatment, Fraction):
            by_task.setdefault(row.task, []).append(treatment - control)
    means = {task: mean(of) for task, of in sorted(by_task.items())}
    pairs = [each for of in by_task.values() for each in of]
    return {
        "pairs": len(pairs),
        "tasks": len(means),
        "mean": six(mean(list(means.values()))),
        "pairMean": six(mean(pairs)),
        "median": six(median(pairs)),
        "taskMedian": six(median(list(means.values()))),
        "byTask": {task: six(each) for task, each in means.items()},
    }


def mean(of: list[Any]) -> Fraction | None:
    """Return the exact mean, None of nothing."""
    return sum(of, Fraction(0)) / len(of) if of else None


def median(of: list[Any]) -> Fraction | None:
    """Return the exact median, None of nothing."""
    ordered, half = sorted(of), len(of) // 2
    return (ordered[half] + ordered[-half - 1]) / 2 if ordered else None


# The bundle's other files


def check_bundle(folder: Path, found: Verified, own: dict[str, Any]) -> list[str]:
    """Return what was compared; refuse what is not what the ledger comes to."""
    said = []
    head = folder / "HEAD"
    if head.is_file() and head.read_text("ascii").strip() != found.state.head:
        raise DiffersError(f"HEAD is not the ledger's head, {found.state.head}")
    summary = folder / "summary.json"
    if summary.is_file():
        compare_values(own, json.loads(summary.read_bytes()), "summary.json")
        said.append("summary.json: every figure follows from the ledger")
    report = folder / "report" / "summary.json"
    if report.is_file():
        check_report(found, own, json.loads(report.read_bytes()))
        said.append("report/summary.json: its head and its rows follow from the ledger")
    result = folder / "report" / "result-v1.json"
    if result.is_file():
        check_result(found, own, json.loads(result.read_bytes()))
        said.append("report/result-v1.json: its digest is its own, its figures the ledger's")
    return said


def check_result(found: Verified, own: dict[str, Any], result: dict[str, Any]) -> None:
    """Refuse a result artifact that was changed, or is not what the ledger comes to."""
    where = "report/result-v1.json"
    content = {name: each for name, each in result.items() if name != "artifact_sha256"}
    if "sha256:" + str(result.get("artifact_sha256")) != digest(canonical(content)):
        raise DiffersError(f"{where}: its artifact_sha256 is not that of the rest of it")
    seq, expected = parse_head(str(result["head"]))
    if found.heads.get(seq) != expected:
        raise DiffersError(f"{where}: its head is none of this ledger")
    for arm in result["arms"]:
        line = found.state.evaluated.get(("arm", arm["arm"]))
        stands = line and [line.fields[name] for name in ("reportDigest", "classes")]
        said = [arm["evaluation"]["reportDigest"], arm["evaluation"]["tasks"]]
        compare_values(stands, said, f"{where}: {arm['arm']}")
        rate = own["arms"][arm["arm"]]["correctOfPlanned"]
        compare_values(rate, arm["resolved"], f"{where}: {arm['arm']}: resolved")
    check_frozen(found, result)


def check_frozen(found: Verified, result: dict[str, Any]) -> None:
    """Refuse digests of protocol and lock that are not those of the frozen files."""
    files = (found.study or {}).get("files", {})
    known = manifest(found.study) or {}
    named = {"protocol_sha256": "PROTOCOL.md"}
    if "task_source" in known:
        named["tasks_lock_sha256"] = known["task_source"]["lock"]
    for name, file in named.items():
        if file in files:
            own = digest(files[file]["text"].encode()).removeprefix("sha256:")
            compare_values(own, result.get(name), f"report/result-v1.json: {name}")


def compare_values(own: object, other: object, where: str) -> None:
    """Refuse the first value that differs; what is not computed here is not compared."""
    if isinstance(own, dict) and isinstance(other, dict):
        for name in sorted({*own, *other}):
            compare_values(own.get(name), other.get(name), f"{where}: {name}")
    elif isinstance(own, list) and isinstance(other, list) and len(own) == len(other):
        for at, (one, two) in enumerate(zip(own, other, strict=True)):
            compare_values(one, two, f"{where}[{at}]")
    elif canonical(own) != canonical(other):
        raise DiffersError(f"{where} is {other!r}, and the ledger comes to {own!r}")


def check_report(found: Verified, own: dict[str, Any], report: dict[str, Any]) -> None:
    """Refuse a report of another ledger, or with rows that the ledger does not give."""
    seq, expected = parse_head(str(report.get("head")))
    if found.heads.get(seq) != expected:
        raise DiffersError("report/summary.json: its head is none of this ledger")
    pending = any(each["grade"] == "pending" for each in own["attempts"])
    every = EVALUATED if is_evaluated(found) else ENDPOINTS
    names = [name for name in every if not (name == "correctness" and pending)]
    if own["comparisons"] is not None:
        ours, theirs = (compared(each, names) for each in (own, report))
        compare_values(ours, theirs, "report/summary.json: rows")


def compared(figures_of: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Return the rows of each comparison, without what could not be opened."""
    return {
        f"{each['control']} and {each['treatment']}": [numbers(row, names) for row in each["rows"]]
        for each in figures_of["comparisons"]
    }


def numbers(row: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Return a row with its amounts without trailing zeros."""

    def plain(one: Any) -> Any:  # noqa: ANN401 - text, null or bounds
        if isinstance(one, dict):
            return {name: plain(each) for name, each in one.items()}
        return exact(Fraction(one)) if isinstance(one, str) else one

    return {**row, "values": {name: [plain(one) for one in row["values"][name]] for name in names}}


def main(arguments: list[str] | None = None) -> int:
    """Verify what the command line names; return the exit code."""
    parser = argparse.ArgumentParser(description="Verify a bundle of agent-trials, or a ledger.")
    parser.add_argument("path", nargs="?", default=Path(__file__).resolve().parent, type=Path)
    parser.add_argument("--head", action="append", default=[], help="published: <count>:sha256:…")
    parser.add_argument("--json", action="store_true", help="print the figures")
    given = parser.parse_args(arguments)
    folder = given.path if given.path.is_dir() else None
    ledger = folder / LEDGER if folder else given.path
    try:
        said, own = run(ledger, folder, given.head)
    except (BrokenError, DiffersError) as error:
        sys.stderr.write(f"{ledger.name}: {error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"{error.filename}: {error.strerror}\n")
        return 1
    except (ValueError, KeyError, TypeError) as error:
        sys.stderr.write(f"{ledger.name}: a figure or file beside it cannot be read ({error!r})\n")
        return 1
    sys.stdout.write(json.dumps(own, indent=1) + "\n" if given.json else "\n".join(said) + "\n")
    return 0


def run(ledger: Path, folder: Path | None, heads: list[str]) -> tuple[list[str], dict[str, Any]]:
    """Return what to say of a ledger or bundle that verifies, and its figures."""
    signed = sorted((folder / "heads").glob("*.head")) if folder else []
    found = verify(ledger, [*heads, *(regular(each).read_text("ascii") for each in signed)])
    own = figures(found)
    said = [f"verified: {found.state.lines} lines, {len(found.state.runs)} runs"]
    if found.torn:
        said.append(f"{found.torn} bytes behind the last line were never written")
    said.append(f"private fields: {found.committed} committed to, {found.opened} opened here")
    said += check_bundle(folder, found, own) if folder else []
    said += [f"{each.name}: a head of this ledger" for each in signed]
    if not heads:
        said.append("no published head was given: a chain that was made anew would verify too")
    return [*said, f"head {found.state.head}"], own


if __name__ == "__main__":
    sys.exit(main())
