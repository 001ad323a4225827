"""The names of fields, and which of them a series depends on."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator, Mapping

import pytest

from agent_trials.study import fields, shape
from agent_trials.study.fields import Change
from agent_trials.study.settings import Manifest


def test_names_fields_by_their_keys_and_list_elements_by_their_id() -> None:
    document = {
        "a": 1,
        "tasks": [{"id": "x", "question": "q"}, {"id": "y", "question": "r"}],
        "t": {"prices": [{"input": "1"}, {"input": "2"}], "tools": ["A"], "none": {}},
        "rate": 0.5,
    }

    assert fields.manifest_fields(document) == {
        "a": 1,
        "tasks": ["x", "y"],
        "tasks.x.id": "x",
        "tasks.x.question": "q",
        "tasks.y.id": "y",
        "tasks.y.question": "r",
        "t.prices.0.input": "1",
        "t.prices.1.input": "2",
        "t.tools": ["A"],
        "t.none": {},
        "rate": "0.5",
    }


def test_a_number_with_a_point_stands_as_text_wherever_it_is() -> None:
    """Canonical JSON holds none, and the lock's digests are of canonical JSON."""
    document = {"a": [0.5, {"b": 0.25}], "tasks": {"x": {"c": [1.5]}}}

    assert fields.manifest_fields(document)["a"] == ["0.5", {"b": "0.25"}]
    assert fields.key_fields(document)["tasks.x"].startswith("sha256:")


def test_a_long_value_is_shortened_for_the_protocol() -> None:
    assert len(fields.shown("x" * 500)) == 200
    assert fields.shown("x" * 100) == f'"{"x" * 100}"'
    assert fields.shown(None) == "nothing"


def test_a_comment_in_the_answer_key_touches_nothing() -> None:
    changes = [Change("key.toml", None, "sha256:a", "sha256:b")]

    assert fields.touched(changes, manifests=["study.toml"], keys=["key.toml"]) == set()


def test_the_order_of_tasks_and_arms_is_a_field() -> None:
    """It decides the schedule, and no other field would tell."""
    one = fields.manifest_fields({"arms": [{"id": "a"}, {"id": "b"}]})
    two = fields.manifest_fields({"arms": [{"id": "b"}, {"id": "a"}]})

    assert fields.differences("study.toml", one, two) == (
        Change("study.toml", "arms", ["a", "b"], ["b", "a"]),
    )


def test_the_lock_holds_digests_of_the_key_and_never_its_text() -> None:
    entries = fields.key_fields({"tasks": {"x": {"propositions": [{"text": "the answer"}]}}})

    assert list(entries) == ["tasks.x"]
    assert entries["tasks.x"].startswith("sha256:")
    assert "answer" not in str(entries)


@pytest.mark.parametrize(
    ("field", "word"),
    [
        ("tasks.x.question", "question"),
        ("tasks", "question"),
        ("tasks.x.category", None),
        ("instructions", "question"),
        ("repositories.r.pin", "pin"),
        ("arms.a.mcp_servers.docs.allow", "arm"),
        ("agent.model", "model"),
        ("transports.cli.prices.0.input", "price"),
        ("transports.http.input_usd_per_million", "price"),
        ("transports.cli.web_search_usd", "price"),
        ("transports.cli.tools", "tool"),
        ("transports.cli.version", "tool"),
        ("transports.cli.timeout_seconds", None),
        ("transports.cli.environment.stop_on", "tool"),
        ("workspace.filter.words", "tool"),
        ("parameters.engine.default", "tool"),
        ("title", None),
        ("verdict.thresholds.correctness", None),
        ("follow_up.prompt", "question"),
        ("controls.prompt", "other"),
    ],
)
def test_says_what_a_field_belongs_to(field: str, word: str | None) -> None:
    assert fields.belongs_to(field) == word


def test_every_setting_is_in_the_table() -> None:
    """A field that is added later must be put in it knowingly: is a series bound to it or not?"""
    unknown = [name for name in settings(Manifest) if fields.belongs_to(name) == "other"]

    assert unknown == []


def settings(kind: object, prefix: str = "") -> Iterator[str]:
    """Yield the names of all settings below a dataclass, with x for names that a study chooses."""
    for each in shape.alternatives([kind]):
        if isinstance(each, type) and dataclasses.is_dataclass(each):
            hints = typing.get_type_hints(each)
            for field in dataclasses.fields(each):
                yield from settings(hints[field.name], f"{prefix}.{field.name}".lstrip("."))
        elif typing.get_origin(each) is Mapping:
            yield from settings(typing.get_args(each)[1], f"{prefix}.x")
        elif typing.get_origin(each) is tuple and dataclasses.is_dataclass(
            typing.get_args(each)[0]
        ):
            yield from settings(typing.get_args(each)[0], f"{prefix}.x")
        else:
            yield prefix


def test_only_fields_of_the_right_file_touch_anything() -> None:
    changes = [
        Change("study.toml", "title", "a", "b"),
        Change("study.toml", "agent.model", "a", "b"),
        Change("key.toml", "tasks.x", "a", "b"),
        Change("verdict.py", None, "a", "b"),
        Change("study.toml", None, "a", "b"),
    ]

    assert fields.touched(changes, manifests=["study.toml"], keys=["key.toml"]) == {"model", "key"}


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("PROTOCOL.md", set()),
        ("test_study.py", set()),
        ("tasks.lock.json", {"question"}),
        ("PROMPT.md", {"question"}),
        ("tasks/one/starter/main.py", {"question"}),
    ],
)
def test_any_other_file_is_part_of_what_is_asked(file: str, words: set[str]) -> None:
    """A prompt's template or a starter that changes makes another question of it."""
    change = [Change(file, None, "sha256:a", "sha256:b")]

    assert fields.touched(change, manifests=["study.toml"], keys=["key.toml"]) == words
