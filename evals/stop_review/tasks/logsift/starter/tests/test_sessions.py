import unittest
from datetime import timedelta

from logsift import sessions
from tests.helpers import records


class SessionTest(unittest.TestCase):
    def test_a_long_pause_begins_a_new_visit(self):
        found = sessions.sessions(records())
        self.assertEqual(
            [(session.client, len(session.records)) for session in found],
            [("192.0.2.1", 2), ("192.0.2.2", 1), ("192.0.2.2", 1), ("192.0.2.3", 1)],
        )

    def test_a_pause_of_the_gap_does_not(self):
        found = sessions.sessions(records(), gap=timedelta(minutes=55))
        self.assertEqual(len(found), 3)

    def test_landing_and_length(self):
        first = sessions.sessions(records())[0]
        self.assertEqual(first.landing, "/")
        self.assertEqual(first.length, timedelta(minutes=1))
        self.assertFalse(first.bounced)

    def test_records_need_not_be_in_order(self):
        found = sessions.sessions(reversed(records()))
        self.assertEqual(found[0].landing, "/")

    def test_bounce_rate(self):
        self.assertEqual(sessions.bounce_rate(sessions.sessions(records())), 75.0)

    def test_bounce_rate_of_nothing(self):
        self.assertIsNone(sessions.bounce_rate([]))


if __name__ == "__main__":
    unittest.main()
