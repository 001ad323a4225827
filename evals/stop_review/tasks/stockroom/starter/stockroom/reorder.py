"""What should be ordered, and how much of it."""

from dataclasses import dataclass

from stockroom.movements import history


@dataclass(frozen=True)
class Suggestion:
    """An order that would bring an item above its reorder point again."""

    sku: str
    on_hand: int
    reorder_at: int
    quantity: int


def suggestions(stock):
    """Return a suggestion for each item at or below its reorder point, the emptiest first.

    An item whose reorder point is 0 is never suggested: it is ordered by hand.
    """
    found = []
    for sku, item in stock.items.items():
        there = stock.on_hand(sku)
        if item.reorder_at and there <= item.reorder_at:
            found.append(Suggestion(sku, there, item.reorder_at, wanted(item, there)))
    return sorted(found, key=lambda one: (one.on_hand / one.reorder_at, one.sku))


def wanted(item, there):
    """Return how much to order: up to twice the reorder point, in whole packs."""
    missing = 2 * item.reorder_at - there
    packs = -(-missing // item.pack)
    return packs * item.pack


def usage(stock, sku, since, until):
    """Return how many pieces were issued between two days (both included)."""
    return sum(
        movement.quantity
        for movement in history(stock, sku, since, until)
        if movement.kind == "issue"
    )
