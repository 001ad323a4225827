"""How each arm's turns are started, with every word of a study resolved before money is spent."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials.errors import Problem
from agent_trials.records import Launch, SideFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_trials.study.settings import ArmSettings, LaunchSettings, SideCostSettings

_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")


def resolve(
    arm: ArmSettings, values: Mapping[str, str], search: str | None
) -> tuple[tuple[Launch, Launch], list[Problem]]:
    """Return how the first and a further turn of an arm are started, and what is wrong.

    Args:
        arm: the arm as the study states it.
        values: the study's parameters.
        search: the operator's PATH.
    """
    names_session = arm.session == "launcher"
    first, problems = _launch(arm.id, arm, values, search, names_session=names_session)
    if arm.follow_up is None:
        return (first, first), problems
    further, found = _launch(arm.id, arm.follow_up, values, search, names_session=names_session)
    return (first, further), problems + found


def side_files(arms: Iterable[ArmSettings]) -> dict[str, SideFile | None]:
    """Return the file in which each arm's product states what it spends.

    An arm without one is watched at the place of the first arm that has one: nothing of that
    product's may appear there.
    """
    own = {arm.id: arm.side_costs for arm in arms}
    first = next((costs for costs in own.values() if costs is not None), None)
    return {arm: _side_file(costs or first, spends=costs is not None) for arm, costs in own.items()}


def _side_file(costs: SideCostSettings | None, *, spends: bool) -> SideFile | None:
    if costs is None:
        return None
    return SideFile(
        costs.path,
        costs.name_field,
        costs.event,
        costs.cost_field,
        costs.soft_cap_usd,
        costs.max_calls if spends else 0,
    )


def _launch(
    arm: str,
    settings: LaunchSettings,
    values: Mapping[str, str],
    search: str | None,
    *,
    names_session: bool,
) -> tuple[Launch, list[Problem]]:
    known = {**values, "python": sys.executable}
    command = tuple(_filled(word, known) for word in settings.launcher)
    problems = []
    if command:
        program = shutil.which(command[0], path=search)
        if program is None:
            what = f"the launcher {command[0]!r} is not there"
            problems.append(Problem(f"arm {arm}", what, "install it, or name its path"))
        else:
            command = (str(Path(program).absolute()), *command[1:])
    launch = Launch(
        command,
        tuple(_filled(word, known) for word in settings.arguments),
        {name: _filled(value, known) for name, value in settings.environment.items()},
        settings.unset,
        names_session,
    )
    return launch, problems


def _filled(word: str, known: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: known.get(found[1], found[0]), word)
