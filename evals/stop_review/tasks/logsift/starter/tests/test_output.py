import json
import unittest
from datetime import timedelta

from logsift import output


class RenderTest(unittest.TestCase):
    def test_text_puts_numbers_to_the_right(self):
        text = output.render(["name", "count"], [("a", 5), ("bcd", 12)])
        self.assertEqual(text, "NAME  COUNT\na         5\nbcd      12\n")

    def test_text_of_no_rows_is_the_heading(self):
        self.assertEqual(output.render(["name", "count"], []), "NAME  COUNT\n")

    def test_nothing_is_a_dash(self):
        self.assertIn("a  -", output.render(["n", "v"], [("a", None)]))

    def test_csv(self):
        text = output.render(["name", "count"], [("a,b", 5), ("c", None)], "csv")
        self.assertEqual(text, 'name,count\n"a,b",5\nc,\n')

    def test_json(self):
        text = output.render(["name", "count"], [("a", None)], "json")
        self.assertEqual(json.loads(text), [{"name": "a", "count": None}])

    def test_an_unknown_format(self):
        with self.assertRaisesRegex(ValueError, "text, csv, json"):
            output.render(["a"], [], "xml")


class HumanTest(unittest.TestCase):
    def test_sizes(self):
        self.assertEqual(output.human_size(0), "0 B")
        self.assertEqual(output.human_size(1023), "1023 B")
        self.assertEqual(output.human_size(1536), "1.5 KiB")
        self.assertEqual(output.human_size(5 * 1024**3), "5.0 GiB")
        self.assertEqual(output.human_size(5 * 1024**4), "5120.0 GiB")

    def test_durations(self):
        self.assertEqual(output.human_duration(timedelta(seconds=42)), "42s")
        self.assertEqual(output.human_duration(timedelta(seconds=185)), "3m 05s")
        self.assertEqual(output.human_duration(timedelta(seconds=3725)), "1h 02m")


if __name__ == "__main__":
    unittest.main()
