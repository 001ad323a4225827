"""The answer key of a study: what graders know and no prompt, export or attempt ever holds.

Rules over the whole, each a function:
    a task is graded by propositions with sources, or by a checker    -> _complete, _checkers
    every task of the study has its entry, and every entry its task   -> _tasks
    a source is a file that the agent can read in the export          -> _sources
    propositions of a task differ                                     -> _propositions
    an adjudicator can be tested before it grades                     -> _controls
"""

# The annotations are read by pydantic at run time, so nothing here is imported for types alone.

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from agent_trials.study.corpus import path_refusal
from agent_trials.study.findings import Finding, nearest
from agent_trials.study.leaks import folded
from agent_trials.study.settings import CorpusFilter, Id, Manifest, Text

_FORBID = ConfigDict(extra="forbid")


@dataclass(frozen=True, kw_only=True)
class Proposition:
    """One statement that a correct answer makes.

    A ``quoted`` one stands word for word in the corpus, so it is looked for in prompts only.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    text: Text
    quoted: bool = False


@dataclass(frozen=True, kw_only=True)
class CheckerKey:
    """A hidden program that looks at the tree after each turn, and what proves that it can say no.

    ``command`` may hold ``{python}``, ``{study}``, ``{tree}`` and the study's parameters.
    ``reference`` is a folder over the starter that passes, ``variants`` one with a folder over that
    for each of the ``requirements``, in which only that one is not fulfilled. A unified diff, a
    file whose name ends in ``.patch``, stands for a folder.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    command: Annotated[tuple[Text, ...], Field(min_length=1)]
    requirements: Annotated[tuple[Id, ...], Field(min_length=1)]
    reference: Text
    variants: Text
    timeout_seconds: Annotated[int, Field(ge=1, le=3_600, strict=True)] = 120


@dataclass(frozen=True, kw_only=True)
class TaskKey:
    """What graders know of one task: propositions and the files that settle them, or a checker.

    ``reference`` is an answer that must be graded correct, ``wrong`` one that must be graded
    incorrect: what an adjudicator is tested on before it grades.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    sources: Annotated[tuple[Text, ...], Field(min_length=1)] = ()
    propositions: Annotated[tuple[Proposition, ...], Field(min_length=1)] = ()
    checker: CheckerKey | None = None
    reference: Text | None = None
    wrong: Text | None = None

    @property
    def is_control(self) -> bool:
        """Return whether an adjudicator can be tested on the task."""
        return self.reference is not None and self.wrong is not None


@dataclass(frozen=True, kw_only=True)
class AnswerKey:
    """Everything in key.toml, by task."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID
    schema: Literal[1]
    tasks: Annotated[Mapping[Id, TaskKey], Field(min_length=1)]


def key_findings(key: AnswerKey, manifest: Manifest) -> tuple[Finding, ...]:
    """Return every place of the key that does not go with the manifest."""
    return (
        *_complete(key),
        *_checkers(key, manifest),
        *_tasks(key, manifest),
        *_sources(key, manifest.workspace.filter),
        *_propositions(key),
        *_controls(key, manifest),
    )


def _tasks(key: AnswerKey, manifest: Manifest) -> Iterator[Finding]:
    known = [task.id for task in manifest.tasks]
    for task in key.tasks:
        if task not in known:
            what = "this is no task of the study"
            yield Finding(("tasks", task), what, nearest(task, known, "the tasks are"))
    asked = dict.fromkeys(task.id for task in manifest.tasks if task.instance is None)
    for task in asked:  # an instance of a benchmark is evaluated by the benchmark
        if task not in key.tasks:
            what = "the task has no entry in the answer key"
            yield Finding(("tasks", task), what, "add its sources and propositions")


def _complete(key: AnswerKey) -> Iterator[Finding]:
    for task, entry in key.tasks.items():
        for name in ("sources", "propositions") if entry.checker is None else ():
            if not getattr(entry, name):
                yield Finding(("tasks", task, name), "is missing", f"add {name}")


def _checkers(key: AnswerKey, manifest: Manifest) -> Iterator[Finding]:
    for task, entry in key.tasks.items():
        path = ("tasks", task, "checker")
        if manifest.workspace.kind == "tree" and entry.checker is None:
            yield Finding(path, "is missing", "add checker: a tree is graded by a program")
        if entry.checker is None:
            continue
        if manifest.workspace.kind != "tree":
            what = "only a tree is looked at by a checker"
            yield Finding(path, what, 'take it out, or write workspace.kind = "tree"')
        repeated = [
            name
            for index, name in enumerate(entry.checker.requirements)
            if name in entry.checker.requirements[:index]
        ]
        for name in repeated:
            what = f"{name!r} stands twice"
            yield Finding((*path, "requirements"), what, "name each requirement once")
    if manifest.follow_up is not None:
        for each in manifest.tasks:
            if each.id not in key.tasks or key.tasks[each.id].checker is None:
                what = "a follow-up waits for a checker, and the task has none"
                yield Finding(("tasks", each.id), what, "add its checker")


def _sources(key: AnswerKey, rules: CorpusFilter) -> Iterator[Finding]:
    for task, entry in key.tasks.items():
        for index, source in enumerate(entry.sources):
            reason = path_refusal(source, rules)
            if reason is not None:
                what = f"the source {source!r} is not in the export: {reason}"
                remedy = "name a file that passes workspace.filter, or change the filter"
                yield Finding(("tasks", task, "sources", index), what, remedy)
            elif source in entry.sources[:index]:
                path = ("tasks", task, "sources", index)
                yield Finding(path, f"{source!r} stands twice", "name each source once")


def _propositions(key: AnswerKey) -> Iterator[Finding]:
    for task, entry in key.tasks.items():
        texts = [folded(proposition.text) for proposition in entry.propositions]
        for index, text in enumerate(texts):
            if text in texts[:index]:
                path = ("tasks", task, "propositions", index)
                yield Finding(path, "the proposition stands twice", "keep one of them")


def _controls(key: AnswerKey, manifest: Manifest) -> Iterator[Finding]:
    if manifest.adjudicator is not None and not any(e.is_control for e in key.tasks.values()):
        what = "an adjudicator is registered, and no task has an answer to test it on"
        remedy = "add reference (a correct answer) and wrong (an incorrect one) to a task"
        yield Finding(("tasks",), what, remedy)
