import unittest
from decimal import Decimal

from tally.amounts import Amount, Sum, parse_amount
from tally.errors import TallyError


class AmountTest(unittest.TestCase):
    def test_reading(self):
        self.assertEqual(parse_amount(" 1,234.50 EUR "), Amount(Decimal("1234.50"), "EUR"))
        self.assertEqual(parse_amount("-3 USD").quantity, -3)
        self.assertEqual(parse_amount("5XAU").commodity, "XAU")

    def test_what_is_no_amount(self):
        for text in ("", "EUR", "5", "5 eur", "1.2.3 EUR", "five EUR", ".5 EUR"):
            with self.subTest(text=text), self.assertRaises(TallyError):
                parse_amount(text)

    def test_writing_keeps_the_decimals(self):
        self.assertEqual(str(parse_amount("1234.50 EUR")), "1,234.50 EUR")
        self.assertEqual(str(parse_amount("-0.5 EUR")), "-0.5 EUR")

    def test_negating(self):
        self.assertEqual(-parse_amount("5 EUR"), parse_amount("-5 EUR"))


class SumTest(unittest.TestCase):
    def test_commodities_stay_apart(self):
        total = Sum([parse_amount("5 EUR"), parse_amount("2 USD"), parse_amount("1 EUR")])
        self.assertEqual(str(total), "6 EUR, 2 USD")

    def test_zero_is_nothing(self):
        total = Sum([parse_amount("5 EUR"), parse_amount("-5 EUR")])
        self.assertFalse(total)
        self.assertEqual(str(total), "0")

    def test_adding_sums(self):
        total = Sum([parse_amount("5 EUR")])
        total.add_all(Sum([parse_amount("5 EUR"), parse_amount("1 USD")]))
        self.assertEqual(total, Sum([parse_amount("10 EUR"), parse_amount("1 USD")]))


if __name__ == "__main__":
    unittest.main()
