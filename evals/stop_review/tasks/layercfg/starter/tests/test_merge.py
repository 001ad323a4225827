import unittest

from layercfg.merge import merge, overlay
from layercfg.sources import Layer
from tests.helpers import BASE, LOCAL


class MergeTest(unittest.TestCase):
    def test_tables_are_merged(self):
        found = overlay(BASE, LOCAL)
        self.assertEqual(found["server"]["host"], "localhost")
        self.assertEqual(found["server"]["port"], 9090)

    def test_lists_are_replaced(self):
        self.assertEqual(overlay(BASE, LOCAL)["plugins"], ["c"])

    def test_a_null_removes(self):
        self.assertNotIn("debug", overlay(BASE, {"debug": None}))

    def test_a_null_for_nothing_is_nothing(self):
        self.assertEqual(overlay({}, {"a": None, "b": {"c": None}}), {"b": {}})

    def test_a_table_takes_the_place_of_a_value(self):
        self.assertEqual(overlay({"a": 1}, {"a": {"b": 2}}), {"a": {"b": 2}})

    def test_a_value_takes_the_place_of_a_table(self):
        self.assertEqual(overlay({"a": {"b": 2}}, {"a": 1}), {"a": 1})

    def test_nothing_is_changed(self):
        below, above = {"a": {"b": [1]}}, {"a": {"c": [2]}}
        overlay(below, above)["a"]["b"].append(9)
        self.assertEqual((below, above), ({"a": {"b": [1]}}, {"a": {"c": [2]}}))

    def test_layers_in_order(self):
        layers = [Layer("1", {"a": 1, "b": 1}), Layer("2", {"a": 2}), Layer("3", {"a": 3})]
        self.assertEqual(merge(layers), {"a": 3, "b": 1})

    def test_no_layers(self):
        self.assertEqual(merge([]), {})


if __name__ == "__main__":
    unittest.main()
