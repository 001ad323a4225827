"""The catalogue as CSV, to and from other programs."""

import csv
import io

from stockroom.errors import BadFile, StockError
from stockroom.model import Item

COLUMNS = ["sku", "name", "category", "reorder_at", "pack"]


def export_items(stock):
    """Return the catalogue as CSV text, items by SKU."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS + ["on_hand"])
    for sku in sorted(stock.items):
        item = stock.items[sku]
        writer.writerow(
            [item.sku, item.name, item.category, item.reorder_at, item.pack, stock.on_hand(sku)]
        )
    return out.getvalue()


def import_items(stock, text, source="the table"):
    """Add the items of a CSV table to the catalogue; return how many.

    Every row is checked before the first is added, so a bad table changes nothing.
    """
    reader = csv.DictReader(io.StringIO(text))
    missing = {"sku", "name"} - set(reader.fieldnames or [])
    if missing:
        raise BadFile(source, "has no column " + " and no column ".join(sorted(missing)))
    items = []
    for number, row in enumerate(reader, start=2):
        try:
            items.append(_item(row))
        except (StockError, ValueError) as error:
            raise BadFile(source, "line " + str(number) + ": " + str(error)) from error
    seen = set(stock.items)
    for item in items:
        if item.sku in seen:
            raise BadFile(source, "the SKU " + repr(item.sku) + " is there already")
        seen.add(item.sku)
    for item in items:
        stock.add_item(item)
    return len(items)


def _item(row):
    return Item(
        sku=row["sku"].strip(),
        name=row["name"].strip(),
        category=(row.get("category") or "general").strip(),
        reorder_at=int(row.get("reorder_at") or 0),
        pack=int(row.get("pack") or 1),
    )
