"""agent-trials show."""

from __future__ import annotations

import json
from pathlib import Path

import click

from agent_trials.commands import examples
from agent_trials.results.show import to_show_json, to_text
from agent_trials.results.summary import summarise


@click.command(
    short_help="Show what a ledger holds.",
    epilog=examples(
        "agent-trials show .agent-trials/doc-bridge-pilot-20261130T081500Z-3f9c51d2.jsonl",
        "agent-trials show run.jsonl --json | python -m json.tool",
    ),
)
@click.argument("ledger", type=click.Path(path_type=Path))
@click.option(
    "--json", "as_json", is_flag=True, help="As JSON; docs/show.schema.json describes it."
)
def command(ledger: Path, *, as_json: bool) -> None:
    """Show what LEDGER (its file) holds: runs, money, what became of every attempt, the head.

    The ledger is verified on the way; one that does not verify is not shown (exit code 1). Answers,
    prompts and paths are in no ledger, so what this prints may be published.
    """
    summary = summarise(ledger)
    if as_json:
        click.echo(json.dumps(to_show_json(summary), ensure_ascii=False))
    else:
        click.echo(to_text(summary), nl=False)
