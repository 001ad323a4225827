import unittest
from datetime import datetime

from rota.errors import RotaError
from rota.people import people_from_data, person_from_data
from rota.shifts import shift_from_data, shifts_from_data

EARLY = {"id": "e", "day": "2026-03-02", "start": "06:00", "end": "14:00"}
NIGHT = {"id": "n", "day": "2026-03-02", "start": "22:00", "end": "06:30"}


class PeopleTest(unittest.TestCase):
    def test_hours_and_skills_have_defaults(self):
        person = person_from_data({"name": "Ada"})
        self.assertEqual(person.max_hours, 40)
        self.assertEqual(person.skills, frozenset())

    def test_a_skill_that_is_not_asked_for_is_not_needed(self):
        self.assertTrue(person_from_data({"name": "Ada"}).has(None))
        self.assertFalse(person_from_data({"name": "Ada"}).has("till"))

    def test_a_name_is_needed(self):
        for data in ({}, {"name": ""}, {"name": 3}):
            with self.subTest(data=data), self.assertRaises(RotaError):
                person_from_data(data)

    def test_hours_are_above_zero(self):
        for hours in (0, -1, "many"):
            with self.subTest(hours=hours), self.assertRaisesRegex(RotaError, "Ada: max_hours"):
                person_from_data({"name": "Ada", "max_hours": hours})

    def test_a_name_is_given_once(self):
        with self.assertRaisesRegex(RotaError, "two people are called Ada"):
            people_from_data([{"name": "Ada"}, {"name": "Ada"}])


class ShiftTest(unittest.TestCase):
    def test_a_shift_of_one_day(self):
        shift = shift_from_data(EARLY)
        self.assertFalse(shift.is_overnight)
        self.assertEqual(shift.hours, 8)

    def test_a_shift_over_midnight(self):
        shift = shift_from_data(NIGHT)
        self.assertTrue(shift.is_overnight)
        self.assertEqual(shift.ends, datetime(2026, 3, 3, 6, 30))
        self.assertEqual(shift.hours, 8.5)

    def test_touching_is_not_overlapping(self):
        late = shift_from_data({**EARLY, "id": "l", "start": "14:00", "end": "22:00"})
        self.assertFalse(shift_from_data(EARLY).overlaps(late))

    def test_overlapping_works_both_ways(self):
        middle = shift_from_data({**EARLY, "id": "m", "start": "13:00", "end": "15:00"})
        early = shift_from_data(EARLY)
        self.assertTrue(early.overlaps(middle))
        self.assertTrue(middle.overlaps(early))

    def test_every_key_is_needed(self):
        for key in EARLY:
            data = {name: value for name, value in EARLY.items() if name != key}
            with self.subTest(key=key), self.assertRaisesRegex(RotaError, "without " + key):
                shift_from_data(data)

    def test_bad_values_are_named(self):
        for change in ({"day": "Monday"}, {"start": "six"}, {"places": 0}, {"day": 3}):
            with self.subTest(change=change), self.assertRaises(RotaError):
                shift_from_data({**EARLY, **change})

    def test_shifts_come_in_order_of_time(self):
        found = shifts_from_data([NIGHT, EARLY])
        self.assertEqual([shift.id for shift in found], ["e", "n"])

    def test_an_id_is_given_once(self):
        with self.assertRaisesRegex(RotaError, "two shifts have the id e"):
            shifts_from_data([EARLY, EARLY])


if __name__ == "__main__":
    unittest.main()
