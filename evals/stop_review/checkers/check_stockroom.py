"""Checks the reservations of stockroom."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any

from checklib import Checker

check = Checker("stockroom")


def warehouse() -> Any:  # noqa: ANN401 - a value of the tree
    model, movements = check.module("model"), check.module("movements")
    stock = model.Stock()
    stock.add_item(model.Item("B-8", "bolt 8 mm", "fasteners"))
    stock.add_item(model.Item("A-1", "anvil", "tools"))
    movements.receive(stock, "B-8", 100, "0.10", "2026-01-05")
    movements.receive(stock, "A-1", 5, "80", "2026-01-06")
    return stock


def reserved(stock: Any) -> list[tuple[str, str, int]]:  # noqa: ANN401 - as above
    return [tuple(each) for each in check.module("reservations").reserved(stock)]


def filled() -> None:
    check.run("add", "B-8", "bolt 8 mm", "--category", "fasteners")
    check.run("receive", "B-8", "40", "0.10", "--day", "2026-01-05")


@check.group("r01")
def available_is_what_is_not_reserved() -> None:
    stock, module = warehouse(), check.module("reservations")
    module.reserve(stock, "B-8", 30, "SO-7")
    assert module.available(stock, "B-8") == 70, "available is not on hand minus reserved"
    assert stock.on_hand("B-8") == 100, "a reservation changed what is on hand"
    assert module.available(stock, "A-1") == 5


@check.group("r02")
def no_more_than_available() -> None:
    stock, module = warehouse(), check.module("reservations")
    said = check.refusal("StockError", module.reserve, stock, "A-1", 6, "SO-7")
    assert "only 5 of A-1 available" in said, said
    assert reserved(stock) == [], "a refused reservation was recorded"


@check.group("r03")
def reservations_are_listed_in_order() -> None:
    stock, module = warehouse(), check.module("reservations")
    for sku, order in (("B-8", "SO-9"), ("B-8", "SO-1"), ("A-1", "SO-5")):
        module.reserve(stock, sku, 1, order)
    assert reserved(stock) == [("A-1", "SO-5", 1), ("B-8", "SO-1", 1), ("B-8", "SO-9", 1)]


@check.group("r04")
def a_second_reservation_of_an_order_adds_to_the_first() -> None:
    stock, module = warehouse(), check.module("reservations")
    module.reserve(stock, "B-8", 3, "SO-7")
    module.reserve(stock, "B-8", 4, "SO-7")
    assert reserved(stock) == [("B-8", "SO-7", 7)], reserved(stock)


@check.group("r05")
def the_file_keeps_reservations() -> None:
    stock, store = warehouse(), check.module("store")
    check.module("reservations").reserve(stock, "B-8", 3, "SO-7")
    store.save(stock, "stock.json")
    assert reserved(store.load("stock.json")) == [("B-8", "SO-7", 3)]
    old = {"format": 1, "items": [{"sku": "A", "name": "a"}], "movements": []}
    check.write("old.json", json.dumps(old))
    assert reserved(store.load("old.json")) == []


@check.group("r06")
def the_command_reserve() -> None:
    filled()
    code, out, _ = check.run("reserve", "B-8", "3", "--order", "SO-7")
    assert (code, out.strip()) == (0, "reserved 3 of B-8 for SO-7"), (code, out)


@check.group("r07")
def the_list_shows_what_is_available() -> None:
    filled()
    plain = check.run("list")[1].splitlines()
    code, out, _ = check.run("list", "--available")
    lines = out.splitlines()
    assert code == 0
    assert re.split(r"\s{2,}", lines[0].strip())[-1] == "AVAILABLE", lines[0]
    assert lines[2].split()[-2:] == ["40", "40"], lines[2]
    assert "AVAILABLE" not in plain[0]


@check.group("r08")
def issuing_for_an_order_uses_its_reservation_up() -> None:
    stock, module, issue = (
        warehouse(),
        check.module("reservations"),
        check.module("movements").issue,
    )
    module.reserve(stock, "B-8", 10, "SO-7")
    module.reserve(stock, "B-8", 5, "SO-8")
    issue(stock, "B-8", 4, "2026-03-01", order="SO-7")
    assert sorted(reserved(stock)) == [("B-8", "SO-7", 6), ("B-8", "SO-8", 5)], reserved(stock)
    issue(stock, "B-8", 6, "2026-03-01", order="SO-7")
    assert reserved(stock) == [("B-8", "SO-8", 5)], reserved(stock)


@check.group("r09")
def issue_keeps_its_parameters() -> None:
    parameters = list(inspect.signature(check.module("movements").issue).parameters)
    assert parameters[:5] == ["stock", "sku", "quantity", "day", "note"], parameters
    check.unmodified({"tests/test_movements.py": "544b4fa9fef24eb41bb0c1378115ef65"})


@check.group("r11")
def the_documents_say_so() -> None:
    assert "reserve SKU QUANTITY --order ORDER" in check.section("README.md", "## Reservations")
    assert "reserve" in check.section("CHANGELOG.md", "## Unreleased").casefold()


check.new_tests(
    "r10",
    "tests/test_reservations.py",
    {
        "test_available_is_what_is_not_reserved": "r01",
        "test_no_more_than_available_is_reserved": "r02",
    },
)
check.main()
