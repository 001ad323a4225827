import json
import tempfile
import unittest
from pathlib import Path

from stockroom import csvio, store
from stockroom.errors import BadFile
from stockroom.movements import issue
from tests.helpers import warehouse


class StoreTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "stock.json"

    def test_no_file_is_an_empty_stock(self):
        self.assertEqual(store.load(self.path).items, {})

    def test_what_was_saved_is_loaded(self):
        stock = warehouse()
        issue(stock, "B-8", 3, "2026-03-01", note="job 1")
        store.save(stock, self.path)
        found = store.load(self.path)
        self.assertEqual(found.items, stock.items)
        self.assertEqual(found.movements, stock.movements)
        self.assertEqual(found.lots, stock.lots)

    def test_nothing_is_left_beside_the_file(self):
        store.save(warehouse(), self.path)
        self.assertEqual([path.name for path in self.path.parent.iterdir()], ["stock.json"])

    def test_money_is_text(self):
        store.save(warehouse(), self.path)
        data = json.loads(self.path.read_text(encoding="utf-8"))
        self.assertEqual(data["items"][0]["lots"][0]["unit_cost"], "0.10")

    def test_another_format_is_refused(self):
        self.path.write_text('{"format": 2}', encoding="utf-8")
        with self.assertRaisesRegex(BadFile, "format 1"):
            store.load(self.path)

    def test_garbage_is_refused(self):
        self.path.write_text("{", encoding="utf-8")
        with self.assertRaisesRegex(BadFile, "is no JSON"):
            store.load(self.path)

    def test_a_missing_field_is_named(self):
        self.path.write_text('{"format": 1, "items": [{"sku": "A"}]}', encoding="utf-8")
        with self.assertRaisesRegex(BadFile, "name"):
            store.load(self.path)


class CsvTest(unittest.TestCase):
    def test_export_lists_items_by_sku(self):
        lines = csvio.export_items(warehouse()).splitlines()
        self.assertEqual(lines[0], "sku,name,category,reorder_at,pack,on_hand")
        self.assertEqual(lines[1], "B-8,bolt 8 mm,fasteners,50,20,100")

    def test_import_adds_items(self):
        stock = warehouse()
        self.assertEqual(csvio.import_items(stock, "sku,name,pack\nN-1,nail,100\n"), 1)
        self.assertEqual(stock.item("N-1").pack, 100)

    def test_a_missing_column_is_named(self):
        with self.assertRaisesRegex(BadFile, "no column name"):
            csvio.import_items(warehouse(), "sku\nN-1\n")

    def test_a_bad_row_changes_nothing(self):
        stock = warehouse()
        with self.assertRaisesRegex(BadFile, "line 3"):
            csvio.import_items(stock, "sku,name,pack\nN-1,nail,1\nN-2,nail,0\n")
        self.assertNotIn("N-1", stock.items)

    def test_a_sku_that_is_there_is_refused(self):
        with self.assertRaisesRegex(BadFile, "there already"):
            csvio.import_items(warehouse(), "sku,name\nB-8,bolt\n")


if __name__ == "__main__":
    unittest.main()
