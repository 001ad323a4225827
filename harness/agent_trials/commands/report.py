"""agent-trials report."""

from __future__ import annotations

import contextlib
import gc
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent_trials.commands import examples
from agent_trials.errors import ReportError
from agent_trials.publication.signing import NAMESPACE
from agent_trials.results import record, report_files, result_artifact
from agent_trials.results.judgement import OWN_RULE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_trials.results.evidence import Evidence, Finding
    from agent_trials.results.record import Record

OBJECTS_BETWEEN_COLLECTIONS = 200_000


@click.command(
    short_help="Write what a finished ledger comes to, for readers and for programs.",
    epilog=examples(
        "agent-trials report run.jsonl --into reports/doc_bridge",
        "agent-trials report run.jsonl --into private-report --private",
    ),
)
@click.argument("ledger", type=click.Path(path_type=Path))
@click.option(
    "--into",
    required=True,
    type=click.Path(path_type=Path),
    help="A folder: a new one, or an earlier report, which is replaced.",
)
@click.option(
    "--private",
    is_flag=True,
    help="Also a page for each attempt, with prompt, transcript and answer; not for publication.",
)
@click.option(
    "--trust-study-code",
    is_flag=True,
    help="Run the study's own verdict.py from the ledger. It can do whatever you can do.",
)
def command(ledger: Path, into: Path, *, private: bool, trust_study_code: bool) -> None:
    """Write report.md, summary.json and report.html of LEDGER (its file).

    The ledger is verified on the way; one that does not verify is not reported (exit code 1), and
    one on which a run is open is refused. Study and rule of the verdict are read from the ledger's
    openings, never from a folder. Where every arm's patches are evaluated, result-v1.json is
    written too, and the command that signs it printed. Without --private nothing private is.
    """
    report_files.check(into)
    with _seldom_collecting():
        found = record.read(ledger)
        rule = _study_rule(found) if trust_study_code else None
        document = report_files.write(found, into, private=private, study_rule=rule)
    for verdict in document["verdicts"]:
        click.echo(verdict["sentence"])
    click.echo(document["labels"]["publication"])
    click.echo(f"head   {document['head']}")
    click.echo(f"report {into.resolve() / report_files.HTML}")
    result = into.resolve() / result_artifact.FILE
    if result.exists():
        digest = json.loads(result.read_bytes())[result_artifact.OWN]
        click.echo(f"result {result}")
        click.echo(f"{result_artifact.OWN} {digest}")
        click.echo(f"sign it: ssh-keygen -Y sign -f KEY -n {NAMESPACE} {shlex.quote(str(result))}")


@contextlib.contextmanager
def _seldom_collecting() -> Iterator[None]:
    """Look for garbage seldom: what a ledger is read into stays, and going through it costs."""
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _study_rule(found: Record) -> Callable[[Evidence], Finding]:
    """Return the function ``find`` of the study's own rule, having run its code."""
    source = found.frozen.files.get(OWN_RULE)
    if source is None:
        raise ReportError(f"the ledger's study has no {OWN_RULE}; leave out --trust-study-code")
    names: dict[str, Any] = {"__name__": "study_verdict"}
    exec(compile(source, OWN_RULE, "exec"), names)  # noqa: S102 - the operator asked for just this
    find = names.get("find")
    if not callable(find):
        raise ReportError(f"the study's {OWN_RULE} has no function find(evidence)")
    trusted: Callable[[Evidence], Finding] = find
    return trusted
