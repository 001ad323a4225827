"""The values that the rest works on: items, lots, movements, and the stock that holds them."""

from dataclasses import dataclass, field
from decimal import Decimal

from stockroom.errors import StockError, UnknownItem


@dataclass(frozen=True)
class Item:
    """One article of the catalogue.

    ``reorder_at`` is the quantity on hand at or below which more should be ordered, ``pack`` the
    size of the supplier's packs: orders are whole packs.
    """

    sku: str
    name: str
    category: str = "general"
    reorder_at: int = 0
    pack: int = 1

    def __post_init__(self):
        if not self.sku or any(letter.isspace() for letter in self.sku):
            raise StockError("a SKU is one word, not " + repr(self.sku))
        if self.pack < 1:
            raise StockError("a pack of " + str(self.pack) + " is no pack")
        if self.reorder_at < 0:
            raise StockError("a reorder point is never negative")


@dataclass
class Lot:
    """What is left of one delivery, with what a piece of it cost."""

    received: str
    quantity: int
    unit_cost: Decimal


@dataclass(frozen=True)
class Movement:
    """One change of a quantity, as it is kept for good.

    ``kind`` is receive, issue or adjust; ``quantity`` is signed for adjustments only.
    """

    day: str
    kind: str
    sku: str
    quantity: int
    note: str = ""


@dataclass
class Stock:
    """The whole warehouse: catalogue, lots by SKU (oldest first), and the movements in order."""

    items: dict = field(default_factory=dict)
    lots: dict = field(default_factory=dict)
    movements: list = field(default_factory=list)

    def item(self, sku):
        """Return the item, or raise ``UnknownItem``."""
        try:
            return self.items[sku]
        except KeyError:
            raise UnknownItem(sku, self.items) from None

    def add_item(self, item):
        """Put a new item into the catalogue."""
        if item.sku in self.items:
            raise StockError("the SKU " + repr(item.sku) + " is taken by " + self.items[item.sku].name)
        self.items[item.sku] = item
        self.lots[item.sku] = []

    def lots_of(self, sku):
        """Return the lots of an item, oldest first."""
        self.item(sku)
        return self.lots.setdefault(sku, [])

    def on_hand(self, sku):
        """Return how many pieces of an item are there."""
        return sum(lot.quantity for lot in self.lots_of(sku))
