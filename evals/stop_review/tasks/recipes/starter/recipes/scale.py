"""Makes recipes larger and smaller."""

from dataclasses import replace

from recipes.recipe import Recipe, RecipeError


def scale(recipe, serves):
    """Return the recipe for another number of people; what has no quantity stays as it is."""
    if serves < 1:
        raise RecipeError("a recipe serves at least 1, not " + str(serves))
    ingredients = [
        each
        if each.quantity is None
        else replace(each, quantity=each.quantity * serves / recipe.serves)
        for each in recipe.ingredients
    ]
    return Recipe(recipe.title, serves, ingredients, list(recipe.steps))
