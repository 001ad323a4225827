"""agent-trials amend."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent_trials.commands import examples
from agent_trials.commands.examine import examine
from agent_trials.errors import FreezeRefusedError
from agent_trials.study import freeze, manifest

if TYPE_CHECKING:
    from collections.abc import Iterator


@click.command(
    short_help="Record what was changed in a frozen study.",
    epilog=examples(
        "agent-trials amend evals/doc_bridge --reason 'the old pin does not build'",
        "agent-trials amend evals/doc_bridge --reason 'disk failed' --lost-ledger 3f9c51d2a07b64e8",
    ),
)
@click.argument("study", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--reason", required=True, metavar="TEXT", help="Why; published with the protocol.")
@click.option(
    "--runner",
    "runners",
    multiple=True,
    metavar="DIGEST",
    help="Let ledgers of these runners count together; give two or more (`show` names them).",
)
@click.option(
    "--lost-ledger",
    "lost_ledgers",
    multiple=True,
    metavar="RUNID",
    help="This paid run's ledger is lost; its whole cap counts as spent.",
)
def command(
    study: Path, reason: str, runners: tuple[str, ...], lost_ledgers: tuple[str, ...]
) -> None:
    """Record what was changed in STUDY (its folder) since it was frozen.

    Change the files first, then amend: the change is added to study.lock.json and, as A1, A2, …,
    below "## Amendments" in PROTOCOL.md. Once a scored attempt is on record, touching a question,
    the key, a pin, an arm, the model, a price or a tool begins a new series.
    """
    loaded = manifest.load(study)
    problems = examine(loaded).problems
    if problems:
        raise FreezeRefusedError(problems)
    amended = freeze.amend(
        loaded,
        reason=reason,
        now=datetime.now(UTC),
        runners=runners,
        lost_ledgers=lost_ledgers,
    )
    for line in _said(study, amended):
        click.echo(line)


def _said(study: Path, amended: freeze.Amended) -> Iterator[str]:
    for name in amended.changed:
        yield f"changed: {name}"
    if amended.supersedes is None:
        yield f"{study} is amended (A{amended.number}); commit its lock and its protocol"
        yield f"series {amended.frozen.series_id}"
        return
    yield (
        f"{study} begins a new series, because scored attempts are on record and the change"
        f" touches: {', '.join(amended.touches)}; commit its lock and its protocol"
    )
    yield f"series {amended.frozen.series_id}"
    yield f"supersedes {amended.supersedes}"
