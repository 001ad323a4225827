"""What a rehearsal's scripted model is told: how a task is solved, and solved but for one thing.

The key has it already: the reference and the variants that prove a checker. No agent of a paid run
comes near it; a scripted model that knew nothing would fail every task, and rehearse half a trial.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_trials.errors import WorkspaceError
from agent_trials.graders import proof

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agent_trials.graders.proof import Files, Graded
    from agent_trials.study.settings import TaskSettings

Edits = dict[str, str | None]


@dataclass(frozen=True)
class Solution:
    """The edits of a starter that solve a task, and those that leave one requirement out.

    An edit is a file's new text, None where it is removed. The starter lacks the ``new`` ones.
    """

    task: str
    request: str
    whole: Edits
    without: Mapping[str, Edits]
    new: frozenset[str] = frozenset()


def solutions(study: Graded, tasks: Iterable[TaskSettings]) -> Iterator[Solution]:
    """Yield the solution of every task that has a checker; one that cannot be read is left out."""
    for task in tasks:
        key = study.key.tasks[task.id].checker if study.key else None
        if key is None:
            continue
        try:
            states = dict(proof.states(study, task, key))
        except WorkspaceError:
            continue
        original = states.pop(proof.ORIGINAL)
        edits = {name: _edits(original, files) for name, files in states.items()}
        whole = edits.pop(proof.REFERENCE)
        yield Solution(task.id, task.question, whole, edits, frozenset({*whole} - {*original}))


def _edits(original: Files, files: Files) -> Edits:
    changed: Edits = {
        name: data.decode("utf-8")
        for name, (data, _) in files.items()
        if name not in original or original[name][0] != data
    }
    return changed | {name: None for name in original if name not in files}
