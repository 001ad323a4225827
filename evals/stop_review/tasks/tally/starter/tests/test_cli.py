import unittest

from tests.helpers import TEXT, run

OPENED = "open 2026-01-01 assets:bank\nopen 2026-02-01 expenses:rent\n"
RENT = "2026-01-15 Landlord\n    expenses:rent  5 EUR\n    assets:bank\n"


class BalanceCommandTest(unittest.TestCase):
    def test_accounts_are_indented(self):
        code, out, err = run("balance", "JOURNAL", "expenses")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(
            out.splitlines(),
            [
                "          612.50 EUR  expenses",
                "           12.50 EUR    food",
                "          600.00 EUR    rent",
                "--------------------",
                "          612.50 EUR",
            ],
        )

    def test_flat(self):
        out = run("balance", "JOURNAL", "expenses", "--flat")[1]
        self.assertEqual(out.splitlines()[0], "           12.50 EUR  expenses:food")

    def test_all_accounts_together_hold_nothing(self):
        self.assertEqual(run("balance", "JOURNAL")[1].splitlines()[-1].strip(), "0")

    def test_depth(self):
        self.assertNotIn("bank", run("balance", "JOURNAL", "--depth", "1")[1])

    def test_days(self):
        out = run("balance", "JOURNAL", "expenses", "--since", "2026-02-01")[1]
        self.assertNotIn("food", out)

    def test_tags(self):
        out = run("balance", "JOURNAL", "expenses", "--tag", "food")[1]
        self.assertNotIn("rent", out)


class OtherCommandsTest(unittest.TestCase):
    def test_register(self):
        out = run("register", "JOURNAL", "expenses")[1]
        self.assertEqual(
            out.splitlines()[0],
            "2026-01-05  Corner shop  expenses:food   12.50 EUR   12.50 EUR",
        )

    def test_register_by_month(self):
        out = run("register", "JOURNAL", "expenses", "--monthly")[1]
        self.assertEqual(out.splitlines(), [" 12.50 EUR  2026-01", "600.00 EUR  2026-02"])

    def test_accounts(self):
        self.assertEqual(run("accounts", "JOURNAL")[1].splitlines()[0], "assets:bank")

    def test_check_of_a_good_journal(self):
        self.assertEqual(run("check", "JOURNAL"), (0, "", ""))

    def test_check_of_accounts_and_doubles(self):
        code, out, _ = run("check", "JOURNAL", text=OPENED + RENT + RENT)
        self.assertEqual(code, 1)
        self.assertEqual(
            out.splitlines(),
            [
                "line 3: expenses:rent was opened later, on 2026-02-01",
                "line 6: Landlord on 2026-01-15 stands there twice",
                "line 6: expenses:rent was opened later, on 2026-02-01",
            ],
        )

    def test_check_of_an_account_that_was_never_opened(self):
        out = run("check", "JOURNAL", text=OPENED + TEXT)[1]
        self.assertIn("equity:opening was never opened", out)

    def test_what_cannot_be_read(self):
        code, out, err = run("balance", "JOURNAL", text="nonsense\n")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("tally: line 1: this is neither", err)

    def test_a_wrong_day(self):
        with self.assertRaises(SystemExit) as caught:
            run("balance", "JOURNAL", "--since", "today")
        self.assertEqual(caught.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
