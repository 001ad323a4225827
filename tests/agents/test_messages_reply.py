from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.agents import messages_reply
from agent_trials.agents.messages_reply import MalformedReplyError


def body(*content: Any, **fields: object) -> dict[str, Any]:  # noqa: ANN401 - blocks, right or wrong
    return {"type": "message", "content": list(content), "stop_reason": "end_turn", **fields}


def text(words: object) -> dict[str, object]:
    return {"type": "text", "text": words}


def use(**fields: object) -> dict[str, object]:
    return {"type": "tool_use", "id": "toolu_1", "name": "repo_read", "input": {}, **fields}


@pytest.mark.parametrize(
    "data",
    [b"", b"<html>", b"[]", b'"text"', b"null", b"{", b"\xff{}", b'{"a": NaN}', b'{"a": 1e999}',
     b'{"a": Infinity}', b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}"],
    ids=["empty", "html", "list", "text", "null", "cut", "no utf-8", "nan", "too large",
         "infinite", "deep", "digits"],
)  # fmt: skip
def test_what_is_no_json_object_is_no_answer(data: bytes) -> None:
    """Guard: numbers that JSON has no word for could not be sent back in the next request."""
    with pytest.raises(MalformedReplyError):
        messages_reply.parse(data)


def test_reads_text_calls_and_stop_reason_and_repeats_every_block() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    reply = messages_reply.read(
        body(thinking, text("one"), use(input={"path": "a"}), text("two"), stop_reason="tool_use")
    )

    assert reply.text == "one\ntwo"
    assert [(u.identity, u.name, u.arguments) for u in reply.tool_uses] == [
        ("toolu_1", "repo_read", {"path": "a"})
    ]
    assert reply.stop_reason == "tool_use"
    assert reply.content[0] == thinking


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"type": "error", "error": {}},
        body(type="completion"),
        {"type": "message"},
        body(content=None),
        body(content={"type": "text"}),
        body("text"),
        body({"text": "x"}),
        body({"type": 3}),
        body(text(None)),
        body({"type": "text"}),
        body(use(input=None)),
        body(use(input="{}")),
        body(use(id=3)),
        body(use(name=None)),
        body(use(), use()),
    ],
    ids=[
        "empty", "error", "other type", "no content", "null content", "object content",
        "bare text", "no type", "numbered type", "null text", "no text", "null input",
        "text input", "numbered id", "null name", "one id twice",
    ],
)  # fmt: skip
def test_a_block_that_is_not_what_its_type_says_is_refused(answer: dict[str, Any]) -> None:
    with pytest.raises(MalformedReplyError):
        messages_reply.read(answer)


def test_unknown_fields_and_blocks_are_let_through() -> None:
    """The provider adds fields when it likes."""
    reply = messages_reply.read(body({"type": "novelty", "x": 1}, text("yes"), container={}))

    assert reply.text == "yes"


@pytest.mark.parametrize(
    ("asked", "answered", "same"),
    [
        ("claude-haiku-5-5", "claude-haiku-5-5", True),
        ("claude-haiku-5-5", "claude-haiku-5-5-20261007", True),
        ("claude-haiku-5-5", "claude-haiku-5-50", False),
        ("claude-haiku-5", "claude-haiku-5-5", False),
        ("claude-haiku-5-5", "claude-haiku-5-5-20261007-v2", False),
        ("claude-haiku-5-5", "claude-haiku-5-5-2026", False),
        ("claude-haiku-5-5-20261007", "claude-haiku-5-5", False),
        ("claude-haiku-5-5", "claude-sonnet-5-5", False),
        ("claude-haiku-5-5", None, False),
        ("claude-haiku-5-5", ["claude-haiku-5-5"], False),
    ],
)
def test_the_same_model_is_the_asked_one_or_a_dated_form(
    asked: str, answered: object, *, same: bool
) -> None:
    """Guard: another model's answer says nothing about the one that the study froze."""
    assert messages_reply.is_same_model(asked, answered) is same


_TEXT = st.text(st.sampled_from("aé😀\0\ud83d\udfff"), max_size=4)


@given(
    st.recursive(
        st.none() | st.integers() | _TEXT,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXT, inner, max_size=2),
        max_leaves=4,
    )
)
def test_everything_can_be_sent_once_it_is_sendable(value: object) -> None:
    """Law: a lone surrogate, which a model can write and UTF-8 cannot, ends no attempt."""
    json.dumps(messages_reply.sendable(value), ensure_ascii=False).encode("utf-8")


def test_sendable_changes_nothing_that_can_be_sent() -> None:
    value = {"a": ["é", "😀", 1, None, True, 1.5]}

    assert messages_reply.sendable(value) == value
    assert messages_reply.sendable("a\ud83db") == "a?b"
