"""What a key must be before it may be sent: no sentence here ever shows one."""

from __future__ import annotations

import re

API_KEY = "ANTHROPIC_API_KEY"
"""The variable that the Messages API transport takes its key from, and no other does."""

REHEARSAL_KEY = "rehearsal-without-a-credential"

_SHORTEST = 8
_PRINTABLE = re.compile(r"[!-~]+")


def key_problem(key: str) -> str | None:
    """Return what is wrong with a key, without showing it, or None.

    A line break would add a header of the key's choosing to every request; what is no printable
    ASCII cannot be sent at all, and the error of trying would hold the key.
    """
    if not key:
        return "is empty"
    if "\r" in key or "\n" in key:
        return "holds a line break"
    if not _PRINTABLE.fullmatch(key):
        return "holds a character that is no printable ASCII"
    if len(key) < _SHORTEST:
        return f"has fewer than {_SHORTEST} characters, so it cannot be a key"
    return None
