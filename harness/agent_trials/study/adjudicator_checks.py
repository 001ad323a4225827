"""The rules over [adjudicator]; each function is one.

The rules:
    a grader's transport is described                              -> _described
    the file of --providers has one adjudicator, so one grader is a command -> _one_command
    no credential stands in a study                                -> _environment
    what a packet holds beside the answer is declared neutral      -> _neutral
    with two adjudicators it is registered what a difference means -> _disagreement
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_trials.study.findings import Finding, KeyPath
from agent_trials.study.transport_checks import is_credential

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_trials.study.settings import AdjudicatorSettings, GraderSettings, Manifest

PATH: KeyPath = ("adjudicator",)


def adjudicator_findings(manifest: Manifest) -> Iterator[Finding]:
    """Yield every place of [adjudicator] that breaks a rule."""
    adjudicator = manifest.adjudicator
    if adjudicator is None:
        return
    graders: list[tuple[KeyPath, GraderSettings]] = [(PATH, adjudicator)]
    if adjudicator.second is not None:
        graders.append(((*PATH, "second"), adjudicator.second))
    for path, grader in graders:
        yield from _described(path, grader)
        yield from _environment(path, grader)
    yield from _one_command(graders)
    yield from _neutral(adjudicator)
    yield from _disagreement(adjudicator)


def _described(path: KeyPath, grader: GraderSettings) -> Iterator[Finding]:
    blocks = {"http": grader.http, "cli": grader.cli, "command": grader.command}
    if blocks[grader.transport] is None:
        table = ".".join(map(str, (*path, grader.transport)))
        yield Finding((*path, "transport"), f"there is no table [{table}]", "add that table")


def _one_command(graders: list[tuple[KeyPath, GraderSettings]]) -> Iterator[Finding]:
    commands = [path for path, grader in graders if grader.transport == "command"]
    for path in commands[1:]:
        what = "both graders are commands, and the file of --providers has one adjudicator"
        yield Finding((*path, "transport"), what, "ask one of them over another transport")


def _environment(path: KeyPath, grader: GraderSettings) -> Iterator[Finding]:
    for name in grader.cli.environment if grader.cli else ():
        if is_credential(name):
            what = "it looks like a credential, and what stands here is published"
            remedy = 'remove it and use credential = "…"'
            yield Finding((*path, "cli", "environment", name), what, remedy)


def _neutral(adjudicator: AdjudicatorSettings) -> Iterator[Finding]:
    if adjudicator.is_structured:
        return
    for name in ("neutral", "neutral_measurements"):
        if getattr(adjudicator, name):
            what = "fields are declared neutral, and a packet of the answer holds none of them"
            yield Finding((*PATH, name), what, 'leave it out, or write packet = "structured"')


def _disagreement(adjudicator: AdjudicatorSettings) -> Iterator[Finding]:
    if (adjudicator.second is None) == (adjudicator.disagreement is None):
        return
    if adjudicator.second is None:
        what = "a rule for disagreements stands here, and there is no second adjudicator"
        yield Finding((*PATH, "disagreement"), what, "leave it out, or add [adjudicator.second]")
    else:
        what = "two adjudicators are registered, and not what a disagreement comes to"
        remedy = 'add disagreement = "missing", "first" or "lower"'
        yield Finding((*PATH, "second"), what, remedy)
