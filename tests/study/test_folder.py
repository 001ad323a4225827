"""Which bytes of a study's folder a freeze binds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials import canonical
from agent_trials.study.folder import (
    LEDGERS,
    LOCK,
    PROTOCOL,
    folder_digest,
    read_folder,
    split_protocol,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_the_digest_can_be_computed_by_anyone(tmp_path: Path) -> None:
    """docs/study.md states the rule; this is it, by hand."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b/c.txt").write_bytes(b"2")
    (tmp_path / "a.txt").write_bytes(b"1")
    one, two = canonical.digest(b"1"), canonical.digest(b"2")
    text = f'{{"files":{{"a.txt":"{one}","b/c.txt":"{two}"}},"schema":1}}'

    assert folder_digest(tmp_path) == canonical.digest(text.encode())


@pytest.mark.parametrize(
    "path",
    [LOCK, LEDGERS, "__pycache__/x.py", "x.pyc", ".hidden", ".git/config", "sub/__pycache__/y.py"],
)
def test_what_running_a_study_leaves_behind_does_not_count(folder: Path, path: str) -> None:
    before = folder_digest(folder)
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text("anything")

    assert folder_digest(folder) == before


@pytest.mark.parametrize(
    "path", ["new.py", "sub/new.md", "study.lock.json.md", "sub/study.lock.json"]
)
def test_every_other_file_counts(folder: Path, path: str) -> None:
    before = folder_digest(folder)
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text("")

    assert folder_digest(folder) != before


@pytest.mark.parametrize("name", ["study.toml", "key.toml", PROTOCOL, "test_valid_study.py"])
def test_every_byte_of_a_file_counts(folder: Path, name: str) -> None:
    before = folder_digest(folder)
    content = (folder / name).read_bytes()
    for position in range(0, len(content.rstrip()), 97):
        changed = bytearray(content)
        changed[position] ^= 1
        (folder / name).write_bytes(changed)

        assert folder_digest(folder) != before


def test_a_moved_file_counts(folder: Path) -> None:
    before = folder_digest(folder)
    (folder / "test_valid_study.py").rename(folder / "test_other.py")

    assert folder_digest(folder) != before


def test_text_below_the_heading_of_amendments_does_not_count(folder: Path) -> None:
    """Otherwise no amendment could be written down without changing what it amends."""
    before = folder_digest(folder)
    text = (folder / PROTOCOL).read_text("utf-8")
    (folder / PROTOCOL).write_text(f"{text}\n\n## Amendments\n\nA1\n", "utf-8")
    present = read_folder(folder)

    assert present.digest == before
    assert present.amendments == b"A1"


def test_text_moved_below_the_heading_is_missing_above_it(folder: Path) -> None:
    """A protocol must not be emptied by putting the heading higher."""
    before = folder_digest(folder)
    text = (folder / PROTOCOL).read_text("utf-8")
    (folder / PROTOCOL).write_text(text.replace("\n\n", "\n\n## Amendments\n\n", 1), "utf-8")

    assert folder_digest(folder) != before


@pytest.mark.parametrize(
    "line", ["### Amendments", "## Amendments of others", " ## Amendments", "## amendments"]
)
def test_only_the_heading_itself_parts_the_protocol(line: str) -> None:
    content = f"above\n{line}\nbelow".encode()

    assert split_protocol(content) == (content, b"")


@given(above=st.text(), below=st.text(), end=st.sampled_from(["\n", "\r\n", " \n"]))
def test_the_first_heading_parts_the_protocol(above: str, below: str, end: str) -> None:
    first = above.replace("## Amendments", "")
    content = f"{first}\n## Amendments{end}{below}".encode("utf-8", "replace")

    assert split_protocol(content) == (
        first.encode("utf-8", "replace").rstrip(),
        below.encode("utf-8", "replace").strip(),
    )


def test_links_and_special_files_are_named(folder: Path) -> None:
    """What a link points at can change without any byte of the folder changing."""
    (folder / "linked.md").symlink_to(folder / "study.toml")
    (folder / "linked").symlink_to(folder)

    assert read_folder(folder).odd == ("linked", "linked.md")
    assert "linked.md" not in read_folder(folder).files
