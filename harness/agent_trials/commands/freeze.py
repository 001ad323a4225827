"""agent-trials freeze."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from agent_trials.commands import examples
from agent_trials.commands.examine import examine
from agent_trials.errors import FreezeRefusedError
from agent_trials.study import freeze, manifest


@click.command(
    short_help="Fix a study before its first paid attempt.",
    epilog=examples("agent-trials freeze evals/doc_bridge"),
)
@click.argument("study", type=click.Path(path_type=Path, exists=True, file_okay=False))
def command(study: Path) -> None:
    """Fix STUDY (its folder) before its first paid attempt.

    Writes study.lock.json beside the manifest: the digest of every file that counts. Its digest is
    the series id, which every ledger of the study carries. A study in which `agent-trials check`
    finds a problem is not frozen. Commit the lock with the study.
    """
    loaded = manifest.load(study)
    problems = examine(loaded).problems
    if problems:
        raise FreezeRefusedError(problems)
    frozen = freeze.freeze(loaded, now=datetime.now(UTC))
    click.echo(f"{study} is frozen; commit {study / 'study.lock.json'}")
    click.echo(f"series {frozen.series_id}")
