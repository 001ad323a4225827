"""Files that are no documents of ours, however they came to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_trials.study import document

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.toml", b"\xff", "byte 0 is not UTF-8; save it as UTF-8"),
        (
            "a.toml",
            b"\xef\xbb\xbfa = 1\n",
            "begins with a byte order mark, which belongs to no TOML",
        ),
        ("a.json", b"\xef\xbb\xbf{}", "begins with a byte order mark"),
        ("a.json", b"\xff\xfe{\0}\0", "begins with a byte order mark"),
        (
            "a.toml",
            b"a = 1\na = 2\n",
            "no valid TOML: Cannot overwrite a value (at line 2, column 6)",
        ),
        ("a.json", b"{,}", "no valid JSON: Expecting property name enclosed in double quotes"),
        (
            "a.json",
            b'{"b": 1, "a": 1, "a": 2}',
            "no valid JSON: the key 'a' stands twice in one object",
        ),
        ("a.json", b"[]", "holds no table; write an object at the top"),
        ("a.json", b"[" * 100_000, "nested too deeply; write fewer levels"),
        ("a.json", b'{"a": ' + b"9" * 5000 + b"}", "no valid JSON: Exceeds the limit"),
        ("a.json", b'{"a": NaN}', "a: nan is no number that JSON can write; write a finite number"),
        ("a.json", b'{"a": ["\\ud800"]}', "a[0]: the text holds half a surrogate pair"),
        ("a.toml", b"a = inf", "a: inf is no number that JSON can write; write a finite number"),
        ("a.toml", b"a = [{ b = 07:30:00 }]", "a[0].b: 07:30:00 is a date or a time"),
    ],
)
def test_says_in_one_sentence_what_is_wrong(
    tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    (tmp_path / name).write_bytes(content)
    raw, problems = document.read(tmp_path / name)

    assert raw is None
    assert len(problems) == 1
    assert str(problems[0]).startswith(f"{tmp_path / name}: {sentence}")


def test_a_file_that_cannot_be_read_is_a_sentence_too(tmp_path: Path) -> None:
    raw, problems = document.read(tmp_path)

    assert raw is None
    assert str(problems[0]) == f"{tmp_path}: cannot be read (Is a directory); make it readable"


def test_reads_toml_and_json_of_one_shape_alike(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('a = [{ b = "ü", c = 0.5 }]\nd = true\n', "utf-8")
    (tmp_path / "a.json").write_text('{"a": [{"b": "ü", "c": 0.5}], "d": true}', "utf-8")

    assert document.read(tmp_path / "a.toml") == document.read(tmp_path / "a.json")
