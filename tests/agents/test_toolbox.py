from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from agent_trials.agents import toolbox
from agent_trials.agents.base import public_tool_name
from agent_trials.agents.toolbox import ToolsMissingError
from agent_trials.errors import McpServerError
from agent_trials.workspace.mcp_tools import ToolAnswer
from asking import DOCS, Clock, FakeServer

if TYPE_CHECKING:
    from pathlib import Path


def test_offers_the_repositorys_tools_and_exactly_the_allowed_ones(tmp_path: Path) -> None:
    """Guard: what a server lists beyond the arm's tools is never offered."""
    server = FakeServer()
    with toolbox.opened(tmp_path, (DOCS,), server.connect, Clock()) as tools:
        assert tools.names == ("repo_list", "repo_read", "repo_search", "docs_get", "docs_search")
        assert tools.definitions[3] == {
            "name": "docs_get",
            "description": "about docs.get",
            "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}},
        }
        assert tools.is_mcp("docs_get")
        assert not tools.is_mcp("repo_read")


def test_the_server_gets_its_own_name_back_and_runs_in_the_export(tmp_path: Path) -> None:
    server = FakeServer([ToolAnswer("found")])
    with toolbox.opened(tmp_path, (DOCS,), server.connect, Clock()) as tools:
        answer = tools.call("docs_search", {"query": "x"}, 30)

    assert answer == ToolAnswer("found")
    assert server.calls == [("docs.search", {"query": "x"}, 30)]
    assert server.folders == [tmp_path]


def test_without_servers_there_are_the_repositorys_tools_alone(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("needle\n", encoding="utf-8")
    with toolbox.opened(tmp_path, (), FakeServer().connect, Clock()) as tools:
        assert tools.names == ("repo_list", "repo_read", "repo_search")
        assert tools.call("repo_search", {"term": "needle"}, 30).text == "a.md:1: needle"


def test_a_server_that_lost_an_allowed_tool_is_refused_and_ended(tmp_path: Path) -> None:
    """Guard: an attempt must not begin without its whole treatment."""
    server = FakeServer(lists=("docs.search",))
    with (
        pytest.raises(ToolsMissingError, match=r"docs\.get"),
        toolbox.opened(tmp_path, (DOCS,), server.connect, Clock()),
    ):
        pytest.fail("began")

    assert server.open == 0


def test_the_servers_that_started_are_ended_when_a_later_one_does_not(tmp_path: Path) -> None:
    other = dataclasses.replace(DOCS, name="other", allow=("other.search",))
    first = FakeServer()

    def connect(server: object, *, folder: Path) -> object:
        if server is other:
            raise McpServerError("does not start")
        return first.connect(DOCS, folder=folder)

    with (
        pytest.raises(McpServerError),
        toolbox.opened(tmp_path, (DOCS, other), connect, Clock()),  # type: ignore[arg-type] # a double
    ):
        pytest.fail("began")

    assert len(first.folders) == 1
    assert first.open == 0


@pytest.mark.parametrize(
    ("name", "public"),
    [
        ("docs_search", "docs_search"),
        ("Bash", "Bash"),
        ("mcp__docs__write", "mcp__docs__write"),
        ("x" * 64, "x" * 64),
        ("x" * 65, "other"),
        ("the user's name is Ada", "other"),
        ("name.with.dots", "other"),
        ("line\nbreak", "other"),
        ("name\n", "other"),
        ("", "other"),
        (None, "other"),
        ({"name": "x"}, "other"),
    ],
)
def test_names_that_a_model_made_up_are_published_only_if_they_look_like_names(
    name: object, public: str
) -> None:
    """Attack: private text put into the name of a tool."""
    assert public_tool_name(name, ("docs_search",)) == public


def test_an_expected_name_is_published_as_it_is() -> None:
    assert public_tool_name("x" * 100, {"x" * 100}) == "x" * 100
