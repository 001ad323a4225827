"""From the words of a study to a command that starts the same thing from any folder.

Rules:
    1. Words in braces are replaced by their values. One without a value is a problem.
    2. A parameter's value with a slash in it that exists here is made absolute, because a server's
       working directory is the attempt's export.
    3. The program becomes an absolute path: as written, or found on the operator's PATH. A relative
       path is a problem.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCRATCH = "scratch"
"""The placeholder of the copy of the checkout in which an index is made again."""

_WORD = re.compile(r"\{([a-z][a-z0-9_]*)\}")


@dataclass(frozen=True, order=True)
class Place:
    """Which server is meant: of which arm, for the tasks of which repository."""

    arm: str
    server: str
    checkout: str

    def __str__(self) -> str:
        """Return the words that problems begin with."""
        return f"arm {self.arm!r}, MCP server {self.server!r}, checkout {self.checkout!r}"


@dataclass(frozen=True, order=True)
class McpProblem(Problem):
    """A problem of a server; what may hold paths of this machine stands apart.

    ``private_detail`` is for the private record only and in no representation.
    """

    private_detail: str = field(default="", repr=False, compare=False)


def fill(
    template: Sequence[str], words: Mapping[str, str], place: Place
) -> tuple[tuple[str, ...], list[Problem]]:
    """Return the words of a command with the placeholders replaced, and what cannot be."""
    unknown = {name for word in template for name in _WORD.findall(word)} - words.keys()
    problems = [_unknown(name, words, place) for name in sorted(unknown)]
    filled = (_WORD.sub(lambda found: words.get(found[1], found[0]), word) for word in template)
    return tuple(filled), problems


def absolute_value(value: str) -> str:
    """Return a parameter's value, as an absolute path if it is a path that exists here."""
    if "/" not in value:
        return value
    path = Path(value)
    with suppress(RuntimeError):  # the home of a user who is not known here
        path = path.expanduser()
    return str(path.absolute()) if path.exists() else value


def ready(
    template: Sequence[str], words: Mapping[str, str], environ: Mapping[str, str], place: Place
) -> tuple[tuple[str, ...], list[Problem]]:
    """Return a command filled in, its program as an absolute path, and what hinders that."""
    command, problems = fill(template, words, place)
    program, *rest = command
    if problems:
        return command, problems
    if Path(program).is_absolute():
        found = program if os.access(program, os.X_OK) and Path(program).is_file() else None
        # The path is the operator's own, so only the study's word for it is said.
        what = f"the program {template[0]!r} is not here, or may not be executed"
        remedy = "check `command` and `--param`"
    elif "/" in program:
        found = None
        what = f"the program {template[0]!r} is a relative path, and a server starts in the export"
        remedy = "write `{checkout}/…`, an absolute path, or a name found on PATH"
    else:
        found = shutil.which(program, path=environ.get("PATH", os.defpath))
        what, remedy = f"the program {template[0]!r} is not on PATH", "install it, or name its path"
    if found is None:
        return command, [McpProblem(str(place), what, remedy, private_detail=program)]
    return (str(Path(found).absolute()), *rest), []


def _unknown(name: str, words: Mapping[str, str], place: Place) -> Problem:
    near = difflib.get_close_matches(name, words, n=1)
    known = f"`{{{near[0]}}}`" if near else ", ".join(f"`{{{word}}}`" for word in sorted(words))
    return Problem(
        str(place),
        f"`{{{name}}}` in the command has no value",
        f"write {known}, or give a declared parameter with `--param {name}=VALUE`",
    )
