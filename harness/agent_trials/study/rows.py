"""Reads the rows of a benchmark from a local file: JSON, JSONL or Parquet.

Nothing is downloaded here. Columns beyond those of an ``Instance`` are left alone; a column that is
missing or null is None.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials import canonical
from agent_trials.errors import Problem, RowsError
from agent_trials.study.selection import Instance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

COLUMNS = tuple(field.name for field in dataclasses.fields(Instance))
_NEEDED = ("instance_id", "repo")
_PATCH = "patch"


@dataclass(frozen=True)
class Rows:
    """The instances of a file in its order, and the digest of its bytes."""

    instances: tuple[Instance, ...]
    digest: str


def read(path: Path) -> Rows:
    """Return the rows of a file; its name says what it is: .json, .jsonl or .parquet.

    Raises:
        RowsError: with everything that is wrong with it.
    """
    content = _content(path)
    rows = _parsed(path, content)
    problems = [Problem(f"{path}: row {n}", *wrong) for n, wrong in _wrong(rows)]
    if problems:
        raise RowsError(problems)
    instances = (Instance(**{name: row.get(name) for name in COLUMNS}) for row in rows)
    return Rows(tuple(instances), canonical.digest(content))


def patches(path: Path) -> dict[str, str]:
    """Return the benchmark's own patch of each instance in a file that ``read`` accepts.

    Raises:
        RowsError: the file cannot be read, or a row has no patch.
    """
    rows = _parsed(path, _content(path), (*COLUMNS, _PATCH))
    lacking = [str(row.get(COLUMNS[0])) for row in rows if not row.get(_PATCH)]
    if lacking:
        what = f"has no patch of {lacking[0]}" + (
            f" and {len(lacking) - 1} more" * bool(lacking[1:])
        )
        raise RowsError([Problem(str(path), what, "give the dataset's whole rows")])
    return {row[COLUMNS[0]]: row[_PATCH] for row in rows}


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        what = f"cannot be read ({error.strerror})"
        raise RowsError([Problem(str(path), what, "name a file of rows")]) from error


def _parsed(path: Path, content: bytes, columns: tuple[str, ...] = COLUMNS) -> list[Any]:
    readers: dict[str, Callable[[bytes], list[Any]]] = {
        ".json": _json,
        ".jsonl": _jsonl,
        ".parquet": lambda of: _parquet(of, columns),
    }
    reader = readers.get(path.suffix)
    if reader is None:
        what = f"{path.suffix or 'no ending'!r} names no format"
        raise RowsError([Problem(str(path), what, f"use {', '.join(readers)}")])
    try:
        return reader(content)
    except ImportError as error:
        what = f"a Parquet file needs {error.name}, which is not installed"
        remedy = 'run pip install "pytest-agent-trials[rows]", or give the rows as JSONL'
        raise RowsError([Problem(str(path), what, remedy)]) from error
    except ValueError as error:
        what = f"no valid {path.suffix[1:]} file of rows: {error}"
        raise RowsError([Problem(str(path), what, "correct it, or export it anew")]) from error


def _json(content: bytes) -> list[Any]:
    rows = json.loads(content.decode("utf-8"))
    if isinstance(rows, list):
        return rows
    raise ValueError("it holds no list")


def _jsonl(content: bytes) -> list[Any]:
    return [json.loads(line) for line in content.decode("utf-8").split("\n") if line.strip()]


def _parquet(content: bytes, columns: tuple[str, ...]) -> list[Any]:
    import pyarrow as pa  # noqa: PLC0415 - an extra, and heavy
    import pyarrow.parquet as parquet_file  # noqa: PLC0415 - the same

    table = parquet_file.read_table(pa.BufferReader(content))
    rows: list[Any] = table.select([c for c in columns if c in table.column_names]).to_pylist()
    return rows


def _wrong(rows: list[Any]) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the number of each wrong row, from 1, with what is wrong and the way out."""
    seen: set[str] = set()
    for n, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            yield n, ("is no object", "write one object per row")
            continue
        for name in COLUMNS:
            value = row.get(name)
            if not (isinstance(value, str) or (value is None and name not in _NEEDED)):
                yield n, (f"{name} is {value!r}", "write it as text")
        if row.get("instance_id") in seen:
            yield n, (f"{row['instance_id']} stands there twice", "keep one of the two")
        seen.add(str(row.get("instance_id")))
