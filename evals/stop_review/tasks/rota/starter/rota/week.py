"""A roster as text: a week at a glance, and what each person works."""

from datetime import timedelta

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def week_table(roster, day):
    """Return the calendar week of a day: a line for each person, a column for each day.

    A cell holds the ids of the shifts that the person begins on that day, with commas, or a dot.
    """
    monday = day - timedelta(days=day.weekday())
    days = [monday + timedelta(days=at) for at in range(7)]
    head = ["", *("{} {:02d}".format(name, each.day) for name, each in zip(DAYS, days))]
    rows = [head]
    for name in sorted(roster.people):
        rows.append([name, *(_cell(roster, name, each) for each in days)])
    return table(rows)


def person_lines(roster, name):
    """Return a line for each shift of a person, and one with the sum."""
    own = roster.shifts_of(name)
    lines = [
        "{}  {} {:%H:%M}-{:%H:%M}  {}".format(
            shift.day.isoformat(), DAYS[shift.day.weekday()], shift.start, shift.end, shift.id
        )
        for shift in own
    ]
    lines.append("{}: {} shifts, {:g} hours".format(name, len(own), sum(s.hours for s in own)))
    return lines


def table(rows):
    """Return rows of text as a table, columns to the left."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows
    )


def _cell(roster, name, day):
    ids = [shift.id for shift in roster.shifts_of(name) if shift.day == day]
    return ",".join(ids) or "."
