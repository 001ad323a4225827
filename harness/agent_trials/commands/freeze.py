"""agent-trials freeze."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from agent_trials.commands import examples
from agent_trials.commands.examine import examine
from agent_trials.errors import FreezeRefusedError
from agent_trials.publication.signing import Signer, sign_freeze
from agent_trials.study import freeze, manifest


@click.command(
    short_help="Fix a study before its first paid attempt.",
    epilog=examples(
        "agent-trials freeze evals/doc_bridge",
        "agent-trials freeze evals/doc_bridge --sign ~/.ssh/id_ed25519",
    ),
)
@click.argument("study", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--sign",
    "key",
    type=click.Path(path_type=Path),
    metavar="KEY",
    help="Sign the series id with this SSH key (ssh-keygen -Y sign), beside the lock.",
)
def command(study: Path, key: Path | None) -> None:
    """Fix STUDY (its folder) before its first paid attempt.

    Writes study.lock.json beside the manifest: the digest of every file that counts. Its digest is
    the series id, which every ledger of the study carries. A study in which `agent-trials check`
    finds a problem is not frozen. Commit the lock with the study.
    """
    signer = None if key is None else Signer.of(key)
    loaded = manifest.load(study)
    problems = examine(loaded).problems
    if problems:
        raise FreezeRefusedError(problems)
    frozen = freeze.freeze(loaded, now=datetime.now(UTC))
    click.echo(f"{study} is frozen; commit {study / 'study.lock.json'}")
    click.echo(f"series {frozen.series_id}")
    if signer is not None:
        signed = sign_freeze(signer, study, frozen.series_id)
        click.echo(f"signed {signed.path}; commit it with the lock, and check it with")
        click.echo(f"  {signed.command}")
