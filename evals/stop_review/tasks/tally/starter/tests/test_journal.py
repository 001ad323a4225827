import unittest
from datetime import date

from tally.errors import JournalError, TallyError, Unbalanced
from tally.journal import parse_journal, read_journal
from tests.helpers import journal


def one(*lines):
    return parse_journal("\n".join(("2026-03-02 Shop",) + lines))


class TransactionTest(unittest.TestCase):
    def test_days_payees_and_marks(self):
        first, second, third, _ = journal().transactions
        self.assertEqual((first.day, first.payee, first.cleared), (date(2026, 1, 1), "Opening", True))
        self.assertFalse(second.cleared)
        self.assertEqual(second.tags, {"food"})
        self.assertEqual(third.postings[0].note, "February")

    def test_a_missing_amount_takes_the_rest(self):
        self.assertEqual(str(journal().transactions[2].postings[1].amount), "-600.00 EUR")

    def test_lines_are_numbered(self):
        self.assertEqual([each.line for each in journal().transactions], [2, 6, 10, 14])

    def test_transactions_come_in_the_order_of_their_days(self):
        text = "2026-02-01 B\n  a:b  1 EUR\n  a:c\n2026-01-01 A\n  a:b  1 EUR\n  a:c\n"
        self.assertEqual([each.payee for each in parse_journal(text).transactions], ["A", "B"])

    def test_out_of_balance(self):
        with self.assertRaisesRegex(Unbalanced, "line 1: 'Shop' is out of balance by 1 EUR"):
            one("  a:b  3 EUR", "  a:c  -2 EUR")

    def test_commodities_balance_apart(self):
        with self.assertRaises(Unbalanced):
            one("  a:b  3 EUR", "  a:c  -3 USD")

    def test_one_posting_is_too_few(self):
        with self.assertRaisesRegex(JournalError, "at least two"):
            one("  a:b  3 EUR")

    def test_two_missing_amounts_are_too_many(self):
        with self.assertRaisesRegex(JournalError, "more than one"):
            one("  a:b  3 EUR", "  a:c", "  a:d")

    def test_a_missing_amount_is_of_one_commodity(self):
        with self.assertRaisesRegex(JournalError, "several commodities"):
            one("  a:b  3 EUR", "  a:b  3 USD", "  a:c")

    def test_a_missing_amount_of_nothing(self):
        with self.assertRaisesRegex(JournalError, "nothing is left over"):
            one("  a:b  3 EUR", "  a:b  -3 EUR", "  a:c")

    def test_what_cannot_be_read_is_named_with_its_line(self):
        for text, reason in (
            ("hello", "line 1: this is neither"),
            ("2026-13-01 Shop\n  a:b 1 EUR\n  a:c", "line 1: there is no day 2026-13-01"),
            ("2026-03-02 Shop\n  A:b 1 EUR\n  a:c", "line 2: an account is like"),
            ("2026-03-02 Shop\n  a:b 1.x EUR\n  a:c", "line 2: an amount is like"),
            ("2026-03-02\n  a:b 1 EUR\n  a:c", "line 1: a transaction begins"),
        ):
            with self.subTest(text=text), self.assertRaisesRegex(JournalError, reason):
                parse_journal(text)


class OpenTest(unittest.TestCase):
    def test_accounts_are_opened(self):
        found = parse_journal("open 2026-01-01 assets:bank\n")
        self.assertEqual(found.opened, {"assets:bank": date(2026, 1, 1)})

    def test_once(self):
        with self.assertRaisesRegex(JournalError, "line 2: the account is open already"):
            parse_journal("open 2026-01-01 a:b\nopen 2026-01-02 a:b\n")

    def test_with_a_day(self):
        with self.assertRaisesRegex(JournalError, "open 2026-01-01 assets:bank"):
            parse_journal("open assets:bank\n")


class JournalTest(unittest.TestCase):
    def test_accounts_by_name(self):
        self.assertEqual(journal().accounts()[:2], ["assets:bank", "assets:cash"])

    def test_between(self):
        found = journal().between(date(2026, 1, 5), date(2026, 2, 2))
        self.assertEqual([each.payee for each in found], ["Corner shop"])

    def test_a_file_that_is_not_there(self):
        with self.assertRaisesRegex(TallyError, "/nonexistent.journal: No such file"):
            read_journal("/nonexistent.journal")


if __name__ == "__main__":
    unittest.main()
