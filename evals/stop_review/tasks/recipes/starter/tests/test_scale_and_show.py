import contextlib
import io
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path

from recipes.cli import main
from recipes.recipe import RecipeError, parse
from recipes.scale import scale
from recipes.show import quantity_text, recipe_text
from tests.test_recipe import TEXT


class ScaleTest(unittest.TestCase):
    def test_quantities_follow_the_people(self):
        found = scale(parse(TEXT), 2)
        self.assertEqual([each.quantity for each in found.ingredients][:2], [125, Fraction(3, 2)])

    def test_a_pinch_stays_a_pinch(self):
        self.assertEqual(scale(parse(TEXT), 8).ingredients[-1].name, "a pinch of salt")

    def test_nobody_is_served_nothing(self):
        with self.assertRaises(RecipeError):
            scale(parse(TEXT), 0)


class ShowTest(unittest.TestCase):
    def test_quantities_for_people(self):
        found = [quantity_text(Fraction(*each)) for each in ((3,), (1, 2), (9, 4), (7, 5))]
        self.assertEqual(found, ["3", "1/2", "2 1/4", "1.4"])

    def test_what_is_shown_can_be_read(self):
        self.assertEqual(recipe_text(parse(TEXT)), TEXT)


class CommandLineTest(unittest.TestCase):
    def run_command(self, *words):
        out, err = io.StringIO(), io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "pancakes.txt"
            file.write_text(TEXT, encoding="utf-8")
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main([str(file) if word == "RECIPE" else word for word in words])
        return code, out.getvalue(), err.getvalue()

    def test_show(self):
        self.assertEqual(self.run_command("show", "RECIPE"), (0, TEXT, ""))

    def test_show_for_others(self):
        self.assertIn("- 1 1/2 eggs", self.run_command("show", "RECIPE", "--serves", "2")[1])

    def test_for_nobody(self):
        code, out, err = self.run_command("show", "RECIPE", "--serves", "0")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("at least 1", err)


if __name__ == "__main__":
    unittest.main()
