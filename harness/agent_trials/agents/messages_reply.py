"""Reads what the Messages API answered: pure, and strict only about what is used."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_DATE = re.compile(r"-20[0-9]{6}")


class MalformedReplyError(Exception):
    """An answer that is none; the sentence may hold private text."""


@dataclass(frozen=True, repr=False)
class ToolUse:
    """One call that the model asks for."""

    identity: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Reply:
    """One answer of the model.

    ``content`` is what the next request repeats, as it came but for what cannot be sent.
    """

    text: str
    tool_uses: tuple[ToolUse, ...]
    stop_reason: str | None
    content: tuple[Mapping[str, Any], ...]


def parse(data: bytes) -> dict[str, Any]:
    """Return the JSON object that the bytes hold.

    Raises:
        MalformedReplyError: they hold no object, or a number that JSON has no word for.
    """
    try:
        body = json.loads(data, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise MalformedReplyError(f"the body is no JSON: {error}") from None
    if not isinstance(body, dict):
        raise MalformedReplyError("the body is no JSON object")
    return body


def read(body: Mapping[str, Any]) -> Reply:
    """Return the answer that a body holds.

    Raises:
        MalformedReplyError: the body is no message, or a block of it is not what its type says.
    """
    blocks = body.get("content")
    if body.get("type") != "message" or not isinstance(blocks, list):
        raise MalformedReplyError("the body is no message")
    if not all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks):
        raise MalformedReplyError("a content block has no type")
    texts = [_text_of(block, "text") for block in blocks if block["type"] == "text"]
    uses = tuple(_tool_use(block) for block in blocks if block["type"] == "tool_use")
    if len({use.identity for use in uses}) < len(uses):
        raise MalformedReplyError("two tool calls have one id")
    reason = body.get("stop_reason")
    return Reply(
        text="\n".join(texts),
        tool_uses=uses,
        stop_reason=reason if isinstance(reason, str) else None,
        content=tuple(sendable(block) for block in blocks),
    )


def is_same_model(asked: str, answered: object) -> bool:
    """Return whether the answering model is the asked one or a dated form of it."""
    if not isinstance(answered, str):
        return False
    return answered == asked or (
        answered.startswith(asked) and _DATE.fullmatch(answered.removeprefix(asked)) is not None
    )


def sendable(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value without lone surrogates, which JSON can state and UTF-8 cannot."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {sendable(key): sendable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [sendable(item) for item in value]
    return value


def _tool_use(block: Mapping[str, Any]) -> ToolUse:
    arguments = block.get("input")
    if not isinstance(arguments, dict):
        raise MalformedReplyError("the input of a tool call is no object")
    return ToolUse(_text_of(block, "id"), _text_of(block, "name"), arguments)


def _text_of(block: Mapping[str, Any], name: str) -> str:
    value = block.get(name)
    if not isinstance(value, str):
        raise MalformedReplyError(f"the {name} of a {block['type']} block is no text")
    return value


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no JSON number")


def _finite(written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number
