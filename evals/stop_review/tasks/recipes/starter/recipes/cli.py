"""The command line.

Exit codes: 0 when it was done, 1 for a recipe that cannot be read or scaled, 2 for a wrong command line.
"""

import argparse
import sys
from pathlib import Path

from recipes.recipe import RecipeError, parse
from recipes.scale import scale
from recipes.show import recipe_text


def main(argv=None):
    """Run one command; return its exit code."""
    options = parser().parse_args(argv)
    try:
        sys.stdout.write(options.run(options))
    except (OSError, RecipeError) as error:
        print("recipes: " + str(error), file=sys.stderr)
        return 1
    return 0


def parser():
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="recipes", description="Reads recipes and scales them.")
    commands = top.add_subparsers(dest="command", required=True)

    show = commands.add_parser("show", help="show a recipe")
    show.add_argument("recipe")
    show.add_argument("--serves", type=int, help="for so many people")
    show.set_defaults(run=_show)
    return top


def _read(name):
    return parse(Path(name).read_text(encoding="utf-8"))


def _show(options):
    recipe = _read(options.recipe)
    return recipe_text(scale(recipe, options.serves) if options.serves is not None else recipe)
