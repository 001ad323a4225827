"""Checks the tables of quillmark."""

from __future__ import annotations

import inspect
import re

from checklib import Checker

check = Checker("quillmark")

TABLE = "| Name | Size |\n| --- | --- |\n| bolt | 8 mm |\n| nut | 9 mm |\n"


def render(text: str) -> str:
    return str(check.module("document").render(text))


def cells(text: str, tag: str = "td") -> list[str]:
    """Return what stands in the cells of a rendered text."""
    found = re.findall(rf"<{tag}(?:\s[^>]*)?>(.*?)</{tag}>", render(text), re.DOTALL)
    return [each.strip() for each in found]


@check.group("r01")
def a_table_has_a_head_and_a_body() -> None:
    found = re.sub(r"\s+", " ", render(TABLE))
    assert re.search(r"<table[^>]*> ?<thead>.*</thead> ?<tbody>.*</tbody> ?</table>", found), found
    head, body = found.split("</thead>")
    assert head.count("<tr>") == 1, found
    assert body.count("<tr>") == 2, found
    assert cells(TABLE, "th") == ["Name", "Size"]
    assert cells(TABLE) == ["bolt", "8 mm", "nut", "9 mm"]


@check.group("r02")
def columns_are_aligned() -> None:
    found = render("| a | b | c | d |\n| :-- | :-: | --: | --- |\n| 1 | 2 | 3 | 4 |\n")
    for tag, texts in (("th", "abcd"), ("td", "1234")):
        for text, side in zip(texts, ("left", "center", "right", None), strict=True):
            style = "" if side is None else f' style="text-align: {side}"'
            assert f"<{tag}{style}>{text}</{tag}>" in found, f"{text}: {found}"


@check.group("r03")
def an_escaped_pipe_stays_in_its_cell() -> None:
    found = cells("| a | b |\n| --- | --- |\n| x \\| y | z |\n")
    assert found == ["x | y", "z"], found


@check.group("r04")
def rows_have_as_many_cells_as_the_head() -> None:
    found = cells("| a | b |\n| --- | --- |\n| 1 |\n| 2 | 3 | 4 |\n")
    assert found == ["1", "", "2", "3"], found


@check.group("r05")
def without_a_fitting_second_line_there_is_no_table() -> None:
    for text in ("| a | b |\n| --- |\n| 1 | 2 |\n", "| a | b |\n| 1 | 2 |\n"):
        found = render(text)
        assert "<table" not in found, found
        assert found.startswith("<p>"), found


@check.group("r06")
def cells_hold_inline_markup() -> None:
    found = cells("| a | b |\n| --- | --- |\n| **x** | `y` & [z](w) |\n")
    assert found == ["<strong>x</strong>", '<code>y</code> &amp; <a href="w">z</a>'], found


@check.group("r07")
def a_table_can_have_a_class() -> None:
    check.write("doc.md", TABLE)
    code, out, _ = check.run("html", "doc.md", "--table-class", "wide")
    assert (code, '<table class="wide">' in out) == (0, True), out
    assert "<table>" in check.run("html", "doc.md")[1]
    found = check.module("document").render(TABLE, table_class="a&b")
    assert '<table class="a&amp;b">' in found, found


@check.group("r08")
def links_in_cells_are_listed() -> None:
    check.write("doc.md", "text\n\n| a | b |\n| --- | --- |\n| [x](#y) | z |\n")
    assert check.run("links", "doc.md")[1] == "3: #y\n"
    assert check.run("links", "doc.md", "--broken")[1] == "3: #y\n"


@check.group("r09")
def what_was_there_is_as_it_was() -> None:
    parameters = list(inspect.signature(check.module("document").render).parameters)
    assert parameters[:2] == ["text", "names"], parameters
    check.unmodified(
        {
            "tests/test_blocks.py": "125180ea19663b7f14df95d96767cb81",
            "tests/test_writer.py": "59b8896159bdb8393b7ee98132e86e50",
        }
    )


@check.group("r11")
def the_documents_say_so() -> None:
    known = check.section("README.md", "## What it knows")
    assert re.search(r"^\| table \|", known, re.MULTILINE), known
    assert "--table-class" in check.text("README.md")
    assert "table" in check.section("CHANGELOG.md", "## Unreleased").casefold()


check.new_tests(
    "r10",
    "tests/test_tables.py",
    {
        "test_a_table_has_a_head_and_a_body": "r01",
        "test_an_escaped_pipe_stays_in_its_cell": "r03",
        "test_short_rows_are_filled": "r04",
    },
)
check.main()
