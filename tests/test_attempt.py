"""An attempt whose ground failed settles like any other that did not complete."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from agent_trials.attempt import run_attempt
from agent_trials.ledger import charges
from agent_trials.records import AttemptRequest, SealedCorpus, SealedFile, SideFile, Status

if TYPE_CHECKING:
    from pathlib import Path


SIDE = SideFile("{home}/events.jsonl", "event", "COST", "usd", Decimal("0.25"), 2)


@pytest.mark.parametrize("transport", ["http", "cli", "provider"])
def test_a_lost_workspace_charges_what_the_ledger_demands(tmp_path: Path, transport: str) -> None:
    """A charge of 0 would be refused at its settlement, and end the session with an error."""
    lost = SealedFile("README.md", 4, "sha256:" + "0" * 64)
    request = AttemptRequest(
        transport=transport,
        transport_settings=None,
        model="a-model",
        prompt="",
        limit_usd=Decimal("0.1"),
        corpus=SealedCorpus("handbook", "0" * 40, tmp_path / "gone", "sha256:0", (lost,)),
        mcp_servers=(),
        side=SIDE if transport == "cli" else None,
    )

    observation = run_attempt(request).observation

    assert (observation.status, observation.problems) == (Status.INVALID_SETUP, ("workspace",))
    assert charges.problem(observation.to_json(), request.reservation_usd) is None


def test_only_a_study_with_an_mcp_server_loads_the_mcp_sdk() -> None:
    """It takes a second of every session, whatever the study asks."""
    script = (
        "import sys\n"
        "from agent_trials.agents import claude_cli, messages_api, provider_cli\n"
        "from agent_trials.session import runs\n"
        "print({'mcp', 'mcp_types'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout == "set()\n"
