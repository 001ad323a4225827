"""One line's move of the state, and the rules that the line must keep.

The same rules bind the writer, who asks before it writes, and the verifier, who finds out here:
    the first line opens run 1 and begins the series it names; each run keeps series and mode
    only the latest run admits, reserves, refuses, stops and closes; any run may still settle
    after the first refusal or stop of a run nothing more is reserved in it
    a pair is admitted when cap - prior - spent - reserved - held >= the sum of its reservations
    a held part is reserved only while prior + spent + reserved + held is not above the cap
    what has no hold (a follow-up turn, a rerun in place, a grade) is admitted by itself
    a cell is reserved again only where the run's policy allows it; a grade only while pending
    a settlement ends exactly one open reservation, and charges what ``charges`` demands
    a report names an arm or a control and classes whole; another one for the same predictions
    says which one it replaces
    a closing line states what the lines come to
Each is one ``_broken`` below. An event that is not known is kept and changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from agent_trials import canonical, money
from agent_trials.errors import LedgerBrokenError, MoneyError
from agent_trials.ledger import charges, shapes
from agent_trials.ledger.budget import (
    EvaluationRecord,
    Grade,
    GradeRecord,
    Hold,
    Run,
    State,
    Stop,
)
from agent_trials.ledger.events import Event
from agent_trials.ledger.policy import CellRecord, Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from decimal import Decimal

    from agent_trials.ledger.chain import Line
    from agent_trials.records import Cell

    Fields = Mapping[str, Any]


CLASSES = frozenset({"resolved", "unresolved", "empty-patch", "error", "missing-patch"})
"""What an evaluation may come to for one task."""
FAILED = frozenset({"unresolved", "error"})
"""The classes in which the ground may have failed, and not the patch."""


class BrokenRuleError(ValueError):
    """A line that the rules do not allow; ``apply`` adds its number."""


def apply(state: State, line: Line) -> None:
    """Move the state on by one line.

    Raises:
        LedgerBrokenError: the line breaks a rule, or a field is missing or garbled.
    """
    try:
        _check_run(state, line)
        move = _MOVES.get(line.event)
        if move is not None:
            move(state, line.fields)
    except BrokenRuleError as error:
        raise LedgerBrokenError(line.seq, f"{line.event}: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, MoneyError) as error:
        reason = f"{line.event}: a field is missing or garbled ({error})"
        raise LedgerBrokenError(line.seq, reason) from error


def read_run(fields: Fields) -> Run:
    """Return the run that the fields of a run-opened line open.

    Raises:
        KeyError, TypeError, ValueError, MoneyError: a field is missing or garbled.
    """
    for name in ("mode", "phase", "seriesId", "transport", "runId"):
        shapes.text(fields, name)
    if shapes.number(fields, "schema") != 1:
        _broken(f"its schema is {fields['schema']}, and 1 is known")
    shapes.number(fields, "attempts")
    if not isinstance(fields["priorLedgers"], list):
        _broken("its priorLedgers is no list")
    if len(_origins(fields)) != len(fields["priorLedgers"]):
        _broken("it counts a prior ledger twice")
    prior = money.total(*(shapes.amount(each, "spentUsd") for each in fields["priorLedgers"]))
    cap = shapes.positive(fields, "capUsd")
    return Run(fields["run"], fields, Policy.read(fields), cap, prior)


def opening_problem(state: State, fields: Fields) -> str | None:
    """Return why a run may not be opened in the ledger; None if it may.

    Raises:
        RuntimeError: the fields are not those of a run-opened line.
    """
    try:
        read_run(fields)
    except (KeyError, TypeError, ValueError, MoneyError) as error:
        raise RuntimeError(f"run-opened: a field is missing or garbled ({error})") from error
    if not state.runs:
        begins = fields["prev"] == fields["seriesId"]
        return None if begins else "the ledger does not begin the series that it names"
    before = state.runs[-1].opening
    for name in ("seriesId", "mode"):
        if fields[name] != before[name]:
            return f"its {name} is {fields[name]} and the ledger's is {before[name]}"
    if not _origins(before) <= _origins(fields):
        return "it leaves out a prior ledger that the run before counted"
    return None


def evaluation_problem(state: State, fields: Fields) -> str | None:
    """Return why a report may not be recorded; None if it may.

    Raises:
        KeyError, TypeError, ValueError: a field is missing or garbled.
    """
    if ("arm" in fields) == ("control" in fields):
        return "it names no arm and no control, or both"
    found, before = _report(fields), state.evaluations.get(_evaluated(fields))
    if wrong := _classes_problem(fields):
        return wrong
    if before is not None and before.predictions != found.predictions:
        before = None
    if before == found:
        return "the same report stands already"
    if fields["replaces"] != (before and before.report):
        return "its replaces is not the report that stands for the same predictions"
    return None


def _check_run(state: State, line: Line) -> None:
    latest = len(state.runs)
    if line.event == Event.RUN_OPENED:
        if line.run != latest + 1:
            _broken(f"it opens run {line.run} after {latest}")
    elif line.run > latest:
        _broken(f"run {line.run} was never opened")
    elif line.event in _LATEST_RUN_ONLY and line.run != latest:
        _broken(f"run {line.run} is over: run {latest} was opened after it")


def _open_run(state: State, fields: Fields) -> None:
    run = read_run(fields)
    if wrong := opening_problem(state, fields):
        _broken(wrong)
    state.runs.append(run)
    state.drop_holds()


def _origins(fields: Fields) -> set[str]:
    return {shapes.text(each, "origin") for each in fields["priorLedgers"]}


def _admit_pair(state: State, fields: Fields) -> None:
    _must_go_on(state)
    cells = [shapes.cell(each) for each in fields["cells"]]
    pair = shapes.number(fields, "pair")
    if pair in state.holds or not cells or len(set(cells)) != len(cells):
        _broken("the pair is empty, or was admitted before")
    for cell in cells:
        if state.stands_alone(cell):
            _broken(f"{cell.item} needs no hold")
        if reason := state.taken(cell):
            _broken(f"{cell.item}: {reason}")
    total = shapes.positive(fields, "amountUsd")
    _must_fit(state, total)
    state.hold(pair, Hold.of(cells, total, _parts(fields, len(cells), total)))


def _parts(fields: Fields, cells: int, total: Decimal) -> list[Decimal]:
    """Return what is held for each cell, nothing where it is the same for all."""
    if "amountsUsd" not in fields:
        return []
    if not isinstance(fields["amountsUsd"], list):
        _broken("its amountsUsd is no list")
    parts = [shapes.positive({"amountsUsd": each}, "amountsUsd") for each in fields["amountsUsd"]]
    if len(parts) != cells or money.total(*parts) != total:
        _broken("its amountsUsd are not one for each cell, or do not come to its amountUsd")
    return parts


def _release_pair(state: State, fields: Fields) -> None:
    pair = shapes.number(fields, "pair")
    hold = state.holds.get(pair)
    if hold is None or shapes.amount(fields, "amountUsd") != hold.amount:
        _broken("what it releases is not what is held for the pair")
    state.let_go(hold, hold.amount)
    del state.holds[pair]


def _refuse(state: State, fields: Fields) -> None:
    _must_go_on(state)
    state.run.counts["refused"] += 1
    state.run.stop = Stop(shapes.text(fields, "reason"), shapes.cell(fields))


def _reserve(state: State, fields: Fields) -> None:
    _must_go_on(state)
    cell, amount = shapes.cell(fields), shapes.positive(fields, "amountUsd")
    if reason := state.taken(cell):
        _broken(reason)
    before = state.cells.get(cell)
    if state.stands_alone(cell):
        _must_fit(state, amount)
        state.reruns += before is not None and before.run == state.run.number
    else:
        _take_part(state, shapes.number(fields, "pair"), cell, amount)
    state.set_aside(cell, amount)
    state.cells[cell] = CellRecord(state.run.number, before is not None and before.completed)
    state.run.counts["reserved"] += 1


def _take_part(state: State, pair: int, cell: Cell, amount: Decimal) -> None:
    hold = state.holds.get(pair)
    if hold is None or cell not in hold.cells:
        _broken("its pair was not admitted")
    if not hold.is_part(cell, amount):
        _broken(f"{amount} USD is not what was held for it")
    if state.totals().available < 0:
        _broken("an overshoot has taken what was held for it")
    hold.cells.remove(cell)
    state.let_go(hold, amount)


def _settle(state: State, fields: Fields) -> None:
    run, cell, observation = fields["run"], shapes.cell(fields), fields["observation"]
    reservation = state.unsettled.get((run, cell))
    if reservation is None:
        _broken("it settles what is not reserved")
    if wrong := charges.problem(observation, reservation):
        _broken(wrong)
    state.spend(run, cell, shapes.amount(observation, "chargedUsd"))
    state.cells[cell].settle(run, observation)
    state.runs[run - 1].counts[observation["status"]] += 1


def _reserve_grade(state: State, fields: Fields) -> None:
    _must_go_on(state)
    grade, amount = _grade(fields), shapes.positive(fields, "amountUsd")
    if reason := state.grade_taken(grade):
        _broken(reason)
    _must_fit(state, amount)
    state.set_aside(grade, amount)
    state.grades[grade] = GradeRecord(state.run.number)


def _settle_grade(state: State, fields: Fields) -> None:
    run, grade = fields["run"], _grade(fields)
    if (run, grade) not in state.unsettled:
        _broken("it settles what is not reserved")
    outcome = shapes.text(fields, "outcome")
    state.spend(run, grade, shapes.amount(fields, "chargedUsd"))
    if state.grades[grade].run == run:
        state.grades[grade].outcome = outcome


def _evaluate(state: State, fields: Fields) -> None:
    if wrong := evaluation_problem(state, fields):
        _broken(wrong)
    state.evaluations[_evaluated(fields)] = _report(fields)


def _evaluated(fields: Fields) -> tuple[str, str]:
    kind = "control" if "control" in fields else "arm"
    return kind, shapes.text(fields, kind)


def _report(fields: Fields) -> EvaluationRecord:
    return EvaluationRecord(
        shapes.digest(fields, "predictionsDigest"), shapes.digest(fields, "reportDigest")
    )


def _classes_problem(fields: Fields) -> str | None:
    classes = fields["classes"]
    if not isinstance(classes, dict) or not set(classes.values()) <= CLASSES:
        return f"its classes are no object of {', '.join(sorted(CLASSES))}"
    for name in ("infrastructure", "ambiguous"):
        tasks = fields[name]
        if not isinstance(tasks, list) or len({*tasks}) != len(tasks):
            return f"its {name} is no list of tasks"
        if any(classes.get(task) not in FAILED for task in tasks):
            return f"its {name} names a task that is neither unresolved nor an error"
    return None


def _stop_run(state: State, fields: Fields) -> None:
    if state.run.stop is None:
        cell = shapes.cell(fields) if "task" in fields else None
        state.run.stop = Stop(shapes.text(fields, "reason"), cell)


def _close_run(state: State, fields: Fields) -> None:
    if state.run.closed_at is not None:
        _broken("the run is closed already")
    for name, amount in (("spentUsd", state.spent), ("reservedUsd", state.reserved)):
        if shapes.amount(fields, name) != amount:
            _broken(f"its {name} is {fields[name]} and the lines come to {amount}")
    # As text: for Python true is 1.
    if canonical.dumps(fields["counts"]) != canonical.dumps(dict(state.run.counts)):
        _broken("its counts are not those of its lines")
    state.run.closed_at = fields["at"]
    state.drop_holds()


def _must_go_on(state: State) -> None:
    if state.run.is_over:
        _broken("the run was stopped or closed before")


def _must_fit(state: State, amount: Decimal) -> None:
    available = state.totals().available
    if amount > available:
        _broken(f"{amount} USD do not fit under the cap, which leaves {available} USD")


def _grade(fields: Fields) -> Grade:
    return shapes.text(fields, "blindId"), shapes.text(fields, "grader")


def _broken(reason: str) -> NoReturn:
    raise BrokenRuleError(reason)


_MOVES: Mapping[str, Callable[[State, Fields], None]] = {
    Event.RUN_OPENED: _open_run,
    Event.PAIR_ADMITTED: _admit_pair,
    Event.PAIR_RELEASED: _release_pair,
    Event.ATTEMPT_RESERVED: _reserve,
    Event.ATTEMPT_SETTLED: _settle,
    Event.ATTEMPT_REFUSED: _refuse,
    Event.GRADE_RESERVED: _reserve_grade,
    Event.GRADE_SETTLED: _settle_grade,
    Event.EVALUATED: _evaluate,
    Event.RUN_STOPPED: _stop_run,
    Event.RUN_CLOSED: _close_run,
}
_LATEST_RUN_ONLY = frozenset(Event) - {
    Event.RUN_OPENED,
    Event.ATTEMPT_SETTLED,
    Event.GRADE_SETTLED,
    Event.ADJUDICATED,  # no rule reads it
    Event.APPROVED,  # nor this one
}
