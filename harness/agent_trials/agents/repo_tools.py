"""The three tools of the http transport: list, read and search the exported files, nothing else.

Rules:
    1. Only regular files found by walking the export count; a symbolic link is none, whatever it
       points at. A path is looked up among those found, so no spelling of it leads elsewhere.
    2. What is wrong with a call's arguments is an answer of the tool, marked as an error.
    3. The same export and the same call give the same answer.
    4. Where a limit bites, the answer says so.
"""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from agent_trials.workspace.mcp_tools import ToolAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

MAX_TERM = 200
MAX_PATHS = 200
MAX_LINES = 100
MAX_SEARCHED = 500
MAX_MATCHES = 30
MAX_MATCH_CHARACTERS = 500
SEARCH_SECONDS = 30.0

NAMES = ("repo_list", "repo_read", "repo_search")

_TERM = {"type": "string", "maxLength": MAX_TERM}
DEFINITIONS: tuple[Mapping[str, Any], ...] = (
    {
        "name": "repo_list",
        "description": (
            f"List the paths of the repository's files, sorted, at most {MAX_PATHS}. `term` keeps"
            " the paths that contain it literally."
        ),
        "input_schema": {
            "type": "object",
            "properties": {
                "term": {**_TERM, "description": "Part of a path; all paths if absent."}
            },
            "additionalProperties": False,
        },
    },
    {
        "name": "repo_read",
        "description": "Read numbered lines of one file of the repository.",
        "input_schema": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "As repo_list and repo_search give it."},
                "start": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "First line; 1 if absent.",
                },
                "lines": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_LINES,
                    "description": f"How many lines; {MAX_LINES} if absent.",
                },
            },
            "required": ["path"],
            "additionalProperties": False,
        },
    },
    {
        "name": "repo_search",
        "description": (
            "Find the lines that contain a term literally (case matters, no pattern), given as"
            f" path:line: text, at most {MAX_MATCHES}. The first {MAX_SEARCHED} files are searched;"
            " `path` keeps the files whose path contains it literally."
        ),
        "input_schema": {
            "type": "object",
            "properties": {
                "term": {**_TERM, "minLength": 1, "description": "The text to look for."},
                "path": {**_TERM, "description": "Part of a path; all files if absent."},
            },
            "required": ["term"],
            "additionalProperties": False,
        },
    },
)


class _BadArgumentError(Exception):
    """An argument that the tool refuses; the sentence is for the model."""


class RepoTools:
    """The tools over one export, whose files do not change while it is asked."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._files = dict(sorted(_regular_files(folder)))

    def call(
        self, name: str, arguments: Mapping[str, Any], timeout: float = SEARCH_SECONDS
    ) -> ToolAnswer:
        """Return the answer to one call; bad arguments are answered with an error.

        Args:
            name: one of ``NAMES``.
            arguments: what the model gave.
            timeout: seconds after which a search gives what it found until then.
        """
        try:
            if name == "repo_list":
                return ToolAnswer(self._list(_Arguments(arguments, {"term"})))
            if name == "repo_read":
                return ToolAnswer(self._read(_Arguments(arguments, {"path", "start", "lines"})))
            if name == "repo_search":
                until = self._clock() + min(timeout, SEARCH_SECONDS)
                return ToolAnswer(self._search(_Arguments(arguments, {"term", "path"}), until))
        except _BadArgumentError as error:
            return ToolAnswer(str(error), is_error=True)
        raise RuntimeError(f"no tool {name!r}")

    def _list(self, arguments: _Arguments) -> str:
        found = self._matching(arguments.text("term", shortest=0, default=""))
        if not found:
            return "no path contains the term"
        shown = found[:MAX_PATHS]
        if more := len(found) - len(shown):
            shown.append(f"({more} more paths are not shown; give a term that fewer contain)")
        return "\n".join(shown)

    def _read(self, arguments: _Arguments) -> str:
        path = arguments.path("path")
        start = arguments.number("start", default=1)
        count = arguments.number("lines", default=MAX_LINES, largest=MAX_LINES)
        if path not in self._files:
            raise _BadArgumentError("path: no such file; repo_list gives the paths that exist")
        lines = _lines(self._files[path])
        if start > max(len(lines), 1):
            raise _BadArgumentError(f"start: the file has {len(lines)} lines")
        shown = list(enumerate(lines, 1))[start - 1 : start - 1 + count]
        head = f"{path}, lines {start} to {start - 1 + len(shown)} of {len(lines)}"
        return "\n".join([head, *(f"{number}\t{line}" for number, line in shown)])

    def _search(self, arguments: _Arguments, until: float) -> str:
        term = arguments.text("term")
        eligible = self._matching(arguments.text("path", shortest=0, default=""))
        searched = eligible[:MAX_SEARCHED]
        # One match more than is shown tells whether there are more.
        hits = list(islice(self._hits(term, searched, until), MAX_MATCHES + 1))
        found, notes = hits[:MAX_MATCHES], []
        if len(hits) > MAX_MATCHES:
            notes.append(f"(stopped at {MAX_MATCHES} matching lines; give a longer term or a path)")
        elif self._clock() >= until:
            notes.append("(stopped at the time limit; files later in the list were not searched)")
        if len(eligible) > MAX_SEARCHED:
            notes.append(f"(only the first {MAX_SEARCHED} of {len(eligible)} files were searched)")
        return "\n".join([*(found or ["no line contains the term"]), *notes])

    def _hits(self, term: str, paths: list[str], until: float) -> Iterator[str]:
        for path in paths:
            if self._clock() >= until:
                return
            for number, line in enumerate(_lines(self._files[path]), 1):
                if term in line:
                    yield f"{path}:{number}: {line[:MAX_MATCH_CHARACTERS]}"

    def _matching(self, part: str) -> list[str]:
        return [path for path in self._files if part in path]


@dataclass(frozen=True)
class _Arguments:
    """The arguments of a call, refused where they are not what the schema says."""

    given: Mapping[str, Any]
    known: set[str]

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.given) - self.known):
            raise _BadArgumentError(
                f"unknown argument {unknown[0]!r:.100}; known: {', '.join(sorted(self.known))}"
            )

    def text(self, name: str, *, shortest: int = 1, default: str | None = None) -> str:
        value = self.given.get(name, default)
        if not isinstance(value, str) or not shortest <= len(value) <= MAX_TERM:
            raise _BadArgumentError(f"{name}: give text of {shortest} to {MAX_TERM} characters")
        return value

    def path(self, name: str) -> str:
        value = self.given.get(name)
        if not isinstance(value, str):
            raise _BadArgumentError(f"{name}: give a path as text")
        return value

    def number(self, name: str, *, default: int, largest: int | None = None) -> int:
        value = self.given.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise _BadArgumentError(f"{name}: give a whole number from 1")
        if largest is not None and value > largest:
            raise _BadArgumentError(f"{name}: give at most {largest}")
        return value


def _regular_files(folder: Path) -> Iterator[tuple[str, Path]]:
    for parent, _, names in os.walk(folder, followlinks=False):
        for name in names:
            path = folder.joinpath(parent, name)
            if stat.S_ISREG(path.lstat().st_mode):
                yield path.relative_to(folder).as_posix(), path


def _lines(path: Path) -> list[str]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - opened by descriptor, to follow no link
        text = file.read().decode("utf-8", "replace")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines
