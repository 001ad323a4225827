from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.agents import repo_tools
from agent_trials.agents.repo_tools import RepoTools
from asking import Clock

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an export with a secret file beside it."""
    (tmp_path / "outside.txt").write_text("outside secret\n", encoding="utf-8")
    export = tmp_path / "export"
    (export / "docs").mkdir(parents=True)
    (export / "README.md").write_text("# Tool\n\nSee docs.\n", encoding="utf-8")
    (export / "docs" / "install.md").write_bytes(b"# Install\r\nRun `tool install`.\r\nDone.")
    return export


@pytest.fixture
def tools(folder: Path) -> RepoTools:
    return RepoTools(folder)


def text(tools: RepoTools, name: str, **arguments: object) -> str:
    answer = tools.call(name, arguments)
    assert not answer.is_error
    return answer.text


def refusal(tools: RepoTools, name: str, **arguments: object) -> str:
    answer = tools.call(name, arguments)
    assert answer.is_error
    return answer.text


def test_lists_paths_sorted_and_those_that_hold_a_term(tools: RepoTools) -> None:
    assert text(tools, "repo_list") == "README.md\ndocs/install.md"
    assert text(tools, "repo_list", term="docs/") == "docs/install.md"
    assert text(tools, "repo_list", term="nowhere") == "no path contains the term"


def test_lists_at_most_200_paths_and_says_how_many_more(folder: Path) -> None:
    for number in range(203):
        (folder / f"f{number:03}.md").touch()

    lines = text(RepoTools(folder), "repo_list", term="f").split("\n")

    assert lines[:2] == ["f000.md", "f001.md"]
    assert len(lines) == 201
    assert lines[-1] == "(3 more paths are not shown; give a term that fewer contain)"


def test_reads_numbered_lines(tools: RepoTools) -> None:
    assert text(tools, "repo_read", path="docs/install.md") == (
        "docs/install.md, lines 1 to 3 of 3\n1\t# Install\n2\tRun `tool install`.\n3\tDone."
    )
    assert text(tools, "repo_read", path="docs/install.md", start=2, lines=1) == (
        "docs/install.md, lines 2 to 2 of 3\n2\tRun `tool install`."
    )


def test_reads_an_empty_file(folder: Path) -> None:
    (folder / "empty.md").touch()

    assert text(RepoTools(folder), "repo_read", path="empty.md") == ("empty.md, lines 1 to 0 of 0")


def test_reads_at_most_100_lines_unless_fewer_are_asked_for(folder: Path) -> None:
    (folder / "long.md").write_text("x\n" * 150, encoding="utf-8")

    lines = text(RepoTools(folder), "repo_read", path="long.md").split("\n")

    assert lines[0] == "long.md, lines 1 to 100 of 150"
    assert len(lines) == 101


@pytest.mark.parametrize(
    "path",
    [
        "../outside.txt",
        "docs/../../outside.txt",
        "/etc/hostname",
        "./README.md",
        "docs/install.md\0",
        "\0",
        "",
        "docs",
        "link.txt",
        "linked/outside.txt",
        "~/outside.txt",
        "docs//install.md",
        "\udcff",
    ],
    ids=[
        "parent", "parent inside", "absolute", "dot", "NUL after", "NUL", "empty", "folder",
        "link to a file", "through a linked folder", "home", "double slash", "surrogate",
    ],
)  # fmt: skip
def test_no_path_leads_out_of_the_export(folder: Path, path: str) -> None:
    """Attack: every spelling that a file system would follow to the file beside the export."""
    (folder / "link.txt").symlink_to(folder.parent / "outside.txt")
    (folder / "linked").symlink_to(folder.parent)
    tools = RepoTools(folder)

    assert "no such file" in refusal(tools, "repo_read", path=path)


def test_links_are_neither_listed_nor_searched(folder: Path) -> None:
    """Attack: a link in the corpus would show files of this machine."""
    (folder / "link.txt").symlink_to(folder.parent / "outside.txt")
    (folder / "linked").symlink_to(folder.parent)
    os.mkfifo(folder / "pipe.md")
    tools = RepoTools(folder)

    assert text(tools, "repo_list") == "README.md\ndocs/install.md"
    assert text(tools, "repo_search", term="outside") == "no line contains the term"


def test_a_link_put_in_a_files_place_later_is_not_followed(folder: Path) -> None:
    """Attack: what was a file when it was listed is a link when it is read."""
    tools = RepoTools(folder)
    (folder / "README.md").unlink()
    (folder / "README.md").symlink_to(folder.parent / "outside.txt")

    with pytest.raises(OSError, match=r"README\.md"):
        tools.call("repo_read", {"path": "README.md"})


def test_searches_literally_with_case_and_no_pattern(folder: Path) -> None:
    (folder / "z.md").write_text("a.c\nabc\nA.C\n", encoding="utf-8")
    tools = RepoTools(folder)

    assert text(tools, "repo_search", term="a.c") == "z.md:1: a.c"
    assert text(tools, "repo_search", term="tool", path="docs/") == (
        "docs/install.md:2: Run `tool install`."
    )


def test_search_shows_30_lines_of_500_characters_and_says_so(folder: Path) -> None:
    (folder / "long.md").write_text(("needle" + "x" * 600 + "\n") * 31, encoding="utf-8")

    lines = text(RepoTools(folder), "repo_search", term="needle").split("\n")

    assert len(lines) == 31
    assert lines[0] == "long.md:1: needle" + "x" * 494
    assert lines[-1] == "(stopped at 30 matching lines; give a longer term or a path)"


def test_search_of_exactly_30_lines_says_nothing_of_a_limit(folder: Path) -> None:
    (folder / "long.md").write_text("needle\n" * 30, encoding="utf-8")

    assert "stopped" not in text(RepoTools(folder), "repo_search", term="needle")


def test_search_looks_into_the_first_500_files_and_says_so(folder: Path) -> None:
    for number in range(501):
        (folder / f"f{number:03}.txt").write_text("needle in the last\n"[:6], encoding="utf-8")
    (folder / "f500.txt").write_text("other\n", encoding="utf-8")
    tools = RepoTools(folder)

    answer = text(tools, "repo_search", term="other", path=".txt")

    assert answer == ("no line contains the term\n(only the first 500 of 501 files were searched)")
    assert text(tools, "repo_search", term="other", path="f500") == "f500.txt:1: other"


def test_search_stops_at_its_deadline_and_says_so(folder: Path) -> None:
    clock = Clock()
    tools = RepoTools(folder, clock=lambda: clock.now)
    clock.now += 1

    def ticking() -> float:
        clock.now += 20
        return clock.now

    late = RepoTools(folder, clock=ticking)

    assert "stopped at the time limit" in late.call("repo_search", {"term": "zzz"}).text
    assert "stopped" not in tools.call("repo_search", {"term": "zzz"}).text


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("repo_list", {"term": "x" * 201}, "term"),
        ("repo_list", {"term": 3}, "term"),
        ("repo_list", {"pattern": "x"}, "unknown argument 'pattern'"),
        ("repo_read", {}, "path"),
        ("repo_read", {"path": ["README.md"]}, "path"),
        ("repo_read", {"path": "README.md", "start": 0}, "start"),
        ("repo_read", {"path": "README.md", "start": -1}, "start"),
        ("repo_read", {"path": "README.md", "start": "1"}, "start"),
        ("repo_read", {"path": "README.md", "start": 1.5}, "start"),
        ("repo_read", {"path": "README.md", "start": True}, "start"),
        ("repo_read", {"path": "README.md", "start": None}, "start"),
        ("repo_read", {"path": "README.md", "start": 99}, "has 3 lines"),
        ("repo_read", {"path": "README.md", "lines": 0}, "lines"),
        ("repo_read", {"path": "README.md", "lines": 101}, "at most 100"),
        ("repo_search", {}, "term"),
        ("repo_search", {"term": ""}, "term"),
        ("repo_search", {"term": "x" * 201}, "term"),
        ("repo_search", {"term": "x", "path": {}}, "path"),
    ],
)
def test_bad_arguments_are_answered_with_an_error(
    tools: RepoTools, name: str, arguments: dict[str, Any], said: str
) -> None:
    """A model's mistake is part of what an attempt shows; it must not end the attempt."""
    assert said in refusal(tools, name, **arguments)


def test_bytes_that_are_no_text_are_shown_as_such(folder: Path) -> None:
    (folder / "binary.md").write_bytes(b"\xff\xfe needle\n")

    assert (
        text(RepoTools(folder), "repo_search", term="needle") == "binary.md:1: \ufffd\ufffd needle"
    )


def test_unknown_tool_is_the_callers_bug(tools: RepoTools) -> None:
    with pytest.raises(RuntimeError, match="repo_write"):
        tools.call("repo_write", {})


def test_definitions_name_the_three_tools_in_order() -> None:
    assert tuple(definition["name"] for definition in repo_tools.DEFINITIONS) == repo_tools.NAMES


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(
    name=st.sampled_from(repo_tools.NAMES),
    arguments=st.dictionaries(st.sampled_from(["term", "path", "start", "lines", "x"]), _JSON),
)
def test_no_arguments_raise_or_show_what_lies_outside(
    name: str, arguments: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Law: any JSON is answered, the same way each time, and from the export alone."""
    export = tmp_path_factory.getbasetemp() / "law" / "export"
    if not export.exists():
        export.mkdir(parents=True)
        (export / "a.md").write_text("inside\n", encoding="utf-8")
        (export.parent / "b.md").write_text("outside\n", encoding="utf-8")
    tools = RepoTools(export)

    first, second = tools.call(name, arguments), tools.call(name, arguments)

    assert first == second
    assert "outside" not in first.text
