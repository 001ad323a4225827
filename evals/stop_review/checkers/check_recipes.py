"""Checks the shopping lists of recipes."""

from __future__ import annotations

import inspect
from typing import Any

from checklib import Checker

check = Checker("recipes")

CAKE = "Cake\nserves 2\n\n- 1 kg flour\n- 3 eggs\n- a pinch of salt\n"
BREAD = "Bread\nserves 2\n\n- 500 g flour\n- 1 eggs\n- 10 g yeast\n"


def listed(*texts: str) -> list[Any]:
    recipe, shopping = check.module("recipe"), check.module("shopping")
    return list(shopping.shopping_list([recipe.parse(text) for text in texts]))


def run(*words: str) -> tuple[int, str, str]:
    for name, text in (("cake.txt", CAKE), ("bread.txt", BREAD)):
        check.write(name, text)
    return check.run(*words)


@check.group("r01")
def what_is_needed_twice_is_added() -> None:
    found = {each.name: each.quantity for each in listed(CAKE, BREAD)}
    assert found["eggs"] == 4, found


@check.group("r02")
def grams_and_kilograms_are_added_as_grams() -> None:
    found = {each.name: (each.quantity, each.unit) for each in listed(CAKE, BREAD)}
    assert found["flour"] == (1500, "g"), found


@check.group("r03")
def what_has_no_quantity_stands_there_once() -> None:
    names = [each.name for each in listed(CAKE, CAKE)]
    assert names.count("a pinch of salt") == 1, names


@check.group("r04")
def the_list_is_sorted_by_name() -> None:
    names = [each.name for each in listed(BREAD)]
    assert names == ["eggs", "flour", "yeast"], names


@check.group("r05")
def the_command_shop() -> None:
    code, out, _ = run("shop", "bread.txt")
    lines = sorted(out.splitlines())
    assert (code, lines) == (0, ["[ ] 1 eggs", "[ ] 10 g yeast", "[ ] 500 g flour"]), out


@check.group("r06")
def ingredient_is_as_it_was() -> None:
    parameters = list(inspect.signature(check.module("recipe").ingredient).parameters)
    assert parameters == ["line"], parameters
    check.unmodified({"tests/test_recipe.py": "62a5d926887394af7b4046f929af631a"})


@check.group("r08")
def the_documents_say_so() -> None:
    assert "recipes shop" in check.section("README.md", "## Shopping")
    assert "shop" in check.section("CHANGELOG.md", "## Unreleased").casefold()


check.new_tests("r07", "tests/test_shopping.py", {"test_what_is_needed_twice_is_added": "r01"})
check.main()
