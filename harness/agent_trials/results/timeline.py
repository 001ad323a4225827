"""A transcript as a timeline: what was said, which tools were called with what, tokens, times.

Two forms are read, by their shape: requests and responses of the Messages API, and the events of a
Claude Code stream. A line of another shape is shown as it stands; nothing is ever refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MOST_CHARACTERS = 20_000
"""How much of one entry is shown."""

_TOKENS = {
    "input_tokens": "input",
    "cache_read_input_tokens": "cache read",
    "cache_creation_input_tokens": "cache write",
    "output_tokens": "output",
}


@dataclass(frozen=True)
class Entry:
    """One thing that happened: ``kind`` is text, thinking, call, result, error, event or other."""

    kind: str
    title: str
    text: str
    tokens: Mapping[str, int] = field(default_factory=dict)
    at: str | None = None


def read(transcript: bytes) -> Iterator[Entry]:
    """Yield what happened, in order."""
    for raw in transcript.decode("utf-8", "replace").splitlines():
        if not raw.strip():
            continue
        try:
            line = json.loads(raw)
        except (ValueError, RecursionError):
            line = None
        if not isinstance(line, dict):
            yield Entry("other", "a line that is no event", _cut(raw))
        elif "request" in line:
            yield from _exchange(line)
        else:
            yield from _event(line)


def _exchange(line: Mapping[str, Any]) -> Iterator[Entry]:
    """Yield the results that a request hands in, and what the answer to it holds."""
    request = line["request"] if isinstance(line["request"], dict) else {}
    messages = request.get("messages") or []
    if len(messages) > 1 and isinstance(messages[-1], dict):
        yield from _contents(messages[-1].get("content"), {}, _since(line.get("sentMs")))
    response = line.get("response")
    try:
        answer = json.loads(response) if isinstance(response, str) else response
    except (ValueError, RecursionError):
        answer = None
    number, status = line.get("requestNumber"), line.get("status")
    at = _since(line.get("answeredMs"))
    if not isinstance(answer, dict) or "content" not in answer:
        yield Entry("error", f"request {number}: status {status}", _cut(_shown(response)), at=at)
        return
    yield from _contents(answer["content"], _tokens(answer), at, f"request {number}, ")


def _since(milliseconds: object) -> str | None:
    """Return the time since the first request in words; None where it was not measured."""
    if type(milliseconds) is not int:
        return None
    return f"{milliseconds / 1000:.3f} s after the first request"


def _event(line: Mapping[str, Any]) -> Iterator[Entry]:
    at = line.get("timestamp") if isinstance(line.get("timestamp"), str) else None
    message = line.get("message")
    if isinstance(message, dict) and line.get("type") in {"assistant", "user"}:
        yield from _contents(message.get("content"), _tokens(message), at)
        return
    names = [str(line[name]) for name in ("type", "subtype") if name in line]
    kind = "error" if line.get("is_error") else "event"
    yield Entry(kind, " ".join(names) or "event", _cut(_shown(line)), _tokens(line), at)


def _contents(
    content: object, tokens: Mapping[str, int], at: str | None, before: str = ""
) -> Iterator[Entry]:
    """Yield the blocks of a message; its tokens stand at the first one."""
    blocks: Iterable[object] = content if isinstance(content, list) else [content]
    for block in blocks:
        yield _block(block, tokens, at, before)
        tokens, before = {}, ""


def _block(block: object, tokens: Mapping[str, int], at: str | None, before: str) -> Entry:
    if not isinstance(block, dict):
        return Entry("text", f"{before}text", _cut(_shown(block)), tokens, at)
    kind = block.get("type")
    if kind == "tool_use":
        shown = _cut(_shown(block.get("input")))
        return Entry("call", f"{before}call of {block.get('name')}", shown, tokens, at)
    if kind == "tool_result":
        is_error = bool(block.get("is_error"))
        title = f"{before}{'error' if is_error else 'result'} of a tool"
        text = _cut(_texts(block.get("content")))
        return Entry("error" if is_error else "result", title, text, tokens, at)
    if kind in {"text", "thinking"}:
        return Entry(str(kind), f"{before}{kind}", _cut(_shown(block.get(kind))), tokens, at)
    return Entry("other", f"{before}{kind}", _cut(_shown(block)), tokens, at)


def _texts(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(
            str(part.get("text", _shown(part))) if isinstance(part, dict) else str(part)
            for part in content
        )
    return _shown(content)


def _tokens(holder: Mapping[str, Any]) -> dict[str, int]:
    usage = holder.get("usage")
    if not isinstance(usage, dict):
        return {}
    return {word: usage[name] for name, word in _TOKENS.items() if type(usage.get(name)) is int}


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=1, ensure_ascii=False, default=str)


def _cut(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}\n… {len(text) - MOST_CHARACTERS} more characters"
