"""Recipes as text."""

from fractions import Fraction


def quantity_text(quantity):
    """Return a quantity for people: whole numbers, simple fractions, else one decimal."""
    if quantity.denominator == 1:
        return str(quantity.numerator)
    if quantity.denominator in (2, 3, 4):
        whole, rest = divmod(quantity, 1)
        return (str(whole) + " " if whole else "") + str(Fraction(rest))
    return format(float(quantity), ".1f")


def ingredient_text(ingredient):
    """Return one ingredient as a line."""
    parts = [ingredient.unit, ingredient.name]
    if ingredient.quantity is not None:
        parts.insert(0, quantity_text(ingredient.quantity))
    return " ".join(part for part in parts if part)


def recipe_text(recipe):
    """Return a recipe as text, ending with a line break."""
    lines = [recipe.title, "serves " + str(recipe.serves), ""]
    lines += ["- " + ingredient_text(each) for each in recipe.ingredients]
    if recipe.steps:
        lines += ["", *recipe.steps]
    return "\n".join(lines) + "\n"
