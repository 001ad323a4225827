"""What a model calls the tools of MCP servers, and where two names become one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.workspace.mcp_names import (
    ToolName,
    api_tool_name,
    api_tools,
    cli_tool_name,
    name_problems,
)

NAMES = st.text(min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("doc-bridge", "doc.search", "mcp__doc-bridge__doc_search"),
        ("doc.bridge v2", "doc.search", "mcp__doc_bridge_v2__doc_search"),
        ("docs", "memory.promoteDraft", "mcp__docs__memory_promoteDraft"),
        ("docs", "über", "mcp__docs___ber"),
    ],
    ids=["dots", "a server's own", "camel case", "beyond ASCII"],
)
def test_names_a_tool_as_the_claude_cli_does(server: str, tool: str, name: str) -> None:
    """Seen in about 290 runs of the CLI; a wrong name is a tool that is never allowed."""
    assert cli_tool_name(server, tool) == name


@given(server=NAMES, tool=NAMES)
def test_a_model_only_ever_sees_names_that_both_transports_take(server: str, tool: str) -> None:
    assert re.fullmatch(r"mcp__[A-Za-z0-9_-]+__[A-Za-z0-9_-]+", cli_tool_name(server, tool))
    assert re.fullmatch(r"[A-Za-z0-9_-]+", api_tool_name(tool))


def test_a_call_goes_back_to_the_servers_own_name() -> None:
    tools = api_tools({"docs": ["handoff.resolve", "doc.search"], "git": ["git_log"]})

    assert tools == {
        "doc_search": ToolName("docs", "doc.search"),
        "handoff_resolve": ToolName("docs", "handoff.resolve"),
        "git_log": ToolName("git", "git_log"),
    }
    assert list(tools) == ["doc_search", "handoff_resolve", "git_log"]


@given(tools=st.lists(NAMES, unique=True, max_size=6))
def test_either_every_tool_has_a_name_of_its_own_or_it_is_refused(tools: list[str]) -> None:
    problems = name_problems("arm", {"docs": tools}, {"docs": tools})

    if problems:
        assert len({api_tool_name(tool) for tool in tools}) < len(tools)
    else:
        assert {name.tool for name in api_tools({"docs": tools}).values()} == set(tools)


def test_refuses_two_tools_that_the_cli_shows_as_one() -> None:
    """The CLI says nothing: init and request list one of them."""
    listed = {"docs": ["doc.search", "doc_search"]}
    [problem] = name_problems("arm 'docs'", listed, {"docs": []})

    assert str(problem) == (
        "arm 'docs': 'doc.search' of 'docs', 'doc_search' of 'docs' are one tool in the Claude"
        " CLI, 'mcp__docs__doc_search'; rename one of them, so that a call tells which was meant"
    )


def test_refuses_tools_of_two_servers_that_the_cli_shows_as_one() -> None:
    """`mcp__a__b__c` is the tool `c` of `a__b`, or `b__c` of `a`."""
    listed = {"a": ["b__c"], "a__b": ["c"]}

    assert "'mcp__a__b__c'" in name_problems("arm", listed, {})[0].what


def test_refuses_tools_of_two_servers_that_are_one_in_the_messages_api() -> None:
    """There a name does not tell the server."""
    tools = {"docs": ["search"], "web": ["search"]}
    [problem] = name_problems("arm", tools, tools)

    assert "one tool in the Messages API, 'search'" in problem.what
    with pytest.raises(RuntimeError, match="one tool in the Messages API"):
        api_tools(tools)


def test_a_tool_that_is_not_allowed_may_share_a_name_in_the_messages_api() -> None:
    """Only allowed tools are offered there."""
    listed = {"docs": ["search"], "web": ["search"]}

    assert name_problems("arm", listed, {"docs": ["search"], "web": []}) == []


def test_refuses_a_tool_listed_twice() -> None:
    [problem] = name_problems("arm", {"docs": ["get", "get"]}, {"docs": ["get"]})

    assert "lists the tool 'get' 2 times" in problem.what


def test_refuses_the_name_of_a_tool_of_the_transports_own() -> None:
    """A server's `repo.read` would shadow the read tool that both arms have."""
    tools = {"docs": ["repo.read"]}
    [problem] = name_problems("arm", tools, tools, taken=["repo_read"])

    assert "'repo_read' in the Messages API, a name that the transport uses" in problem.what


@pytest.mark.parametrize(("length", "refused"), [(128, 0), (129, 1), (0, 1)])
def test_refuses_a_name_that_the_messages_api_does_not_take(length: int, refused: int) -> None:
    tools = {"docs": ["x" * length]}

    assert len(name_problems("arm", tools, tools)) == refused
