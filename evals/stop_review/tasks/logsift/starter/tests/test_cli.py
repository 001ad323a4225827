import unittest

from tests.helpers import LINES, run


class CommandLineTest(unittest.TestCase):
    def test_summary(self):
        code, out, err = run("summary", "LOG")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("requests     5", out)
        self.assertIn("error share  40.0%", out)
        self.assertIn("sent         3.6 KiB", out)

    def test_top_paths(self):
        out = run("top", "path", "LOG", "--limit", "1")[1]
        self.assertEqual(out, "PATH  REQUESTS\n/            1\n")

    def test_hours_as_csv(self):
        out = run("hours", "LOG", "--format", "csv")[1]
        self.assertEqual(
            out.splitlines(),
            ["hour,requests,errors", "2026-03-05 10:00,3,0", "2026-03-05 11:00,2,2"],
        )

    def test_traffic_for_people_and_for_programs(self):
        self.assertIn("192.0.2.3  2.0 KiB", run("traffic", "LOG")[1])
        self.assertIn("192.0.2.3,2048", run("traffic", "LOG", "--format", "csv")[1])

    def test_sessions(self):
        out = run("sessions", "LOG", "--gap", "60")[1]
        self.assertIn("55m 00s", out)
        self.assertEqual(len(out.splitlines()), 4)

    def test_filters_reach_every_command(self):
        out = run("top", "client", "LOG", "--status", "4xx,5xx", "--method", "GET")[1]
        self.assertNotIn("192.0.2.1", out)

    def test_bad_lines_do_no_harm(self):
        code, out, _ = run("summary", "LOG", lines=[LINES[0], "garbage"])
        self.assertEqual(code, 0)
        self.assertIn("requests     1", out)

    def test_a_bad_filter_is_exit_code_2(self):
        code, out, err = run("summary", "LOG", "--status", "abc")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("like 404 or 4xx", err)

    def test_a_missing_file_is_exit_code_1(self):
        code, _, err = run("summary", "/nonexistent/access.log")
        self.assertEqual(code, 1)
        self.assertIn("/nonexistent/access.log: No such file", err)

    def test_a_missing_command_is_exit_code_2(self):
        with self.assertRaises(SystemExit) as caught:
            run()
        self.assertEqual(caught.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
