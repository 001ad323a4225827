"""The real CLI in a checkout: it edits, is told what its arm says, and leaks what is admitted."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_trials import arms, attempt
from agent_trials.agents import capture
from agent_trials.records import Status
from agent_trials.rehearsal.messages_server import MessagesServer
from agent_trials.rehearsal.replies import call, say
from checkout_lab import CheckoutLab

if TYPE_CHECKING:
    from agent_trials.errors import Problem

CANARY = "CANARY-quince-marzipan"
DENIED = ("mcp__tool__docs_annotate", "mcp__tool__docs_get")


@pytest.fixture
def lab(claude: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CheckoutLab:
    """Return a lab with the real CLI, in whose operator's home memory lies."""
    found = CheckoutLab(tmp_path)
    found.cli = Path(claude)
    (found.home / ".claude").mkdir()
    for name in ("CLAUDE.md", ".claude/CLAUDE.md", ".claude.json"):
        (found.home / name).write_text(f'{{"say": "{CANARY}"}}', encoding="utf-8")
    monkeypatch.setenv("HOME", str(found.home))
    monkeypatch.setattr("tempfile.tempdir", str(found.place))
    return found


def test_edits_and_commits_of_the_agent_become_a_patch_and_nothing_leaks_in(
    lab: CheckoutLab,
) -> None:
    """Its Bash, its Edit, a server that the set-up registered; the operator's memory nowhere."""
    said = [
        call(
            ("Read", {"file_path": "app.py"}),
            ("mcp__tool__docs_search", {"query": "answers"}),
        ),
        call(("Edit", {"file_path": "app.py", "old_string": "41", "new_string": "42"})),
        call(("Bash", {"command": "echo more > more.txt && git add -A && git commit -qm mended"})),
        say("done"),
    ]
    with MessagesServer(said) as api:
        request = lab.request(api.base_url, lab.tool_setup())
        request = dataclasses.replace(request, denied_mcp_tools=DENIED)
        result = attempt.run_attempt(request)
        asked = "\n".join(capture.texts(api.asked))

    seen = result.observation
    assert seen.status is Status.COMPLETED, result.private["problems"]
    assert seen.mcp_servers == ({"name": "tool", "status": "connected"},)
    assert seen.mcp_tool_calls == 1
    assert seen.turns == len(said)
    patch = result.artifacts["patch"]
    assert b"+    return 42" in patch
    assert b"+++ b/more.txt" in patch
    assert b".tool.md" not in patch
    assert seen.patch is not None
    assert (seen.patch["files"], seen.patch["leftOut"]) == (2, 1)
    assert CANARY not in asked
    assert CANARY.encode() not in b"".join(result.artifacts.values())
    assert str(lab.home) not in asked


def test_an_agent_that_is_out_of_turns_leaves_its_patch(lab: CheckoutLab) -> None:
    """It is evaluated like any other."""
    text = (lab.folder / "study.toml").read_text("utf-8")
    (lab.folder / "study.toml").write_text(text.replace('"40"', '"1"'), encoding="utf-8")
    said = call(("Bash", {"command": "echo half > half.txt"}))
    with MessagesServer([said, said]) as api:
        result = attempt.run_attempt(lab.request(api.base_url))

    assert result.observation.status is Status.FAILED
    assert result.observation.cli_subtype == "error_max_turns"
    assert result.observation.usage_missing is False
    assert b"half" in result.artifacts["patch"]


def test_before_money_the_cli_shows_what_each_arm_is_told_and_who_can_read_the_key(
    lab: CheckoutLab,
) -> None:
    """The rules reach one arm, in the file that the installer wrote; the shell has the key."""
    problems: list[Problem] = []

    found = arms.look(lab.ground(), problems)

    assert [str(each) for each in problems] == []
    registered = found.set_ups["tool"].registration
    assert registered is not None
    assert registered.tools == ("docs.annotate", "docs.get", "docs.search")
    assert found.facts["shielded"] is not found.facts["keyReachesShell"]


def test_rules_as_an_argument_reach_their_arm_alone(lab: CheckoutLab) -> None:
    """As they would where no file of rules is read."""
    lab.study(rules='{ file = "rules.md", deliver = "appended-system-prompt" }')
    (lab.folder / "rules.md").write_text("Ask the tool first.\n\n- twice\n", encoding="utf-8")
    problems: list[Problem] = []

    arms.look(lab.ground(), problems)

    assert [str(each) for each in problems] == []
