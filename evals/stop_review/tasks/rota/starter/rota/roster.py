"""Who works what: people by shift."""

from rota.errors import RotaError


class Roster:
    """The assignments of a plan: for each shift the names in the order in which they were put in."""

    def __init__(self, people, shifts):
        self.people = dict(people)
        self.shifts = {shift.id: shift for shift in shifts}
        self.names = {shift.id: [] for shift in shifts}

    def assign(self, shift_id, name):
        """Put a person into a shift; what the rules say is not asked."""
        self._known(shift_id, name)
        if name in self.names[shift_id]:
            raise RotaError(name + " works " + shift_id + " already")
        self.names[shift_id].append(name)

    def remove(self, shift_id, name):
        """Take a person out of a shift."""
        self._known(shift_id, name)
        if name not in self.names[shift_id]:
            raise RotaError(name + " does not work " + shift_id)
        self.names[shift_id].remove(name)

    def shifts_of(self, name):
        """Return what a person works, in order of time."""
        own = [self.shifts[key] for key, names in self.names.items() if name in names]
        return sorted(own, key=lambda shift: (shift.begins, shift.id))

    def hours_in_week(self, name, day):
        """Return the hours of the shifts that a person begins in the calendar week of a day."""
        week = day.isocalendar()[:2]
        return sum(
            shift.hours for shift in self.shifts_of(name) if shift.day.isocalendar()[:2] == week
        )

    def free_places(self, shift_id):
        """Return how many places of a shift are not filled."""
        return max(0, self.shifts[shift_id].places - len(self.names[shift_id]))

    def unfilled(self):
        """Return the shifts with free places, in order of time."""
        found = [shift for shift in self.shifts.values() if self.free_places(shift.id)]
        return sorted(found, key=lambda shift: (shift.begins, shift.id))

    def _known(self, shift_id, name):
        if shift_id not in self.shifts:
            raise RotaError("no shift has the id " + repr(shift_id))
        if name not in self.people:
            raise RotaError("nobody is called " + repr(name))
