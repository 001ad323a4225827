"""Files and commands for the tests."""

import contextlib
import io
import json
import tempfile
from pathlib import Path

from layercfg.cli import main

BASE = {
    "server": {"host": "localhost", "port": 8080, "url": "http://${server.host}:${server.port}"},
    "debug": False,
    "plugins": ["a", "b"],
}
LOCAL = {"server": {"port": 9090}, "debug": True, "plugins": ["c"]}


def run(*words, environment=None, **files):
    """Run a command; a word that names one of the files stands for its path.

    A file's value is written as JSON unless it is text; ``base`` and ``local`` are always there.
    Returns exit code, output and errors.
    """
    out, err = io.StringIO(), io.StringIO()
    contents = {"base": BASE, "local": LOCAL, **files}
    with tempfile.TemporaryDirectory() as folder:
        places = {}
        for name, value in contents.items():
            ending = ".json"
            if isinstance(value, tuple):
                ending, value = value
            places[name] = Path(folder) / (name + ending)
            text = value if isinstance(value, str) else json.dumps(value)
            places[name].write_text(text, encoding="utf-8")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(places.get(word, word)) for word in words], environment or {})
    return code, out.getvalue(), err.getvalue()
