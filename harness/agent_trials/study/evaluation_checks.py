"""The rules over patches that an official evaluation judges, and over where their tasks come from.

Each function is one rule:
    the official format holds one patch for each instance of an arm  -> _one_patch
    each task is an instance, and no two are one                      -> _instances
    the program is told what it evaluates and under which run id     -> _told
    parameters that are named are the study's                        -> _parameters
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent_trials.study.endpoints import RESOLVED
from agent_trials.study.findings import Finding, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_trials.study.settings import EvaluationSettings, Manifest

NEEDED = ("{predictions}", "{run_id}", "{dataset}")
FILLED = frozenset(
    {"python", "study", "dataset", "split", "predictions", "run_id", "max_workers", "timeout"}
    | {"reports"}
)
"""What a command of the evaluation may hold beside the study's parameters."""
PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")


def evaluation_findings(manifest: Manifest) -> Iterator[Finding]:
    """Yield every place that breaks a rule over evaluated patches or the source of tasks."""
    yield from _rows(manifest)
    registered = {*manifest.endpoints.primary, *manifest.endpoints.secondary}
    if manifest.evaluation is None:
        return
    if RESOLVED not in registered:
        what = "patches are evaluated and resolved is not registered"
        yield Finding(("endpoints",), what, 'write primary = ["resolved", "cost_usd"]')
    yield from _one_patch(manifest)
    yield from _instances(manifest)
    yield from _told(manifest.evaluation)
    yield from _parameters(manifest, manifest.evaluation)


def _rows(manifest: Manifest) -> Iterator[Finding]:
    source = manifest.task_source
    if source is not None and source.rows is not None and source.rows not in manifest.parameters:
        what = f"{source.rows!r} is no parameter of the study"
        remedy = nearest(source.rows, manifest.parameters, "the parameters are")
        yield Finding(("task_source", "rows"), what, remedy)


def _one_patch(manifest: Manifest) -> Iterator[Finding]:
    if manifest.schedule.repetitions != 1 or manifest.models:
        what = "an evaluation takes one patch for each instance and arm"
        yield Finding(("schedule", "repetitions"), what, "write repetitions = 1, and one model")
    if manifest.workspace.kind == "export":
        what = "a read-only export yields no patch"
        yield Finding(("workspace", "kind"), what, 'write kind = "checkout"')


def _instances(manifest: Manifest) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, task in enumerate(manifest.tasks):
        if task.instance is None:
            what = "is missing, and patches are evaluated by instance"
            yield Finding(("tasks", index, "instance"), what, "add the benchmark's instance_id")
        elif task.instance in seen:
            what = f"{task.instance!r} is another task's too"
            yield Finding(("tasks", index, "instance"), what, "name each instance once")
        else:
            seen.add(task.instance)


def _told(settings: EvaluationSettings) -> Iterator[Finding]:
    words = " ".join(settings.command)
    for placeholder in NEEDED:
        if placeholder not in words:
            what = f"the program is not told {placeholder}"
            yield Finding(("evaluation", "command"), what, "add it")


def _parameters(manifest: Manifest, settings: EvaluationSettings) -> Iterator[Finding]:
    known = FILLED | {*manifest.parameters}
    for key, words in (
        ("command", settings.command),
        ("version_command", settings.version_command),
        ("dataset", (settings.dataset,)),
    ):
        for name in PLACEHOLDER.findall(" ".join(words)):
            if name not in known:
                what = f"{{{name}}} is no parameter of the study"
                yield Finding(("evaluation", key), what, nearest(name, known, "known are"))
