import unittest
from datetime import date

from rota.errors import RotaError
from rota.roster import Roster
from tests.helpers import task


class RosterTest(unittest.TestCase):
    def setUp(self):
        found = task()
        self.roster = Roster(found.people, found.shifts)

    def test_assign_and_remove(self):
        self.roster.assign("mo-early", "Ada")
        self.assertEqual(self.roster.names["mo-early"], ["Ada"])
        self.roster.remove("mo-early", "Ada")
        self.assertEqual(self.roster.names["mo-early"], [])

    def test_nobody_works_a_shift_twice(self):
        self.roster.assign("mo-early", "Ada")
        with self.assertRaisesRegex(RotaError, "Ada works mo-early already"):
            self.roster.assign("mo-early", "Ada")

    def test_who_is_not_there_cannot_be_removed(self):
        with self.assertRaisesRegex(RotaError, "Ben does not work mo-early"):
            self.roster.remove("mo-early", "Ben")

    def test_unknown_shifts_and_people(self):
        with self.assertRaisesRegex(RotaError, "no shift"):
            self.roster.assign("we-early", "Ada")
        with self.assertRaisesRegex(RotaError, "nobody is called"):
            self.roster.assign("mo-early", "Zoe")

    def test_shifts_of_a_person_are_in_order(self):
        self.roster.assign("tu-night", "Cem")
        self.roster.assign("mo-early", "Cem")
        self.assertEqual([one.id for one in self.roster.shifts_of("Cem")], ["mo-early", "tu-night"])

    def test_hours_in_a_week(self):
        self.roster.assign("mo-early", "Cem")
        self.roster.assign("tu-night", "Cem")
        self.assertEqual(self.roster.hours_in_week("Cem", date(2026, 3, 8)), 16)
        self.assertEqual(self.roster.hours_in_week("Cem", date(2026, 3, 9)), 0)

    def test_free_places(self):
        self.roster.assign("tu-early", "Ada")
        self.assertEqual(self.roster.free_places("tu-early"), 1)
        self.assertEqual(len(self.roster.unfilled()), 4)


if __name__ == "__main__":
    unittest.main()
