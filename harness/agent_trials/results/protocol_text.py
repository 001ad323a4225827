"""Takes sections of a frozen PROTOCOL.md for a report, as plain blocks of text without markup."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*\s*")
_FENCE = re.compile(r"\s*(```|~~~)")
_ITEM = re.compile(r"\s*(?:[-*+]|[0-9]+[.)])\s+(.*)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_MARKUP = re.compile(r"\*\*|__|`")


@dataclass(frozen=True)
class Block:
    """A paragraph, or an item of a list."""

    text: str
    is_item: bool = False

    def to_json(self) -> dict[str, str | bool]:
        """Return it as it stands in a summary."""
        return {"text": self.text, "item": self.is_item}


def section(protocol: str, *words: str) -> tuple[Block, ...]:
    """Return what stands under the headings that hold one of the words, case folded."""
    wanted = False
    lines = []
    for line, is_heading in _lines(protocol):
        if is_heading:
            wanted = any(word in line.casefold() for word in words)
        elif wanted:
            lines.append(line)
    return tuple(_blocks(lines))


def paragraphs(protocol: str, beginning: str) -> tuple[Block, ...]:
    """Return the paragraphs that begin with a word."""
    lines = [line if not is_heading else "" for line, is_heading in _lines(protocol)]
    return tuple(block for block in _blocks(lines) if block.text.startswith(beginning))


def _lines(protocol: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is the text of a heading; code is left out."""
    in_code = False
    for line in _COMMENT.sub("", protocol).splitlines():
        if _FENCE.match(line):
            in_code = not in_code
        elif not in_code:
            heading = _HEADING.fullmatch(line)
            yield (heading[1], True) if heading else (line, False)


def _blocks(lines: list[str]) -> Iterator[Block]:
    words: list[str] = []
    is_item = False
    for line in [*lines, ""]:
        item = _ITEM.fullmatch(line)
        if (item or not line.strip()) and words:
            yield Block(_MARKUP.sub("", " ".join(words)), is_item)
            words, is_item = [], False
        if item:
            words, is_item = [item[1].strip()], True
        elif line.strip() and not line.lstrip().startswith("|"):
            words.append(line.strip())
