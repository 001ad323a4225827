import unittest

from logsift import filters
from tests.helpers import records


class FilterTest(unittest.TestCase):
    def paths(self, *predicates):
        return [record.bare_path for record in filters.select(records(), predicates)]

    def test_no_filter_lets_everything_through(self):
        self.assertEqual(len(self.paths()), 5)

    def test_by_exact_status(self):
        self.assertEqual(self.paths(filters.by_status("404")), ["/users/8"])

    def test_by_class_and_status(self):
        self.assertEqual(self.paths(filters.by_status("302, 5XX")), ["/login", "/report"])

    def test_a_bad_status_is_refused(self):
        for text in ("", "40", "9xx", "abc"):
            with self.subTest(text=text), self.assertRaises(filters.FilterError):
                filters.by_status(text)

    def test_by_method(self):
        self.assertEqual(self.paths(filters.by_method("post,put")), ["/login"])

    def test_by_path(self):
        self.assertEqual(self.paths(filters.by_path("/users/*")), ["/users/7", "/users/8"])

    def test_by_client(self):
        self.assertEqual(self.paths(filters.by_client("192.0.2.3")), ["/report"])

    def test_since_includes_its_moment(self):
        self.assertEqual(self.paths(filters.since("2026-03-05T11:00")), ["/users/8", "/report"])

    def test_until_does_not(self):
        self.assertEqual(self.paths(filters.until("2026-03-05T10:01")), ["/"])

    def test_a_date_is_its_midnight_in_utc(self):
        self.assertEqual(self.paths(filters.since("2026-03-06")), [])

    def test_a_zone_is_heeded(self):
        self.assertEqual(self.paths(filters.until("2026-03-05T12:01+02:00")), ["/"])

    def test_a_bad_moment_is_refused(self):
        with self.assertRaisesRegex(filters.FilterError, "yesterday"):
            filters.since("yesterday")

    def test_filters_add_up(self):
        both = (filters.by_path("/users/*"), filters.by_status("2xx"))
        self.assertEqual(self.paths(*both), ["/users/7"])


if __name__ == "__main__":
    unittest.main()
