"""Both arms of a study complete with the real Codex CLI, and differ in the treatment alone."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.agents import codex_run
from agent_trials.agents.codex_schema import OUTPUT
from agent_trials.agents.provider_cli import ProviderCli
from agent_trials.agents.provider_request import Job
from agent_trials.records import AttemptRequest, SealedCorpus, Status
from agent_trials.study.settings import ProviderSettings
from codex_bench import (
    INSTRUCTIONS,
    KEY,
    KEY_VALUE,
    REQUEST,
    docs_server,
    last,
    outputs,
    search,
)
from fake_codex import answer
from responses_server import ResponsesServer, Turn, shell

if TYPE_CHECKING:
    from codex_bench import Bench

BUILT_IN = ["apply_patch", "exec_command", "write_stdin"]
RESOURCES = ["list_mcp_resource_templates", "list_mcp_resources", "read_mcp_resource"]
VARIES = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|h-[0-9a-f]{16}|\b\d{13}\b")
"""Ids, the folder of the HOME, milliseconds since 1970."""


def names(body: dict[str, Any]) -> list[str]:
    return sorted(str(tool.get("name")) for tool in body["tools"])


def rest(body: dict[str, Any]) -> str:
    """Return all of a request but the tools, with what always differs cut."""
    left = {name: body[name] for name in body if name != "tools"}
    return VARIES.sub("ID", json.dumps(left, sort_keys=True))


def test_the_repository_arm_completes(bench: Bench) -> None:
    outcome = bench.run([Turn((shell("cat install.md"),)), last(answer())])

    assert outcome.completed, outcome
    assert outcome.reply["toolCalls"] == 1
    assert (outcome.reply["inputTokens"], outcome.reply["cachedInputTokens"]) == (8000, 2000)
    assert outcome.reply["measurements"]["timeToFirstToolEventMs"] > 0
    assert "pip install handbook" in outputs(bench.asked[1])
    assert bench.paths == ["POST /v1/responses"] * 2
    assert list((bench.tmp / "homes").iterdir()) == []


def test_nothing_but_the_question_and_the_shell_reaches_the_model(bench: Bench) -> None:
    bench.run([last(answer())])
    body = bench.asked[0]

    assert names(body) == BUILT_IN
    assert body["text"]["format"]["schema"] == OUTPUT
    assert body["text"]["format"]["strict"] is True
    assert body["model"] == "gpt-5.5"
    text = json.dumps(body)
    for canary in (INSTRUCTIONS, KEY_VALUE, "install-command", "SKILL.md", "mcp"):
        assert canary not in text


def test_the_treatment_arm_completes_and_its_server_answers(bench: Bench) -> None:
    outcome = bench.run([search(), last(answer())], servers=(docs_server(),))

    assert outcome.completed, outcome
    assert outcome.reply["servers"] == {"docs": {"ready": True, "calls": 1, "answered": 1}}
    assert "install.md:3" in outputs(bench.asked[1])


def test_the_arms_requests_differ_in_the_servers_tools_alone(bench: Bench) -> None:
    bench.run([last(answer())])
    control = bench.asked[0]
    bench.run([last(answer())], servers=(docs_server(),))
    treatment = bench.asked[0]

    assert names(treatment) == sorted([*BUILT_IN, *RESOURCES, "mcp__docs"])
    space = next(tool for tool in treatment["tools"] if tool.get("name") == "mcp__docs")
    assert sorted(tool["name"] for tool in space["tools"]) == ["docs_get", "docs_search"]
    assert [each for each in treatment["tools"] if each in control["tools"]] == control["tools"]
    assert rest(control) == rest(treatment)


def test_the_handoff_reaches_the_model(bench: Bench) -> None:
    program = bench.tmp / "programs" / "hand-off"
    program.write_text('#!/bin/sh\nprintf \'{\\n  "startHere": "%s"\\n}\' "$1"\n', "utf-8")
    program.chmod(0o755)
    outcome = bench.run([last(answer())], handoff=("hand-off", "install.md"))

    assert outcome.completed, outcome
    said = bench.asked[0]["input"][-1]["content"][0]["text"]
    assert '\n{"startHere":"install.md"}\n' in said


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("cat ../elsewhere/key.toml", "No such file"),
        ("ls ../operator ../homes", "No such file"),
        ("touch new.md", "Read-only file system"),
        (f"echo [${KEY}] [$OPENAI_API_KEY]", "[] []"),
        ("(echo > /dev/tcp/127.0.0.1/$PORT) 2>&1; echo end", "Operation not permitted"),
    ],
    ids=["another folder", "homes", "write", "key", "network"],
)
def test_a_command_stays_in_its_sandbox(bench: Bench, command: str, found: str) -> None:
    with ResponsesServer([Turn((shell(command.replace("$PORT", "9")),)), last(answer())]) as api:
        options = bench.options(api.base_url)
        outcome = codex_run.run(REQUEST, options, bench.environment, bench.folder)

    assert outcome.completed, outcome
    assert found in outputs(api.asked[1]), outputs(api.asked[1])
    assert "the answer key" not in outputs(api.asked[1])


def attempt(bench: Bench, base_url: str, *arguments: str, expected: tuple[str, ...]) -> Any:  # noqa: ANN401 - a result
    """Return one attempt through the provider transport, with the module as its command."""
    module = (sys.executable, "-I", "-m", "agent_trials.agents.codex")
    job = Job(
        argv=(
            *module, "--model", "gpt-5.5", "--codex", bench.codex, "--base-url", base_url, "--key",
            KEY, "--homes", str(bench.tmp / "homes"), *arguments,
        ),
        allowlist=(KEY,),
        request=json.dumps(REQUEST).encode(),
        output_bytes=50_000,
        rates=(Decimal(1), Decimal("0.5"), Decimal(3)),
        expected=expected,
        watched=("docs-tool",),
        digest="sha256-normalized-v1:0",
        network=False,
    )  # fmt: skip
    request = AttemptRequest(
        transport="provider",
        transport_settings=ProviderSettings(timeout_seconds=80),
        model="gpt-5.5",
        prompt="",
        limit_usd=Decimal("0.1"),
        corpus=SealedCorpus("handbook", "0" * 40, bench.folder, "sha256:0", ()),
        mcp_servers=(),
        provider=job,
    )
    return ProviderCli(bench.environment).ask(request, bench.folder)


def server_program(bench: Bench) -> str:
    """Put the documentation server on PATH under a name, and return it as an option."""
    program = bench.tmp / "programs" / "docs-tool"
    command = " ".join(docs_server().command[:-1])
    program.write_text(f'#!/bin/sh\nexec {command} "$1"\n', "utf-8")
    program.chmod(0o755)
    entry = {"command": ["docs-tool", "{checkout}"], "tools": ["docs.search", "docs.get"]}
    return json.dumps({"docs": entry})


def test_an_attempt_of_the_treatment_arm_shows_that_its_tool_ran(bench: Bench) -> None:
    """The harness sees the program start, the adapter its answers; neither is a grade."""
    servers = server_program(bench)
    with ResponsesServer([search(), last(answer())]) as api:
        result = attempt(bench, api.base_url, "--mcp", servers, expected=("docs-tool",))

    seen = result.observation
    assert (seen.status, seen.problems) == (Status.COMPLETED, ()), result.artifacts["stderr"]
    assert seen.treatment_evidence["started"] == {"docs-tool": 1}
    assert seen.treatment_evidence["reportedServers"] == {
        "docs": {"ready": True, "calls": 1, "answered": 1}
    }
    assert (seen.input_tokens, seen.output_tokens) == (6000, 240)
    assert seen.cost_usd == Decimal("0.00772")
    assert seen.provider["measurements"]["observedToolEventCount"] == "1"
    assert result.private["answer"] == "See README.md:1."


def test_an_attempt_whose_server_does_not_start_is_invalid_and_costs_nothing(bench: Bench) -> None:
    servers = server_program(bench)
    (bench.tmp / "programs" / "docs-tool").write_text("#!/bin/sh\nexit 3\n", "utf-8")
    with ResponsesServer([]) as api:
        result = attempt(bench, api.base_url, "--mcp", servers, expected=("docs-tool",))

    seen = result.observation
    assert seen.status is Status.INVALID_SETUP
    assert seen.problems == ("declared-invalid-setup", "treatment-not-seen")
    assert seen.provider["declared"]["problems"] == ["required-server-failed", "exit-code"]
    assert api.asked == []


def test_a_check_finds_a_tool_that_its_server_does_not_list(bench: Bench) -> None:
    """The CLI would leave it out without a word."""
    wrong = replace(docs_server(), tools=("docs.search", "docs.fetch"))
    options = bench.options("http://127.0.0.1:9/v1", servers=(wrong,))

    assert (
        codex_run.check(replace(options, servers=(docs_server(),)), bench.environment, bench.folder)
        == []
    )
    found = codex_run.check(options, bench.environment, bench.folder)
    assert ["docs.fetch" in each.what for each in found] == [True]
    assert Path(bench.tmp / "homes").is_dir()
