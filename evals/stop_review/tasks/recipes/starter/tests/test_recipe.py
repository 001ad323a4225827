import unittest
from fractions import Fraction

from recipes.recipe import Ingredient, RecipeError, ingredient, parse

TEXT = """Pancakes
serves 4

- 250 g flour
- 3 eggs
- 1/2 l milk
- a pinch of salt

Mix everything.
Bake thin cakes.
"""


class ParseTest(unittest.TestCase):
    def test_a_recipe(self):
        found = parse(TEXT)
        self.assertEqual((found.title, found.serves), ("Pancakes", 4))
        self.assertEqual(len(found.ingredients), 4)
        self.assertEqual(found.steps, ["Mix everything.", "Bake thin cakes."])

    def test_ingredients(self):
        self.assertEqual(ingredient("- 250 g flour"), Ingredient("flour", Fraction(250), "g"))
        self.assertEqual(ingredient("- 3 eggs"), Ingredient("eggs", Fraction(3)))
        self.assertEqual(ingredient("- 1/2 l milk"), Ingredient("milk", Fraction(1, 2), "l"))
        self.assertEqual(ingredient("- a pinch of salt"), Ingredient("a pinch of salt"))

    def test_what_is_no_recipe(self):
        for text in ("", "Cake", "Cake\nfor two\n- 1 egg", "Cake\nserves 0\n- 1 egg", "Cake\nserves 2"):
            with self.subTest(text=text), self.assertRaises(RecipeError):
                parse(text)


if __name__ == "__main__":
    unittest.main()
