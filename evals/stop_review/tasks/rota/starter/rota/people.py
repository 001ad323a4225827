"""Who works: names, skills, and how much."""

from dataclasses import dataclass, field

from rota.errors import RotaError


@dataclass(frozen=True)
class Person:
    """Somebody who works shifts.

    ``max_hours`` is the most hours in one calendar week (Monday to Sunday).
    """

    name: str
    skills: frozenset = field(default_factory=frozenset)
    max_hours: float = 40.0

    def has(self, skill):
        """Return whether the person can do what a shift asks for; None asks for nothing."""
        return skill is None or skill in self.skills


def person_from_data(data):
    """Return the person that JSON values describe."""
    try:
        name = data["name"]
    except KeyError:
        raise RotaError("a person without a name: " + repr(data)) from None
    if not isinstance(name, str) or not name.strip():
        raise RotaError("a name is text, not " + repr(name))
    hours = data.get("max_hours", 40)
    if not isinstance(hours, (int, float)) or hours <= 0:
        raise RotaError(name + ": max_hours is a number above 0, not " + repr(hours))
    return Person(name, frozenset(data.get("skills", [])), float(hours))


def people_from_data(data):
    """Return the people of a list, by name; a name is given once."""
    found = {}
    for each in data:
        person = person_from_data(each)
        if person.name in found:
            raise RotaError("two people are called " + person.name)
        found[person.name] = person
    return found
