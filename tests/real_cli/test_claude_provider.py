"""The documented wrapper makes a provider command of the real Claude Code CLI."""

from __future__ import annotations

import os
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import documented
from agent_trials.agents.provider_cli import ProviderCli
from agent_trials.records import AttemptRequest, SealedCorpus, Status
from agent_trials.rehearsal.messages_server import MessagesServer
from agent_trials.rehearsal.model import respond
from agent_trials.study.settings import ProviderSettings

if TYPE_CHECKING:
    from claude_bench import Bench


def test_the_documented_wrapper_asks_claude_code(bench: Bench, tmp_path: Path) -> None:
    programs, home = tmp_path / "programs", tmp_path / "home"
    programs.mkdir()
    home.mkdir()
    (programs / "claude").symlink_to(bench.claude)
    provider = documented.lay_out(programs)["claude-code"]
    request = AttemptRequest(
        transport="provider",
        transport_settings=ProviderSettings(timeout_seconds=60),
        model="claude-code",
        prompt="",
        limit_usd=Decimal("0.1"),
        corpus=SealedCorpus("handbook", "0" * 40, bench.folder, "sha256:0", ()),
        mcp_servers=(),
        provider=documented.job(provider, programs, "How do I install the handbook?"),
    )
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    with MessagesServer(respond) as api:
        operator = {
            "PATH": path, "HOME": str(home), "ANTHROPIC_API_KEY": "sk-dummy-0123456789",
            "ANTHROPIC_BASE_URL": api.base_url,
        }  # fmt: skip
        result = ProviderCli(operator).ask(request, bench.folder)
        asked = len(api.asked)

    seen = result.observation
    assert seen.status is Status.COMPLETED, result.artifacts["stderr"]
    assert asked > 1
    assert "install.md:3" in result.private["answer"]
    assert seen.usage_complete
    assert seen.cost_usd is not None
