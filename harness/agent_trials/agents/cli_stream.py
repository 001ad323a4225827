"""The events of a Claude Code stream; tolerant of everything that it does not know.

A line is one JSON object, ended by a line feed alone. Nothing here raises on any bytes, trusts a
field's type, or depends on the order of fields; unknown events and fields are passed over.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

CALL_BLOCKS = ("tool_use", "server_tool_use", "mcp_tool_use")
"""Blocks with which a model asks for a tool: the CLI's own, the provider's, a remote server's."""

SYNTHETIC = "<synthetic>"
"""The ``model`` of messages that the CLI wrote itself; it names no model."""


DEEPEST = 200
"""Levels of nesting up to which a line is read; more would end in Python's recursion limit."""


@dataclass(frozen=True)
class Event:
    """One line: its place among all lines from 0, the byte after its end, and its object."""

    line: int
    end: int
    data: Mapping[str, Any]

    def has(self, kind: str, subtype: str | None = None) -> bool:
        """Tell whether this is an event of that type (and subtype)."""
        same = self.data.get("type") == kind
        return same and (subtype is None or self.data.get("subtype") == subtype)

    @property
    def is_init(self) -> bool:
        """Tell whether this announces the session's tools and servers."""
        return self.has("system", "init")

    @property
    def message(self) -> Mapping[str, Any]:
        """Return the message it carries, empty if there is none."""
        return mapping(self.data.get("message"))

    @property
    def blocks(self) -> Iterator[Mapping[str, Any]]:
        """Iterate over the objects in the message's content."""
        for block in sequence(self.message.get("content")):
            if isinstance(block, dict):
                yield block


@dataclass(frozen=True)
class Stream:
    """All events in order, and the numbers of the lines that are no JSON object."""

    events: tuple[Event, ...]
    broken_lines: tuple[int, ...]

    @property
    def inits(self) -> list[Event]:
        """Return the events that announce a session."""
        return [event for event in self.events if event.is_init]

    @property
    def results(self) -> list[Event]:
        """Return the result events."""
        return [event for event in self.events if event.has("result")]

    def systems(self, subtype: str) -> list[Event]:
        """Return the system events of one subtype."""
        return [event for event in self.events if event.has("system", subtype)]


@dataclass(frozen=True)
class Calls:
    """Tool calls by block id, with their errors; names are as the model wrote them.

    ``names`` maps a call's id to its tool, ``errors`` the ids of answered calls to whether an
    answer was an error, and ``unavailable`` holds the ids answered "No such tool available".
    """

    names: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, bool] = field(default_factory=dict)
    unavailable: frozenset[str] = frozenset()

    def count_by_name(self) -> dict[str, int]:
        """Return how often each tool was called, refused calls included."""
        return _tally(self.names.values())

    def errors_by_name(self) -> dict[str, int]:
        """Return how many calls of each tool were answered with an error."""
        return _tally(self.names[call] for call, failed in self.errors.items() if failed)


def parse(stdout: bytes) -> Stream:
    """Return the events of a whole or broken-off output."""
    rows = tuple(objects(stdout, parse_line))
    events = tuple(Event(line, end, data) for line, end, data in rows if data is not None)
    broken = tuple(line for line, _, data in rows if data is None)
    return Stream(events, broken)


def objects(
    stdout: bytes, read: Callable[[bytes], dict[str, Any] | None]
) -> Iterator[tuple[int, int, dict[str, Any] | None]]:
    """Yield the place from 0, the byte after its end and the object of each line that is not blank.

    ``read`` gives the object of a line, None if it holds none that can be handled.
    """
    end = 0
    for line, raw in enumerate(stdout.split(b"\n")):
        end = min(end + len(raw) + 1, len(stdout))
        if raw.strip():
            yield line, end, read(raw)


def parse_line(raw: bytes) -> dict[str, Any] | None:
    """Return the object that a line holds, or None if it holds none that can be handled."""
    try:
        value = json.loads(raw.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not is_deeper(value, DEEPEST) else None


def is_deeper(value: object, levels: int) -> bool:
    """Tell whether a value is nested deeper than so many levels, without recursion."""
    layer = [value]
    for _ in range(levels):
        layer = [inner for outer in layer for inner in _inside(outer)]
        if not layer:
            return False
    return True


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def calls(stream: Stream) -> Calls:
    """Return every tool call counted once by block id, and how it was answered."""
    names: dict[str, str] = {}
    errors: dict[str, bool] = {}
    unavailable: set[str] = set()
    for event in stream.events:
        for place, block in enumerate(_asking_blocks(event)):
            call = text(block.get("id")) or f"line {event.line} block {place}"
            names.setdefault(call, text(block.get("name")) or "")
        for call, failed, missing in _answers(event):
            errors[call] = failed or errors.get(call, False)
            unavailable.update({call} if missing else ())
    known = {call: failed for call, failed in errors.items() if call in names}
    return Calls(names, known, frozenset(unavailable & names.keys()))


def last_text(stream: Stream) -> str | None:
    """Return what the model's last message says, or None if it has no text."""
    spoken = [
        event
        for event in stream.events
        if event.has("assistant") and event.message.get("model") != SYNTHETIC
    ]
    last = [event for event in spoken if event.message.get("id") == spoken[-1].message.get("id")]
    blocks = [block for event in last for block in event.blocks if block.get("type") == "text"]
    written = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    return "".join(written) if written else None


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """Return the value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: object) -> str | None:
    """Return the value if it is a text, else None."""
    return value if isinstance(value, str) else None


def names(value: object) -> list[str] | None:
    """Return the value if it is an array of texts, else None."""
    found = [item for item in value if isinstance(item, str)] if isinstance(value, list) else None
    return found if found is not None and len(found) == len(sequence(value)) else None


def encodable(value: str) -> str:
    """Return the text with every lone surrogate replaced, so that it can be written as UTF-8."""
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _asking_blocks(event: Event) -> Iterator[Mapping[str, Any]]:
    """Iterate over the calls in an assistant event, or in the start of a streamed block."""
    if event.has("assistant"):
        yield from (block for block in event.blocks if block.get("type") in CALL_BLOCKS)
    if event.has("stream_event"):
        block = mapping(mapping(event.data.get("event")).get("content_block"))
        if block.get("type") in CALL_BLOCKS and text(block.get("id")):
            yield block


def _answers(event: Event) -> Iterator[tuple[str, bool, bool]]:
    """Iterate over call id, whether it is an error, and whether the tool was not there."""
    if not event.has("user"):
        return
    for block in event.blocks:
        call = text(block.get("tool_use_id"))
        if block.get("type") == "tool_result" and call is not None:
            failed = block.get("is_error") is True
            yield call, failed, failed and "No such tool available" in _said(block)


def _said(block: Mapping[str, Any]) -> str:
    content = block.get("content")
    parts = [mapping(part).get("text") for part in sequence(content)]
    return " ".join(part for part in [content, *parts] if isinstance(part, str))


def _tally(found: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in found:
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))
