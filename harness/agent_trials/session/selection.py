"""Which phases of which studies a pytest command selects.

The rule: a phase is selected when the ``-m`` expression holds with that phase's marker and does not
hold with none at all. So ``-m pilot`` and ``-m "pilot and not slow"`` select the pilot, while no
expression, ``-m "not slow"`` and ``-m "not pilot"`` select nothing: a user's ordinary run neither
spends nor fails.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

# The expression language of -m is pytest's own; a second parser of it would sooner or later differ.
from _pytest.mark.expression import Expression

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_trials.study.manifest import Study

ADJUDICATE = "adjudicate"
EVALUATE = "evaluate"
JOBS = (ADJUDICATE, EVALUATE)
"""Markers of work on an existing ledger, beside the phases."""
_WORD = re.compile(r"[A-Za-z_][\w-]*")


@dataclass(frozen=True)
class Selected:
    """One phase of one study that the command runs."""

    study: Study
    phase: str

    @property
    def name(self) -> str:
        """Return ``study/phase`` as headers and summaries show it."""
        return f"{self.study.manifest.id}/{self.phase}"


def names(expression: str, marker: str) -> bool:
    """Return whether the ``-m`` expression asks for this marker.

    An expression that pytest cannot read asks for none; pytest itself refuses it later.
    """
    if not expression.strip():
        return False
    try:
        compiled = Expression.compile(expression)
    except SyntaxError:
        return False

    def holds(marks: frozenset[str]) -> bool:
        return compiled.evaluate(lambda name, /, **_: name in marks)

    return holds(frozenset({marker})) and not holds(frozenset())


def unknown(expression: str, markers: Iterable[str]) -> tuple[str, ...]:
    """Return the words of an ``-m`` expression that are no marker, as a misspelt phase is."""
    known = {*markers, "and", "or", "not", "True", "False", "None"}
    return tuple(word for word in dict.fromkeys(_WORD.findall(expression)) if word not in known)


def select(studies: Iterable[Study], expression: str) -> tuple[Selected, ...]:
    """Return the selected phases, in the order of the studies and of their manifests."""
    return tuple(
        Selected(study, phase)
        for study in studies
        for phase in study.manifest.phases
        if names(expression, phase)
    )
