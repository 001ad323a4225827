"""The rules over a whole manifest that no single field can tell.

Each function is one rule and yields a finding per place that breaks it:
    ids are the folder's name, unique, and name what exists   -> identity, references
    the arms of a study differ                                -> arms_differ
    a prompt is one that every transport can send             -> prompts
    a phase selects something, and requires one that is there -> phases
    what is registered can be measured                        -> endpoints
    an order that is drawn can be drawn again                 -> schedule
    the corpus filter and the generated paths can be used     -> corpus_filter, generated_paths
    a kind of workspace has what it needs                     -> workspace_checks
    patches that are evaluated are one for each instance      -> evaluation_checks
    arms differ in model or transport only if that is compared -> comparison_checks
    a checkout has what it needs, and what is set up in it    -> checkout_checks
    a transport has what it needs                             -> transport_checks
    an adjudicator has what it needs                          -> adjudicator_checks
    a sample can be drawn, and is the plan that was fixed     -> sample_checks
"""

from __future__ import annotations

import dataclasses
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from agent_trials.study import asked
from agent_trials.study.adjudicator_checks import adjudicator_findings
from agent_trials.study.checkout_checks import checkout_findings
from agent_trials.study.comparison_checks import comparison_findings
from agent_trials.study.endpoints import endpoints_of
from agent_trials.study.evaluation_checks import evaluation_findings
from agent_trials.study.findings import Finding, KeyPath, nearest
from agent_trials.study.sample_checks import plan_findings, sample_findings
from agent_trials.study.transport_checks import transport_findings
from agent_trials.study.workspace_checks import workspace_findings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_trials.study.settings import Manifest

PROMPT_BYTES = 8 * 1024
STATEMENT_BYTES = 100_000
"""The bound where agents write code: issues quote logs; an argument may have 128 KiB on Linux."""
RESERVED_PHASES = frozenset(
    {"adjudicate", "evaluate", "and", "or", "not", "skip", "skipif", "xfail", "timeout"}
    | {"parametrize", "usefixtures", "filterwarnings", "tryfirst", "trylast", "flaky"}
)
"""Marker names that mean something else on a pytest command line."""


def manifest_findings(manifest: Manifest, folder_name: str) -> tuple[Finding, ...]:
    """Return every place of the manifest that breaks a rule, in the order of the rules."""
    found = (
        *_identity(manifest, folder_name),
        *_references(manifest),
        *_arms_differ(manifest),
        *_prompts(manifest),
        *_phases(manifest),
        *_endpoints(manifest),
        *_schedule(manifest),
        *_corpus_filter(manifest),
        *_generated_paths(manifest),
        *workspace_findings(manifest),
        *checkout_findings(manifest),
        *evaluation_findings(manifest),
        *comparison_findings(manifest),
        *transport_findings(manifest),
        *adjudicator_findings(manifest),
        *sample_findings(manifest),
    )
    return found or tuple(plan_findings(manifest))


def _identity(manifest: Manifest, folder_name: str) -> Iterator[Finding]:
    expected = folder_name.replace("_", "-")
    if manifest.id != expected:
        what = f"{manifest.id!r} is not the folder's name"
        yield Finding(("id",), what, f"write {expected!r}, or rename the folder")
    yield from _unique("arms", (arm.id for arm in manifest.arms))
    yield from _unique("tasks", (task.id for task in manifest.tasks))


def _unique(key: str, ids: Iterable[str]) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, each in enumerate(ids):
        if each in seen:
            yield Finding((key, index, "id"), f"{each!r} stands twice", "give each its own id")
        seen.add(each)


def _references(manifest: Manifest) -> Iterator[Finding]:
    for index, task in enumerate(manifest.tasks):
        if task.repository is not None and task.repository not in manifest.repositories:
            what = f"{task.repository!r} is no repository of the study"
            remedy = nearest(task.repository, manifest.repositories, "the repositories are")
            yield Finding(("tasks", index, "repository"), what, remedy)


def _arms_differ(manifest: Manifest) -> Iterator[Finding]:
    # Where provider commands alone answer, what an arm is given stands in their table.
    provider = manifest.transports.provider
    tables = provider.arms if provider and len(manifest.transports.described) == 1 else {}
    setups = [(dataclasses.replace(arm, id="same"), tables.get(arm.id)) for arm in manifest.arms]
    for index, setup in enumerate(setups):
        first = setups.index(setup)
        if first < index:
            what = f"the arm is the same as {manifest.arms[first].id!r} but for its id"
            yield Finding(("arms", index), what, "give it what it is compared for")


def _prompts(manifest: Manifest) -> Iterator[Finding]:
    every: list[tuple[KeyPath, str]] = [
        (("tasks", index, *keys), manifest.worded(text))
        for index, task in enumerate(manifest.tasks)
        for keys, text in asked.wordings(task)
    ]
    most = PROMPT_BYTES if manifest.checkout is None else STATEMENT_BYTES
    for path, prompt in every:
        size = len(prompt.encode("utf-8"))
        if size > most:
            what = f"the prompt (question and instructions) has {size:,} bytes"
            yield Finding(path, what, f"shorten it to {most:,}")
        if prompt.startswith(("/", "-")):
            what = f"the prompt begins with {prompt[0]!r}, which a CLI reads as a command or option"
            yield Finding(path, what, "begin with a word")
        if "\0" in prompt:
            yield Finding(path, "the prompt holds a NUL character", "remove it")


def _phases(manifest: Manifest) -> Iterator[Finding]:
    known = [task.id for task in manifest.tasks]
    for name, phase in manifest.phases.items():
        path: KeyPath = ("phases", name)
        if name in RESERVED_PHASES:
            what = "the name means something else in a -m expression"
            yield Finding(path, what, "use another, such as pilot or full")
        if phase.tasks is not None:
            yield from _phase_tasks((*path, "tasks"), phase.tasks, known)
        if phase.repetitions is not None and phase.repetitions > manifest.schedule.repetitions:
            what = f"{phase.repetitions} is above the schedule's {manifest.schedule.repetitions}"
            remedy = "write at most that, or raise schedule.repetitions"
            yield Finding((*path, "repetitions"), what, remedy)
        yield from _required(manifest, name)


def _phase_tasks(path: KeyPath, tasks: tuple[str, ...], known: list[str]) -> Iterator[Finding]:
    if not tasks:
        yield Finding(path, "the phase selects nothing", "name a task, or leave tasks out for all")
    for index, task in enumerate(tasks):
        if task not in known:
            what = f"{task!r} is no task of the study"
            yield Finding((*path, index), what, nearest(task, known, "the tasks are"))
        elif task in tasks[:index]:
            yield Finding((*path, index), f"{task!r} stands twice", "name each task once")


def _required(manifest: Manifest, name: str) -> Iterator[Finding]:
    required = manifest.phases[name].requires
    path: KeyPath = ("phases", name, "requires")
    if required is None:
        return
    if required not in manifest.phases:
        what = f"{required!r} is no phase of the study"
        yield Finding(path, what, nearest(required, manifest.phases, "the phases are"))
        return
    seen = {name}
    while required in manifest.phases and required not in seen:
        seen.add(required)
        required = manifest.phases[required].requires or ""
    if required == name:
        yield Finding(path, "the phase requires itself", "name a phase that comes before it")


def _endpoints(manifest: Manifest) -> Iterator[Finding]:
    seen: set[str] = set()
    registered, known = manifest.endpoints, endpoints_of(manifest)
    for key, names in (("primary", registered.primary), ("secondary", registered.secondary)):
        for index, name in enumerate(names):
            path: KeyPath = ("endpoints", key, index)
            if name not in known:
                what = f"{name!r} is no endpoint"
                yield Finding(path, what, nearest(name, known, "the endpoints are"))
            elif name in seen:
                yield Finding(path, f"{name!r} is registered twice", "register it once")
            seen.add(name)


def _schedule(manifest: Manifest) -> Iterator[Finding]:
    if manifest.schedule.arm_order == "random" and manifest.schedule.seed is None:
        what = "a random order without a seed cannot be drawn again"
        yield Finding(("schedule", "seed"), what, "add seed = 1, or any whole number")


def _corpus_filter(manifest: Manifest) -> Iterator[Finding]:
    rules, path = manifest.workspace.filter, ("workspace", "filter")
    for index, extension in enumerate(rules.extensions):
        if extension.startswith(".") or not extension:
            what = f"{extension!r} is no extension"
            yield Finding((*path, "extensions", index), what, 'write it without the point, as "md"')


def _generated_paths(manifest: Manifest) -> Iterator[Finding]:
    for name, repository in manifest.repositories.items():
        for index, generated in enumerate(repository.generated_paths):
            parts = PurePosixPath(generated).parts
            if not parts or generated.startswith("/") or ".." in parts:
                path: KeyPath = ("repositories", name, "generated_paths", index)
                what = f"{generated!r} is no path inside the repository"
                yield Finding(path, what, "write it relative to it")
