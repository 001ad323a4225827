"""Runs the command line: ``python -m quillmark``."""

import sys

from quillmark.cli import main

sys.exit(main())
