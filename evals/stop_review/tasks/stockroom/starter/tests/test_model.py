import unittest

from stockroom.errors import StockError, UnknownItem
from stockroom.model import Item, Stock
from tests.helpers import warehouse


class ModelTest(unittest.TestCase):
    def test_a_sku_is_one_word(self):
        for sku in ("", "a b", "a\tb"):
            with self.subTest(sku=sku), self.assertRaises(StockError):
                Item(sku, "thing")

    def test_a_pack_holds_at_least_one_piece(self):
        with self.assertRaises(StockError):
            Item("A", "thing", pack=0)

    def test_a_reorder_point_is_not_negative(self):
        with self.assertRaises(StockError):
            Item("A", "thing", reorder_at=-1)

    def test_a_sku_is_given_once(self):
        stock = warehouse()
        with self.assertRaisesRegex(StockError, "taken by bolt 8 mm"):
            stock.add_item(Item("B-8", "another bolt"))

    def test_an_unknown_sku_names_near_ones(self):
        with self.assertRaisesRegex(UnknownItem, "did you mean B-8"):
            warehouse().item("B-9")

    def test_an_unknown_sku_without_near_ones(self):
        with self.assertRaises(UnknownItem) as caught:
            warehouse().item("ZZ")
        self.assertNotIn("did you mean", str(caught.exception))

    def test_on_hand_adds_the_lots(self):
        self.assertEqual(warehouse().on_hand("B-8"), 100)

    def test_on_hand_of_nothing_is_zero(self):
        self.assertEqual(warehouse().on_hand("H-1"), 0)

    def test_an_empty_stock_has_no_items(self):
        self.assertEqual(Stock().items, {})


if __name__ == "__main__":
    unittest.main()
