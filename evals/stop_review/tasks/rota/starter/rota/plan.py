"""Fills the places of a roster, one shift after the other.

The shifts that are hardest to fill come first; a place goes to the person with the fewest hours so
far, and among these to the first by name. Nothing is ever undone, so a plan is quick and not
always the fullest one.
"""

from rota.roster import Roster
from rota.rules import objections


def plan(people, shifts, fixed=None):
    """Return a roster with as many places filled as this way of planning fills.

    Args:
        people: people by name.
        shifts: the shifts to fill.
        fixed: names by shift id that are put in first, whatever the rules say.
    """
    roster = Roster(people, shifts)
    for shift_id, names in (fixed or {}).items():
        for name in names:
            roster.assign(shift_id, name)
    for shift in hardest_first(people, shifts):
        while roster.free_places(shift.id):
            person = choose(roster, shift)
            if person is None:
                break
            roster.assign(shift.id, person.name)
    return roster


def hardest_first(people, shifts):
    """Return the shifts, those that the fewest people can work first, then in order of time."""
    return sorted(
        shifts,
        key=lambda shift: (
            sum(person.has(shift.skill) for person in people.values()),
            shift.begins,
            shift.id,
        ),
    )


def choose(roster, shift):
    """Return who gets the next place of a shift, None if nobody may."""
    candidates = [
        person
        for person in roster.people.values()
        if person.name not in roster.names[shift.id] and not objections(roster, person, shift)
    ]
    if not candidates:
        return None
    return min(candidates, key=lambda person: (total_hours(roster, person.name), person.name))


def total_hours(roster, name):
    """Return the hours of everything that a person works."""
    return sum(shift.hours for shift in roster.shifts_of(name))
