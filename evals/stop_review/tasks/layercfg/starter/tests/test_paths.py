import unittest

from layercfg import paths
from layercfg.errors import ConfigError


class PathsTest(unittest.TestCase):
    def test_get(self):
        tree = {"a": {"b": [1, {"c": 2}]}}
        self.assertEqual(paths.get(tree, "a.b.0"), 1)
        self.assertEqual(paths.get(tree, "a.b.1.c"), 2)
        self.assertIsNone(paths.get(tree, "a.x"))
        self.assertEqual(paths.get(tree, "a.b.7", "none"), "none")
        self.assertEqual(paths.get(tree, "a.b.0.c", "none"), "none")

    def test_put_makes_tables(self):
        tree = {}
        paths.put(tree, "a.b.c", 1)
        self.assertEqual(tree, {"a": {"b": {"c": 1}}})

    def test_put_goes_through_tables_only(self):
        with self.assertRaisesRegex(ConfigError, "a is no table, so a.b cannot be set"):
            paths.put({"a": 1}, "a.b", 2)

    def test_no_part_is_empty(self):
        for path in ("", ".", "a..b", ".a"):
            with self.subTest(path=path), self.assertRaises(ConfigError):
                paths.split(path)

    def test_leaves_in_order(self):
        tree = {"b": {"d": 1, "c": [1]}, "a": {}, "e": None}
        self.assertEqual(
            list(paths.leaves(tree)), [("a", {}), ("b.c", [1]), ("b.d", 1), ("e", None)]
        )


if __name__ == "__main__":
    unittest.main()
