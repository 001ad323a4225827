"""Calls the real report builder without Docker: run by the Python that has swebench.

Standard input is an object: ``predictions`` (a file), ``rows`` (ids), ``run_id``, ``resolved`` (id
to true, false, or null for a broken log) and ``logs`` (id to what the tests printed). It works in
its current folder, and the report is written there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from swebench.harness.constants import RUN_EVALUATION_LOG_DIR  # type: ignore[import-not-found]
from swebench.harness.reporting import make_run_report  # type: ignore[import-not-found]

given = json.load(sys.stdin)
lines = Path(given["predictions"]).read_text(encoding="utf-8").splitlines()
predictions = {row["instance_id"]: row for row in map(json.loads, lines)}
model = next(iter(predictions.values()))["model_name_or_path"]
place = RUN_EVALUATION_LOG_DIR / given["run_id"] / model
for name, resolved in given["resolved"].items():
    (place / name).mkdir(parents=True, exist_ok=True)
    content = "" if resolved is None else json.dumps({name: {"resolved": resolved}})
    (place / name / "report.json").write_text(content, encoding="utf-8")
for name, text in given["logs"].items():
    for file in ("test_output.txt", "run_instance.log"):
        (place / name / file).write_text(text, encoding="utf-8")
make_run_report(
    predictions, [{"instance_id": n} for n in given["rows"]], given["run_id"], None, "."
)
