"""Runs the command line: ``python -m recipes``."""

import sys

from recipes.cli import main

sys.exit(main())
