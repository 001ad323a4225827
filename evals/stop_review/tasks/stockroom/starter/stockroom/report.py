"""Tables as text, for a terminal."""

from stockroom.valuation import average_cost, fifo_value, rounded


def table(headings, rows):
    """Return a table; columns whose cells are all numbers stand to the right."""
    cells = [[_text(cell) for cell in row] for row in rows]
    numeric = [all(_is_number(row[at]) for row in rows) for at in range(len(headings))]
    widths = [
        max([len(heading)] + [len(row[at]) for row in cells])
        for at, heading in enumerate(headings)
    ]
    lines = [_line(headings, widths, numeric), "  ".join("-" * width for width in widths)]
    lines += [_line(row, widths, numeric) for row in cells]
    return "\n".join(lines)


def stock_table(stock, category=None):
    """Return what is on hand, items by SKU, of one category or of all."""
    rows = [
        [sku, item.name, item.category, stock.on_hand(sku)]
        for sku, item in sorted(stock.items.items())
        if category in (None, item.category)
    ]
    return table(["SKU", "NAME", "CATEGORY", "ON HAND"], rows)


def value_table(stock):
    """Return what each item is worth, the dearest first."""
    rows = [
        [sku, stock.on_hand(sku), average_cost(stock, sku), rounded(fifo_value(stock, sku))]
        for sku in stock.items
    ]
    rows.sort(key=lambda row: (-row[3], row[0]))
    return table(["SKU", "ON HAND", "AVERAGE", "VALUE"], rows)


def history_table(movements):
    """Return movements in their order; what leaves the stock has a minus."""
    rows = [
        [one.day, one.kind, one.sku, -one.quantity if one.kind == "issue" else one.quantity, one.note]
        for one in movements
    ]
    return table(["DAY", "KIND", "SKU", "QUANTITY", "NOTE"], rows)


def reorder_table(found):
    """Return the suggestions for orders."""
    rows = [[one.sku, one.on_hand, one.reorder_at, one.quantity] for one in found]
    return table(["SKU", "ON HAND", "REORDER AT", "ORDER"], rows)


def _line(cells, widths, numeric):
    placed = [
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric)
    ]
    return "  ".join(placed).rstrip()


def _text(cell):
    return "-" if cell is None else str(cell)


def _is_number(cell):
    return cell is None or (not isinstance(cell, (str, bool)))
