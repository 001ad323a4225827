"""What a scripted Messages API may answer, and how the real one writes it: plain or as a stream.

Token counts are deterministic: one token for every four bytes, begun ones counted whole. Caches
are never used, so their counts are there and zero.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Mapping

BYTES_PER_TOKEN = 4
PIECE = 64
"""How many characters one delta of a stream carries."""


@dataclass(frozen=True)
class Reply:
    """An answer of the model.

    ``content`` holds blocks as the API writes them; a tool call without an id is given one.
    ``overrides`` replaces fields of the finished message, right or wrong, such as its usage.
    """

    content: tuple[Mapping[str, Any], ...]
    stop_reason: str | None = "end_turn"
    overrides: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class HttpError:
    """An HTTP status with the API's error body; ``headers`` may hold a ``retry-after``."""

    status: int
    kind: str = "api_error"
    message: str = "scripted error"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RawBody:
    """Bytes that are sent as they are."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reset:
    """The connection is closed before a header; the model may have worked (``worked``) for it."""

    worked: Reply | None = None


@dataclass(frozen=True)
class Cut:
    """The answer breaks off: after so many events of a stream, or inside a plain body."""

    reply: Reply
    events: int = 1


@dataclass(frozen=True)
class Held:
    """The answer waits until ``gate`` is set; when the server closes first, there is none."""

    gate: threading.Event
    then: Answer


Answer = Reply | HttpError | RawBody | Reset | Cut | Held


def say(text: str, stop_reason: str | None = "end_turn", **overrides: Any) -> Reply:  # noqa: ANN401 - any JSON value
    """Return a reply of one text."""
    return Reply(({"type": "text", "text": text},), stop_reason, overrides)


def call(*calls: tuple[str, Mapping[str, Any]], **overrides: Any) -> Reply:  # noqa: ANN401 - any JSON value
    """Return a reply that asks for tools, each given as name and input."""
    blocks = tuple({"type": "tool_use", "name": name, "input": given} for name, given in calls)
    return Reply(blocks, "tool_use", overrides)


def tokens(value: object) -> int:
    """Return how many tokens a JSON value has."""
    return -(-len(json.dumps(value, separators=(",", ":")).encode("ascii")) // BYTES_PER_TOKEN)


def input_tokens(body: Mapping[str, Any]) -> int:
    """Return how many tokens a request has: its system text, tools and messages."""
    return tokens({name: body.get(name) for name in ("system", "tools", "messages")})


def message(reply: Reply, body: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return the finished message that answers a request; ``number`` makes its ids."""
    content = [
        {"id": f"toolu_{number:04}_{place:02}", **block} if block["type"] == "tool_use" else block
        for place, block in enumerate(reply.content, 1)
    ]
    return {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": content,
        "stop_reason": reply.stop_reason,
        "stop_sequence": None,
        "usage": _usage(reply, body),
        **reply.overrides,
    }


def billed(reply: Reply, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the usage that an answer is billed by: what it states, else what was counted."""
    stated = reply.overrides.get("usage")
    return stated if isinstance(stated, dict) else _usage(reply, body)


def _usage(reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
    output_tokens = min(tokens(reply.content), body.get("max_tokens") or tokens(reply.content))
    return {
        "input_tokens": input_tokens(body),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output_tokens,
        "service_tier": "standard",
    }


def events(finished: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the events of a stream that makes up a message, in the API's order.

    The usage at the start knows the input alone; the last delta has the final counts.
    """
    started = {**finished, "content": [], "stop_reason": None}
    if isinstance(finished["usage"], dict):
        started["usage"] = {**finished["usage"], "output_tokens": 1}
    yield "message_start", {"type": "message_start", "message": started}
    for index, block in enumerate(finished["content"]):
        yield from _block_events(index, block)
    yield (
        "message_delta",
        {
            "type": "message_delta",
            "delta": {"stop_reason": finished["stop_reason"], "stop_sequence": None},
            "usage": finished["usage"],
        },
    )
    yield "message_stop", {"type": "message_stop"}


def _block_events(index: int, block: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if block["type"] == "tool_use":
        empty, kind, name = {**block, "input": {}}, "input_json_delta", "partial_json"
        whole = json.dumps(block["input"])
    else:
        empty, kind, name = {**block, "text": ""}, "text_delta", "text"
        whole = block["text"]
    yield (
        "content_block_start",
        {"type": "content_block_start", "index": index, "content_block": empty},
    )
    if index == 0:
        yield "ping", {"type": "ping"}
    for start in range(0, len(whole), PIECE):
        delta = {"type": kind, name: whole[start : start + PIECE]}
        yield (
            "content_block_delta",
            {"type": "content_block_delta", "index": index, "delta": delta},
        )
    yield "content_block_stop", {"type": "content_block_stop", "index": index}


def encoded(name: str, data: Mapping[str, Any]) -> bytes:
    """Return one event of a stream as server-sent text."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode("ascii")
