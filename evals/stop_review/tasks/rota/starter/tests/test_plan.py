import unittest

from rota.plan import hardest_first, plan
from rota.rules import violations
from tests.helpers import task


class PlanTest(unittest.TestCase):
    def test_a_plan_breaks_no_rule(self):
        found = task()
        self.assertEqual(violations(plan(found.people, found.shifts)), [])

    def test_the_hardest_shift_comes_first(self):
        found = task()
        self.assertEqual(
            [one.id for one in hardest_first(found.people, found.shifts)],
            ["tu-night", "mo-late", "mo-early", "tu-early"],
        )

    def test_a_skill_is_kept_for_the_shift_that_needs_it(self):
        found = task()
        self.assertEqual(plan(found.people, found.shifts).names["tu-night"], ["Cem"])

    def test_places_go_to_who_has_the_fewest_hours(self):
        found = task()
        self.assertEqual(plan(found.people, found.shifts).names["mo-early"], ["Ben"])

    def test_what_nobody_may_work_stays_free(self):
        found = task(people=[{"name": "Ben"}])
        roster = plan(found.people, found.shifts)
        self.assertEqual([one.id for one in roster.unfilled()], ["mo-late", "tu-early", "tu-night"])

    def test_fixed_names_are_put_in_whatever_the_rules_say(self):
        found = task()
        roster = plan(found.people, found.shifts, {"mo-late": ["Ben"]})
        self.assertEqual(roster.names["mo-late"], ["Ben"])

    def test_planning_twice_gives_the_same(self):
        found = task()
        self.assertEqual(
            plan(found.people, found.shifts).names, plan(found.people, found.shifts).names
        )


if __name__ == "__main__":
    unittest.main()
