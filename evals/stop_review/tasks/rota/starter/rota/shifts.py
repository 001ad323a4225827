"""What is to be worked: shifts with a beginning, an end and places to fill."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Optional

from rota.errors import RotaError


@dataclass(frozen=True)
class Shift:
    """One shift; one that ends at or before its start ends on the next day."""

    id: str
    day: date
    start: time
    end: time
    places: int = 1
    skill: Optional[str] = None

    @property
    def begins(self):
        """Return the moment of its beginning."""
        return datetime.combine(self.day, self.start)

    @property
    def ends(self):
        """Return the moment of its end."""
        day = self.day + timedelta(days=1) if self.is_overnight else self.day
        return datetime.combine(day, self.end)

    @property
    def is_overnight(self):
        """Return whether it ends on the day after it begins."""
        return self.end <= self.start

    @property
    def hours(self):
        """Return how long it takes, in hours."""
        return (self.ends - self.begins).total_seconds() / 3600

    def overlaps(self, other):
        """Return whether there is a moment that belongs to both."""
        return self.begins < other.ends and other.begins < self.ends


def shift_from_data(data):
    """Return the shift that JSON values describe."""
    for key in ("id", "day", "start", "end"):
        if key not in data:
            raise RotaError("a shift without " + key + ": " + repr(data))
    places = data.get("places", 1)
    if not isinstance(places, int) or places < 1:
        raise RotaError(data["id"] + ": places is a whole number from 1, not " + repr(places))
    return Shift(
        id=data["id"],
        day=parse_day(data["day"]),
        start=parse_time(data["start"]),
        end=parse_time(data["end"]),
        places=places,
        skill=data.get("skill"),
    )


def shifts_from_data(data):
    """Return the shifts of a list in order of time; an id is given once."""
    found = {}
    for each in data:
        shift = shift_from_data(each)
        if shift.id in found:
            raise RotaError("two shifts have the id " + shift.id)
        found[shift.id] = shift
    return sorted(found.values(), key=lambda shift: (shift.begins, shift.id))


def parse_day(text):
    """Return the day that ``2026-03-02`` names."""
    try:
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        raise RotaError("a day is like 2026-03-02, not " + repr(text)) from None


def parse_time(text):
    """Return the time that ``06:30`` names."""
    try:
        return time.fromisoformat(text)
    except (TypeError, ValueError):
        raise RotaError("a time is like 06:30, not " + repr(text)) from None
