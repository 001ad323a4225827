"""What the goods on hand are worth."""

from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


def fifo_value(stock, sku):
    """Return the worth of an item: what the lots that are left had cost."""
    return sum((lot.quantity * lot.unit_cost for lot in stock.lots_of(sku)), Decimal(0))


def average_cost(stock, sku):
    """Return what a piece on hand cost on average, rounded to a cent; None if none is there."""
    quantity = stock.on_hand(sku)
    if not quantity:
        return None
    return rounded(fifo_value(stock, sku) / quantity)


def value_by_category(stock):
    """Return the worth of each category, categories by name."""
    found = defaultdict(Decimal)
    for sku, item in stock.items.items():
        found[item.category] += fifo_value(stock, sku)
    return {category: rounded(found[category]) for category in sorted(found)}


def total_value(stock):
    """Return the worth of the whole stock."""
    return rounded(sum((fifo_value(stock, sku) for sku in stock.items), Decimal(0)))


def rounded(amount):
    """Return an amount in whole cents, halves away from zero."""
    return amount.quantize(CENT, rounding=ROUND_HALF_UP)
