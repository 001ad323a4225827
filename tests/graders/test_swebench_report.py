"""The official report is believed where it is whole, and refused with a reason where it is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials import canonical
from agent_trials.errors import EvaluationError
from agent_trials.graders import swebench_report
from agent_trials.graders.swebench_report import Class, Evaluated

if TYPE_CHECKING:
    from collections.abc import Callable

# Written by make_run_report of swebench 5.0.2, without Docker.
REPORTS = Path(__file__).parents[2] / "fixtures" / "swebench" / "reports"
NATIVE = (REPORTS / "toy-native.r1.json").read_bytes()
SUBMITTED = ("t__calc-1", "t__calc-2", "t__net-5", "t__text-3", "t__text-4")
PLANNED = (*SUBMITTED, "t__net-6")


def read(content: bytes, submitted: tuple[str, ...] = SUBMITTED) -> Evaluated:
    return swebench_report.read(content, planned=PLANNED, submitted=submitted, name="r1.json")


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    """Return the report with one thing changed."""
    report = json.loads(NATIVE)
    change(report)
    return json.dumps(report).encode()


def test_gives_each_planned_instance_its_class() -> None:
    evaluated = read(NATIVE)

    assert evaluated.classes == {
        "t__calc-1": Class.RESOLVED,
        "t__calc-2": Class.UNRESOLVED,
        "t__net-5": Class.UNRESOLVED,
        "t__net-6": Class.MISSING,
        "t__text-3": Class.EMPTY,
        "t__text-4": Class.ERROR,
    }
    assert evaluated.count(Class.UNRESOLVED) == 2
    assert evaluated.digest == canonical.digest(NATIVE)


def test_keeps_infrastructure_failures_apart_and_in_their_class() -> None:
    """Dropping them would make a smaller benchmark of it, counting them as wrong a worse tool."""
    evaluated = read(NATIVE)

    assert evaluated.infrastructure == {"t__net-5"}
    assert evaluated.ambiguous == {"t__calc-2"}


def test_an_older_report_knows_no_infrastructure_failures() -> None:
    """Those of 4.x have the same schema without the later lists."""

    def older(report: dict[str, Any]) -> None:
        for key in [key for key in report if key.startswith(("infra_", "ambiguous_", "failure_"))]:
            del report[key]

    assert read(changed(older)).infrastructure == frozenset()


def test_other_instances_of_the_dataset_do_not_matter() -> None:
    whole = changed(lambda report: report["incomplete_ids"].append("other__repo-9"))
    whole = whole.replace(b'"incomplete_instances"', b'"x"')

    assert read(whole).classes.keys() == set(PLANNED)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda r: r.update(schema_version=1), "schema_version 1, and 2 is known"),
        (lambda r: r.pop("schema_version"), "schema_version None"),
        (lambda r: r.pop("resolved_ids"), "resolved_ids is no list of ids"),
        (lambda r: r.update(error_ids=[1]), "error_ids is no list of ids"),
        (lambda r: r["resolved_ids"].append("t__calc-1"), "resolved_ids holds an id twice"),
        (lambda r: r.update(resolved_instances=4), "resolved_instances is 4, and"),
        (lambda r: r["resolved_ids"].append("t__net-5"), "t__net-5 as resolved and as"),
        (lambda r: r["unresolved_ids"].remove("t__calc-2"), "completed_ids are not resolved"),
        (lambda r: r["empty_patch_ids"].append("t__text-4"), "t__text-4 in empty_patch_ids and"),
        (lambda r: r["error_ids"].remove("t__text-4"), "has t__text-4 in no class"),
        (lambda r: r["submitted_ids"].append("t__net-6"), "t__net-6 was not submitted by"),
        (lambda r: r["submitted_ids"].remove("t__net-5"), "t__net-5 is not among the submitted"),
        (lambda r: r["error_ids"].append("t__net-6"), "a verdict for t__net-6, which"),
    ],
)  # fmt: skip
def test_refuses_a_report_that_is_not_whole(
    change: Callable[[dict[str, Any]], object], says: str
) -> None:
    def alone(report: dict[str, Any]) -> None:
        for key in [key for key in report if key.endswith("_instances")]:
            del report[key]
        change(report)

    with pytest.raises(EvaluationError) as caught:
        read(changed(alone))
    assert says in str(caught.value)
    assert "r1.json" in str(caught.value)


def test_refuses_the_report_of_the_other_arm() -> None:
    """Two arms swapped is the one mistake that turns a result round."""
    with pytest.raises(EvaluationError, match="made from other predictions"):
        read(NATIVE, ("t__calc-1", "t__calc-2"))


def test_refuses_a_report_whose_parts_could_not_be_read() -> None:
    """The builder counts an instance with a broken report as completed and as an error."""
    broken = (REPORTS / "toy-broken.r2.json").read_bytes()

    with pytest.raises(EvaluationError, match="t__calc-1 in completed_ids and error_ids"):
        read(broken, ("t__calc-1", "t__calc-2"))


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"null"])
def test_refuses_what_is_no_report(content: bytes) -> None:
    with pytest.raises(EvaluationError, match="cannot be used, and nothing was recorded"):
        read(content)
