"""Both arms of a study complete with the real CLI, and differ in the treatment alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials.agents.cli_stream import parse
from agent_trials.records import Secret, Status
from agent_trials.rehearsal.replies import call, say
from claude_bench import ANNOTATE, GET, SEARCH, docs_server, misbehaving

if TYPE_CHECKING:
    from agent_trials.records import AttemptResult
    from claude_bench import Bench

KEY = "sk-dummy-0123456789"


def test_the_repository_arm_completes(bench: Bench, array: tuple[str, ...]) -> None:
    result = bench.ask(arguments=array)
    seen = result.observation

    assert seen.status is Status.COMPLETED, result.private["problems"]
    assert seen.tools == ("Glob", "Grep", "Read")
    assert seen.mcp_servers == ()
    assert "install.md:3" in result.private["answer"]
    assert seen.tool_calls_by_name.keys() == {"Grep", "Read"}


def test_the_treatment_arm_completes(bench: Bench, array: tuple[str, ...]) -> None:
    result = bench.ask(
        servers=(docs_server(bench.folder),), denied_mcp_tools=ANNOTATE, arguments=array
    )
    seen = result.observation

    assert seen.status is Status.COMPLETED, result.private["problems"]
    assert seen.mcp_servers == ({"name": "docs", "status": "connected"},)
    assert seen.mcp_tool_calls == 2
    assert "install.md:3" in result.private["answer"]


def test_reported_and_computed_cost_are_the_same_and_every_request_is_seen(bench: Bench) -> None:
    seen = bench.ask().observation

    assert seen.cli_reported_cost_usd == seen.computed_cost_usd == seen.cost_usd
    assert seen.cost_basis == "per-request"
    assert seen.provider_cost_basis == "list"
    assert seen.usage_complete
    assert seen.turns == len(bench.asked)
    assert (seen.retries, seen.continuations, seen.sub_agents) == (0, 0, 0)


def test_nothing_but_the_model_is_asked_anything(bench: Bench) -> None:
    bench.ask()

    assert set(bench.paths) == {"/v1/messages"}
    assert {headers["authorization"] for headers in bench.headers} == {"Bearer rehearsal"}
    assert all("x-api-key" not in headers for headers in bench.headers)


def _first_request(bench: Bench) -> tuple[list[dict[str, Any]], str]:
    """Return the tools of the first request, and all else of it with what always differs cut."""
    body = bench.asked[0]
    rest = {name: value for name, value in body.items() if name not in {"tools", "metadata"}}
    return body["tools"], re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", json.dumps(rest))


def test_the_arms_requests_differ_in_the_servers_tools_alone(bench: Bench) -> None:
    bench.ask(denied_mcp_tools=ANNOTATE)
    control_tools, control = _first_request(bench)
    bench.ask(servers=(docs_server(bench.folder),), denied_mcp_tools=ANNOTATE)
    treatment_tools, treatment = _first_request(bench)

    added = [tool["name"] for tool in treatment_tools if tool not in control_tools]
    assert sorted(added) == [GET, SEARCH]
    assert [tool for tool in treatment_tools if tool in control_tools] == control_tools
    assert control == treatment


def _tool_result(result: AttemptResult) -> str:
    """Return the text of the first tool result in the transcript."""
    events = parse(result.artifacts["transcript"]).events
    blocks = [block for event in events if event.has("user") for block in event.blocks]
    return str(blocks[0]["content"][0]["text"])


def test_no_key_and_nothing_of_the_operators_reaches_a_server(bench: Bench) -> None:
    """The CLI would hand its whole environment on, the key included."""
    answers = [call((SEARCH, {"query": "x"})), say("done")]

    result = bench.ask(
        answers,
        servers=(misbehaving("tells-all"),),
        rehearsal=False,
        credential="api-key",
        secrets={"ANTHROPIC_API_KEY": Secret(KEY)},
    )

    assert result.observation.status is Status.COMPLETED, result.private["problems"]
    assert {headers["x-api-key"] for headers in bench.headers} == {KEY}
    told = json.loads(_tool_result(result))
    assert not {name for name in told["environ"] if "KEY" in name or "TOKEN" in name}
    assert KEY not in json.dumps(told)
    assert set(told["environ"]) <= {
        "HOME", "PATH", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID", "CLAUDECODE", "LC_CTYPE",
    }  # fmt: skip
    assert not Path(told["environ"]["HOME"]).exists()


def test_nothing_is_left_behind(bench: Bench) -> None:
    before = sorted(bench.folder.rglob("*"))

    seen = bench.ask().observation

    assert sorted(bench.folder.rglob("*")) == before
    assert seen.survivors == 0
