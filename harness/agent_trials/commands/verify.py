"""agent-trials verify."""

from __future__ import annotations

from pathlib import Path

import click

from agent_trials.commands import examples
from agent_trials.results.summary import verify


@click.command(
    short_help="Check every line, rule and opening of a ledger.",
    epilog=examples(
        "agent-trials verify run.jsonl", "agent-trials verify run.jsonl --head 42:sha256:5b6c…"
    ),
)
@click.argument("ledger", type=click.Path(path_type=Path))
@click.option(
    "--head", metavar="HEAD", help="A head that was published for it: <count>:sha256:<hex>."
)
def command(ledger: Path, head: str | None) -> None:
    """Check every line, rule and opening of LEDGER (its file).

    Exit code 1 and the line's number for: a changed byte, a line dropped, added or moved, a tail
    dropped after the head was published, a settlement without its reservation, a lowered charge,
    another study's series. Without --head a ledger whose chain was made anew verifies as well.
    """
    verified = verify(ledger, head)
    click.echo(f"verified: {ledger}")
    if verified.torn_bytes:
        click.echo(f"{verified.torn_bytes} bytes behind the last line were never written")
    click.echo(f"private fields: {verified.committed} committed to, {verified.opened} opened here")
    click.echo(f"head {verified.head}")
    if head is None:
        click.echo("no published head was given, so a chain that was made anew would verify too")
