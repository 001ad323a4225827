"""A lost treatment is never counted as one: what the real CLI makes of servers that go wrong."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.records import Status
from agent_trials.rehearsal.replies import call, say
from claude_bench import ANNOTATE, GET, SEARCH, misbehaving

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_trials.rehearsal.replies import Answer
    from claude_bench import Bench

SEARCHES = [call((SEARCH, {"query": "x"})), call((GET, {"path": "install.md"})), say("done")]
MORE = ("mcp__docs__memory_promoteDraft", *ANNOTATE)


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        ("exits-at-start", "mcp-server-not-connected"),
        ("refuses-initialize", "mcp-server-not-connected"),
        ("exits-after-initialize", "tools-missing"),
        ("lists-nothing", "tools-missing"),
        ("lists-more", "tools-extra"),
    ],
)
def test_a_server_without_exactly_its_tools_is_an_invalid_setup(
    bench: Bench, behaviour: str, code: str
) -> None:
    """The CLI goes on without them, answers normally and exits with 0."""
    seen = bench.ask([say("done")], servers=(misbehaving(behaviour),)).observation

    assert seen.status is Status.INVALID_SETUP
    assert code in seen.problems
    assert (seen.exit_code, seen.cli_subtype) == (0, "success")
    assert seen.charged_usd == seen.attempt_budget_usd


@pytest.mark.parametrize(
    ("behaviour", "environment", "code"),
    [
        ("hangs-at-start", {"MCP_TIMEOUT": "1500"}, "mcp-server-not-connected"),
        ("hangs-at-list", {"CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "1000"}, "mcp-server-not-connected"),
    ],
)
def test_a_server_that_hangs_at_its_start_is_an_invalid_setup(
    bench: Bench, behaviour: str, environment: dict[str, str], code: str
) -> None:
    seen = bench.ask(
        [say("done")], servers=(misbehaving(behaviour),), environment=environment
    ).observation

    assert seen.status is Status.INVALID_SETUP
    assert {code, "tools-missing"} <= set(seen.problems)
    assert seen.time_to_init_ms is not None
    assert seen.time_to_init_ms > 1000


def test_further_tools_that_are_denied_are_not_even_offered(bench: Bench) -> None:
    result = bench.ask(SEARCHES, servers=(misbehaving("lists-more"),), denied_mcp_tools=MORE)

    assert result.observation.status is Status.COMPLETED, result.private["problems"]
    offered = {tool["name"] for tool in bench.asked[0]["tools"]}
    assert offered == {"Glob", "Grep", "Read", SEARCH, GET}


def test_a_further_tool_is_refused_when_it_is_called(bench: Bench) -> None:
    answers = [call((ANNOTATE[0], {})), say("done")]

    seen = bench.ask(answers, servers=(misbehaving("lists-more"),)).observation

    assert seen.status is Status.INVALID_SETUP
    assert {"foreign-tool-call", "denial-not-accepted"} <= set(seen.problems)


@pytest.mark.parametrize("behaviour", ["errs-always", "fails-always", "dies-in-a-call"])
def test_a_server_whose_every_answer_is_an_error_is_an_invalid_setup(
    bench: Bench, behaviour: str
) -> None:
    """The init event says connected all the same."""
    seen = bench.ask(SEARCHES, servers=(misbehaving(behaviour),)).observation

    assert seen.status is Status.INVALID_SETUP
    assert seen.problems == ("treatment-lost",)
    assert seen.mcp_servers == ({"name": "docs", "status": "connected"},)
    assert seen.tool_errors_by_name == {GET: 1, SEARCH: 1}


def test_a_server_that_errs_once_is_no_lost_treatment(bench: Bench) -> None:
    seen = bench.ask(SEARCHES, servers=(misbehaving("errs-once"),)).observation

    assert seen.status is Status.COMPLETED
    assert seen.tool_errors_by_name == {SEARCH: 1}


def test_a_server_that_is_never_called_is_no_lost_treatment(bench: Bench) -> None:
    seen = bench.ask([say("done")], servers=(misbehaving("well"),)).observation

    assert seen.status is Status.COMPLETED
    assert seen.mcp_tool_calls == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads arguments where Linux lists them")
def test_a_variable_reaches_its_server_and_stands_in_nobodys_arguments(bench: Bench) -> None:
    """Every user of the machine can read the arguments of every process."""
    public: list[bytes] = []
    shown: list[bool] = []

    def search_once(body: Mapping[str, Any]) -> Answer:
        for pid in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - names, no paths
            with suppress(OSError):
                public.append(Path("/proc", pid, "cmdline").read_bytes())
        shown.append("a-canary" in json.dumps(body))
        return call((SEARCH, {"query": "x"})) if len(shown) == 1 else say("done")

    server = replace(misbehaving("tells-all"), environment={"DOCS_TOKEN": "a-canary"})
    result = bench.ask(search_once, servers=(server,))

    assert result.observation.status is Status.COMPLETED, result.private["problems"]
    assert shown == [False, True]  # what the server was given, it told
    assert any(b"--mcp-config" in one for one in public)
    assert not any(b"a-canary" in one for one in public)
