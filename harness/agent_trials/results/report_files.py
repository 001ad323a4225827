"""Puts a report's files in place: all of them or none, and over nothing but an earlier report."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials.errors import ReportError
from agent_trials.results import render_html, render_markdown, report, result_artifact
from agent_trials.results.private_pages import links, write_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_trials.results.evidence import Evidence, Finding
    from agent_trials.results.record import Record

MARKDOWN, SUMMARY, HTML, PRIVATE = "report.md", "summary.json", "report.html", "private"
OURS = frozenset({MARKDOWN, SUMMARY, HTML, PRIVATE, result_artifact.FILE})


def write(
    record: Record,
    into: Path,
    *,
    private: bool = False,
    study_rule: Callable[[Evidence], Finding] | None = None,
) -> dict[str, Any]:
    """Write the report of a ledger into a folder, and return its document.

    Args:
        record: the ledger.
        into: made, or an earlier report, which is replaced as a whole.
        private: whether a page for each attempt is written too; the folder is then for its owner
            alone.
        study_rule: the study's own rule, where its code is trusted.

    Raises:
        ReportError: the folder holds something else; nothing was written.
    """
    check(into)
    document = report.document(record, study_rule=study_rule)
    pages = links(record) if private else None
    with _replacing(into, mode=0o700 if private else 0o755) as folder:
        (folder / SUMMARY).write_bytes(to_json(document))
        (folder / MARKDOWN).write_bytes(render_markdown.render(document))
        (folder / HTML).write_bytes(render_html.render(record, document, pages))
        if (artifact := result_artifact.artifact(record, document)) is not None:
            (folder / result_artifact.FILE).write_bytes(artifact)
        if private:
            write_pages(record, document, folder / PRIVATE)
    return document


def to_json(document: dict[str, Any]) -> bytes:
    """Return summary.json: keys sorted, a line for each part and for each item of a long one."""
    parts = [f"{json.dumps(name)}: {_part(document[name])}" for name in sorted(document)]
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode("ascii")


def _part(value: object) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(_line(item) for item in value) + "\n]"
    return _line(value)


def _line(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, allow_nan=False)


def check(into: Path) -> None:
    """Refuse a place that is no new folder and no earlier report.

    Raises:
        ReportError: names what is in the way.
    """
    if into.is_symlink() or (into.exists() and not into.is_dir()):
        raise ReportError(f"{into} is no folder; give one that does not exist")
    if not into.exists():
        return
    found = {each.name for each in into.iterdir()}
    if strange := sorted(found - OURS):
        raise ReportError(
            f"{into} holds {strange[0]!r}, so it is no earlier report; give a folder that does not"
            " exist"
        )
    if found and not _is_report(into / SUMMARY):
        raise ReportError(
            f"{into} holds no {SUMMARY} of a report; give a folder that does not exist"
        )


def _is_report(summary: Path) -> bool:
    try:
        found = json.loads(summary.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("kind") == "agent-trials-report"


@contextlib.contextmanager
def _replacing(into: Path, *, mode: int) -> Iterator[Path]:
    """Give a folder beside the place, and put it there when everything is in it."""
    target = into.parent.resolve() / into.name
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        made = scratch / "new"
        made.mkdir(mode=mode)
        yield made
        if target.exists():
            os.replace(target, scratch / "old")  # noqa: PTH105 - a folder is moved, not a file
        os.replace(made, target)  # noqa: PTH105 - as above
    except BaseException:
        if not target.exists() and (scratch / "old").exists():
            os.replace(scratch / "old", target)  # noqa: PTH105 - what was there comes back
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
