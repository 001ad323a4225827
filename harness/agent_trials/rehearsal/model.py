"""A small deterministic model: a pure function of the request that really works its tools.

It looks for the question's words, reads around the best hit, and answers with lines that stood in
tool results, cited as path:line; or it says that it found nothing. It knows the tools of the http
transport (repo_search, repo_read), those of the Claude Code CLI (Grep, Read) and any MCP tools
whose names end in ``search`` and ``get``, with or without the CLI's prefix. It asks the last first
and goes on to the repository's own where they fail. It never takes more than five turns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials.rehearsal.replies import call, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_trials.rehearsal.replies import Reply

TERMS = 3
"""How many words are looked for in one turn."""
ABOVE = 3
"""How many lines above the best hit are read as well."""
LINES = 12
"""How many lines are read."""
CITATIONS = 3

NO_TOOL = "I have no tool to look into the repository with, so I cannot answer."
NOTHING = "I searched the repository and found nothing that answers the question."
FOUND = "The repository says:"

_OWN_SEARCH = ("repo_search", "Grep")
_OWN_READ = ("repo_read", "Read")
_SEARCH_SUBJECTS = ("query", "term", "q", "pattern")
_READ_SUBJECTS = ("path", "id", "file", "name")

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*[A-Za-z0-9]")
_REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>", re.DOTALL)
_CITED = re.compile(r"^([\w./@+-]*[\w-]\.\w+):([0-9]+):\s?(.*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^\s*([0-9]+)[\t→](.*)$", re.MULTILINE)
_STEM = 5
_COMMON_WORDS = """
    a about all an and any are as at be been but by can cite citing could did do does each
    for from had has have how if in into is it its let line lines many may more most must no
    not of on one only or other path per please read repository say should so some source
    sources tell that the their them then there these they this those to two under use used
    uses using was were what when where which who whole whom whose why will with without
    would you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True)
class _Tool:
    """An offered tool and the argument that says what is wanted."""

    name: str
    subject: str


@dataclass(frozen=True)
class _Line:
    """A line that stood in a tool's result."""

    path: str
    number: int
    text: str


@dataclass(frozen=True)
class _Seen:
    """What was asked of the tools until now: names of the tools by turn, and their results."""

    turns: tuple[frozenset[str], ...]
    found: tuple[_Line, ...]
    read: tuple[_Line, ...]


def respond(body: Mapping[str, Any]) -> Reply:
    """Return the model's answer to a request for a message."""
    words = _words(_question(body))
    seen = _seen(body)
    plan = _plan(body, words)
    if not plan:
        return say(NO_TOOL)
    was_read = any(_reads(name) for names in seen.turns for name in names)
    if seen.found and not was_read:
        reader = _reader(body, after=seen.turns[-1])
        if reader is not None:
            return call((reader.name, _reading(reader, _best(seen.found, words))))
    elif not was_read and len(seen.turns) < len(plan):
        tool, terms = plan[len(seen.turns)]
        return call(*((tool.name, _searching(tool, term)) for term in terms))
    return say(_answer((*seen.read, *seen.found), words))


def _question(body: Mapping[str, Any]) -> str:
    """Return the first line of the user's own text; what a CLI puts around it is left out."""
    for message in body.get("messages", []):
        if message.get("role") == "user":
            texts = [_REMINDER.sub("", text).strip() for text in _texts(message.get("content"))]
            if own := [text for text in texts if text]:
                return own[-1].split("\n")[0]
    return ""


def _words(question: str) -> list[str]:
    """Return the words worth looking for: names first, then the longest, in their own spelling."""
    found = dict.fromkeys(w for w in _WORD.findall(question) if w.casefold() not in _COMMON)
    return sorted(found, key=lambda word: (not _is_name(word), -len(word), word))


def _is_name(word: str) -> bool:
    return any(mark in word for mark in "_.-") or any(letter.isupper() for letter in word[1:])


def _plan(body: Mapping[str, Any], words: Sequence[str]) -> list[tuple[_Tool, Sequence[str]]]:
    """Return the turns of searching, each tried where those before found nothing."""
    plan: list[tuple[_Tool, Sequence[str]]] = []
    if mcp := _mcp_tool(body, "search", _SEARCH_SUBJECTS):
        plan.append((mcp, [" ".join(words)]))
    if own := _own_tool(body, _OWN_SEARCH, "term"):
        stems = list(dict.fromkeys(word[:_STEM].casefold() for word in words[:TERMS]))
        plan += [(own, _spellings(own, words[:TERMS])), (own, _spellings(own, stems))]
    return [(tool, terms) for tool, terms in plan if any(terms)]


def _spellings(tool: _Tool, words: Sequence[str]) -> Sequence[str]:
    """Return the words as a search needs them: repo_search tells small letters from capitals."""
    if tool.name == "Grep":
        return words
    return list(dict.fromkeys(s for word in words for s in (word, word[:1].upper() + word[1:])))


def _mcp_tool(body: Mapping[str, Any], ending: str, subjects: Sequence[str]) -> _Tool | None:
    for tool in body.get("tools") or []:
        name, schema = tool["name"], tool.get("input_schema", {})
        if name not in _OWN_SEARCH and re.fullmatch(rf"(.*[_-])?{ending}", name):
            known = schema.get("properties", {})
            return _Tool(name, next((s for s in (*subjects, *known) if s in known), subjects[0]))
    return None


def _own_tool(body: Mapping[str, Any], names: Sequence[str], subject: str) -> _Tool | None:
    offered = {tool["name"] for tool in body.get("tools") or []}
    return next((_Tool(name, subject) for name in names if name in offered), None)


def _reader(body: Mapping[str, Any], *, after: frozenset[str]) -> _Tool | None:
    """Return the tool that reads what the tools of the last turn found."""
    own = _own_tool(body, _OWN_READ, "path")
    if after & set(_OWN_SEARCH):
        return own
    return _mcp_tool(body, "get", _READ_SUBJECTS) or own


def _reads(name: str) -> bool:
    return name in _OWN_READ or re.fullmatch(r"(.*[_-])?get", name) is not None


def _searching(tool: _Tool, term: str) -> dict[str, Any]:
    if tool.name == "Grep":
        return {"pattern": re.escape(term), "output_mode": "content", "-n": True, "-i": True}
    return {tool.subject: term}


def _reading(tool: _Tool, line: _Line) -> dict[str, Any]:
    start = max(1, line.number - ABOVE)
    if tool.name == "Read":
        return {"file_path": line.path, "offset": start, "limit": LINES}
    if tool.name == "repo_read":
        return {"path": line.path, "start": start, "lines": LINES}
    return {tool.subject: line.path}


def _seen(body: Mapping[str, Any]) -> _Seen:
    turns: list[frozenset[str]] = []
    uses: dict[str, Mapping[str, Any]] = {}
    found: list[_Line] = []
    read: list[_Line] = []
    for message in body.get("messages", []):
        blocks = _blocks(message)
        if asked := {b["id"]: b for b in blocks if b.get("type") == "tool_use"}:
            turns.append(frozenset(use["name"] for use in asked.values()))
            uses |= asked
        for block in blocks:
            if block.get("type") == "tool_result" and not block.get("is_error"):
                use = uses[block["tool_use_id"]]
                kept = read if _reads(use["name"]) else found
                kept += _lines(use, "\n".join(_texts(block.get("content"))))
    return _Seen(tuple(turns), tuple(found), tuple(read))


def _lines(use: Mapping[str, Any], text: str) -> Iterator[_Line]:
    """Yield the lines of a result; in one without paths they are those of the file asked for."""
    cited = _CITED.findall(text)
    for path, number, line in cited:
        yield _Line(path, int(number), line)
    asked_for = use["input"].get("file_path", use["input"].get("path"))
    if not cited and _reads(use["name"]) and isinstance(asked_for, str):
        for number, line in _NUMBERED.findall(text):
            yield _Line(asked_for, int(number), line)


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    return [block["text"] for block in content if block.get("type") == "text"]


def _best(lines: Sequence[_Line], words: Sequence[str]) -> _Line:
    """Return the line with most of the question's words in its file's lines, then in itself."""
    paths = dict.fromkeys(line.path for line in lines)
    whole = {path: " ".join(line.text for line in lines if line.path == path) for path in paths}
    score = {path: _score(f"{path} {text}", words) for path, text in whole.items()}
    return max(lines, key=lambda line: (score[line.path], _score(line.text, words)))


def _score(text: str, words: Sequence[str]) -> int:
    folded = text.casefold()
    return sum(word[:_STEM].casefold() in folded for word in words)


def _answer(lines: Sequence[_Line], words: Sequence[str]) -> str:
    """Return the lines that hold most of the question's words, each with its citation."""
    distinct = dict.fromkeys(_Line(n.path, n.number, n.text.strip()) for n in lines)
    scored = [(_score(line.text, words), line) for line in distinct]
    best = sorted((s for s in scored if s[0]), key=lambda s: -s[0])[:CITATIONS]
    if not best:
        return NOTHING
    return "\n".join([FOUND, *(f"- {n.path}:{n.number}: {n.text}" for _, n in best)])
