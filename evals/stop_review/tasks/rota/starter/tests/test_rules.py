import unittest

from rota.roster import Roster
from rota.rules import objections, violations
from tests.helpers import shift, task


class ObjectionTest(unittest.TestCase):
    def setUp(self):
        self.task = task()
        self.roster = Roster(self.task.people, self.task.shifts)

    def against(self, name, shift_id):
        return objections(self.roster, self.task.people[name], shift(self.task, shift_id))

    def test_nothing_speaks_against_an_empty_roster(self):
        self.assertEqual(self.against("Ada", "mo-early"), [])

    def test_a_missing_skill(self):
        self.assertEqual(self.against("Ben", "mo-late"), ["skill"])

    def test_rest_between_shifts(self):
        self.roster.assign("mo-late", "Ada")
        self.assertEqual(self.against("Ada", "tu-early"), ["rest"])

    def test_touching_shifts_leave_no_rest(self):
        self.roster.assign("mo-early", "Ada")
        self.assertEqual(self.against("Ada", "mo-late"), ["rest"])

    def test_hours_in_a_week(self):
        self.roster.assign("mo-early", "Cem")
        self.roster.assign("tu-night", "Cem")
        self.assertIn("hours", self.against("Cem", "tu-early"))

    def test_overlap_comes_instead_of_rest(self):
        changed = task(
            shifts=[
                {"id": "a", "day": "2026-03-02", "start": "06:00", "end": "14:00"},
                {"id": "b", "day": "2026-03-02", "start": "12:00", "end": "16:00"},
            ]
        )
        roster = Roster(changed.people, changed.shifts)
        roster.assign("a", "Ben")
        self.assertEqual(objections(roster, changed.people["Ben"], shift(changed, "b")), ["overlap"])


class ViolationTest(unittest.TestCase):
    def broken(self, *assignments):
        found = task()
        roster = Roster(found.people, found.shifts)
        for shift_id, name in assignments:
            roster.assign(shift_id, name)
        return [(one.rule, one.name, one.shift_id) for one in violations(roster)]

    def test_a_good_roster_breaks_nothing(self):
        self.assertEqual(self.broken(("mo-early", "Ben"), ("mo-late", "Ada")), [])

    def test_a_missing_skill(self):
        self.assertEqual(self.broken(("mo-late", "Ben")), [("skill", "Ben", "mo-late")])

    def test_too_little_rest(self):
        self.assertEqual(
            self.broken(("mo-late", "Ada"), ("tu-early", "Ada")), [("rest", "Ada", "tu-early")]
        )

    def test_too_many_hours(self):
        every = [("mo-early", "Cem"), ("tu-early", "Cem"), ("tu-night", "Cem")]
        self.assertIn(("hours", "Cem", "tu-night"), self.broken(*every))


if __name__ == "__main__":
    unittest.main()
