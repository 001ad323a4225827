import unittest
from decimal import Decimal

from stockroom import movements
from stockroom.errors import StockError, UnknownItem
from tests.helpers import warehouse


class ReceiveTest(unittest.TestCase):
    def test_a_delivery_is_a_lot_of_its_own(self):
        stock = warehouse()
        movements.receive(stock, "B-8", 5, "0.15", "2026-03-01", note="PO-9")
        self.assertEqual(len(stock.lots_of("B-8")), 3)
        self.assertEqual(stock.movements[-1].note, "PO-9")

    def test_lots_stay_in_the_order_of_their_days(self):
        stock = warehouse()
        movements.receive(stock, "B-8", 5, "0.15", "2026-01-20")
        self.assertEqual([lot.quantity for lot in stock.lots_of("B-8")], [40, 5, 60])

    def test_a_quantity_is_at_least_one(self):
        with self.assertRaises(StockError):
            movements.receive(warehouse(), "B-8", 0, "1", "2026-03-01")

    def test_a_negative_cost_is_refused(self):
        with self.assertRaises(StockError):
            movements.receive(warehouse(), "B-8", 1, "-1", "2026-03-01")

    def test_an_unknown_item_is_refused(self):
        with self.assertRaises(UnknownItem):
            movements.receive(warehouse(), "X", 1, "1", "2026-03-01")


class IssueTest(unittest.TestCase):
    def test_the_oldest_lot_goes_first(self):
        stock = warehouse()
        cost = movements.issue(stock, "B-8", 50, "2026-03-02")
        self.assertEqual(cost, Decimal("6.00"))
        self.assertEqual([lot.quantity for lot in stock.lots_of("B-8")], [50])

    def test_too_much_takes_nothing(self):
        stock = warehouse()
        with self.assertRaisesRegex(StockError, "only 100 of B-8 on hand, 101 wanted"):
            movements.issue(stock, "B-8", 101, "2026-03-02")
        self.assertEqual(stock.on_hand("B-8"), 100)
        self.assertEqual(len(stock.movements), 2)

    def test_a_note_is_kept(self):
        stock = warehouse()
        movements.issue(stock, "B-8", 1, "2026-03-02", note="job 12")
        self.assertEqual(stock.movements[-1].note, "job 12")

    def test_day_and_note_may_stand_in_order(self):
        stock = warehouse()
        movements.issue(stock, "B-8", 1, "2026-03-02", "job 13")
        self.assertEqual(stock.movements[-1].day, "2026-03-02")
        self.assertEqual(stock.movements[-1].note, "job 13")


class AdjustTest(unittest.TestCase):
    def test_a_surplus_costs_what_the_newest_lot_cost(self):
        stock = warehouse()
        self.assertEqual(movements.adjust(stock, "B-8", 103, "2026-03-03"), 3)
        self.assertEqual(stock.lots_of("B-8")[-1].unit_cost, Decimal("0.20"))

    def test_a_shortage_is_taken_from_the_oldest(self):
        stock = warehouse()
        self.assertEqual(movements.adjust(stock, "B-8", 95, "2026-03-03"), -5)
        self.assertEqual(stock.lots_of("B-8")[0].quantity, 35)

    def test_no_difference_is_no_movement(self):
        stock = warehouse()
        self.assertEqual(movements.adjust(stock, "B-8", 100, "2026-03-03"), 0)
        self.assertEqual(len(stock.movements), 2)

    def test_a_negative_count_is_refused(self):
        with self.assertRaises(StockError):
            movements.adjust(warehouse(), "B-8", -1, "2026-03-03")


class HistoryTest(unittest.TestCase):
    def setUp(self):
        self.stock = warehouse()
        movements.receive(self.stock, "H-1", 2, "9", "2026-02-10")
        movements.issue(self.stock, "B-8", 10, "2026-03-02")

    def test_everything_in_order(self):
        days = [movement.day for movement in movements.history(self.stock)]
        self.assertEqual(days, ["2026-01-05", "2026-02-01", "2026-02-10", "2026-03-02"])

    def test_of_one_item(self):
        self.assertEqual(len(movements.history(self.stock, "H-1")), 1)

    def test_both_ends_are_included(self):
        found = movements.history(self.stock, since="2026-02-01", until="2026-02-10")
        self.assertEqual(len(found), 2)

    def test_of_an_unknown_item(self):
        with self.assertRaises(UnknownItem):
            movements.history(self.stock, "X")


if __name__ == "__main__":
    unittest.main()
