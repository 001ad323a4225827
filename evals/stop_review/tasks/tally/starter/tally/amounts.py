"""Amounts: decimal quantities of a commodity, and sums of several commodities."""

import re
from dataclasses import dataclass
from decimal import Decimal

from tally.errors import TallyError

_AMOUNT = re.compile(r"^(?P<quantity>[-+]?\d[\d,]*(?:\.\d+)?)\s*(?P<commodity>[A-Z][A-Z0-9]*)$")


@dataclass(frozen=True)
class Amount:
    """So much of one commodity: ``12.50 EUR``."""

    quantity: Decimal
    commodity: str

    def __neg__(self):
        return Amount(-self.quantity, self.commodity)

    def __str__(self):
        return "{:,f} {}".format(self.quantity, self.commodity)


def parse_amount(text):
    """Return the amount that ``1,234.50 EUR`` writes."""
    found = _AMOUNT.match(text.strip())
    if not found:
        raise TallyError("an amount is like 12.50 EUR, not " + repr(text.strip()))
    return Amount(Decimal(found["quantity"].replace(",", "")), found["commodity"])


class Sum:
    """What several amounts add up to, commodity by commodity; zeros are left out."""

    def __init__(self, amounts=()):
        self._quantities = {}
        for amount in amounts:
            self.add(amount)

    def add(self, amount):
        """Add one amount."""
        total = self._quantities.get(amount.commodity, Decimal(0)) + amount.quantity
        if total:
            self._quantities[amount.commodity] = total
        else:
            self._quantities.pop(amount.commodity, None)

    def add_all(self, other):
        """Add another sum."""
        for amount in other.amounts():
            self.add(amount)

    def amounts(self):
        """Return the amounts, commodities by name."""
        return [Amount(self._quantities[name], name) for name in sorted(self._quantities)]

    def __bool__(self):
        return bool(self._quantities)

    def __eq__(self, other):
        return isinstance(other, Sum) and self._quantities == other._quantities

    __hash__ = None

    def __str__(self):
        return ", ".join(str(amount) for amount in self.amounts()) or "0"
