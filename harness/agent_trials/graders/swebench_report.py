"""Reads the report of the official SWE-bench evaluation, and believes it only where it is whole.

Pure. The report is that of ``swebench.harness.reporting.make_run_report``, schema 2. Its exit code
says nothing, so everything is read from here:
    the schema is 2, every list is a list of ids             -> _misshapen
    what was submitted is what we gave                       -> _submitted
    each of our instances is in exactly one class            -> _classes
    resolved and unresolved are the completed ones           -> _classes
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from agent_trials import canonical
from agent_trials.errors import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

SCHEMA = 2
_LISTS = (
    "submitted_ids", "completed_ids", "resolved_ids", "unresolved_ids", "empty_patch_ids",
    "error_ids", "incomplete_ids",
)  # fmt: skip
_LATER = ("infra_failure_ids", "ambiguous_failure_ids")
"""What 5.x adds; an older report that has none of them names no infrastructure failure."""


class Class(StrEnum):
    """What the evaluation came to for one instance."""

    RESOLVED = "resolved"
    UNRESOLVED = "unresolved"
    EMPTY = "empty-patch"
    ERROR = "error"
    MISSING = "missing-patch"


@dataclass(frozen=True)
class Evaluated:
    """One arm's report.

    ``classes`` has every instance of the plan. ``infrastructure`` and ``ambiguous`` are those among
    unresolved and error whose logs say that the ground failed, or may have.
    """

    classes: Mapping[str, Class]
    infrastructure: frozenset[str]
    ambiguous: frozenset[str]
    digest: str

    def count(self, kind: Class) -> int:
        """Return how many instances are in a class."""
        return sum(each is kind for each in self.classes.values())


def read(
    content: bytes, *, planned: Collection[str], submitted: Collection[str], name: str
) -> Evaluated:
    """Return what a report says of each planned instance.

    Args:
        content: the report's bytes, as the evaluation wrote them.
        planned: the instances of the plan.
        submitted: those that had a prediction.
        name: what the report is called in the error.

    Raises:
        EvaluationError: with everything that is wrong with it.
    """
    try:
        report = json.loads(content)
    except ValueError as error:
        raise _refused(name, [f"is no JSON ({error})"]) from error
    wrong = list(_misshapen(report))
    if wrong:
        raise _refused(name, wrong)
    lists = {key: frozenset(report.get(key, ())) for key in (*_LISTS, *_LATER)}
    wrong = [*_submitted(lists, frozenset(submitted)), *_classes(lists, frozenset(submitted))]
    if wrong:
        raise _refused(name, wrong)
    classes = {each: _class(each, lists) for each in sorted(planned)}
    failed = {each for each in classes if classes[each] in {Class.UNRESOLVED, Class.ERROR}}
    return Evaluated(
        classes,
        lists["infra_failure_ids"] & failed,
        lists["ambiguous_failure_ids"] & failed,
        canonical.digest(content),
    )


def _class(instance: str, lists: Mapping[str, frozenset[str]]) -> Class:
    for key, kind in (
        ("resolved_ids", Class.RESOLVED), ("unresolved_ids", Class.UNRESOLVED),
        ("empty_patch_ids", Class.EMPTY), ("error_ids", Class.ERROR),
    ):  # fmt: skip
        if instance in lists[key]:
            return kind
    return Class.MISSING


def _misshapen(report: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    if not isinstance(report, dict):
        yield "is no object"
        return
    if report.get("schema_version") != SCHEMA:
        yield f"has schema_version {report.get('schema_version')!r}, and {SCHEMA} is known"
    for key in (*_LISTS, *(each for each in _LATER if each in report)):
        value = report.get(key)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            yield f"{key} is no list of ids"
        elif len(set(value)) < len(value):
            yield f"{key} holds an id twice"
        elif report.get(count := key.replace("_ids", "_instances"), len(value)) != len(value):
            yield f"{count} is {report[count]!r}, and {key} has {len(value)}"


def _submitted(lists: Mapping[str, frozenset[str]], given: frozenset[str]) -> Iterator[str]:
    if foreign := lists["submitted_ids"] - given:
        yield f"was made from other predictions: {_names(foreign)} was not submitted by this arm"
    if absent := given - lists["submitted_ids"]:
        yield f"was made from other predictions: {_names(absent)} is not among the submitted"


def _classes(lists: Mapping[str, frozenset[str]], given: frozenset[str]) -> Iterator[str]:
    known = ("completed_ids", "empty_patch_ids", "error_ids", "incomplete_ids")
    for instance in sorted(given):
        places = [key for key in known if instance in lists[key]]
        if len(places) != 1:
            found = " and ".join(places) or "no class"
            yield f"has {instance} in {found}, where it must be in one"
        elif places == ["incomplete_ids"]:
            yield f"has {instance} as incomplete, though it was submitted"
    if lists["completed_ids"] != lists["resolved_ids"] | lists["unresolved_ids"]:
        yield "completed_ids are not resolved_ids and unresolved_ids together"
    if both := lists["resolved_ids"] & lists["unresolved_ids"]:
        yield f"has {_names(both)} as resolved and as unresolved"
    evaluated = lists["completed_ids"] | lists["empty_patch_ids"] | lists["error_ids"]
    if foreign := evaluated - given:
        yield f"has a verdict for {_names(foreign)}, which this arm did not submit"


def _names(ids: Collection[str]) -> str:
    most = 3
    first = ", ".join(sorted(ids)[:most])
    return first if len(ids) <= most else f"{first} and {len(ids) - most} more"


def _refused(name: str, wrong: list[str]) -> EvaluationError:
    lines = "".join(f"\n  - it {each}" for each in wrong)
    return EvaluationError(
        f"agent-trials: the evaluation's report {name} cannot be used, and nothing was recorded:"
        f"{lines}\nEvaluate the arm's predictions again under a run id of their own"
    )
