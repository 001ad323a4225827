"""Tables as text, CSV or JSON."""

import csv
import io
import json

FORMATS = ("text", "csv", "json")


def render(headings, rows, form="text"):
    """Return a table in one of the formats, ending with a line break."""
    rows = [list(row) for row in rows]
    if form == "text":
        return _text(headings, rows)
    if form == "csv":
        return _csv(headings, rows)
    if form == "json":
        return _json(headings, rows)
    raise ValueError("no format " + repr(form) + "; there are " + ", ".join(FORMATS))


def human_size(size):
    """Return bytes for people: ``512 B``, ``1.5 KiB``."""
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return str(int(amount)) + " B" if unit == "B" else format(amount, ".1f") + " " + unit


def human_duration(delta):
    """Return a time for people: ``42s``, ``3m 05s``, ``1h 02m``."""
    seconds = int(delta.total_seconds())
    if seconds < 60:
        return str(seconds) + "s"
    if seconds < 3600:
        return format(seconds // 60) + "m " + format(seconds % 60, "02d") + "s"
    return format(seconds // 3600) + "h " + format(seconds % 3600 // 60, "02d") + "m"


def _text(headings, rows):
    cells = [[_cell(value) for value in row] for row in rows]
    heads = [heading.upper() for heading in headings]
    widths = [max(len(row[at]) for row in [heads] + cells) for at in range(len(heads))]
    right = [bool(rows) and all(_numeric(row[at]) for row in rows) for at in range(len(heads))]
    lines = []
    for row in [heads] + cells:
        placed = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right)
        ]
        lines.append("  ".join(placed).rstrip())
    return "\n".join(lines) + "\n"


def _csv(headings, rows):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(["" if value is None else value for value in row] for row in rows)
    return out.getvalue()


def _json(headings, rows):
    return json.dumps([dict(zip(headings, row)) for row in rows], indent=2) + "\n"


def _cell(value):
    return "-" if value is None else str(value)


def _numeric(value):
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
