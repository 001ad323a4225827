"""The answer key must stand nowhere that an agent reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials import canonical
from agent_trials.study import leaks, manifest
from agent_trials.study.key import AnswerKey, Proposition, TaskKey

if TYPE_CHECKING:
    from pathlib import Path

ANSWER = "The settings stand in handbook.toml"


def answer_key(text: str = ANSWER, *, quoted: bool = False) -> AnswerKey:
    """Return a key of one proposition."""
    entry = TaskKey(sources=("a.md",), propositions=(Proposition(text=text, quoted=quoted),))
    return AnswerKey(schema=1, tasks={"where": entry})


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (f"{ANSWER}.", 1),
        (f"# Title\n\nYes: {ANSWER}", 3),
        ("a\nb\nthe SETTINGS\n\tstand  in\r\nHandbook.TOML\n", 3),
        ("one two\nthree the settings stand in handbook.toml\n", 2),
    ],
    ids=["as it is", "below a title", "over lines and in capitals", "in mid-line"],
)
def test_names_file_and_line_of_a_proposition_in_the_corpus(content: str, line: int) -> None:
    problems = leaks.in_corpus(answer_key(), [("docs/a.md", content.encode())])

    assert len(problems) == 1
    assert str(problems[0]) == (
        f"docs/a.md:{line}: the corpus holds tasks.where.propositions[0] of the answer key; word it"
        " differently, or mark it quoted = true if the corpus really says so"
    )


def test_names_every_file_that_holds_it() -> None:
    files = [("a.md", ANSWER.encode()), ("b.md", b"no"), ("c.md", ANSWER.upper().encode())]

    assert [each.where for each in leaks.in_corpus(answer_key(), files)] == ["a.md:1", "c.md:1"]


def test_part_of_a_proposition_is_no_leak() -> None:
    """The corpus is where the answer comes from, so its words do stand there."""
    assert leaks.in_corpus(answer_key(), [("a.md", b"the settings stand in a file")]) == []


def test_a_quoted_proposition_may_stand_in_the_corpus() -> None:
    assert leaks.in_corpus(answer_key(quoted=True), [("a.md", ANSWER.encode())]) == []


def test_finds_letters_however_they_are_composed() -> None:
    """An accent may be a letter of its own, for example in files written on macOS."""
    assert leaks.in_corpus(answer_key("caf\u00e9 now"), [("a.md", "Cafe\u0301 now".encode())])


def test_reads_bytes_that_are_no_text() -> None:
    content = b"\xff\xfe\n" + ANSWER.encode()

    assert [each.where for each in leaks.in_corpus(answer_key(), [("a.md", content)])] == ["a.md:2"]


@given(
    before=st.lists(st.text(max_size=20), max_size=5),
    gaps=st.lists(st.sampled_from([" ", "\n", "\t", "\r\n", " \n "]), min_size=5, max_size=5),
)
def test_finds_a_proposition_however_its_words_are_parted(
    before: list[str], gaps: list[str]
) -> None:
    words = ANSWER.split()
    answer = "".join(word + gap for word, gap in zip(words, [*gaps, ""], strict=False))
    content = "\n".join([*before, ""]) + answer
    problems = leaks.in_corpus(answer_key(), [("a.md", content.encode("utf-8", "replace"))])

    assert len(problems) == 1
    line = int(problems[0].where.removeprefix("a.md:"))
    assert (
        content.encode("utf-8", "replace").decode().split("\n")[line - 1].casefold().find("the")
        >= 0
    )


def test_names_a_file_of_the_study_in_the_corpus() -> None:
    """A copy of key.toml under another name would hand the answers to every attempt."""
    study = {"key.toml": canonical.digest(b"answers"), "__init__.py": canonical.digest(b"")}
    files = [("docs/notes.md", b"answers"), ("docs/empty.md", b""), ("docs/else.md", b"text")]
    problems = leaks.study_files(study, files)

    assert len(problems) == 1
    assert str(problems[0]) == (
        "docs/notes.md: the corpus holds the study's own file key.toml; take it out of the corpus,"
        " and pin that commit"
    )


def test_no_message_repeats_a_proposition(folder: Path) -> None:
    """A log of a refused run is no place for the answers either."""
    study = manifest.load(folder)
    assert study.key is not None
    everything = "\n".join(
        proposition.text for task in study.key.tasks.values() for proposition in task.propositions
    )
    said = " ".join(map(str, leaks.in_corpus(study.key, [("a.md", everything.encode())])))

    assert "propositions[0]" in said
    assert "handbook.toml" not in said
