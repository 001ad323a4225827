"""What a phase's schedule can and cannot estimate: what goes together in it, and what is paired.

Arm and model are what a study may compare. Each is crossed with the other and with what differs
from attempt to attempt anyway: task, repository, category, wording, replicate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_trials.errors import Problem
from agent_trials.study import asked, schedule
from agent_trials.study.crossing import cross
from agent_trials.study.phases import phase_arms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent_trials.records import PlannedAttempt
    from agent_trials.study.crossing import Crossing
    from agent_trials.study.settings import Manifest

COMPARED = ("arm", "model")
BESIDE = ("arm", "model", "category", "repository", "task", "wording", "replicate")
FEW = 6
"""So many levels are named one by one."""


def crossings(manifest: Manifest, attempts: Iterable[PlannedAttempt]) -> Iterator[Crossing]:
    """Yield the tables of arm and model by everything else that has more than one level."""
    rows = [_factors(manifest, planned) for planned in attempts]
    several = [name for name in BESIDE if len({row[name] for row in rows}) > 1]
    for factor in COMPARED:
        for other in several:
            if factor in several and factor != other:
                yield cross(rows, factor, other)


def _factors(manifest: Manifest, planned: PlannedAttempt) -> dict[str, str]:
    cell = planned.cell
    task = next(each for each in manifest.tasks if each.id == cell.task)
    pair = asked.asked(manifest, cell.task, cell.repetition)
    return {
        "arm": cell.arm,
        "model": pair.slot or "",
        "category": task.category,
        "repository": task.repository or "",
        "task": task.id,
        "wording": pair.variant or "",
        "replicate": str(pair.replicate),
    }


def confounded(place: str, crossing: Crossing) -> Problem | None:
    """Return the doubt about a table in which a factor is not, or not wholly, told apart."""
    if crossing.told in {"equally", "unequally"}:
        return None
    how = "confounded" if crossing.told == "not" else "partly confounded"
    what = f"{crossing.factor} and {crossing.other} are {how}: {_together(crossing)}"
    return Problem(place, what, "cross them, or leave their differences out of every conclusion")


def _together(crossing: Crossing) -> str:
    if len(crossing.others) > FEW:
        return f"each {crossing.other} goes with a part of the levels of {crossing.factor} alone"
    return "; ".join(
        f"{_listed(levels)} with {_listed(others)} alone" for levels, others in crossing.groups
    )


def whole(manifest: Manifest, phase: str, attempts: Sequence[PlannedAttempt]) -> int:
    """Return how many pairs have every arm of the phase."""
    arms = len(phase_arms(manifest, phase))
    return sum(len(pair) == arms for pair in schedule.pairs(attempts))


def told(manifest: Manifest, phase: str) -> Iterator[str]:
    """Yield what can and what cannot be estimated of a phase, in a line each."""
    attempts = schedule.plan(manifest, phase)
    found = list(crossings(manifest, attempts))
    for factor in COMPARED:
        of = [each for each in found if each.factor == factor]
        parts = [
            f"{words} {_listed([each.other for each in of if each.told == how])}"
            for how, words in (
                ("equally", "can be told from"),
                ("unequally", "unequally from"),
                ("partly", "in part from"),
                ("not", "CANNOT be told from"),
            )
            if any(each.told == how for each in of)
        ]
        if parts:
            yield f"{factor}: {', '.join(parts)}"
    if whole(manifest, phase, attempts):
        yield "differences between arms inside a pair can be estimated"
    else:
        yield (
            "no pairs: differences between arms inside a pair CANNOT be estimated, nor sign-flip"
            " and McNemar tests, nor the registered verdict; rates and totals of each arm can"
        )


def _listed(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
