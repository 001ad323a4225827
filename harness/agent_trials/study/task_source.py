"""Tasks that a study takes from a benchmark's lock: one task and one repository per instance.

``expand`` adds them to the manifest's document before it is checked, so that everything after it
sees tasks and repositories like any others. The prompt's template and the lock are files of the
study's folder and so part of its freeze.

A lock may know its instances by their ids alone. The statements of such a lock come with the run,
from a file of rows (``fill``); until then a task's question is the template itself.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any, TypeGuard

from agent_trials.errors import Problem, StudyError
from agent_trials.study import document, task_lock
from agent_trials.study.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from agent_trials.study.rows import Rows
    from agent_trials.study.selection import Instance
    from agent_trials.study.settings import Manifest
    from agent_trials.study.task_lock import TaskLock

STATEMENT = "{problem_statement}"
"""Where the template of the prompt takes an instance's statement."""

_KEY = "task_source"
_CATEGORY = "bug-fix"


def task_id(instance_id: str) -> str:
    """Return the id of an instance's task: lower-case letters, digits and single hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", instance_id.lower()).strip("-")


def expand(
    raw: dict[str, Any], read: Callable[[str], bytes]
) -> tuple[dict[str, Any], list[Finding]]:
    """Return a manifest's document with the tasks of its lock, and what keeps it from having them.

    Args:
        raw: the document; one without ``task_source`` comes back as it is.
        read: gives the bytes of a file of the study's folder by its name, or raises OSError.
    """
    source = raw.get(_KEY)
    if not isinstance(source, dict):
        return raw, []
    lock, found = _lock(source, read)
    template, unread = _template(source, read)
    if lock is None or template is None:
        return raw, [*found, *unread]
    made = [_task(each, template) for each in lock.instances]
    pinned = {task_id(each.instance_id): _repository(each, source) for each in lock.instances}
    tasks, repositories = raw.get("tasks", []), raw.get("repositories", {})
    if not isinstance(tasks, list) or not isinstance(repositories, dict):
        return raw, []  # said when the shape is checked
    full = {**raw, "tasks": [*tasks, *made], "repositories": {**repositories, **pinned}}
    return full, [*_unpinned(lock), *_apart(lock, raw.get("evaluation"))]


def fill(manifest: Manifest, rows: Rows, lock: TaskLock, name: str) -> Manifest:
    """Return the manifest with the statements of a file of rows in the questions of its tasks.

    Args:
        manifest: the study's.
        rows: the file's rows.
        lock: the lock that the tasks come from.
        name: what the file is called in the error.

    Raises:
        StudyError: an instance is missing there, has no statement, or has another base commit.
    """
    by_id = {each.instance_id: each for each in rows.instances}
    said = {task_id(each): row.problem_statement for each, row in by_id.items()}
    problems = [*_unlike(lock, by_id, name), *_unsaid(manifest, lock, said, name)]
    if problems:
        raise StudyError(problems)
    tasks = tuple(
        dataclasses.replace(task, question=task.question.replace(STATEMENT, said[task.id] or ""))
        if STATEMENT in task.question
        else task
        for task in manifest.tasks
    )
    return dataclasses.replace(manifest, tasks=tasks)


def unfilled(manifest: Manifest) -> tuple[str, ...]:
    """Return the tasks whose statement nobody has given yet."""
    return tuple(task.id for task in manifest.tasks if STATEMENT in task.question)


def _is_name(name: object) -> TypeGuard[str]:
    return isinstance(name, str) and "/" not in name


def _lock(
    source: Mapping[str, Any], read: Callable[[str], bytes]
) -> tuple[TaskLock | None, list[Finding]]:
    name, path = source.get("lock"), (_KEY, "lock")
    if not _is_name(name):
        return None, []  # said when the shape is checked
    try:
        raw, problems = document.parse(read(name), name)
        if raw is None:
            return None, [Finding(path, each.what, each.remedy) for each in problems]
        return task_lock.parse(raw, name), []
    except OSError as error:
        remedy = "make it: agent-trials select ROWS --into FILE"
        return None, [Finding(path, f"{name!r} cannot be read ({error.strerror})", remedy)]
    except StudyError as error:
        return None, [
            Finding(path, f"{name!r} {each.what}", each.remedy) for each in error.problems
        ]


def _template(
    source: Mapping[str, Any], read: Callable[[str], bytes]
) -> tuple[str | None, list[Finding]]:
    name, path = source.get("prompt"), (_KEY, "prompt")
    if not _is_name(name):
        return None, []
    try:
        text = read(name).decode("utf-8").strip()
    except OSError as error:
        what = f"{name!r} cannot be read ({error.strerror})"
        return None, [Finding(path, what, f"write the prompt there, with {STATEMENT} in it")]
    except UnicodeDecodeError as error:
        return None, [Finding(path, f"byte {error.start} of {name!r} is not UTF-8", "save it anew")]
    if text.count(STATEMENT) != 1:
        what = f"{name!r} holds {STATEMENT} {text.count(STATEMENT)} times"
        return None, [Finding(path, what, "write it once, where the statement belongs")]
    return text, []


def _task(instance: Instance, template: str) -> dict[str, Any]:
    statement = instance.problem_statement
    question = template if statement is None else template.replace(STATEMENT, statement)
    name = task_id(instance.instance_id)
    return {
        "id": name,
        "repository": name,
        "category": _CATEGORY,
        "question": question,
        "instance": instance.instance_id,
    }


def _repository(instance: Instance, source: Mapping[str, Any]) -> dict[str, Any]:
    url = source.get("url")
    place = url.replace("{repo}", instance.repo) if isinstance(url, str) else url
    return {"url": place, "pin": instance.base_commit}


def _unpinned(lock: TaskLock) -> Iterator[Finding]:
    for each in lock.instances:
        if each.base_commit is None:
            what = f"{each.instance_id} has no base_commit in the lock"
            yield Finding((_KEY, "lock"), what, "select again from rows that have it")


def _apart(lock: TaskLock, evaluation: object) -> Iterator[Finding]:
    """Yield what the lock pins together and the study's evaluation has otherwise."""
    if not isinstance(evaluation, dict):
        return
    for name in ("harness_version", "image_set"):
        pinned, stated = getattr(lock.pins, name), evaluation.get(name)
        if pinned is not None and stated is not None and stated != pinned:
            what = f"{stated!r} is not what the lock of the tasks is pinned to, {pinned!r}"
            yield Finding(("evaluation", name), what, "write that, or select anew into a new lock")


def _unsaid(
    manifest: Manifest, lock: TaskLock, said: Mapping[str, str | None], name: str
) -> Iterator[Problem]:
    """Yield the study's own tasks that take a statement from the rows and find none there."""
    locked = {task_id(each.instance_id) for each in lock.instances}
    for task in manifest.tasks:
        if STATEMENT in task.question and task.id not in locked and not said.get(task.id):
            what = f"has no statement of {task.instance or task.id}"
            yield Problem(name, what, "give the dataset's whole file")


def _unlike(lock: TaskLock, by_id: Mapping[str, Instance], name: str) -> Iterator[Problem]:
    for each in lock.instances:
        row = by_id.get(each.instance_id)
        if row is None:
            yield Problem(name, f"has no row {each.instance_id}", "give the dataset's whole file")
            continue
        for field in ("repo", "base_commit", "version"):
            locked, given = getattr(each, field), getattr(row, field)
            if locked is not None and given != locked:
                what = f"{field} of {each.instance_id} is {given!r}, and the lock has {locked!r}"
                yield Problem(name, what, "give the rows that the lock was made from")
        if not row.problem_statement:
            what = f"{each.instance_id} has no problem_statement"
            yield Problem(name, what, "give rows that have one")
