"""Reads and writes the file that holds the stock.

The file is JSON, format 1. It is replaced as a whole, so a crash leaves the old one.
"""

import json
import os
import tempfile
from decimal import Decimal, InvalidOperation
from pathlib import Path

from stockroom.errors import BadFile
from stockroom.model import Item, Lot, Movement, Stock

FORMAT = 1


def load(path):
    """Return the stock in a file; an empty one where there is no file."""
    path = Path(path)
    if not path.exists():
        return Stock()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadFile(path, "is no JSON (" + str(error) + ")") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise BadFile(path, "is no stock file of format " + str(FORMAT))
    try:
        return from_data(data)
    except (KeyError, TypeError, InvalidOperation) as error:
        raise BadFile(path, "lacks or garbles " + str(error)) from error


def save(stock, path):
    """Write the stock to a file."""
    path = Path(path)
    text = json.dumps(to_data(stock), indent=2, sort_keys=True) + "\n"
    handle, name = tempfile.mkstemp(dir=str(path.parent), prefix=path.name, suffix=".new")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def to_data(stock):
    """Return the stock as JSON values."""
    return {
        "format": FORMAT,
        "items": [_item_data(stock, sku) for sku in sorted(stock.items)],
        "movements": [vars(movement).copy() for movement in stock.movements],
    }


def from_data(data):
    """Return the stock that JSON values describe."""
    stock = Stock()
    for each in data["items"]:
        item = Item(
            sku=each["sku"],
            name=each["name"],
            category=each.get("category", "general"),
            reorder_at=each.get("reorder_at", 0),
            pack=each.get("pack", 1),
        )
        stock.add_item(item)
        stock.lots[item.sku] = [
            Lot(lot["received"], lot["quantity"], Decimal(lot["unit_cost"]))
            for lot in each.get("lots", [])
        ]
    for each in data.get("movements", []):
        stock.movements.append(
            Movement(each["day"], each["kind"], each["sku"], each["quantity"], each.get("note", ""))
        )
    return stock


def _item_data(stock, sku):
    item = stock.items[sku]
    return {
        "sku": item.sku,
        "name": item.name,
        "category": item.category,
        "reorder_at": item.reorder_at,
        "pack": item.pack,
        "lots": [
            {
                "received": lot.received,
                "quantity": lot.quantity,
                "unit_cost": str(lot.unit_cost),
            }
            for lot in stock.lots_of(sku)
        ],
    }
