import unittest
from datetime import timezone

from logsift import parse
from tests.helpers import LINES


class ParseLineTest(unittest.TestCase):
    def test_a_combined_line(self):
        record = parse.parse_line(LINES[1])
        self.assertEqual(record.client, "192.0.2.1")
        self.assertEqual(record.method, "GET")
        self.assertEqual(record.path, "/users/7?tab=a")
        self.assertEqual(record.status, 200)
        self.assertEqual(record.size, 500)
        self.assertEqual(record.agent, "Firefox")
        self.assertEqual(record.referrer, "/")
        self.assertEqual(record.duration, 40)

    def test_a_common_line(self):
        record = parse.parse_line('h - - [05/Mar/2026:10:00:00 +0000] "GET / HTTP/1.0" 200 5')
        self.assertEqual(record.size, 5)
        self.assertIsNone(record.agent)
        self.assertIsNone(record.duration)

    def test_a_common_line_with_a_duration(self):
        record = parse.parse_line('h - - [05/Mar/2026:10:00:00 +0000] "GET / HTTP/1.0" 200 5 31')
        self.assertEqual(record.duration, 31)

    def test_dashes_are_nothing(self):
        record = parse.parse_line(LINES[2])
        self.assertIsNone(record.size)
        self.assertIsNone(record.referrer)
        self.assertEqual(record.user, "ann")

    def test_the_time_has_its_zone(self):
        line = 'h - - [05/Mar/2026:12:00:00 +0200] "GET / HTTP/1.0" 200 5'
        self.assertEqual(parse.parse_line(line).time.astimezone(timezone.utc).hour, 10)

    def test_what_is_no_request_is_refused(self):
        for line in ("", "hello", 'h - - [yesterday] "GET / HTTP/1.0" 200 5'):
            with self.subTest(line=line), self.assertRaises(parse.LineError):
                parse.parse_line(line)

    def test_the_message_shows_the_beginning(self):
        with self.assertRaisesRegex(parse.LineError, "no line of an access log: zzz"):
            parse.parse_line("zzz" * 50)


class ReadTest(unittest.TestCase):
    def test_records_stay_in_order(self):
        paths = [record.path for record in parse.read(LINES).records]
        self.assertEqual(paths[0], "/")
        self.assertEqual(paths[-1], "/report")

    def test_bad_lines_are_counted_by_number(self):
        reading = parse.read([LINES[0], "", "nonsense", LINES[1]])
        self.assertEqual(len(reading.records), 2)
        self.assertEqual(reading.skipped, [3])


class RecordTest(unittest.TestCase):
    def test_the_bare_path_has_no_query(self):
        self.assertEqual(parse.parse_line(LINES[1]).bare_path, "/users/7")

    def test_status_classes(self):
        self.assertEqual(parse.parse_line(LINES[3]).status_class, "4xx")

    def test_errors_begin_at_400(self):
        self.assertFalse(parse.parse_line(LINES[2]).is_error)
        self.assertTrue(parse.parse_line(LINES[3]).is_error)


if __name__ == "__main__":
    unittest.main()
