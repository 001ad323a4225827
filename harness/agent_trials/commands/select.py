"""agent-trials select."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import click

from agent_trials.commands import examples
from agent_trials.errors import Problem, RowsError
from agent_trials.study import rows, task_lock
from agent_trials.study.selection import select

VERIFIED = "princeton-nlp/SWE-bench_Verified"


@click.command(
    short_help="Select a benchmark's tasks by a rule that leaves nobody a choice.",
    epilog=examples(
        "agent-trials select rows.jsonl                      print the 15 ids",
        "agent-trials select rows.parquet --into evals/agent_task/tasks.lock.json \\",
        "    --harness-version 5.0.2 --image-set swebench/sweb.eval.x86_64",
    ),
)
@click.argument("source", metavar="ROWS")
@click.option(
    "--n", "n", type=click.IntRange(min=1), default=15, show_default=True, help="How many."
)
@click.option("--dataset", default=VERIFIED, show_default=True, help="The name of the dataset.")
@click.option("--split", default="test", show_default=True, help="Its split.")
@click.option(
    "--into",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the lock. One that is there already is never made again.",
)
@click.option("--harness-version", metavar="V", help="Pin the evaluation harness (swebench V).")
@click.option("--image-set", metavar="NAME", help="Pin the set of images that evaluates.")
@click.option(
    "--hub",
    is_flag=True,
    help="ROWS is a dataset of the hub, or its folder on this machine; needs the extra hub.",
)
def command(
    source: str,
    *,
    n: int,
    dataset: str,
    split: str,
    into: Path | None,
    harness_version: str | None,
    image_set: str | None,
    hub: bool,
) -> None:
    """Select tasks from ROWS (a .json, .jsonl or .parquet file with one row per instance).

    The rule: ids sorted as text, grouped by repository, repositories visited by name in turn, each
    giving its first instance that is not taken yet, until N are taken. Prints the ids in that
    order. With --into it writes the lock of the tasks, with both of its digests by name, the digest
    of ROWS, and the versions that belong to them.
    """
    read = _from_hub(source, split) if hub else rows.read(Path(source))
    taken = select(read.instances, n)
    if len(taken) < n:
        what = f"it has fewer instances ({len(taken)}) than --n {n}"
        raise RowsError([Problem(source, what, "ask fewer, or name the whole list")])
    pins = task_lock.Pins(Path(source).name, read.digest, harness_version, image_set)
    lock = task_lock.TaskLock(dataset, split, taken, pins)
    written = into is not None and task_lock.write(into, lock)
    for instance in taken:
        click.echo(instance.instance_id)
    if into is not None:
        click.echo(f"{into} {'holds the lock' if written else 'is as it was'}")
        for name, digest in lock.digests.items():
            click.echo(f"{name} {digest}")


def _from_hub(name: str, split: str) -> rows.Rows:
    """Return the rows of a dataset that the ``datasets`` package loads.

    Raises:
        RowsError: the package is missing, or cannot load it.
    """
    try:
        import datasets  # noqa: PLC0415 - an extra, and heavy
    except ImportError as error:
        remedy = 'run pip install "pytest-agent-trials[hub]", or give the rows as a local file'
        raise RowsError([Problem("--hub", "needs datasets, which is not there", remedy)]) from error
    try:
        loaded = datasets.load_dataset(name, split=split)
    except (OSError, ValueError) as error:  # what it raises where nothing answers is an OSError
        remedy = "look at the name and the network, or give the rows as a local file"
        raise RowsError([Problem(f"--hub {name}", f"cannot be loaded: {error}", remedy)]) from error
    known = [column for column in rows.COLUMNS if column in loaded.column_names]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.jsonl")
        lines = (json.dumps({column: row[column] for column in known}) for row in loaded)
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return rows.read(file)
