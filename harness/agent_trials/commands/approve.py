"""agent-trials approve."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from agent_trials.commands import examples
from agent_trials.ledger.approval import Approver


@click.command(
    short_help="Approve what a ledger holds for publication.",
    epilog=examples('agent-trials approve run.jsonl --by "Ada Example"'),
)
@click.argument("ledger", type=click.Path(path_type=Path))
@click.option("--by", "name", required=True, metavar="NAME", help="Who approves; it is published.")
def command(ledger: Path, name: str) -> None:
    """Append to LEDGER that NAME has looked at it and approves its publication.

    Reports say "publication: not approved" until this was done, and again as soon as anything is
    appended behind it. Nothing else changes; heads that were published before still verify.
    """
    approver = Approver.on(ledger, clock=lambda: datetime.now(UTC))
    approved = approver.approve(name)
    click.echo(f"approved {approved}")
    click.echo(f"head     {approver.head}")
