import unittest
from decimal import Decimal

from stockroom import reorder, valuation
from stockroom.model import Item
from stockroom.movements import issue, receive
from tests.helpers import warehouse


class ValuationTest(unittest.TestCase):
    def test_what_is_left_is_worth_what_it_cost(self):
        stock = warehouse()
        issue(stock, "B-8", 40, "2026-03-01")
        self.assertEqual(valuation.fifo_value(stock, "B-8"), Decimal("12.00"))

    def test_the_average_is_rounded_to_a_cent(self):
        self.assertEqual(valuation.average_cost(warehouse(), "B-8"), Decimal("0.16"))

    def test_nothing_has_no_average(self):
        self.assertIsNone(valuation.average_cost(warehouse(), "H-1"))

    def test_categories_by_name(self):
        stock = warehouse()
        receive(stock, "H-1", 1, "12.50", "2026-03-01")
        self.assertEqual(
            valuation.value_by_category(stock),
            {"fasteners": Decimal("16.00"), "tools": Decimal("12.50")},
        )

    def test_the_total(self):
        self.assertEqual(valuation.total_value(warehouse()), Decimal("16.00"))

    def test_halves_go_away_from_zero(self):
        self.assertEqual(valuation.rounded(Decimal("0.125")), Decimal("0.13"))


class ReorderTest(unittest.TestCase):
    def test_what_is_above_its_point_is_not_suggested(self):
        self.assertEqual([one.sku for one in reorder.suggestions(warehouse())], ["H-1"])

    def test_at_the_point_it_is(self):
        stock = warehouse()
        issue(stock, "B-8", 50, "2026-03-01")
        found = {one.sku: one.quantity for one in reorder.suggestions(stock)}
        self.assertEqual(found["B-8"], 60)

    def test_the_emptiest_comes_first(self):
        stock = warehouse()
        issue(stock, "B-8", 60, "2026-03-01")
        self.assertEqual([one.sku for one in reorder.suggestions(stock)], ["H-1", "B-8"])

    def test_orders_are_whole_packs(self):
        item = Item("P", "paper", reorder_at=5, pack=4)
        self.assertEqual(reorder.wanted(item, 1), 12)

    def test_without_a_point_nothing_is_suggested(self):
        stock = warehouse()
        stock.add_item(Item("N", "nail"))
        self.assertNotIn("N", [one.sku for one in reorder.suggestions(stock)])

    def test_usage_counts_issues_only(self):
        stock = warehouse()
        issue(stock, "B-8", 7, "2026-03-01")
        issue(stock, "B-8", 8, "2026-04-01")
        self.assertEqual(reorder.usage(stock, "B-8", "2026-01-01", "2026-03-31"), 7)


if __name__ == "__main__":
    unittest.main()
