"""Runs the command line: ``python -m layercfg``."""

import sys

from layercfg.cli import main

sys.exit(main())
