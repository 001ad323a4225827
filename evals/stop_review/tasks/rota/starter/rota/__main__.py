"""Runs the command line: ``python -m rota``."""

import sys

from rota.cli import main

sys.exit(main())
