import unittest

from layercfg import explain
from layercfg.diff import diff
from layercfg.errors import ConfigError, Invalid, NoSuchKey
from layercfg.schema import validate
from layercfg.sources import Layer

LAYERS = [
    Layer("base", {"a": {"b": 1, "c": 2}, "d": 3}),
    Layer("local", {"a": {"b": 5}, "d": None}),
]


class ExplainTest(unittest.TestCase):
    def test_every_layer_has_its_word(self):
        found = explain.history(LAYERS, "a.b")
        self.assertEqual([(one.layer, one.value) for one in found], [("base", 1), ("local", 5)])

    def test_a_null_is_a_removal(self):
        self.assertTrue(explain.history(LAYERS, "d")[-1].removed)

    def test_the_last_word_wins(self):
        self.assertEqual(explain.winner(LAYERS, "a.b"), "local")
        self.assertEqual(explain.winner(LAYERS, "a.c"), "base")

    def test_all_values(self):
        self.assertEqual(explain.origins(LAYERS), {"a.b": "local", "a.c": "base"})

    def test_what_is_not_there(self):
        with self.assertRaisesRegex(NoSuchKey, "nothing sets a.x; there are a.b, a.c"):
            explain.history(LAYERS, "a.x")


class SchemaTest(unittest.TestCase):
    SCHEMA = {"a": {"b": "whole", "c": "text?"}, "d": "flag"}

    def problems(self, tree):
        with self.assertRaises(Invalid) as caught:
            validate(tree, self.SCHEMA)
        return caught.exception.problems

    def test_a_good_one(self):
        validate({"a": {"b": 1, "c": "x"}, "d": True}, self.SCHEMA)
        validate({"a": {"b": 1}, "d": False}, self.SCHEMA)

    def test_everything_at_once(self):
        self.assertEqual(
            self.problems({"a": {"b": "1"}, "e": 1}),
            ["d is missing", "a.b is no whole: '1'", "e is not known"],
        )

    def test_a_flag_is_no_number(self):
        self.assertEqual(self.problems({"a": {"b": True}, "d": True}), ["a.b is no whole: True"])

    def test_an_unknown_type(self):
        with self.assertRaisesRegex(ConfigError, "no type 'date' at a; there are text"):
            validate({}, {"a": "date"})


class DiffTest(unittest.TestCase):
    def test_changes_in_order(self):
        found = diff({"a": 1, "b": {"c": 2}, "x": 1}, {"a": 1, "b": {"c": 3}, "d": 4})
        self.assertEqual(
            [(one.kind, one.path) for one in found],
            [("changed", "b.c"), ("added", "d"), ("removed", "x")],
        )

    def test_nothing(self):
        self.assertEqual(diff({"a": [1]}, {"a": [1]}), [])


if __name__ == "__main__":
    unittest.main()
