"""Arms of the Codex adapter differ in what they say, and everything beside is off in all."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.agents import codex, codex_command, codex_options, codex_prompt
from agent_trials.agents.codex_options import OptionError, Options, Server
from agent_trials.agents.codex_prompt import RequestError

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

OPTIONS = Options(
    model="gpt-5.5",
    codex="codex",
    version="0.171.0",
    effort="medium",
    base_url="https://api.example/v1",
    key_variable="THE_KEY",
    sandbox="workspace",
    homes=Path("/var/homes"),
    timeout_seconds=60,
)
DOCS = Server("docs", ("ak-docs", "mcp", "{checkout}"), ("doc.search", "doc.get"), ("DOCS_ROOT",))
SERVER = {
    "command": "ak-docs",
    "args": ["mcp", "{checkout}"],
    "env_vars": ["DOCS_ROOT"],
    "required": True,
    "startup_timeout_sec": 20,
    "tool_timeout_sec": 30,
    "omit_tools_from": ["deferred"],
    "enabled_tools": ["doc.search", "doc.get"],
    "default_tools_approval_mode": "approve",
}
READS = ("/var/homes/h-1/home/.codex/tmp", "/opt/codex/@openai")


def argv(options: Options) -> tuple[str, ...]:
    return codex_command.argv(
        "/opt/codex/bin/codex", options, schema=Path("/x/s.json"), reads=READS
    )


@pytest.mark.parametrize("sandbox", codex_options.SANDBOXES)
def test_the_command_line(sandbox: str, snapshot: SnapshotAssertion) -> None:
    assert "\n".join(argv(replace(OPTIONS, sandbox=sandbox))) == snapshot


def test_the_command_line_of_an_arm_with_a_server_has_that_server_more() -> None:
    plain, docs = argv(OPTIONS), argv(replace(OPTIONS, servers=(DOCS,)))
    policy = 'shell_environment_policy={inherit="core",exclude=["*KEY*","*TOKEN*","*SECRET*",'

    more = [word for word in docs if word not in plain]
    assert more == [
        f'{policy}"DOCS_ROOT","THE_KEY"]}}',
        "mcp_servers.docs=" + codex_command.toml(SERVER),
    ]


@given(
    st.recursive(
        st.booleans() | st.integers(0, 2**31) | st.text(st.characters(exclude_categories=["Cs"])),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.text(st.characters(exclude_categories=["Cs"]), min_size=1), inner, max_size=3
            )
        ),
        max_leaves=6,
    )
)
def test_every_value_is_read_back_from_its_toml(value: object) -> None:
    assert tomllib.loads(f"x = {codex_command.toml(value)}") == {"x": value}


def test_the_environment_is_an_allowlist_with_a_home_of_its_own() -> None:
    operator = {
        "PATH": "/bin", "HOME": "/somewhere", "THE_KEY": "k", "DOCS_ROOT": "/d", "OTHER_KEY": "o",
        "HTTP_PROXY": "http://127.0.0.1:9", "CODEX_HOME": "/somewhere/.codex", "TMPDIR": "/t",
    }  # fmt: skip
    options = replace(OPTIONS, servers=(DOCS,))
    found = codex_command.environment(options, operator, home=Path("/h"), temporary=Path("/t"))

    assert found == {
        "PATH": "/bin", "HOME": "/h", "CODEX_HOME": "/h/.codex", "TMPDIR": "/t", "THE_KEY": "k",
        "DOCS_ROOT": "/d",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no", "is no JSON"),
        ("[]", "is no JSON object"),
        ("{}", "is no JSON object"),
        ('{"Docs":{}}', "a server called 'Docs'"),
        ('{"codex":{}}', "and not codex"),
        ('{"docs":[]}', "has no object for docs"),
        ('{"docs":{"comand":["x"],"tools":["a"]}}', "perhaps command"),
        ('{"docs":{"tools":["a"]}}', "docs.command is no JSON array"),
        ('{"docs":{"command":["x"],"tools":[]}}', "docs.tools is no JSON array of at least one"),
        ('{"docs":{"command":["x",""],"tools":["a"]}}', "one is empty"),
        ('{"docs":{"command":["x"],"tools":["a"],"environment":["k"]}}', "no name of a variable"),
        ('{"docs":{"command":["x"],"tools":["a"],"environment":["THE_KEY"]}}', "the model's key"),
    ],
)
def test_a_server_that_is_none_is_refused(text: str, why: str) -> None:
    with pytest.raises(OptionError, match=why):
        codex_options.servers(text, "THE_KEY")


def test_servers_are_read() -> None:
    text = '{"docs":{"command":["ak-docs"],"tools":["doc.search"]}}'

    assert codex_options.servers(text, "K") == (Server("docs", ("ak-docs",), ("doc.search",)),)


HANDOFF = {"type": "agent-handoff", "readBeforeEditing": ["docs/a.md"], "startHere": "docs/ä.md"}


def test_a_handoff_is_compact_and_keeps_content_and_order() -> None:
    printed = json.dumps(HANDOFF, indent=2).encode()

    assert codex_prompt.compact(printed) == (
        '{"type":"agent-handoff","readBeforeEditing":["docs/a.md"],"startHere":"docs/ä.md"}'
    )


@pytest.mark.parametrize(
    "printed",
    [b"", b"no", b"[]", b"{}", b'{"startHere":""}', b'{"startHere":NaN}', b'{"a":1} {}', b"\xff"],
)
def test_what_says_nowhere_to_begin_is_no_handoff(printed: bytes) -> None:
    with pytest.raises(RequestError, match="the handoff is no JSON"):
        codex_prompt.compact(printed)


REQUEST = {
    "protocol": "doc-bridge.study-provider.v1",
    "response": "Write exactly one JSON object",
    "task": {"taskId": "a-task", "scenarioId": "an-arm", "repositoryId": "a-repository"},
    "objective": "Where is the installer?\n",
    "initialContext": "The project is small.",
    "evidenceRequirements": ["a file with its line"],
    "acceptanceChecks": [],
    "allowedTools": ["read files"],
    "forbiddenActions": ["change files"],
}


def test_the_prompt(snapshot: SnapshotAssertion) -> None:
    assert codex_prompt.prompt(REQUEST, '{"startHere":"a.md"}') == snapshot


def test_the_prompt_names_no_arm_task_or_study() -> None:
    text = codex_prompt.prompt(REQUEST, None)

    assert not [word for word in ("an-arm", "a-task", "a-repository", "protocol") if word in text]
    assert codex_prompt.BEGIN not in text


def test_a_handoff_at_the_end_of_the_context_is_one() -> None:
    line = codex_prompt.compact(json.dumps(HANDOFF).encode())
    told = {**REQUEST, "initialContext": f"The project is small.\n{line}"}

    assert codex_prompt.prompt(told, None) == codex_prompt.prompt(REQUEST, line)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"objective":" "}', b'{"objective":1}'])
def test_a_request_that_asks_nothing_is_refused(data: bytes) -> None:
    with pytest.raises(RequestError):
        codex_prompt.read(data)


def test_the_help_teaches(snapshot: SnapshotAssertion) -> None:
    shown = CliRunner().invoke(codex.command, ["--help"], prog_name="codex", terminal_width=100)

    assert shown.output == snapshot
