"""agent-trials bundle."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent_trials.commands import examples
from agent_trials.errors import BundleError
from agent_trials.publication import bundle
from agent_trials.publication.secret_shapes import SHORTEST, Known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_trials.publication.bundle import Bundle

CREDENTIAL = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH)(?:_|$)",
    re.IGNORECASE,
)
"""Names of variables whose values are looked for in everything that is to be published."""


@click.command(
    short_help="Write what of a ledger may be published, with a program that verifies it.",
    epilog=examples(
        "agent-trials bundle run.jsonl --into doc-bridge-2026 --report reports/doc_bridge",
        "agent-trials bundle run.jsonl --into doc-bridge-2026 --open answer --open blindId",
        "python doc-bridge-2026/verify.py --head 42:sha256:5b6c…",
    ),
)
@click.argument("ledger", type=click.Path(path_type=Path))
@click.option(
    "--into", required=True, type=click.Path(path_type=Path), help="A folder that does not exist."
)
@click.option(
    "--open",
    "opened",
    multiple=True,
    metavar="FIELD",
    help="Open a private field of every line: answer, blindId (whose each grade is), key (the"
    " expected answers), transcript, … Repeatable.",
)
@click.option(
    "--report", type=click.Path(path_type=Path), help="The folder of a report of this ledger."
)
@click.option(
    "--secret-env",
    "named",
    multiple=True,
    metavar="NAME",
    help="A variable whose value must not be in it; those whose names say KEY, TOKEN, SECRET,"
    " PASSWORD or the like are looked for in any case. Repeatable.",
)
@click.option(
    "--not-a-secret",
    "waived",
    multiple=True,
    metavar="PLACE",
    help="A place that was named, that you have looked at, and that holds no secret. Repeatable.",
)
def command(
    ledger: Path,
    *,
    into: Path,
    opened: tuple[str, ...],
    report: Path | None,
    named: tuple[str, ...],
    waived: tuple[str, ...],
) -> None:
    """Write a bundle of LEDGER (its file): what a stranger needs to check it, and nothing else.

    It holds the ledger byte for byte, the opening of the frozen study without its key, the figures,
    the head, the signed heads, the report if one is given, and verify.py, which recomputes all of
    it with Python alone. Everything is searched for secrets first; one that is found stops it, and
    nothing is left behind.
    """
    known = Known(_secrets(os.environ, named), homes=(str(Path.home()),))
    made = bundle.write(
        ledger, into, known=known, opened=opened, report=report, waived=frozenset(waived)
    )
    for line in _lines(made, into, known):
        click.echo(line)


def _secrets(environ: Mapping[str, str], named: tuple[str, ...]) -> dict[str, str]:
    """Return the values to look for, by the names of their variables."""
    for name in named:
        if len(environ.get(name, "")) < SHORTEST:
            raise BundleError(
                f"--secret-env {name}: it is not set to a value of at least {SHORTEST} characters,"
                " so it cannot be looked for; set it, or leave the option out"
            )
    return {
        name: value for name, value in environ.items() if name in named or CREDENTIAL.search(name)
    }


def _lines(made: Bundle, into: Path, known: Known) -> Iterator[str]:
    for name, count in sorted(made.committed.items()):
        opened = made.opened[name]
        yield f"{'opened  ' if opened else 'withheld'}  {name}: {opened or count} of {count}"
    looked_for = ", ".join(sorted(known.names)) or "none set"
    yield f"searched {made.files} files for secrets: none found (variables: {looked_for})"
    approval = "approved" if made.approved else "not approved (agent-trials approve)"
    yield f"publication: {approval}"
    yield f"head    {made.head}"
    yield f"verify  python {into / bundle.VERIFIER} --head {made.head}"
    yield f"bundle  {into.resolve()}"
