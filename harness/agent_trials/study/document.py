"""Reads a TOML or JSON file into plain values, with one sentence for whatever is wrong with it."""

from __future__ import annotations

import codecs
import json
import math
import tomllib
from typing import TYPE_CHECKING, Any

from agent_trials.errors import Problem
from agent_trials.study.findings import Finding, KeyPath

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JSON_SUFFIX = ".json"
MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class _RepeatedKeyError(ValueError):
    """A JSON object that has a key twice, of which a reader would silently keep the last."""


def read(path: Path) -> tuple[dict[str, Any] | None, list[Problem]]:
    """Return the table that the file holds, or None and what is wrong.

    The file is UTF-8; its name says whether it is TOML or JSON.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        what = f"cannot be read ({error.strerror})"
        return None, [_unreadable(str(path), what, "make it readable")]
    return parse(content, str(path))


def parse(content: bytes, path: str) -> tuple[dict[str, Any] | None, list[Problem]]:
    """Return the table that bytes hold, or None and what is wrong; ``path`` is their file's."""
    is_json = path.endswith(JSON_SUFFIX)
    if content.startswith(MARKS):
        what = "begins with a byte order mark, which belongs to no TOML or JSON"
        return None, [_unreadable(path, what, "save it as UTF-8 without one")]
    try:
        text = content.decode("utf-8")
        document = _parse_json(text) if is_json else tomllib.loads(text)
    except UnicodeDecodeError as error:
        return None, [_unreadable(path, f"byte {error.start} is not UTF-8", "save it as UTF-8")]
    except ValueError as error:
        kind = "JSON" if is_json else "TOML"
        return None, [_unreadable(path, f"no valid {kind}: {error}", "correct that place")]
    except RecursionError:
        return None, [_unreadable(path, "nested too deeply", "write fewer levels")]
    if not isinstance(document, dict):
        return None, [_unreadable(path, "holds no table", "write an object at the top")]
    problems = [found.within(path, document) for found in _unwritable((), document)]
    return (None, problems) if problems else (document, [])


def _unreadable(path: str, what: str, remedy: str) -> Problem:
    return Problem(path, what, remedy)


def _parse_json(text: str) -> object:
    return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _RepeatedKeyError(f"the key {twice!r} stands twice in one object")
    return table


def _unwritable(path: KeyPath, value: object) -> Iterator[Finding]:
    """Yield every value that JSON has no word for, and text that no UTF-8 can hold."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _unwritable((*path, key), item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unwritable((*path, index), item)
    elif isinstance(value, str):
        if not value.isascii() and not _encodable(value):
            yield Finding(path, "the text holds half a surrogate pair", "write whole characters")
    elif isinstance(value, float) and not math.isfinite(value):
        yield Finding(path, f"{value} is no number that JSON can write", "write a finite number")
    elif not isinstance(value, int | float | None):
        yield Finding(path, f"{value} is a date or a time", "write it as text, in quotes")


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
