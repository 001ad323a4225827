"""How a place and a value are written for a person."""

from __future__ import annotations

import pytest

from agent_trials.study.findings import Finding, KeyPath, nearest, shown, written

DOCUMENT = {
    "tasks": [{"id": "one"}, {"id": "two"}, {"id": "two"}, {}],
    "a\nb": 1,
}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("tasks", 0, "id"), "tasks.one.id"),
        (("tasks", 1, "id"), "tasks[1].id"),
        (("tasks", 3), "tasks[3]"),
        (("tasks", 9, "x"), "tasks[9].x"),
        (("a\nb",), r"'a\nb'"),
    ],
    ids=["top", "by its id", "an id twice", "no id", "not there", "unprintable"],
)
def test_writes_a_place_as_one_would_look_for_it(path: KeyPath, text: str) -> None:
    assert written(path, DOCUMENT) == text


def test_a_problem_of_the_whole_file_names_the_file_alone() -> None:
    assert str(Finding((), "is odd", "mend it").within("a.toml", {})) == "a.toml: is odd; mend it"


def test_a_long_value_is_shortened() -> None:
    text = shown(("title",), "x" * 100)

    assert len(text) == 60
    assert text.endswith("x…")


@pytest.mark.parametrize("path", [("tasks", 0, "question"), ("tasks", "x", "propositions", 0, "y")])
def test_a_prompt_or_an_answer_is_never_shown(path: KeyPath) -> None:
    assert shown(path, "the answer") == "this text"


def test_the_way_out_is_the_nearest_word_or_all_of_them() -> None:
    assert nearest("pilt", ["pilot", "full"]) == "did you mean 'pilot'?"
    assert nearest("zzz", ["pilot", "full"]) == "use one of pilot, full"
    assert nearest("zzz", ["operator"]) == 'write "operator"'
    assert nearest("2", ["1"]) == "write 1"
    assert nearest("zzz", []) == "remove it"


def test_one_place_inside_another_is_one_trouble() -> None:
    inner, outer = Finding(("a", 0, "b"), "", ""), Finding(("a",), "", "")

    assert inner.touches(outer)
    assert outer.touches(inner)
    assert not inner.touches(Finding(("a", 1), "", ""))
