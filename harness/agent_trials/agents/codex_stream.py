"""The events of a `codex exec --json` stream; tolerant of everything that it does not know.

A line is one JSON object, ended by a line feed alone: text may hold other separators raw. Where a
key stands twice (a web search prints two ids) the first counts. Nothing here raises on any bytes,
trusts a field's type, or depends on the order of fields; unknown events are passed over.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials.agents.cli_stream import DEEPEST, is_deeper, mapping, objects, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

COMMAND, MCP, CHANGE = "command_execution", "mcp_tool_call", "file_change"
SEARCH, COLLAB, PLAN = "web_search", "collab_tool_call", "todo_list"
TOOLS = (COMMAND, MCP, CHANGE, SEARCH, COLLAB)
MESSAGE, NOTE = "agent_message", "error"
TURN_ENDS = ("turn.completed", "turn.failed")
_KNOWN = ("thread.started", "turn.started", *TURN_ENDS, NOTE)
_ITEMS = ("item.started", "item.updated", "item.completed")
_TOOL_ENDINGS = ("_call", "_execution", "_search", "_change", "_generation", "_use")


@dataclass(frozen=True)
class Event:
    """One line: its place from 0, the byte after its end, and its object."""

    line: int
    end: int
    data: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """Return its type, empty if it has none."""
        return text(self.data.get("type")) or ""

    @property
    def message(self) -> str:
        """Return what an error or a failed turn says."""
        inner = mapping(self.data.get("error")).get("message")
        return text(self.data.get("message")) or text(inner) or ""


@dataclass(frozen=True)
class Item:
    """One item as it was last printed.

    ``first`` is the event that printed it first, ``ended`` whether it was printed as completed.
    """

    kind: str
    first: Event
    ended: bool
    data: Mapping[str, Any]

    @property
    def is_tool(self) -> bool:
        """Tell whether the agent did something: a known tool, or what is named like one."""
        return self.kind in TOOLS or self.kind.endswith(_TOOL_ENDINGS)

    @property
    def failed(self) -> bool:
        """Tell whether the item says that it failed."""
        return self.data.get("status") == "failed"

    @property
    def said(self) -> str:
        """Return a message's, reasoning's or note's text."""
        return text(self.data.get("text")) or text(self.data.get("message")) or ""


@dataclass(frozen=True)
class Stream:
    """All events in order, the items in order of their first event, and broken lines."""

    events: tuple[Event, ...]
    items: tuple[Item, ...]
    broken_lines: tuple[int, ...]

    def of(self, *kinds: str) -> list[Event]:
        """Return the events of these types."""
        return [event for event in self.events if event.kind in kinds]

    @property
    def tools(self) -> list[Item]:
        """Return the items in which the agent did something."""
        return [item for item in self.items if item.is_tool]

    @property
    def messages(self) -> list[str]:
        """Return what the model said, commentary and texts of cut replies included."""
        return [item.said for item in self.items if item.kind == MESSAGE]

    @property
    def notes(self) -> list[str]:
        """Return the texts of error items: the CLI's remarks, none of them an end."""
        return [item.said for item in self.items if item.kind == NOTE]

    @property
    def last(self) -> Event | None:
        """Return the last event that is of a known type, None if there is none."""
        known = self.of(*_KNOWN, *_ITEMS)
        return known[-1] if known else None


def parse(stdout: bytes) -> Stream:
    """Return the events of a whole or broken-off output."""
    rows = tuple(objects(stdout, parse_line))
    events = tuple(Event(line, end, data) for line, end, data in rows if data is not None)
    broken = tuple(line for line, _, data in rows if data is None)
    return Stream(events, tuple(_items(events)), broken)


def parse_line(raw: bytes) -> dict[str, Any] | None:
    """Return the object that a line holds, or None if it holds none that can be handled."""
    try:
        value = json.loads(raw.decode(), parse_constant=_refuse, object_pairs_hook=_first_wins)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not is_deeper(value, DEEPEST) else None


def _items(events: Iterable[Event]) -> Iterator[Item]:
    """Iterate over the items; started, updated and completed events of one id are one item."""
    found: dict[tuple[str, str], Item] = {}
    for event in events:
        data = mapping(event.data.get("item"))
        if event.kind not in _ITEMS or not data:
            continue
        kind = text(data.get("type")) or ""
        key = (kind, text(data.get("id")) or f"line {event.line}")
        before = found.get(key)
        found[key] = Item(
            kind,
            before.first if before else event,
            event.kind == "item.completed" or (before is not None and before.ended),
            {**(before.data if before else {}), **data},
        )
    yield from found.values()


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        found.setdefault(key, value)
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
