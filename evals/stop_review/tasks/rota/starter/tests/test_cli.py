import json
import unittest

from tests.helpers import TASK, run

FULL = {
    "mo-early": ["Ben"], "mo-late": ["Ada"], "tu-early": ["Ben", "Ada"], "tu-night": ["Cem"],
}


class PlanCommandTest(unittest.TestCase):
    def test_it_prints_a_line_for_each_shift(self):
        code, out, _, _ = run("plan", "TASK")
        self.assertEqual(out.splitlines()[0], "mo-early: Ben")
        self.assertIn("tu-night: Cem", out)
        self.assertEqual(code, 1)

    def test_gaps_are_named(self):
        self.assertIn("unfilled: tu-early lacks 1", run("plan", "TASK")[1])

    def test_a_full_plan_is_exit_code_0(self):
        data = {**TASK, "shifts": TASK["shifts"][:1]}
        self.assertEqual(run("plan", "TASK", data=data)[0], 0)

    def test_it_writes_the_assignments(self):
        written = run("plan", "TASK", "--into", "OUT")[3]
        self.assertEqual(json.loads(written)["assignments"]["mo-early"], ["Ben"])

    def test_fixed_names_of_unknown_shifts_are_refused(self):
        code, _, err, _ = run("plan", "TASK", data={**TASK, "fixed": {"xx": ["Ada"]}})
        self.assertEqual(code, 2)
        self.assertIn("fixed names a shift that is not there: 'xx'", err)

    def test_a_file_that_is_not_there(self):
        code, _, err, _ = run("plan", "/nonexistent.json")
        self.assertEqual(code, 2)
        self.assertIn("/nonexistent.json: No such file", err)

    def test_a_file_without_people(self):
        self.assertIn("no list of people", run("plan", "TASK", data={"shifts": []})[2])


class CheckCommandTest(unittest.TestCase):
    def test_what_is_broken_is_listed(self):
        code, out, _, _ = run("check", "TASK", "ROSTER", assignments=FULL)
        self.assertEqual(code, 1)
        self.assertEqual(
            out, "rest: Ada rests less than 11 hours between mo-late and tu-early\n"
        )

    def test_gaps_are_listed_too(self):
        out = run("check", "TASK", "ROSTER", assignments={"mo-early": ["Ben"]})[1]
        self.assertIn("unfilled: mo-late lacks 1", out)

    def test_unknown_people_are_refused(self):
        code, _, err, _ = run("check", "TASK", "ROSTER", assignments={"mo-early": ["Zoe"]})
        self.assertEqual(code, 2)
        self.assertIn("nobody is called 'Zoe'", err)


class ShowCommandsTest(unittest.TestCase):
    def test_a_week(self):
        out = run("week", "TASK", "ROSTER", "2026-03-05", assignments=FULL)[1]
        lines = out.splitlines()
        self.assertTrue(lines[0].strip().startswith("Mon 02"))
        self.assertEqual(lines[1].split(), ["Ada", "mo-late", "tu-early", ".", ".", ".", ".", "."])

    def test_another_week_is_empty(self):
        out = run("week", "TASK", "ROSTER", "2026-03-09", assignments=FULL)[1]
        self.assertNotIn("mo-", out)

    def test_a_person(self):
        out = run("person", "TASK", "ROSTER", "Ben", assignments=FULL)[1]
        self.assertEqual(
            out.splitlines(),
            [
                "2026-03-02  Mon 06:00-14:00  mo-early",
                "2026-03-03  Tue 06:00-14:00  tu-early",
                "Ben: 2 shifts, 16 hours",
            ],
        )

    def test_an_unknown_person(self):
        self.assertEqual(run("person", "TASK", "ROSTER", "Zoe")[0], 2)


if __name__ == "__main__":
    unittest.main()
