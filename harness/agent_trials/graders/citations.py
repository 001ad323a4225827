"""Finds the citations of an answer and checks by code what can be checked by code.

A citation is ``path:line``, ``path:first-last`` or ``path#L3-L5``. Whether the file is at the pin,
whether it has these lines, and whether text quoted beside the citation stands there is found here;
whether the lines support what is said is for the adjudicator. A line ends at a line feed, as in the
tools with which the answer was found, and at nothing else that Unicode calls a line's end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from agent_trials.study.leaks import folded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

CONTEXT = 3
"""How many lines around the cited ones a packet shows."""
MOST_LINES = 80
"""How many lines a packet shows of one citation; a longer one is cut there, and says so."""

_CITED = re.compile(
    r"(?<![\w/.@+-])(?P<path>/?(?:\.{1,2}/)*[\w@][\w./@+-]*)`?"
    r"(?::L?|#L)(?P<first>[0-9]{1,18})(?:[-\u2013]L?(?P<last>[0-9]{1,18}))?(?![\w])"
)
_ENDING = re.compile(r".*\.(?P<ending>[A-Za-z][A-Za-z0-9]*)")
_QUOTE = r"[\"“](?P<quote>[^\"“”\n]{8,400})[\"”]"
_NEAR = 500
"""So far from a citation a quotation may begin or end."""
_BEFORE = re.compile(_QUOTE + r"[\s(\[\u2014\u2013,:`-]{0,4}$")
_AFTER = re.compile(r"^[`)\]]?[\s:,\u2014\u2013-]{0,4}(?:says |reads )?" + _QUOTE)


class Finding(StrEnum):
    """What the code found of a citation."""

    EXISTS = "exists"
    NO_FILE = "no-such-file"
    NO_LINES = "no-such-lines"
    NO_QUOTE = "quoted-text-not-there"


@dataclass(frozen=True)
class Citation:
    """A place that an answer cites; lines count from 1, ``quote`` is text quoted beside it."""

    path: str
    first: int
    last: int
    quote: str | None = None


@dataclass(frozen=True)
class Checked:
    """A citation with what was found, and the cited lines with those around them.

    ``text`` has a line number before each line; it is empty where there is nothing to show.
    """

    citation: Citation
    finding: Finding
    text: str = ""


class Corpora:
    """The files of one corpus at its pin, by path: lines without their ends."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    @property
    def extensions(self) -> frozenset[str]:
        """Return the endings of the files' names."""
        found = (_ENDING.fullmatch(path) for path in self._files)
        return frozenset(match["ending"] for match in found if match)

    def has(self, path: str) -> bool:
        """Return whether there is a file of that path."""
        return path in self._files

    def text(self, path: str) -> str | None:
        """Return a file's text, None where there is none of that path."""
        return self._files.get(path)

    def has_folder(self, path: str) -> bool:
        """Return whether a file lies in the folder of that path."""
        return path in self._folders

    @cached_property
    def _folders(self) -> frozenset[str]:
        parents = (PurePosixPath(path).parents for path in self._files)
        return frozenset(str(parent) for each in parents for parent in each)

    def lines(self, path: str) -> list[str] | None:
        """Return a file's lines, None where there is none of that path."""
        text = self.text(path)
        if text is None:
            return None
        lines = [line.removesuffix("\r") for line in text.split("\n")]
        return lines if lines[-1] else lines[:-1]


def find(answer: str, corpus: Corpora) -> tuple[Citation, ...]:
    """Return the places that an answer cites, each once, in the order of the answer.

    A name that is no file of the corpus counts if it could be one: it has an ending, and either a
    folder or the ending of a file that is there.
    """
    found = dict.fromkeys(_found(answer))
    endings = corpus.extensions
    return tuple(
        each for each in found if corpus.has(each.path) or _could_be_a_file(each.path, endings)
    )


def _could_be_a_file(path: str, endings: Collection[str]) -> bool:
    match = _ENDING.fullmatch(path)
    return match is not None and ("/" in path or match["ending"] in endings)


def _found(answer: str) -> Iterator[Citation]:
    for line in answer.splitlines():
        matches = list(_CITED.finditer(line))
        quotes = _quotes(line, matches)
        for number, match in enumerate(matches):
            first = int(match["first"])
            last = int(match["last"] or first)
            yield Citation(match["path"].removeprefix("./"), first, last, quotes.get(number))


def _quotes(line: str, matches: Sequence[re.Match[str]]) -> dict[int, str]:
    """Return what is quoted beside each citation of a line.

    A quotation between two citations belongs to the one that it is tied to, by a bracket after it
    or a colon before it; where that does not decide, it is nobody's.
    """
    claims: dict[tuple[int, int], list[tuple[bool, int]]] = {}
    for number, match in enumerate(matches):
        near = max(0, match.start() - _NEAR)
        if before := _BEFORE.search(line[near : match.start()]):
            start, end = (near + place for place in before.span("quote"))
            tied = any(mark in line[end : match.start()] for mark in "([")
            claims.setdefault((start, end), []).append((tied, number))
        if after := _AFTER.match(line[match.end() : match.end() + _NEAR]):
            start, end = (match.end() + place for place in after.span("quote"))
            tied = re.search(r":|says|reads", line[match.end() : start]) is not None
            claims.setdefault((start, end), []).append((tied, number))
    owned: dict[int, str] = {}
    for (start, end), claimed in sorted(claims.items()):
        strongest = [number for tied, number in claimed if tied == max(claimed)[0]]
        if len(strongest) == 1:
            owned.setdefault(strongest[0], line[start:end])
    return owned


def check(citations: Iterable[Citation], corpus: Corpora) -> tuple[Checked, ...]:
    """Return what the code finds of each citation."""
    return tuple(_check(each, corpus) for each in citations)


def _check(citation: Citation, corpus: Corpora) -> Checked:
    lines = corpus.lines(citation.path)
    if lines is None:
        return Checked(citation, Finding.NO_FILE)
    if not 1 <= citation.first <= citation.last <= len(lines):
        return Checked(citation, Finding.NO_LINES)
    start = max(1, citation.first - CONTEXT)
    end = min(len(lines), citation.last + CONTEXT, start + MOST_LINES - 1)
    shown = lines[start - 1 : end]
    text = "\n".join(f"{number}: {line}" for number, line in enumerate(shown, start))
    if end < citation.last:
        text += f"\n(cut: {citation.last - end} further lines are cited)"
    quote = citation.quote
    around = lines[start - 1 : citation.last + CONTEXT]
    if quote is not None and folded(quote.strip(" .…")) not in folded(" ".join(around)):
        return Checked(citation, Finding.NO_QUOTE, text)
    return Checked(citation, Finding.EXISTS, text)
