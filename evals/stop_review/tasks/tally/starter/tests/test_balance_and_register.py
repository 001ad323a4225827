import unittest

from tally import balance, register
from tally.model import is_below, parents
from tests.helpers import journal


def text(held):
    return {account: str(amounts) for account, amounts in held.items()}


class BalanceTest(unittest.TestCase):
    def test_each_account_by_itself(self):
        found = text(balance.balances(journal().transactions))
        self.assertEqual(found["assets:bank"], "300.00 EUR")
        self.assertEqual(found["equity:exchange"], "100.00 EUR, -110.00 USD")

    def test_empty_accounts_are_left_out(self):
        more = "2026-01-01 A\n  a:b  1 EUR\n  a:c\n2026-01-02 B\n  a:b  -1 EUR\n  a:d\n"
        self.assertEqual(list(balance.balances(journal(more).transactions)), ["a:c", "a:d"])

    def test_parents_hold_what_is_below_them(self):
        found = text(balance.rolled_up(journal().transactions))
        self.assertEqual(found["assets"], "287.50 EUR, 110.00 USD")
        self.assertEqual(found["assets:cash"], "-12.50 EUR")

    def test_depth(self):
        self.assertEqual(
            list(balance.rolled_up(journal().transactions, depth=1)), ["assets", "equity", "expenses"]
        )

    def test_of_one_account(self):
        self.assertEqual(str(balance.of_account(journal().transactions, "expenses")), "612.50 EUR")

    def test_everything_together_is_nothing(self):
        held = balance.balances(journal().transactions)
        self.assertFalse(balance.grand_total(held))


class RegisterTest(unittest.TestCase):
    def test_lines_with_what_was_held(self):
        found = register.register(journal().transactions, "assets:bank")
        self.assertEqual([line.held for line in found], ["1,000.00 EUR", "400.00 EUR", "300.00 EUR"])

    def test_accounts_below_count(self):
        self.assertEqual(len(register.register(journal().transactions, "expenses")), 2)

    def test_by_month(self):
        found = text(register.by_month(journal().transactions, "expenses"))
        self.assertEqual(found, {"2026-01": "12.50 EUR", "2026-02": "600.00 EUR"})


class AccountTest(unittest.TestCase):
    def test_below(self):
        self.assertTrue(is_below("a:b", "a"))
        self.assertTrue(is_below("a", "a"))
        self.assertFalse(is_below("ab", "a"))

    def test_parents(self):
        self.assertEqual(parents("a:b:c"), ["a", "a:b", "a:b:c"])


if __name__ == "__main__":
    unittest.main()
