"""A small journal for the tests."""

import contextlib
import io
import tempfile
from pathlib import Path

from tally.cli import main
from tally.journal import parse_journal

TEXT = """\
; the household
2026-01-01 * Opening
    assets:bank          1,000.00 EUR
    equity:opening

2026-01-05 Corner shop  ; #food
    expenses:food           12.50 EUR
    assets:cash            -12.50 EUR

2026-02-02 * Landlord
    expenses:rent          600.00 EUR  ; February
    assets:bank

2026-02-10 Exchange
    assets:dollars         110.00 USD
    equity:exchange       -110.00 USD
    equity:exchange        100.00 EUR
    assets:bank           -100.00 EUR
"""


def journal(text=TEXT):
    """Return the journal of a text."""
    return parse_journal(text)


def run(*words, text=TEXT):
    """Run a command on a journal; the word JOURNAL stands for its path."""
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "books.journal"
        path.write_text(text, encoding="utf-8")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(path) if word == "JOURNAL" else word for word in words])
    return code, out.getvalue(), err.getvalue()
