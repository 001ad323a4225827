"""A small warehouse for the tests."""

from stockroom.model import Item, Stock
from stockroom.movements import receive


def warehouse():
    """Return a stock with two items: bolts in two lots, and hammers of which there is none."""
    stock = Stock()
    stock.add_item(Item("B-8", "bolt 8 mm", "fasteners", reorder_at=50, pack=20))
    stock.add_item(Item("H-1", "hammer", "tools", reorder_at=2))
    receive(stock, "B-8", 40, "0.10", "2026-01-05")
    receive(stock, "B-8", 60, "0.20", "2026-02-01")
    return stock
