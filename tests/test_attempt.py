"""An attempt whose ground failed settles like any other that did not complete."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from decimal import Decimal
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from agent_trials.attempt import run_attempt
from agent_trials.ledger import charges
from agent_trials.records import (
    AttemptRequest,
    Launch,
    SealedCorpus,
    SealedFile,
    SealedTree,
    SideFile,
    Status,
)
from agent_trials.session.run import StudyRun
from agent_trials.session.turns import is_infrastructure
from agent_trials.study import manifest
from agent_trials.workspace import starter
from tree_lab import TreeLab

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


@pytest.fixture
def in_a_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AttemptRequest:
    """Return an attempt of a fake CLI in a tree whose stops are copied."""
    lab = TreeLab(tmp_path / "lab", questions=("calibration", "one"))
    monkeypatch.setattr("tempfile.tempdir", str(lab.place))
    cli = manifest.load(lab.folder).manifest.transports.cli
    sealed = starter.seal("one", lab.folder / "tasks/one/starter", tmp_path / "sealed")
    return AttemptRequest(
        transport="cli", transport_settings=cli, model="claude-haiku-5-5", prompt="Fix it.",
        limit_usd=Decimal("0.1"), corpus=dataclasses.replace(sealed, stop_snapshots=True),
        mcp_servers=(), executable=str(lab.claude), executable_version="2.1.296",
        base_url="http://127.0.0.1:9", rehearsal=True,
    )  # fmt: skip


def test_a_turn_that_ends_well_without_a_copy_of_its_stop_is_the_grounds_failure(
    in_a_tree: AttemptRequest,
) -> None:
    """The hook answered, and what it should have copied is not there."""
    blind = Launch(unset=("WORKSPACE_SNAPSHOTS",))
    seen = run_attempt(in_a_tree).observation
    without = run_attempt(dataclasses.replace(in_a_tree, launch=blind)).observation

    assert (seen.status, len(seen.stops or ())) == (Status.COMPLETED, 1)
    assert (without.status, without.problems) == (Status.INVALID_SETUP, ("snapshot-missing",))


def test_project_files_of_another_arm_are_never_mended_by_a_repetition(
    in_a_tree: AttemptRequest,
) -> None:
    """The digest of the project's settings must be equal across the arms, or the run stops."""
    corpus = in_a_tree.corpus
    assert isinstance(corpus, SealedTree)
    other = dataclasses.replace(corpus, equal_digest="sha256:" + "0" * 64)
    result = run_attempt(dataclasses.replace(in_a_tree, corpus=other))
    run = SimpleNamespace(
        plan=SimpleNamespace(
            study=SimpleNamespace(
                manifest=SimpleNamespace(schedule=SimpleNamespace(infra_reruns=1))
            )
        ),
        journal=SimpleNamespace(reruns=0),
    )

    assert result.observation.problems == ("equal-files-differ",)
    assert is_infrastructure(result)
    assert not StudyRun.may_repeat(run, result)  # type: ignore[arg-type] # a double
