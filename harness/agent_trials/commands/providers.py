"""agent-trials providers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent_trials.commands import examples
from agent_trials.errors import Problem, ProvidersError
from agent_trials.study import providers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_trials.study.providers import Bounded, Configuration

EXAMPLE = providers.Configuration(
    type="study-provider-cli-config",
    schemaVersion=1,
    providers=(
        providers.Provider(
            modelId="reference-model",
            scenarioIds=("repository-only",),
            command="./answer",
            args=("--model", "reference-model"),
            providerNetwork=True,
            maxInputBytes=1_000_000,
            maxOutputBytes=50_000,
        ),
    ),
)
"""What ``--write`` writes where there is no file yet."""


@click.command(
    short_help="Check the file of --transport provider, and write its digest.",
    epilog=examples(
        "agent-trials providers providers.json",
        "agent-trials providers providers.json --write    fill in defaults and digest",
        "agent-trials providers new.json --write          an example, where there is no file",
    ),
)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--write", is_flag=True, help="Write the file with its defaults and its digest filled in."
)
def command(file: Path, *, write: bool) -> None:
    """Check FILE, which says what command answers for which model in which arm.

    Prints every mapping, whether its command is there and may reach the network, and the digest
    that runs record. Values of variables are never read. No command is started.
    """
    if write:
        is_new = not file.exists()
        made = EXAMPLE if is_new else providers.load(file, must_be_fresh=False)
        providers.write(file, made)
        if is_new:
            click.echo(f"{file} is an example; name your own command in it, then --write again")
    elif not file.exists():
        what, remedy = "it does not exist", "name the file, or add --write for an example"
        raise ProvidersError([Problem(str(file), what, remedy)])
    configuration = providers.load(file)
    for line in _lines(configuration):
        click.echo(line)
    problems = list(_missing(configuration, file))
    if problems and not write:
        raise ProvidersError(problems)


def _lines(configuration: Configuration) -> Iterator[str]:
    for provider in configuration.providers:
        yield f"{provider.modelId} in {', '.join(provider.scenarioIds)}: {_facts(provider)}"
    adjudicator = configuration.adjudicator
    if adjudicator is not None:
        yield f"adjudicator {adjudicator.id} ({adjudicator.modelId}): {_facts(adjudicator)}"
    yield f"digest {configuration.digest}"


def _facts(entry: Bounded) -> str:
    network = "may use the network" if entry.providerNetwork else "declares no network"
    variables = ", ".join(entry.envAllowlist) or "no variable"
    prices = "configured rates" if entry.pricing else "no rates, so no cost is derived"
    return (
        f"{entry.command} with {len(entry.args)} arguments; {network}; gets {variables}; at most"
        f" {entry.maxInputBytes:,} bytes in and {entry.maxOutputBytes:,} out; {prices}"
    )


def _missing(configuration: Configuration, file: Path) -> Iterator[Problem]:
    entries: list[tuple[str, Bounded]] = [
        (f"providers[{index}]", each) for index, each in enumerate(configuration.providers)
    ]
    if configuration.adjudicator is not None:
        entries.append(("adjudicator", configuration.adjudicator))
    for place, entry in entries:
        base = file.absolute().parent
        if providers.locate(entry.command, base=base, search=os.environ.get("PATH")) is None:
            what = f"{entry.command!r} is no executable"
            remedy = "name a program on PATH, or a path (a relative one is taken from the file)"
            yield Problem(f"{file}: {place}.command", what, remedy)
