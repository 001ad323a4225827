"""Reads what is to be planned, and reads and writes plans; all of it is JSON."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from rota.errors import RotaError
from rota.people import people_from_data
from rota.roster import Roster
from rota.shifts import shifts_from_data


@dataclass
class Task:
    """What is to be planned: people by name, shifts in order of time, names that are fixed."""

    people: dict
    shifts: list
    fixed: dict = field(default_factory=dict)


def read_task(path):
    """Return the people and shifts of a file."""
    return task_from_data(_read(path))


def task_from_data(data):
    """Return the people and shifts that JSON values describe."""
    for key in ("people", "shifts"):
        if not isinstance(data.get(key), list):
            raise RotaError("the file has no list of " + key)
    task = Task(
        people_from_data(data["people"]), shifts_from_data(data["shifts"]), data.get("fixed", {})
    )
    known = {shift.id for shift in task.shifts}
    for shift_id in task.fixed:
        if shift_id not in known:
            raise RotaError("fixed names a shift that is not there: " + repr(shift_id))
    return task


def roster_to_data(roster):
    """Return the assignments of a roster as JSON values, shifts in order of time."""
    ordered = sorted(roster.shifts.values(), key=lambda shift: (shift.begins, shift.id))
    return {"assignments": {shift.id: list(roster.names[shift.id]) for shift in ordered}}


def write_roster(roster, path):
    """Write the assignments of a roster to a file."""
    text = json.dumps(roster_to_data(roster), indent=2, ensure_ascii=False) + "\n"
    Path(path).write_text(text, encoding="utf-8")


def read_roster(task, path):
    """Return the roster of a file of assignments, for the people and shifts of a task."""
    assignments = _read(path).get("assignments")
    if not isinstance(assignments, dict):
        raise RotaError(str(path) + " has no assignments")
    roster = Roster(task.people, task.shifts)
    for shift_id, names in assignments.items():
        for name in names:
            roster.assign(shift_id, name)
    return roster


def _read(path):
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise RotaError(str(path) + ": " + (error.strerror or str(error))) from error
    except ValueError as error:
        raise RotaError(str(path) + " is no JSON (" + str(error) + ")") from error
    if not isinstance(data, dict):
        raise RotaError(str(path) + " holds no object")
    return data
