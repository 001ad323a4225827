"""Which files of a corpus an agent may see, as rules over path, mode and size.

The rules, each a field of the manifest's ``[workspace.filter]``:
    the mode is that of a regular file that the study admits      -> modes
    the path is made of plain characters, without empty parts     -> characters
    no part of the path begins with a dot                         (always)
    no part of the path is the name of something generated        -> parts
    no word of secrets stands anywhere in the path                -> words
    the name ends in an admitted extension                        -> extensions
    the file is not larger than the bound                         -> max_bytes
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_trials.study.settings import CorpusFilter


def path_refusal(path: str, rules: CorpusFilter) -> str | None:
    """Return why a path with forward slashes stays out of the export, None if it passes."""
    return next(_reasons(path, rules), None)


def refusal(path: str, *, mode: str, size: int, rules: CorpusFilter) -> str | None:
    """Return why a blob stays out of the export, None if it passes.

    Args:
        path: relative to the repository, with forward slashes.
        mode: git's mode of the tree entry, six octal digits.
        size: bytes of the blob.
        rules: the study's filter.
    """
    if mode not in rules.modes:
        return f"its mode {mode} is not among the filter's modes"
    if size > rules.max_bytes:
        return f"it has {size:,} bytes and the filter's bound is {rules.max_bytes:,}"
    return path_refusal(path, rules)


def _reasons(path: str, rules: CorpusFilter) -> Iterator[str]:
    parts = path.split("/")
    if not re.fullmatch(f"[{rules.characters}]+", path):
        yield "it holds a character outside the filter's characters"
    if "" in parts:
        yield "it is no relative path inside the repository"
    if any(part.startswith(".") for part in parts):
        yield "a part of it begins with a dot"
    for part in parts:
        if part in rules.parts:
            yield f"the part {part!r} is excluded by the filter's parts"
    for word in rules.words:
        if word.casefold() in path.casefold():
            yield f"the word {word!r} is excluded by the filter's words"
    stem, _, extension = parts[-1].rpartition(".")
    if not stem or extension not in rules.extensions:
        yield "its extension is not among the filter's extensions"
