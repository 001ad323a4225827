import unittest

from layercfg.errors import ConfigError
from layercfg.interpolate import interpolate


class InterpolateTest(unittest.TestCase):
    def check(self, tree, expected):
        self.assertEqual(interpolate(tree), expected)

    def test_a_whole_reference_keeps_its_type(self):
        self.check({"a": 5, "b": "${a}"}, {"a": 5, "b": 5})
        self.check({"a": [1], "b": "${a}"}, {"a": [1], "b": [1]})

    def test_inside_of_text_it_is_written_out(self):
        self.check({"a": 5, "b": "x${a}y"}, {"a": 5, "b": "x5y"})
        self.check({"a": True, "b": "is ${a}"}, {"a": True, "b": "is true"})

    def test_references_follow_references(self):
        self.check({"a": "x", "b": "${a}y", "c": "${b}z"}, {"a": "x", "b": "xy", "c": "xyz"})

    def test_in_lists_and_tables(self):
        self.check({"a": 1, "b": {"c": ["${a}"]}}, {"a": 1, "b": {"c": [1]}})

    def test_two_dollars_are_one(self):
        self.check({"a": "$${b} costs 5$$"}, {"a": "${b} costs 5$"})

    def test_one_dollar_is_itself(self):
        self.check({"a": "5$"}, {"a": "5$"})

    def test_to_nothing(self):
        with self.assertRaisesRegex(ConfigError, r"\$\{x.y\} refers to nothing"):
            interpolate({"a": "${x.y}"})

    def test_in_a_circle(self):
        with self.assertRaisesRegex(ConfigError, "circle: b -> a -> b"):
            interpolate({"a": "${b}", "b": "${a}"})

    def test_to_itself(self):
        with self.assertRaisesRegex(ConfigError, "circle"):
            interpolate({"a": "x${a}"})


if __name__ == "__main__":
    unittest.main()
