import unittest

from logsift import stats
from tests.helpers import records


class PercentileTest(unittest.TestCase):
    def test_nearest_rank(self):
        values = [15, 20, 35, 40, 50]
        self.assertEqual(stats.percentile(values, 30), 20)
        self.assertEqual(stats.percentile(values, 40), 20)
        self.assertEqual(stats.percentile(values, 50), 35)
        self.assertEqual(stats.percentile(values, 100), 50)

    def test_the_order_does_not_matter(self):
        self.assertEqual(stats.percentile([3, 1, 2], 50), 2)

    def test_of_nothing(self):
        self.assertIsNone(stats.percentile([], 50))

    def test_bounds(self):
        for percent in (0, 101, -1):
            with self.subTest(percent=percent), self.assertRaises(ValueError):
                stats.percentile([1], percent)


class SummaryTest(unittest.TestCase):
    def test_the_figures(self):
        found = stats.summarise(records())
        self.assertEqual((found.requests, found.errors, found.clients), (5, 2, 3))
        self.assertEqual(found.bytes, 3668)
        self.assertEqual((found.median, found.slowest), (40, 3000))
        self.assertEqual(found.error_share, 40.0)
        self.assertTrue(found.first.startswith("2026-03-05T10:00"))

    def test_of_nothing(self):
        found = stats.summarise([])
        self.assertEqual(found.requests, 0)
        self.assertIsNone(found.first)
        self.assertIsNone(found.median)
        self.assertIsNone(found.error_share)


class CountTest(unittest.TestCase):
    def test_top_breaks_ties_by_value(self):
        self.assertEqual(
            stats.top(records(), "client"),
            [("192.0.2.1", 2), ("192.0.2.2", 2), ("192.0.2.3", 1)],
        )

    def test_top_has_a_limit(self):
        self.assertEqual(len(stats.top(records(), "path", limit=2)), 2)

    def test_top_of_an_unknown_field(self):
        with self.assertRaisesRegex(ValueError, "there are client"):
            stats.top(records(), "colour")

    def test_hours_in_order(self):
        self.assertEqual(
            stats.by_hour(records()),
            [("2026-03-05 10:00", 3, 0), ("2026-03-05 11:00", 2, 2)],
        )

    def test_traffic_counts_what_was_sent(self):
        self.assertEqual(
            stats.traffic(records()),
            [("192.0.2.3", 2048), ("192.0.2.1", 1500), ("192.0.2.2", 120)],
        )


if __name__ == "__main__":
    unittest.main()
