"""The rules over a phase that runs a sample, and over a plan that a phase fixes.

Each function is one rule:
    a sample is drawn from a seed, and its size is one that it can have -> _samples
    arms are chosen for a sample only, and are arms of the study        -> _arms
    what is drawn is the plan that was fixed                            -> plan_findings
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_trials.study import phases, sampling, schedule
from agent_trials.study.findings import Finding, KeyPath, nearest
from agent_trials.study.sampling import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_trials.study.settings import Manifest


def sample_findings(manifest: Manifest) -> Iterator[Finding]:
    """Yield every place of a phase's sample that breaks a rule."""
    for name in manifest.phases:
        wrong = list(_arms(manifest, name))
        yield from wrong or _samples(manifest, name)


def plan_findings(manifest: Manifest) -> Iterator[Finding]:
    """Yield the phases whose plan is another one than they fix; nothing else may be wrong."""
    for name, phase in manifest.phases.items():
        if phase.plan is None:
            continue
        drawn = schedule.digest(schedule.plan(manifest, name))
        if drawn != phase.plan:
            what = f"the plan that is drawn has the digest {drawn}"
            remedy = "write that, or give back what the plan was drawn from (tasks, arms, seed)"
            yield Finding(("phases", name, "plan"), what, remedy)


def _samples(manifest: Manifest, name: str) -> Iterator[Finding]:
    phase = manifest.phases[name]
    if phase.sample is None:
        return
    path: KeyPath = ("phases", name, "sample")
    if manifest.schedule.seed is None:
        yield Finding(path, "a sample without a seed cannot be drawn again", "add schedule.seed")
    for what, remedy in sampling.problems(Sample.read(phase.sample), phases.matrix(manifest, name)):
        yield Finding(path, what, remedy)


def _arms(manifest: Manifest, name: str) -> Iterator[Finding]:
    phase, known = manifest.phases[name], [arm.id for arm in manifest.arms]
    path: KeyPath = ("phases", name, "arms")
    if phase.arms is None:
        return
    if phase.sample is None:
        what = "a phase without a sample runs every arm"
        yield Finding(path, what, 'remove it, or write sample = "pairwise"')
    for index, arm in enumerate(phase.arms):
        if arm not in known:
            what = f"{arm!r} is no arm of the study"
            yield Finding((*path, index), what, nearest(arm, known, "the arms are"))
        elif arm in phase.arms[:index]:
            yield Finding((*path, index), f"{arm!r} stands twice", "name each once")
