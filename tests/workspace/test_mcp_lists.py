"""What is denied, and what must not be confused, over the servers of several arms."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_trials.records import McpServer
from agent_trials.workspace.mcp_command import Place
from agent_trials.workspace.mcp_lists import arm_problems, denied_tools, tool_list_problems
from agent_trials.workspace.mcp_names import cli_tool_name
from agent_trials.workspace.mcp_probe import ProbedServer

TOOLS = st.frozensets(st.sampled_from(["get", "search", "note", "drop"]))


def probed(
    arm: str,
    tools: frozenset[str],
    allow: frozenset[str],
    server: str = "docs",
    checkout: str = "a",
) -> ProbedServer:
    found = McpServer(server, (), tuple(sorted(allow)), tuple(sorted(tools)))
    return ProbedServer(Place(arm, server, checkout), found, (), "", "", 0, 0, None)


@given(lists=st.lists(TOOLS, min_size=1, max_size=3), allow=TOOLS)
def test_no_tool_is_left_neither_allowed_nor_denied(
    lists: list[frozenset[str]], allow: frozenset[str]
) -> None:
    """And the list is the same for the control arm, sorted, each name once."""
    all_probed = [
        probed("docs-mcp", tools, allow, checkout=str(n)) for n, tools in enumerate(lists)
    ]
    expected = sorted({cli_tool_name("docs", tool) for tool in frozenset().union(*lists) - allow})

    assert list(denied_tools(all_probed, "docs-mcp")) == expected
    assert list(denied_tools(all_probed, "repository-only")) == expected


def test_a_tool_that_another_arm_does_not_allow_is_not_denied_here() -> None:
    """Two arms may differ in what they may call of one server."""
    tools = frozenset({"get", "search", "drop"})
    both = [probed("few", tools, frozenset({"get"})), probed("more", tools, tools - {"drop"})]

    assert denied_tools(both, "few") == ("mcp__docs__drop", "mcp__docs__search")
    assert denied_tools(both, "more") == ("mcp__docs__drop",)


def test_lists_of_different_arms_or_servers_need_not_be_equal() -> None:
    get, drop = frozenset({"get"}), frozenset({"drop"})
    servers = [probed("a", get, get), probed("b", drop, drop), probed("a", drop, drop, "other")]

    assert tool_list_problems(servers) == []


def test_servers_of_one_arm_and_checkout_are_looked_at_together() -> None:
    """Each alone is right; a model could not tell their tools apart."""
    get = frozenset({"get"})
    one, other = probed("a", get, get), probed("a", get, get, "more")

    [problem] = arm_problems([one, other], [])
    assert (problem.where, "'get' of 'docs', 'get' of 'more'" in problem.what) == (
        "arm 'a', checkout 'a'", True,
    )  # fmt: skip
    assert arm_problems([one, probed("b", get, get, "more")], []) == []
    assert arm_problems([one, probed("a", get, get, "more", "b")], []) == []
