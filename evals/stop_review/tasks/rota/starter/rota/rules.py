"""What a plan must keep to, as questions about one person and one shift, and about a whole roster.

    skill      the person can do what the shift asks for
    overlap    nobody works two shifts at the same time
    rest       at least 11 hours lie between two shifts
    hours      nobody works more than their hours in a calendar week
"""

from dataclasses import dataclass
from datetime import timedelta

REST = timedelta(hours=11)


@dataclass(frozen=True)
class Violation:
    """One rule that is broken, by whom and where."""

    rule: str
    name: str
    shift_id: str
    text: str


def objections(roster, person, shift):
    """Return the names of the rules that speak against one more shift for a person."""
    others = [own for own in roster.shifts_of(person.name) if own.id != shift.id]
    found = []
    if not person.has(shift.skill):
        found.append("skill")
    if any(shift.overlaps(other) for other in others):
        found.append("overlap")
    elif any(too_close(shift, other) for other in others):
        found.append("rest")
    if roster.hours_in_week(person.name, shift.day) + shift.hours > person.max_hours:
        found.append("hours")
    return found


def too_close(one, other):
    """Return whether less than the rest lies between two shifts that do not overlap."""
    first, second = sorted((one, other), key=lambda shift: shift.begins)
    return second.begins - first.ends < REST


def violations(roster):
    """Return everything that a roster breaks, people by name, shifts by time."""
    found = []
    for name in sorted(roster.people):
        person = roster.people[name]
        own = roster.shifts_of(name)
        found += [
            Violation("skill", name, shift.id, name + " lacks " + shift.skill + " for " + shift.id)
            for shift in own
            if not person.has(shift.skill)
        ]
        found += _pairs(name, own)
        found += _hours(roster, person, own)
    return found


def _pairs(name, own):
    found = []
    for at, first in enumerate(own):
        for second in own[at + 1 :]:
            both = first.id + " and " + second.id
            if first.overlaps(second):
                found.append(Violation("overlap", name, second.id, name + " works " + both + " at once"))
            elif too_close(first, second):
                text = name + " rests less than 11 hours between " + both
                found.append(Violation("rest", name, second.id, text))
    return found


def _hours(roster, person, own):
    weeks = {}
    for shift in own:
        weeks.setdefault(shift.day.isocalendar()[:2], []).append(shift)
    found = []
    for (year, week), shifts in sorted(weeks.items()):
        total = sum(shift.hours for shift in shifts)
        if total > person.max_hours:
            text = "{} works {:g} of {:g} hours in week {} of {}".format(
                person.name, total, person.max_hours, week, year
            )
            found.append(Violation("hours", person.name, shifts[-1].id, text))
    return found
