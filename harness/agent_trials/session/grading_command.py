"""The command of an adjudicator that is one: found, fitting and named before anybody is asked.

Rules:
    --providers belongs to a grader whose transport is command, and a paid grading needs one
    the file fits, is the one that the study fixed, and has an adjudicator for the study's model
    its command is an executable
A rehearsal starts none of it: a stand-in of ours grades, under the same bounds.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

from agent_trials.errors import Problem, ProvidersError
from agent_trials.graders.adjudicator import COMMAND
from agent_trials.graders.command import Command
from agent_trials.study import providers
from agent_trials.study.providers import AdjudicatorCommand
from agent_trials.study.settings import OPERATOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from agent_trials.session.options import Options
    from agent_trials.study.providers import Configuration
    from agent_trials.study.settings import GraderSettings

OPTION = "--providers"
STAND_IN = ("-I", "-m", "agent_trials.rehearsal.adjudicator")


def find(
    options: Options, graders: Sequence[GraderSettings]
) -> tuple[Command | None, list[Problem]]:
    """Return the command of the grader that is one, and what is wrong."""
    path = options.providers
    grader = next((each for each in graders if each.transport == COMMAND), None)
    if grader is None:
        what = "no adjudicator of the study is a command"
        return None, [Problem(f"{OPTION} {path}", what, "leave it out")] if path else []
    if path is not None:
        return _named(options, grader, path)
    if not options.approve_budget:
        return _stand_in(grader, None), []
    what = "an adjudicator is a command, and none is given"
    return None, [Problem(OPTION, what, "give --providers FILE with an adjudicator")]


def _named(
    options: Options, grader: GraderSettings, path: Path
) -> tuple[Command | None, list[Problem]]:
    """Return the command that a file names; in a rehearsal the stand-in for it."""
    try:
        configuration = providers.load(path)
    except ProvidersError as error:
        return None, list(error.problems)
    found = providers.locate(
        configuration.adjudicator.command if configuration.adjudicator else "",
        base=path.absolute().parent,
        search=options.environ.get("PATH"),
    )
    problems = list(_unfit(configuration, grader, path, found))
    if problems or configuration.adjudicator is None:
        return None, problems
    if not options.approve_budget:
        return _stand_in(grader, configuration), []
    return Command(configuration.adjudicator, str(found), configuration.digest), []


def _unfit(
    configuration: Configuration, grader: GraderSettings, path: Path, found: Path | None
) -> Iterator[Problem]:
    place, entry = f"{OPTION} {path}", configuration.adjudicator
    fixed = grader.command.providers if grader.command else OPERATOR
    if fixed not in {OPERATOR, configuration.digest}:
        what = f"its digest is {configuration.digest}, and the study fixes {fixed}"
        yield Problem(place, what, "give that file, or amend the study")
    if entry is None:
        yield Problem(place, "it has no adjudicator", "add one (see docs/providers.md)")
        return
    if entry.modelId != grader.model:
        what = f"its adjudicator is {entry.modelId}, and the study registers {grader.model}"
        yield Problem(place, what, "give the command of that model")
    if found is None:
        what = f"the adjudicator's command {entry.command!r} is no executable"
        remedy = "name a program on PATH, or a path (a relative one is taken from the file)"
        yield Problem(place, what, remedy)


def _stand_in(grader: GraderSettings, configuration: Configuration | None) -> Command:
    """Return the stand-in, under the bounds of the real command where one is named."""
    ours = AdjudicatorCommand(
        id="stand-in",
        modelId=grader.model,
        command=sys.executable,
        args=STAND_IN,
        providerNetwork=False,
        maxInputBytes=8_000_000,
        maxOutputBytes=256_000,
    )
    if configuration is None or configuration.adjudicator is None:
        return Command(ours, sys.executable, "stand-in")
    real = dataclasses.replace(
        configuration.adjudicator, command=sys.executable, args=STAND_IN, envAllowlist=()
    )
    return Command(real, sys.executable, configuration.digest)
