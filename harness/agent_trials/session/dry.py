"""The dry run: what each study and phase comes to, and whether the named checkouts are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_trials import money
from agent_trials.session import text
from agent_trials.session.selection import Selected
from agent_trials.study import asked, frozen, phases
from agent_trials.study.manifest import phase_repetitions
from agent_trials.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from agent_trials.records import PlannedAttempt
    from agent_trials.session.options import Options
    from agent_trials.study.manifest import Study
    from agent_trials.study.settings import Manifest

    Plan = Callable[[Study, str], tuple[PlannedAttempt, ...]]


def check_roots(studies: Sequence[Study], roots: Mapping[str, Path]) -> None:
    """Read the named checkouts with local git alone.

    Raises:
        RunRefusedError: one is not what its study pins.
    """
    if roots:
        from agent_trials import preflight  # noqa: PLC0415 - only with --root

        preflight.check_roots(studies, roots)


def rows(
    selected: Sequence[Selected], studies: Iterable[Study], options: Options, plan: Plan
) -> list[dict[str, str]]:
    """Return the facts to print, one row per study and phase; all phases where none is named.

    ``plan`` gives the attempts of a phase.
    """
    chosen = selected or tuple(
        Selected(study, phase) for study in studies for phase in study.manifest.phases
    )
    return [_row(each, options, plan) for each in chosen]


def _further(manifest: Manifest) -> list[str]:
    """Return what must be said where attempts may have a further turn."""
    if manifest.follow_up is None:
        return []
    return ["follow-up turns reserve at most as much again"]


def _row(selected: Selected, options: Options, plan: Plan) -> dict[str, str]:
    """Return one row of the dry run's matrix."""
    manifest = selected.study.manifest
    attempts = plan(selected.study, selected.phase)
    arms = [arm.id for arm in phases.phase_arms(manifest, selected.phase)]
    tasks = len({each.cell.task for each in attempts})
    slots = asked.phase_models(manifest, selected.phase)
    models = f" x {counted(len(slots), 'model')}" if slots else ""
    repetitions = phase_repetitions(manifest, selected.phase)
    shape = f"{counted(tasks, 'task')} x {counted(len(arms), 'arm')}{models}"
    shape += f" x {counted(repetitions, 'repetition')}"
    if len(attempts) != tasks * len(arms) * max(len(slots), 1) * repetitions:
        shape = f"of {shape}"  # a sample that crosses not everything
    standing = frozen.state(selected.study)
    total = phases.reserved(manifest, [each.cell for each in attempts])
    return {
        "name": selected.name,
        "attempts": counted(len(attempts), "attempt"),
        "shape": shape,
        "compared": "\n".join(text.compared(manifest, selected.phase)),
        "sampled": "\n".join((*phases.sampled(manifest, selected.phase), *_further(manifest))),
        "arms": ", ".join(arms),
        "reserved": "operator's choice" if total is None else money.text(total),
        "cap": f"{options.cap} USD" if options.cap else "not set (STUDY_BUDGET_USD)",
        "series": f"series {standing.series_id} ({text.standing(standing)})",
        "changed": "\n".join(text.changed(standing)),
        "checkouts": ", ".join(sorted(set(options.roots) & set(manifest.repositories))),
    }
