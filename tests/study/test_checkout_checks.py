"""What keeps a study over checkouts from being one, said before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_trials.errors import StudyError
from agent_trials.study import manifest
from checkout_lab import CheckoutLab

if TYPE_CHECKING:
    from pathlib import Path

ARGUMENTS = "transports.cli.arguments"
SERVER = '{ command = ["d"], allow = ["x"], probe = { tool = "x" } }'


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> CheckoutLab:
    """Return a lab with a sound study."""
    return CheckoutLab(tmp_path_factory.mktemp("lab"))


def said(folder: Path) -> list[str]:
    """Return what is wrong with the study in a folder."""
    try:
        manifest.load(folder)
    except StudyError as error:
        return [str(each).partition(": ")[2] for each in error.problems]
    return []


def test_the_sample_is_sound(lab: CheckoutLab) -> None:
    assert said(lab.folder) == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            'credential = "api-key"',
            'credential = "login"',
            "transports.cli.credential: with 'login' the operator's own folder is the agent's",
        ),
        (
            'version = "2.1.296"',
            'version = "operator"',
            "transports.cli.version: the version of an agent that writes code is pinned",
        ),
        (
            '"--max-turns", "40",',
            "",
            f"{ARGUMENTS}: --max-turns does not stand there once, with a number",
        ),
        (
            '"--strict-mcp-config",',
            "",
            f"{ARGUMENTS}: --strict-mcp-config is missing: without it the CLI takes",
        ),
        (
            '"--disallowedTools", "{denied}",',
            "",
            f"{ARGUMENTS}: {{denied}} is missing: without it no tool is denied by name; add it",
        ),
        (
            'deny = ["WebFetch", "WebSearch", "Agent"]',
            'deny = ["WebSearch", "Agent"]',
            "transports.cli.deny: WebFetch may not be left open; deny it",
        ),
        (
            'tools = ["Bash",',
            'tools = ["WebSearch", "Bash",',
            "transports.cli.tools[0]: 'WebSearch' lets the agent look the mend up; move it to deny",
        ),
        (
            '"--permission-mode", "dontAsk"',
            '"--permission-mode", "auto"',
            f'{ARGUMENTS}: the mode "auto" makes requests of its own',
        ),
        (
            '"--disable-slash-commands",',
            '"--restricted", "--disable-slash-commands",',
            "arms.tool.rules.deliver: with --restricted the CLI reads no file of rules",
        ),
        (
            '"install"]]',
            '"{instal}"]]',
            "arms.tool.setup[0][2]: {instal} is no placeholder here",
        ),
        (
            'id = "native"',
            'id = "native"\nregistration = { server = "x" }',
            "arms.native.registration: nothing is set up in this arm that would register a server",
        ),
        (
            'id = "native"',
            f'id = "native"\nmcp_servers.d = {SERVER}',
            "arms.native.mcp_servers: a checkout's arm has the server that its set-up registers",
        ),
        (
            'version = "2.1.296"',
            'version = "2.1.296"\nenvironment = { CLAUDE_CODE_MCP_ALLOWLIST_ENV = "0" }',
            "transports.cli.environment.CLAUDE_CODE_MCP_ALLOWLIST_ENV: without it the CLI hands",
        ),
        (
            'id = "native"',
            'id = "native"\nunset = ["CLAUDE_CODE_MCP_ALLOWLIST_ENV"]',
            "arms.native.unset: without it the CLI hands its key to MCP servers",
        ),
        (
            'id = "native"',
            'id = "native"\narguments = ["--max-turns", "80"]',
            "arms.native.arguments[0]: '--max-turns' is the same in every arm",
        ),
        (
            "repetitions = 1",
            "repetitions = 1\nconcurrency = 2",
            "schedule.concurrency: an agent could find the checkout of another attempt",
        ),
        (
            "answer() returns one too little; mend it.",
            "x" * 100_001,
            "tasks.one.question: the prompt (question and instructions) has 100,001 bytes",
        ),
        (
            "[workspace.checkout]",
            "[workspace.tree]\n[workspace.checkout]",
            "workspace.tree: the kind is 'checkout'; write kind = \"tree\", or take the table out",
        ),
        (
            "[agent]",
            '[follow_up]\nwhen = "checker-fails"\nprompt = "Again."\n[agent]',
            "follow_up: a checkout is gone after its turn, and its patch evaluated later",
        ),
    ],
)
def test_says_what_is_wrong_and_the_way_out(
    lab: CheckoutLab, old: str, new: str, says: str
) -> None:
    """Each of these would end in a run that answers another question."""
    path = lab.folder / "study.toml"
    sound = path.read_text("utf-8")
    assert old in sound
    path.write_text(sound.replace(old, new, 1), "utf-8")
    try:
        found = said(lab.folder)
    finally:
        path.write_text(sound, "utf-8")

    assert any(each.startswith(says) and "; " in each for each in found)


def test_set_up_belongs_to_checkouts_alone(lab: CheckoutLab) -> None:
    """In a read-only export nothing could be installed."""
    path = lab.folder / "study.toml"
    sound = path.read_text("utf-8")
    path.write_text(sound.replace('kind = "checkout"', 'kind = "export"', 1), "utf-8")
    try:
        found = said(lab.folder)
    finally:
        path.write_text(sound, "utf-8")

    assert [each.partition(":")[0] for each in found] == [
        "workspace.checkout", "arms.tool.setup", "arms.tool.registration", "arms.tool.rules",
    ]  # fmt: skip
