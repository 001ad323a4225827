"""People and shifts for the tests."""

import contextlib
import io
import json
import tempfile
from pathlib import Path

from rota.cli import main
from rota.files import task_from_data

TASK = {
    "people": [
        {"name": "Ada", "skills": ["lead"], "max_hours": 24},
        {"name": "Ben", "skills": []},
        {"name": "Cem", "skills": ["lead", "till"], "max_hours": 16},
    ],
    "shifts": [
        {"id": "mo-early", "day": "2026-03-02", "start": "06:00", "end": "14:00"},
        {"id": "mo-late", "day": "2026-03-02", "start": "14:00", "end": "22:00", "skill": "lead"},
        {"id": "tu-early", "day": "2026-03-03", "start": "06:00", "end": "14:00", "places": 2},
        {"id": "tu-night", "day": "2026-03-03", "start": "22:00", "end": "06:00", "skill": "till"},
    ],
}


def task(**changes):
    """Return the task, with some of its keys replaced."""
    return task_from_data({**TASK, **changes})


def shift(task_, shift_id):
    """Return one shift of a task."""
    return next(each for each in task_.shifts if each.id == shift_id)


def run(*words, data=TASK, assignments=None):
    """Run a command; TASK and ROSTER stand for files with the task and with the assignments.

    Returns exit code, output, errors, and what the file OUT holds (None if there is none).
    """
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        places = {name: Path(folder) / (name.lower() + ".json") for name in ("TASK", "ROSTER", "OUT")}
        places["TASK"].write_text(json.dumps(data), encoding="utf-8")
        places["ROSTER"].write_text(json.dumps({"assignments": assignments or {}}), encoding="utf-8")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(places.get(word, word)) for word in words])
        written = places["OUT"].read_text(encoding="utf-8") if places["OUT"].exists() else None
    return code, out.getvalue(), err.getvalue(), written
