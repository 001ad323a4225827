"""The command line.

Exit codes: 0 when it was done, 1 when the stock does not allow it, 2 for a wrong command line.
"""

import argparse
import datetime
import sys
from pathlib import Path

from stockroom import csvio, movements, reorder, report, store, valuation
from stockroom.errors import StockError
from stockroom.model import Item

DEFAULT_FILE = "stock.json"


def main(argv=None):
    """Run one command; return its exit code."""
    options = parser().parse_args(argv)
    try:
        stock = store.load(options.file)
        if options.run(options, stock):
            store.save(stock, options.file)
    except StockError as error:
        print("stockroom: " + str(error), file=sys.stderr)
        return 1
    return 0


def parser():
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="stockroom", description="Keeps the stock of a warehouse.")
    top.add_argument("--file", default=DEFAULT_FILE, help="the stock file (default: %(default)s)")
    commands = top.add_subparsers(dest="command", required=True)

    add = commands.add_parser("add", help="put an item into the catalogue")
    add.add_argument("sku")
    add.add_argument("name")
    add.add_argument("--category", default="general")
    add.add_argument("--reorder-at", type=int, default=0)
    add.add_argument("--pack", type=int, default=1)
    add.set_defaults(run=_add)

    receive = commands.add_parser("receive", help="book a delivery")
    receive.add_argument("sku")
    receive.add_argument("quantity", type=int)
    receive.add_argument("unit_cost")
    _dated(receive).set_defaults(run=_receive)

    issue = commands.add_parser("issue", help="take goods out")
    issue.add_argument("sku")
    issue.add_argument("quantity", type=int)
    _dated(issue).set_defaults(run=_issue)

    count = commands.add_parser("count", help="make the quantity what was counted")
    count.add_argument("sku")
    count.add_argument("counted", type=int)
    _dated(count).set_defaults(run=_count)

    listing = commands.add_parser("list", help="show what is on hand")
    listing.add_argument("--category")
    listing.set_defaults(run=_list)

    value = commands.add_parser("value", help="show what the stock is worth")
    value.add_argument("--by-category", action="store_true")
    value.set_defaults(run=_value)

    order = commands.add_parser("reorder", help="show what should be ordered")
    order.set_defaults(run=_reorder)

    log = commands.add_parser("history", help="show the movements")
    log.add_argument("sku", nargs="?")
    log.add_argument("--since")
    log.add_argument("--until")
    log.set_defaults(run=_history)

    export = commands.add_parser("export", help="write the catalogue as CSV to standard output")
    export.set_defaults(run=_export)

    imports = commands.add_parser("import", help="add the items of a CSV file")
    imports.add_argument("table")
    imports.set_defaults(run=_import)
    return top


def _dated(command):
    command.add_argument("--day", default=datetime.date.today().isoformat())
    command.add_argument("--note", default="")
    return command


def _add(options, stock):
    stock.add_item(
        Item(options.sku, options.name, options.category, options.reorder_at, options.pack)
    )
    print("added " + options.sku)
    return True


def _receive(options, stock):
    movements.receive(
        stock, options.sku, options.quantity, options.unit_cost, options.day, options.note
    )
    print(str(stock.on_hand(options.sku)) + " of " + options.sku + " on hand")
    return True


def _issue(options, stock):
    cost = movements.issue(stock, options.sku, options.quantity, options.day, options.note)
    print(str(stock.on_hand(options.sku)) + " of " + options.sku + " on hand, cost " + str(cost))
    return True


def _count(options, stock):
    difference = movements.adjust(stock, options.sku, options.counted, options.day, options.note)
    print(format(difference, "+d") + " of " + options.sku)
    return difference != 0


def _list(options, stock):
    print(report.stock_table(stock, options.category))
    return False


def _value(options, stock):
    if options.by_category:
        rows = list(valuation.value_by_category(stock).items())
        print(report.table(["CATEGORY", "VALUE"], rows))
    else:
        print(report.value_table(stock))
    print("total " + str(valuation.total_value(stock)))
    return False


def _reorder(options, stock):
    found = reorder.suggestions(stock)
    print(report.reorder_table(found) if found else "nothing to order")
    return False


def _history(options, stock):
    found = movements.history(stock, options.sku, options.since, options.until)
    print(report.history_table(found))
    return False


def _export(options, stock):
    sys.stdout.write(csvio.export_items(stock))
    return False


def _import(options, stock):
    text = Path(options.table).read_text(encoding="utf-8")
    print("imported " + str(csvio.import_items(stock, text, options.table)))
    return True
