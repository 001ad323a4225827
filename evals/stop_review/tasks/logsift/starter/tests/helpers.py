"""A small log for the tests."""

import contextlib
import io
import tempfile
from pathlib import Path

from logsift.cli import main
from logsift.parse import parse_line

LINES = [
    '192.0.2.1 - - [05/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1000 "-" "Firefox" 12',
    '192.0.2.1 - - [05/Mar/2026:10:01:00 +0000] "GET /users/7?tab=a HTTP/1.1" 200 500 "/" "Firefox" 40',
    '192.0.2.2 - ann [05/Mar/2026:10:05:00 +0000] "POST /login HTTP/1.1" 302 - "-" "curl/8" 90',
    '192.0.2.2 - ann [05/Mar/2026:11:00:00 +0000] "GET /users/8 HTTP/1.1" 404 120 "-" "curl/8"',
    '192.0.2.3 - - [05/Mar/2026:11:30:00 +0000] "GET /report HTTP/1.1" 500 2048 "-" "-" 3000',
]


def records():
    """Return the records of the small log."""
    return [parse_line(line) for line in LINES]


def run(*words, lines=LINES):
    """Run a command on a log of these lines; return exit code, output and errors.

    The word LOG stands for the log's path.
    """
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "access.log"
        log.write_text("\n".join(lines) + "\n", encoding="utf-8")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(log) if word == "LOG" else word for word in words])
    return code, out.getvalue(), err.getvalue()
