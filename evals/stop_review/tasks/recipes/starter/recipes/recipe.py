"""Recipes: a title, how many it serves, ingredients, and steps.

    Pancakes
    serves 4

    - 250 g flour
    - 3 eggs
    - a pinch of salt

    Mix everything.
    Bake thin cakes.
"""

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Optional

UNITS = ("g", "kg", "ml", "l", "tbsp", "tsp")

_SERVES = re.compile(r"^serves (\d+)$")
_INGREDIENT = re.compile(r"^-\s+(?:(?P<quantity>\d+(?:[./]\d+)?)\s+)?(?P<rest>.+)$")


class RecipeError(Exception):
    """A text that is no recipe, or a wish that makes no sense."""


@dataclass(frozen=True)
class Ingredient:
    """So much of something; ``quantity`` is None for a pinch, ``unit`` None for pieces."""

    name: str
    quantity: Optional[Fraction] = None
    unit: Optional[str] = None


@dataclass
class Recipe:
    """One recipe."""

    title: str
    serves: int
    ingredients: list = field(default_factory=list)
    steps: list = field(default_factory=list)


def parse(text):
    """Return the recipe of a text."""
    lines = [line.strip() for line in text.strip().splitlines()]
    if len(lines) < 2:
        raise RecipeError("a recipe begins with its title and how many it serves")
    serves = _SERVES.match(lines[1])
    if not serves or not int(serves[1]):
        raise RecipeError("the second line says how many it serves, not " + repr(lines[1]))
    recipe = Recipe(lines[0], int(serves[1]))
    for line in lines[2:]:
        if line.startswith("-"):
            recipe.ingredients.append(ingredient(line))
        elif line:
            recipe.steps.append(line)
    if not recipe.ingredients:
        raise RecipeError(recipe.title + " has no ingredients")
    return recipe


def ingredient(line):
    """Return the ingredient of a line."""
    found = _INGREDIENT.match(line)
    if not found:
        raise RecipeError("an ingredient is like: - 250 g flour, not " + repr(line))
    if found["quantity"] is None:
        return Ingredient(found["rest"])
    first, _, rest = found["rest"].partition(" ")
    if first in UNITS and rest:
        return Ingredient(rest, Fraction(found["quantity"]), first)
    return Ingredient(found["rest"], Fraction(found["quantity"]))
