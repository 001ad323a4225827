"""agent-trials check."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent_trials import money
from agent_trials.commands import examples
from agent_trials.commands.examine import Examined, examine
from agent_trials.errors import StudyError
from agent_trials.study import estimable, manifest, phases, schedule
from agent_trials.study.design import designs
from agent_trials.study.findings import nearest
from agent_trials.study.frozen import state
from agent_trials.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_trials.results.record import Record
    from agent_trials.study.design import Design
    from agent_trials.study.manifest import Study
    from agent_trials.study.settings import Manifest


@click.command(
    short_help="Say everything that is wrong or doubtful in a study.",
    epilog=examples(
        "agent-trials check evals/doc_bridge",
        "agent-trials check evals/*",
        "agent-trials check evals/doc_bridge --ledger pilot.jsonl",
        "agent-trials check evals/stop_review --tasks --param product=fixtures/reviewer/reviewer",
    ),
)
@click.argument(
    "studies",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
)
@click.option(
    "--ledger",
    type=click.Path(path_type=Path),
    help="A pilot of the study: what it cost, and how its pairs differed.",
)
@click.option(
    "--tasks",
    "prove",
    is_flag=True,
    help="Prove that each hidden checker can say no: original, reference, a variant for each"
    " requirement.",
)
@click.option("--task", "only", metavar="ID", multiple=True, help="With --tasks: only this task.")
@click.option(
    "--param",
    "parameters",
    metavar="KEY=VALUE",
    multiple=True,
    help="With --tasks: a value of the study's [parameters], as for a run.",
)
@click.pass_context
def command(
    ctx: click.Context,
    studies: tuple[Path, ...],
    ledger: Path | None,
    *,
    prove: bool,
    only: tuple[str, ...],
    parameters: tuple[str, ...],
) -> None:
    """Say everything that is wrong or doubtful in STUDIES (their folders), at once.

    Problems are what no run may begin with: files that do not fit, an answer key that stands in a
    prompt or a corpus, a pin that is another commit, a protocol that is missing. Doubts are what a
    reader of the results would object to: arms that do not come first equally often, tasks that
    run in one arm only, too few tasks for a p-value. With a problem the exit code is 1.

    Of each scored phase it says what the design can see: the smallest effect that it finds with
    80 % power (by simulation), the discordant floor, and what its pairs cost at a pilot's prices.

    With --tasks each hidden checker is run on trees whose verdict is known: the starter as it is
    fails, with the reference over it it passes, and without one requirement it fails in exactly
    that group. A paid run does the same before it begins.
    """
    if only and not prove:
        raise click.UsageError("--task chooses among the tasks of --tasks; give that too")
    if parameters and not prove:
        raise click.UsageError("--param is for the set-up of --tasks; give that too")
    try:
        loaded = manifest.load_all(studies)
    except StudyError as error:
        click.echo(str(error))
        ctx.exit(1)
    from agent_trials.commands import foresee  # noqa: PLC0415 - numpy, which --help does not need

    if ledger and len(loaded) != 1:
        raise click.UsageError("--ledger is a pilot of one study; name that study alone")
    pilot = foresee.pilot(ledger, loaded[0].manifest) if ledger else None
    wrong = False
    for study in loaded:
        examined = examine(study)
        wrong = wrong or bool(examined.problems)
        for line in _report(study, examined, pilot):
            click.echo(line)
        if prove:
            wrong = _prove(study, only, parameters) or wrong
    ctx.exit(1 if wrong else 0)


def _prove(study: Study, only: tuple[str, ...], parameters: tuple[str, ...]) -> bool:
    """Prove the study's checkers, saying each task as it is done; True where one cannot say no."""
    from agent_trials.graders import proof  # noqa: PLC0415 - only where it is asked for

    known = {task.id: task for task in study.manifest.tasks}
    for name in only:
        if name not in known:
            raise click.UsageError(f"--task {name}: {nearest(name, known, 'the tasks are')}")
    tasks = [task for task in study.manifest.tasks if not only or task.id in only]
    values = _values(study, parameters)
    wrong = proved = 0
    for each in proof.prove(proof.Graded(study.folder, study.manifest, study.key, values), tasks):
        proved += 1
        said = "red where it must be" if not each.problems else "NOT PROVED"
        click.echo(f"  checker of {each.task}: {counted(each.states, 'tree')}, {said}")
        for problem in each.problems:
            wrong += 1
            click.echo(f"    {problem}")
    if not proved:
        click.echo("  no task has a hidden checker")
    return bool(wrong)


def _values(study: Study, parameters: tuple[str, ...]) -> dict[str, str]:
    """Return the study's parameters, the given ones before the defaults."""
    declared = study.manifest.parameters
    values = {name: setting.default or "" for name, setting in declared.items()}
    for written in parameters:
        name, equals, value = written.partition("=")
        if not equals or name not in declared:
            remedy = nearest(name, declared, "the parameters are")
            raise click.UsageError(f"--param {written}: {remedy}; write KEY=VALUE")
        values[name] = value
    words = [word for command in _commands(study) for word in command]
    for name, setting in declared.items():
        if not values[name] and any(f"{{{name}}}" in word for word in words):
            raise click.UsageError(f"give --param {name}=VALUE ({setting.description})")
    return values


def _commands(study: Study) -> Iterator[tuple[str, ...]]:
    """Yield what is run to prove a checker: the set-up of the trees, and the checkers."""
    yield from study.manifest.tree.setup if study.manifest.tree else ()
    for entry in study.key.tasks.values() if study.key else ():
        if entry.checker is not None:
            yield entry.checker.command


def _report(study: Study, examined: Examined, pilot: Record | None) -> Iterator[str]:
    from agent_trials.commands import foresee  # noqa: PLC0415 - as above

    frozen = state(study)
    yield f"{study.folder}: {study.manifest.title}"
    for design in designs(study.manifest):
        yield f"  {design.phase}: {_phase(design, study.manifest)}"
        if study.manifest.adjudicator is not None:
            usd = money.text(study.manifest.adjudicator.reserves(design.attempts))
            yield f"    its grading reserves at most {usd} USD more, under the same cap"
        for line in _sampled(study, design.phase):
            yield f"    {line}"
        if design.scored:
            for line in foresee.foreseen(study.manifest, design, pilot):
                yield f"    {line}"
    lock = f"frozen, amendment {frozen.amendment}" if frozen.amendment else "frozen"
    yield f"  series {frozen.series_id} ({lock if frozen.frozen else 'not frozen'})"
    for name in frozen.changed:
        yield f"  changed since then: {name} (a paid run needs agent-trials amend)"
    for note in examined.notes:
        yield f"  {note}"
    for word, found in (("problem", examined.problems), ("doubt", examined.doubts)):
        for each in found:
            yield f"  {word}: {each}"
    problems, doubts = len(examined.problems), len(examined.doubts)
    yield f"  {counted(problems, 'problem')}, {counted(doubts, 'doubt')}"


def _sampled(study: Study, phase: str) -> Iterator[str]:
    """Yield what a phase is a sample of, and what can be estimated; nothing of other phases."""
    found = phases.sampled(study.manifest, phase)
    if found:
        yield from found
        yield f"plan {schedule.digest(schedule.plan(study.manifest, phase))}"
        yield from estimable.told(study.manifest, phase)


def _phase(design: Design, settings: Manifest) -> str:
    cells = (planned.cell for planned in schedule.plan(settings, design.phase))
    total = phases.reserved(settings, cells)
    parts = [
        counted(design.attempts, "attempt"),
        f"{counted(design.whole, 'pair')} of {design.arms} arms" if design.whole else "no pairs",
        counted(design.tasks, "task"),
    ]
    if total is None:  # left to the operator
        parts.append(f"reserves {design.attempts} times --attempt-budget-usd")
    else:
        parts.append(f"reserves {money.text(total)} USD in all")
        if settings.follow_up is not None:
            parts.append(f"as much again at most for follow-up turns ({money.text(total)} USD)")
    if design.scored:
        parts.append(f"smallest two-sided sign-flip p {float(design.smallest_p):.4g}")
    else:
        parts.append("not scored")
    return ", ".join(parts)
