import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from stockroom.cli import main


class CommandLineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_command(self, *words):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(["--file", str(self.folder / "stock.json")] + list(words))
        return code, out.getvalue(), err.getvalue()

    def filled(self):
        self.run_command("add", "B-8", "bolt 8 mm", "--category", "fasteners", "--reorder-at", "50")
        self.run_command("receive", "B-8", "40", "0.10", "--day", "2026-01-05")

    def test_add_receive_and_list(self):
        self.filled()
        code, out, _ = self.run_command("list")
        self.assertEqual(code, 0)
        self.assertIn("B-8  bolt 8 mm  fasteners       40", out)

    def test_a_table_has_headings_and_a_rule(self):
        self.filled()
        lines = self.run_command("list")[1].splitlines()
        self.assertEqual(lines[0], "SKU  NAME       CATEGORY   ON HAND")
        self.assertEqual(set(lines[1]), {"-", " "})

    def test_issue_says_what_is_left(self):
        self.filled()
        code, out, _ = self.run_command("issue", "B-8", "10")
        self.assertEqual((code, out), (0, "30 of B-8 on hand, cost 1.00\n"))

    def test_what_is_not_there_is_exit_code_1(self):
        self.filled()
        code, out, err = self.run_command("issue", "B-8", "41")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("only 40 of B-8 on hand", err)

    def test_count_prints_the_difference(self):
        self.filled()
        self.assertEqual(self.run_command("count", "B-8", "38")[1], "-2 of B-8\n")

    def test_value_ends_with_the_total(self):
        self.filled()
        self.assertTrue(self.run_command("value")[1].endswith("total 4.00\n"))

    def test_value_by_category(self):
        self.filled()
        self.assertIn("fasteners   4.00", self.run_command("value", "--by-category")[1])

    def test_reorder(self):
        self.filled()
        self.assertIn("B-8", self.run_command("reorder")[1])

    def test_nothing_to_order(self):
        self.assertEqual(self.run_command("reorder")[1], "nothing to order\n")

    def test_history_of_one_item(self):
        self.filled()
        self.run_command("issue", "B-8", "10", "--day", "2026-02-01")
        out = self.run_command("history", "B-8", "--since", "2026-01-31")[1]
        self.assertIn("-10", out)
        self.assertNotIn("receive", out)

    def test_export_and_import(self):
        self.filled()
        table = self.folder / "items.csv"
        table.write_text("sku,name\nN-1,nail\n", encoding="utf-8")
        self.assertEqual(self.run_command("import", str(table))[1], "imported 1\n")
        self.assertIn("N-1,nail,general,0,1,0", self.run_command("export")[1])

    def test_a_wrong_command_line_is_exit_code_2(self):
        with self.assertRaises(SystemExit) as caught:
            self.run_command("issue", "B-8", "many")
        self.assertEqual(caught.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
