"""The flow of attempts through a study, per arm, as numbers, as text and as a drawing.

After the CONSORT statement's diagram: how many were planned, and where the others were lost.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from agent_trials.results.record import Fate
from agent_trials.results.rows_from_ledger import delivered

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_trials.records import Cell
    from agent_trials.results.record import Attempt
    from agent_trials.results.rows_from_ledger import Grade
    from agent_trials.study.settings import ArmSettings

STAGES: Mapping[str, str] = {
    "planned": "planned",
    "admitted": "admitted under the cap",
    "refused": "refused",
    "started": "started",
    "delivered": "treated as planned",
    "graded": "graded",
    "analysed": "analysed in pairs",
}
"""What a stage is called; ``refused`` is a loss and no stage that others pass through."""

_WIDTH, _GAP, _TOP, _HEIGHT, _STEP = 184, 12, 34, 40, 66


@dataclass(frozen=True)
class ArmFlow:
    """How many attempts of an arm reached each stage, and with which status the others ended."""

    arm: str
    counts: Mapping[str, int]
    losses: Mapping[str, int]


def flow(
    attempts: Iterable[Attempt],
    grades: Mapping[Cell, Grade],
    arm: ArmSettings,
    analysed: Iterable[Cell],
) -> ArmFlow:
    """Return the flow of one arm.

    Args:
        attempts: all of the ledger.
        grades: of the attempts that have one.
        arm: the arm.
        analysed: the cells whose pair is complete at the first primary endpoint.
    """
    of = [each for each in attempts if each.cell.arm == arm.id]
    whole = set(analysed)
    settled = [each for each in of if each.fate is Fate.SETTLED]
    found = {
        "planned": len(of),
        "admitted": sum(each.admitted for each in of),
        "refused": sum(each.fate is Fate.REFUSED for each in of),
        "started": sum(each.fate in {Fate.SETTLED, Fate.CUT_OFF} for each in of),
        "delivered": sum(delivered(each, arm) is True for each in settled),
        "graded": sum(
            (grade := grades.get(each.cell)) is not None and grade.score is not None for each in of
        ),
        "analysed": sum(each.cell in whole for each in of),
    }
    losses = Counter(each.status for each in of if each.status != "completed")
    return ArmFlow(arm.id, found, dict(sorted(losses.items())))


def sentence(one: ArmFlow) -> str:
    """Return the flow of an arm as a reader who sees no drawing gets it."""
    stages = ", ".join(f"{one.counts[stage]} {name}" for stage, name in STAGES.items())
    lost = ", ".join(f"{count} {status}" for status, count in one.losses.items())
    return f"{one.arm}: {stages}{f'; not completed: {lost}' if lost else ''}"


def svg(arms: Sequence[ArmFlow]) -> str:
    """Return the drawing: a column of boxes for each arm, the losses beside the arrows."""
    stages = [stage for stage in STAGES if stage != "refused"]
    width = len(arms) * (_WIDTH + _GAP) + _GAP
    height = _TOP + len(stages) * _STEP
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
        ),
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for at, one in enumerate(arms):
        left = _GAP + at * (_WIDTH + _GAP)
        parts.append(_text(left + _WIDTH / 2, 20, one.arm, 'font-weight="bold"'))
        for row, stage in enumerate(stages):
            top = _TOP + row * _STEP
            parts += _box(left, top, f"{one.counts[stage]} {STAGES[stage]}")
            if row + 1 < len(stages):
                lost = _lost(one, stage, stages[row + 1])
                parts += _arrow(left + _WIDTH / 2, top + _HEIGHT, lost)
    return "".join([*parts, "</svg>"])


def _lost(one: ArmFlow, stage: str, following: str) -> str:
    fewer = one.counts[stage] - one.counts[following]
    if fewer <= 0:
        return ""
    refused = one.counts["refused"] if stage == "planned" else 0
    return f"{fewer} fewer ({refused} refused)" if refused else f"{fewer} fewer"


def _box(left: float, top: float, words: str) -> list[str]:
    return [
        (
            f'<rect x="{left}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" fill="#eef3f9"'
            ' stroke="#4c6a92"/>'
        ),
        _text(left + _WIDTH / 2, top + _HEIGHT / 2 + 4, words),
    ]


def _arrow(x: float, top: float, lost: str) -> list[str]:
    end = top + _STEP - _HEIGHT
    parts = [
        f'<path d="M{x} {top}V{end - 5}" stroke="#4c6a92" fill="none"/>',
        f'<path d="M{x - 4} {end - 7}L{x} {end}L{x + 4} {end - 7}Z" fill="#4c6a92"/>',
    ]
    if lost:
        parts.append(_text(x + 8, top + 17, lost, 'fill="#a33b20"', anchor="start"))
    return parts


def _text(
    x: float, y: float, words: str, more: str = 'fill="#16202c"', anchor: str = "middle"
) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" {more}>{escape(words)}</text>'
