"""Everything that changes quantities: goods come in, goods go out, counts are put right."""

from decimal import Decimal

from stockroom.errors import StockError
from stockroom.model import Lot, Movement


def receive(stock, sku, quantity, unit_cost, day, note=""):
    """Add a delivery as a lot of its own.

    Returns the movement that was recorded.
    """
    stock.item(sku)
    _positive(quantity)
    cost = Decimal(unit_cost)
    if cost < 0:
        raise StockError("a piece never costs less than nothing")
    lots = stock.lots_of(sku)
    lots.append(Lot(day, quantity, cost))
    lots.sort(key=lambda lot: lot.received)
    return _record(stock, Movement(day, "receive", sku, quantity, note))


def issue(stock, sku, quantity, day, note=""):
    """Take goods out, from the oldest lot first.

    Returns what the goods had cost. Nothing is taken if there is not enough.
    """
    _positive(quantity)
    there = stock.on_hand(sku)
    if quantity > there:
        raise StockError(
            "only " + str(there) + " of " + sku + " on hand, " + str(quantity) + " wanted"
        )
    cost = _take(stock, sku, quantity)
    _record(stock, Movement(day, "issue", sku, quantity, note))
    return cost


def adjust(stock, sku, counted, day, note=""):
    """Make the quantity on hand what was counted.

    A surplus becomes a lot at the latest known cost, a shortage is taken from the oldest lots.
    Returns the difference; nothing is recorded where there is none.
    """
    if counted < 0:
        raise StockError("a count is never negative")
    difference = counted - stock.on_hand(sku)
    if difference == 0:
        return 0
    if difference > 0:
        stock.lots_of(sku).append(Lot(day, difference, latest_cost(stock, sku)))
    else:
        _take(stock, sku, -difference)
    _record(stock, Movement(day, "adjust", sku, difference, note))
    return difference


def latest_cost(stock, sku):
    """Return what a piece of the newest lot cost, 0 where there is none."""
    lots = stock.lots_of(sku)
    return lots[-1].unit_cost if lots else Decimal(0)


def history(stock, sku=None, since=None, until=None):
    """Return the movements in order, of one item or of all, between two days (both included)."""
    if sku is not None:
        stock.item(sku)
    return [
        movement
        for movement in stock.movements
        if (sku is None or movement.sku == sku)
        and (since is None or movement.day >= since)
        and (until is None or movement.day <= until)
    ]


def _take(stock, sku, quantity):
    """Take a quantity that is there from the oldest lots; return what it had cost."""
    cost = Decimal(0)
    left = quantity
    lots = stock.lots_of(sku)
    for lot in lots:
        taken = min(lot.quantity, left)
        lot.quantity -= taken
        cost += taken * lot.unit_cost
        left -= taken
    stock.lots[sku] = [lot for lot in lots if lot.quantity]
    return cost


def _positive(quantity):
    if quantity < 1:
        raise StockError("a quantity is at least 1, not " + str(quantity))


def _record(stock, movement):
    stock.movements.append(movement)
    return movement
