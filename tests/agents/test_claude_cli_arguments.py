from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.agents import claude_cli
from agent_trials.agents.cli_arguments import arguments, is_streamed
from agent_trials.errors import AgentError
from agent_trials.records import (
    AttemptRequest,
    Kept,
    Launch,
    McpServer,
    SealedCorpus,
    Surroundings,
)
from agent_trials.study.settings import DEFAULT_ARGUMENTS, CliSettings
from recordings import PRICES, SERVER_TOOLS, recording

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

SETTINGS = CliSettings(version="2.1.296", prices=PRICES)
STREAMED = (*DEFAULT_ARGUMENTS[:-1], "--input-format", "stream-json")
ENGINE = McpServer(
    name="doc-bridge",
    command=("/opt/node", "/opt/engine/cli.js", "--config", "/srv/pin/doc-bridge.config.ts", "mcp"),
    allow=tuple(sorted(SERVER_TOOLS)),
    tools=(*sorted(SERVER_TOOLS), "gate.status"),
)
CONTROL = AttemptRequest(
    transport="cli",
    transport_settings=SETTINGS,
    model="claude-haiku-5-5",
    prompt="Where does the install command stand?\nCite path:line.",
    limit_usd=Decimal("0.10"),
    corpus=SealedCorpus("handbook", "0" * 40, Path("/srv/corpus"), "sha256:0", ()),
    mcp_servers=(),
    denied_mcp_tools=("mcp__doc-bridge__gate_status",),
    executable="/opt/claude",
    executable_version="2.1.296",
)
TREATMENT = replace(CONTROL, mcp_servers=(ENGINE,))


def test_the_array_of_the_minimal_study(snapshot: SnapshotAssertion) -> None:
    assert {
        "repository-only": list(arguments(SETTINGS, CONTROL)),
        "doc-bridge-mcp": list(arguments(SETTINGS, TREATMENT)),
    } == snapshot


@pytest.mark.parametrize("array", [DEFAULT_ARGUMENTS, STREAMED], ids=["argument", "streamed"])
def test_arms_differ_only_in_the_servers_and_the_names_of_their_tools(
    array: tuple[str, ...],
) -> None:
    settings = replace(SETTINGS, arguments=array)

    control, treatment = (arguments(settings, one) for one in (CONTROL, TREATMENT))
    differing = {
        flag: (here, there)
        for flag, here, there in zip(("", *control), control, treatment, strict=False)
        if here != there
    }

    assert set(differing) == {"--allowedTools", "--mcp-config"}
    here, there = differing["--allowedTools"]
    assert set(there.split(",")) - set(here.split(",")) == {
        "mcp__doc-bridge__doc_get",
        "mcp__doc-bridge__doc_search",
        "mcp__doc-bridge__handoff_resolve",
    }


def test_the_array_is_the_recorded_runs_own() -> None:
    """The recordings were made with the study's flags: same options in the same order."""
    recorded = recording("success-repo").entry["argv"]
    options = [one for one in recorded if one.startswith("-")]

    made = arguments(SETTINGS, CONTROL)

    assert [one for one in made if one.startswith("-")] == options
    assert made[-2] == "--strict-mcp-config"
    assert made[-1] == CONTROL.prompt


def test_what_a_placeholder_stands_for_is_not_looked_at_again() -> None:
    """A question may ask about ``{model}`` or hold JSON."""
    prompt = 'What does {model} mean in {"limit": 1}, and {prompt}?'

    assert arguments(SETTINGS, replace(CONTROL, prompt=prompt))[-1] == prompt


def test_braces_that_are_no_placeholder_stay() -> None:
    settings = replace(SETTINGS, arguments=("--settings", '{"hooks":{}}', "{prompt}"))

    assert arguments(settings, CONTROL)[1] == '{"hooks":{}}'


def test_a_placeholder_may_be_part_of_an_argument() -> None:
    settings = replace(SETTINGS, arguments=("--model={model}", "{prompt}"))

    assert arguments(settings, CONTROL)[0] == "--model=claude-haiku-5-5"


@pytest.mark.parametrize(
    ("limit", "written"),
    [("0.10", "0.1"), ("0.1234567", "0.123456"), ("0.000001", "0.000001"), ("1", "1")],
)
def test_the_limit_is_plain_text_rounded_down_to_six_places(limit: str, written: str) -> None:
    """The model is shown it, and the CLI may not spend more than was reserved."""
    made = arguments(SETTINGS, replace(CONTROL, limit_usd=Decimal(limit)))

    assert made[made.index("--max-budget-usd") + 1] == written


def entry(environment: dict[str, str]) -> dict[str, object]:
    """Return what the CLI is told of the engine."""
    args = list(ENGINE.command[1:])
    return {
        "mcpServers": {"doc-bridge": {"command": "/opt/node", "args": args, "env": environment}}
    }


def test_a_servers_entry_holds_command_and_arguments() -> None:
    made = arguments(SETTINGS, TREATMENT)

    assert json.loads(made[made.index("--mcp-config") + 1]) == entry({})


def test_a_variable_of_a_server_stands_in_a_private_file_and_not_in_the_array(
    tmp_path: Path,
) -> None:
    """Every user of the machine can read the arguments of every process."""
    server = replace(ENGINE, environment={"DOCS_TOKEN": "canary"})
    made = arguments(SETTINGS, replace(CONTROL, mcp_servers=(server,)), tmp_path)
    file = Path(made[made.index("--mcp-config") + 1])

    assert not any("canary" in one for one in made)
    assert file.parent == tmp_path
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text(encoding="utf-8")) == entry({"DOCS_TOKEN": "canary"})


@pytest.mark.parametrize(
    ("array", "streamed"),
    [(DEFAULT_ARGUMENTS, False), (STREAMED, True)],
    ids=["argument", "streamed"],
)
def test_the_prompt_has_one_way_to_the_cli(array: tuple[str, ...], *, streamed: bool) -> None:
    settings = replace(SETTINGS, arguments=array)

    assert is_streamed(settings) is streamed
    assert claude_cli.problems(settings) == []


@pytest.mark.parametrize(
    ("array", "word"),
    [(DEFAULT_ARGUMENTS[:-1], "neither"), ((*STREAMED, "{prompt}"), "both"), (("-p",), "neither")],
    ids=["none", "both", "nothing at all"],
)
def test_an_array_without_exactly_one_way_is_refused(array: tuple[str, ...], word: str) -> None:
    """Without a prompt the CLI would wait for one on standard input until the deadline."""
    settings = replace(SETTINGS, arguments=array)

    [problem] = claude_cli.problems(settings)
    with pytest.raises(AgentError, match=word):
        is_streamed(settings)

    assert word in problem.what


SESSION = replace(SETTINGS, arguments=("-p", "--model", "{model}", "{session}", "{prompt}"))
AROUND = Surroundings(*(Path("/around", name) for name in ("h", "c", "t", "p", "s")))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ("--session-id", "new-id")),
        ({"kept": Kept(Path("/tree"), AROUND, "old-id")}, ("--resume", "old-id")),
        ({"launch": Launch(("/opt/wrap",), names_session=True)}, ()),
        (
            {"launch": Launch(names_session=True), "kept": Kept(Path("/t"), AROUND, "old-id")},
            ("--resume", "old-id"),
        ),
    ],
    ids=["first turn", "further turn", "the launcher names it", "and a further turn"],
)
def test_every_arm_has_a_session_that_a_further_turn_goes_on_with(
    changes: dict[str, Any], words: tuple[str, ...]
) -> None:
    """A launcher that adds an id of its own must not be given a second one."""
    made = arguments(SESSION, replace(CONTROL, **changes), session="new-id")

    assert made[3:-1] == words


def test_an_arms_own_arguments_stand_before_the_studys() -> None:
    """Behind them a variadic option would swallow the prompt."""
    launch = Launch(arguments=("--append-system-prompt", "Be brief."))
    made = arguments(SESSION, replace(CONTROL, launch=launch))

    assert made[:3] == ("--append-system-prompt", "Be brief.", "-p")
