"""The examples of docs/providers.md run as they are written there."""

from __future__ import annotations

import os
import sys
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import documented
from agent_trials.agents.provider_cli import ProviderCli
from agent_trials.records import AttemptRequest, AttemptResult, SealedCorpus, Status
from agent_trials.rehearsal.messages_server import MessagesServer
from agent_trials.rehearsal.replies import say
from agent_trials.study.settings import ProviderSettings

PAGE = "# Install\n\nRun `queue install`.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An export of one page."""
    made = tmp_path / "w-1"
    made.mkdir()
    (made / "install.md").write_text(PAGE, encoding="utf-8")
    return made


def ask(folder: Path, model: str, operator: dict[str, str]) -> AttemptResult:
    """Run one attempt of an example."""
    place = folder.parent / "examples"
    place.mkdir()
    provider = documented.lay_out(place)[model]
    request = AttemptRequest(
        transport="provider",
        transport_settings=ProviderSettings(timeout_seconds=60),
        model=model,
        prompt="",
        limit_usd=Decimal("0.1"),
        corpus=SealedCorpus("handbook", "0" * 40, folder, "sha256:0", ()),
        mcp_servers=(),
        provider=documented.job(provider, place, "How do I install it?"),
    )
    path = os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"])
    return ProviderCli({"PATH": path, "HOME": str(folder.parent), **operator}).ask(request, folder)


def test_the_shell_command_answers_from_the_export(folder: Path) -> None:
    result = ask(folder, "grep-only", {})

    assert result.observation.status is Status.COMPLETED, result.private
    assert "install.md:3" in result.private["answer"]
    told: Any = result.observation.provider
    assert told["selfReported"] == {"toolCalls": 1}
    assert result.observation.cost_usd is None


def test_the_messages_api_answers_with_its_own_counts(folder: Path) -> None:
    with MessagesServer([say("Run queue install (install.md:3).")]) as api:
        operator = {"ANTHROPIC_API_KEY": "sk-dummy-0123456789", "ANTHROPIC_BASE_URL": api.base_url}
        result = ask(folder, "messages-api", operator)
        asked = api.asked

    assert result.observation.status is Status.COMPLETED, result.artifacts["stderr"]
    assert result.private["answer"] == "Run queue install (install.md:3)."
    assert asked[0]["messages"] == [{"role": "user", "content": "How do I install it?"}]
    assert result.observation.usage_complete
    assert result.observation.cost_usd is not None
    assert b"sk-dummy" not in b"".join(result.artifacts.values())


def test_the_arms_of_the_documented_study_are_those_of_the_documented_file(tmp_path: Path) -> None:
    (text,) = documented.blocks("toml")
    study = tomllib.loads(text)
    provided = documented.lay_out(tmp_path)

    tables = study["transports"]["provider"]["arms"]
    for arm in study["arms"]:
        assert tables[arm["id"]]["scenario"] in provided[arm["model"]].scenarioIds
    assert study["agent"]["compares"] == ["model"]
