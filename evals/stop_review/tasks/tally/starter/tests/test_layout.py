import unittest

from tally.layout import right_aligned


class LayoutTest(unittest.TestCase):
    def test_the_first_of_each_pair_stands_to_the_right(self):
        self.assertEqual(right_aligned([("1", "a"), ("100", "b")]), ["  1  a", "100  b"])

    def test_nothing_trails(self):
        self.assertEqual(right_aligned([("1", "")]), ["1"])

    def test_no_pairs_are_no_lines(self):
        self.assertEqual(right_aligned([]), [])


if __name__ == "__main__":
    unittest.main()
