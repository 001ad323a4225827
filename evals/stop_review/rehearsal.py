"""The model of this study's rehearsals: it knows the solutions, and leaves out what it is told to.

By a task's place in the file it does one of four things, so that every way through is rehearsed:
    repairs      leaves out the last requirement but one, and mends that whoever tells it
    mends late   leaves out the second requirement, and mends it in the follow-up alone
    at once      leaves out nothing
    never        leaves out the third requirement, and does not mend it
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials.graders.proof import Graded
from agent_trials.graders.solutions import solutions
from agent_trials.rehearsal import model
from agent_trials.rehearsal.coder import CoderScript, coder
from agent_trials.study import manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from agent_trials.graders.solutions import Solution
    from agent_trials.rehearsal.replies import Answer

REPAIRS, MENDS_LATE, AT_ONCE, NEVER = range(4)
WAYS = {
    "recipes": REPAIRS,
    "stockroom": REPAIRS,
    "logsift": MENDS_LATE,
    "rota": AT_ONCE,
    "quillmark": NEVER,
    "tally": REPAIRS,
    "layercfg": MENDS_LATE,
}


def _script(solution: Solution) -> CoderScript:
    way, names = WAYS[solution.task], list(solution.without)
    left_out = {REPAIRS: names[-2], MENDS_LATE: names[1], NEVER: names[2]}.get(way)
    first = solution.without[left_out] if left_out else solution.whole
    rest = {path: text for path, text in solution.whole.items() if first.get(path, "") != text}
    return CoderScript(
        request=solution.request,
        first=first,
        feedback=rest if way == REPAIRS else {},
        further=rest if way in {REPAIRS, MENDS_LATE} else {},
        new=solution.new,
    )


def _model() -> Callable[[Mapping[str, Any]], Answer]:
    study = manifest.load(Path(__file__).parent)
    graded = Graded(study.folder, study.manifest, study.key, {})
    scripts = [_script(each) for each in solutions(graded, study.manifest.tasks)]
    return coder(scripts, model.respond)


respond = _model()
