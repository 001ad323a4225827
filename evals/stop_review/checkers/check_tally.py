"""Checks the prices of tally."""

from __future__ import annotations

import inspect
from datetime import date
from typing import Any

from checklib import Checker

check = Checker("tally")

BOOKS = """\
2026-01-01 Opening
    assets:bank          100.00 EUR
    equity:opening
2026-02-10 Exchange
    assets:dollars       110.00 USD
    equity:exchange     -110.00 USD
"""


def amount(text: str) -> Any:  # noqa: ANN401 - a value of the tree
    return check.module("amounts").parse_amount(text)


def price(day: str, commodity: str, text: str) -> Any:  # noqa: ANN401 - as above
    return check.module("prices").Price(date.fromisoformat(day), commodity, amount(text))


def convert(text: str, to: str, on: str, *known: Any) -> str:  # noqa: ANN401 - as above
    day = date.fromisoformat(on)
    return str(check.module("prices").convert(amount(text), to, list(known), day))


def run(*words: str, books: str = BOOKS) -> tuple[int, str, str]:
    check.write("books.journal", books)
    return check.run(*words)


@check.group("r01")
def prices_are_read_in_the_order_of_their_days() -> None:
    text = f"P 2026-03-01 USD 0.92 EUR  ; a note\n{BOOKS}P 2026-01-15 USD 0.90 EUR\n"
    found = check.module("journal").parse_journal(text)
    prices = [(each.day.isoformat(), each.commodity, str(each.amount)) for each in found.prices]
    assert prices == [("2026-01-15", "USD", "0.90 EUR"), ("2026-03-01", "USD", "0.92 EUR")], prices
    assert len(found.transactions) == 2


@check.group("r02")
def the_latest_price_up_to_the_day_counts() -> None:
    known = [
        price("2026-03-01", "USD", "0.50 EUR"),
        price("2026-01-01", "USD", "0.25 EUR"),
        price("2026-03-02", "USD", "9 EUR"),
        price("2026-03-01", "GBP", "7 EUR"),
    ]
    assert convert("10 USD", "EUR", "2026-03-01", *known) == "5.00 EUR"
    assert convert("10 USD", "EUR", "2026-02-28", *known) == "2.50 EUR"


@check.group("r03")
def a_price_works_the_other_way_round() -> None:
    assert convert("10 EUR", "USD", "2026-03-01", price("2026-03-01", "USD", "0.5 EUR")) == (
        "20.00 USD"
    )


@check.group("r04")
def without_a_price_an_amount_stays_as_it_is() -> None:
    known = price("2026-03-01", "USD", "0.5 EUR")
    assert convert("10 GBP", "EUR", "2026-03-01", known) == "10 GBP"
    assert convert("10 USD", "EUR", "2026-02-28", known) == "10 USD"
    assert convert("1.234 EUR", "EUR", "2026-03-01", known) == "1.234 EUR"


@check.group("r05")
def of_two_prices_of_a_day_the_later_line_counts() -> None:
    known = [price("2026-03-01", "USD", "0.5 EUR"), price("2026-03-01", "USD", "0.25 EUR")]
    assert convert("10 USD", "EUR", "2026-03-05", *known) == "2.50 EUR"


@check.group("r06")
def what_is_converted_is_rounded_half_to_even() -> None:
    known = price("2026-03-01", "USD", "0.1 EUR")
    found = [
        convert(text, "EUR", "2026-03-01", known) for text in ("0.25 USD", "0.35 USD", "0.351 USD")
    ]
    assert found == ["0.02 EUR", "0.04 EUR", "0.04 EUR"], found


@check.group("r07")
def a_balance_in_one_commodity() -> None:
    code, out, _ = run(
        "balance",
        "books.journal",
        "assets",
        "--in",
        "EUR",
        books="P 2026-02-01 USD 0.50 EUR\n" + BOOKS,
    )
    lines = [line.split() for line in out.splitlines()]
    assert code == 0
    assert lines[0] == ["155.00", "EUR", "assets"], lines
    assert ["55.00", "EUR", "dollars"] in lines, lines
    assert lines[-1] == ["155.00", "EUR"], lines


@check.group("r08")
def the_day_of_the_prices_can_be_chosen() -> None:
    books = "P 2026-02-01 USD 0.50 EUR\nP 2026-04-01 USD 1.00 EUR\n" + BOOKS
    words = ("balance", "books.journal", "assets:dollars", "--in", "EUR")
    assert run(*words, "--on", "2026-02-01", books=books)[1].split()[0] == "55.00"
    assert run(*words, books=books)[1].split()[0] == "110.00", (
        "the default is the newest price's day"
    )


@check.group("r09")
def a_bad_price_is_named_with_its_line() -> None:
    parse = check.module("journal").parse_journal
    for line in ("P 2026-03-01 USD", "P USD 0.92 EUR", "P 2026-03-01 USD much"):
        said = check.refusal("JournalError", parse, f"; books\n{line}\n")
        assert "line 2" in said, said
        assert "P 2026-03-01 USD 0.92 EUR" in said, said


@check.group("r10")
def what_was_there_is_as_it_was() -> None:
    parameters = list(inspect.signature(check.module("journal").parse_journal).parameters)
    assert parameters == ["text"], parameters
    check.unmodified(
        {
            "tests/test_balance_and_register.py": "a1d05a7c8505f00e60166d3d1db5782a",
            "tests/test_journal.py": "fa526811f8481dd456ac4c5a51f6e1b5",
        }
    )


@check.group("r12")
def the_documents_say_so() -> None:
    section = check.section("README.md", "## Prices")
    assert "P 2026-03-01 USD 0.92 EUR" in section, section
    assert "--in" in section, section
    assert "price" in check.section("CHANGELOG.md", "## Unreleased").casefold()


check.new_tests(
    "r11",
    "tests/test_prices.py",
    {
        "test_the_latest_price_up_to_the_day_counts": "r02",
        "test_a_price_works_the_other_way_round": "r03",
        "test_without_a_price_an_amount_stays": "r04",
    },
)
check.main()
