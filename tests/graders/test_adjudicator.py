"""A grading over the Claude CLI is a session without tools, or no grading at all."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import fake_cli
import grading
from agent_trials.graders import adjudicator
from agent_trials.graders.adjudicator import Adjudicator
from agent_trials.graders.prompt import Prompt
from agent_trials.records import Status
from agent_trials.study.settings import AdjudicatorCliSettings, GraderSettings
from recordings import PRICES

if TYPE_CHECKING:
    from pathlib import Path

    from agent_trials.records import Observation

VERSION = "2.1.296"


def grade(folder: Path, **behaviour: Any) -> Observation:  # noqa: ANN401 - JSON
    """Grade once by a fake CLI with this behaviour."""
    fake = fake_cli.install(folder, **{**grading.CORRECT, **behaviour})
    grader = GraderSettings(
        transport="cli",
        model="claude-haiku-5-5",
        limit_usd=Decimal("0.1"),
        cli=AdjudicatorCliSettings(version=VERSION, prices=PRICES, timeout_seconds=20),
    )
    asked = Adjudicator(
        "adjudicator",
        "cli",
        grader.model,
        grader.limit_usd,
        adjudicator.transport_settings(grader),
        executable=str(fake.path),
        executable_version=VERSION,
        base_url="http://127.0.0.1:9",
        rehearsal=True,
    )
    return asked.ask(Prompt("Grade it.", {"question": "How?"})).observation


def test_a_session_without_tools_is_a_grading(tmp_path: Path) -> None:
    assert grade(tmp_path).status is Status.COMPLETED


@pytest.mark.parametrize(
    ("behaviour", "problem"),
    [
        ({"init": {"tools": ["Read"]}}, "tools-extra"),
        ({"init": {"mcp_servers": [{"name": "x", "status": "connected"}]}}, "mcp-servers-differ"),
        ({"init": {"model": "another"}}, "model-differs"),
        ({"init": {"claude_code_version": "2.1.297"}}, "version-differs"),
        ({"tool_calls": [{"name": "Read", "input": {"file_path": "a.md"}}]}, "foreign-tool-call"),
    ],
    ids=["a tool", "a server", "another model", "another version", "a call"],
)
def test_a_session_that_is_another_than_was_registered_decides_nothing(
    tmp_path: Path, behaviour: dict[str, Any], problem: str
) -> None:
    """Who can look further than the packet could find the arm."""
    seen = grade(tmp_path, **behaviour)

    assert seen.status is Status.INVALID_SETUP
    assert problem in seen.problems
