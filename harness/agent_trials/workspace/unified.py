"""Applies a unified diff to files in memory, strictly: every line stands where the diff says.

    --- a/path, +++ b/path     a changed file; /dev/null on either side makes or removes one
    @@ -first,count +…         a hunk; its old lines must be there, at just that place
A diff that fits only somewhere else was made for other files, and is refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent_trials.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping

_FILE = re.compile(rb"^--- (?:a/)?(.+?)\t?\n\+\+\+ (?:b/)?(.+?)\t?\n", re.MULTILINE)
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@.*\n", re.MULTILINE)
_NOWHERE = "/dev/null"
_NO_LINE_END = b"\\"


def applied(files: Mapping[str, bytes], diff: bytes, name: str) -> dict[str, bytes]:
    """Return the files with a diff applied to them.

    Args:
        files: bytes by path.
        diff: with paths that begin with ``a/`` and ``b/``.
        name: of the diff, for messages.

    Raises:
        WorkspaceError: it is none, or it does not fit.
    """
    found = dict(files)
    heads = list(_FILE.finditer(diff))
    if not heads:
        raise WorkspaceError(f"{name} changes no file; write it with git diff")
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        old, new = (part.decode("utf-8") for part in head.groups())
        body = diff[head.end() : following.start() if following else len(diff)]
        before = b"" if old == _NOWHERE else found.pop(old, None)
        if before is None:
            raise WorkspaceError(f"{name} changes {old}, which is not there")
        after = _patched(before, body, f"{name}: {old}")
        if new != _NOWHERE:
            found[new] = after
        elif after:
            raise WorkspaceError(f"{name} removes {old}, and leaves lines of it")
    return found


def _patched(before: bytes, body: bytes, where: str) -> bytes:
    lines = before.splitlines(keepends=True)
    result: list[bytes] = []
    at = 0
    for hunk in _HUNK.finditer(body):
        first, count, wanted = (1 if part is None else int(part) for part in hunk.groups())
        start = first - 1 if count else first
        result += lines[at:start]
        old, new = _sides(body[hunk.end() :].splitlines(keepends=True), count, wanted)
        if lines[start : start + count] != old or start < at:
            raise WorkspaceError(f"{where}: line {first} is not what the diff says; make it anew")
        result += new
        at = start + count
    return b"".join([*result, *lines[at:]])


def _sides(lines: list[bytes], count: int, wanted: int) -> tuple[list[bytes], list[bytes]]:
    """Return the old and the new lines of a hunk, of which so many are announced."""
    old: list[bytes] = []
    new: list[bytes] = []
    for at, line in enumerate(lines):
        if len(old) >= count and len(new) >= wanted:
            break
        ends = at + 1 < len(lines) and lines[at + 1].startswith(_NO_LINE_END)
        text = line[1:-1] if ends else line[1:]
        if line[:1] in {b" ", b"-"}:
            old.append(text)
        if line[:1] in {b" ", b"+"}:
            new.append(text)
    return old, new
