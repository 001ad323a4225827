"""A report as one JSON value: everything that report.md and report.html show, and nothing private.

docs/report.md describes it. The same ledger and openings give the same value, under the versions
that it names; whatever is random in it has the seed 0.
"""

from __future__ import annotations

import importlib.metadata
import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials.results import report_figures as figures
from agent_trials.results import report_parts as parts
from agent_trials.results import ways
from agent_trials.results.analysis import analyse
from agent_trials.results.deviations import amendments, deviations
from agent_trials.results.evaluated import is_evaluated
from agent_trials.results.evaluation_figures import evaluation
from agent_trials.results.evidence import complete
from agent_trials.results.flow import flow, sentence
from agent_trials.results.grading_figures import grading
from agent_trials.results.judgement import judge
from agent_trials.results.limits import isolation, limits
from agent_trials.results.protocol_text import section
from agent_trials.results.provider_groups import providers
from agent_trials.results.report_reviews import reviews
from agent_trials.results.rows_from_ledger import by_arm, grades_of, pairs, rows
from agent_trials.study.endpoints import RESOLVED, endpoints_of
from agent_trials.study.phases import phase_arms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agent_trials.records import Cell
    from agent_trials.results.evidence import Evidence, Finding
    from agent_trials.results.record import Record
    from agent_trials.results.rows import Row, Value
    from agent_trials.results.rows_from_ledger import Grade
    from agent_trials.study.settings import ArmSettings

SCHEMA = 1
PACKAGES = ("pytest-agent-trials", "jinja2", "matplotlib", "numpy", "scipy")


@dataclass(frozen=True)
class Compared:
    """Two arms of a study: the first one and another, with the rows of their pairs."""

    control: ArmSettings
    treatment: ArmSettings
    rows: Mapping[str, tuple[Row, ...]]


def document(
    record: Record, *, study_rule: Callable[[Evidence], Finding] | None = None
) -> dict[str, Any]:
    """Return the report.

    Args:
        record: the ledger.
        study_rule: the study's own rule, where its code is trusted and was loaded.
    """
    graded = grades_of(record)
    compared = _compared(record, graded)
    return {
        "schema": SCHEMA,
        "kind": "agent-trials-report",
        "head": record.summary.head,
        "rehearsal": record.is_rehearsal,
        "labels": parts.labels(record),
        "study": parts.study(record),
        "compares": ways.statements(record.opening),
        "versions": _versions(),
        "verdicts": judge(record, compared, graded, study_rule=study_rule),
        "comparisons": [_comparison(record, each, graded) for each in compared],
        "arms": _arms(record, graded),
        "providers": providers(record.frozen.manifest, record.attempts, graded, record.opening),
        "reviews": reviews(record),
        "evaluation": _evaluation(record, compared, graded),
        "flow": _flow(record, compared, graded),
        "pairs": _pairs(record, compared),
        "attempts": [parts.attempt(each, graded.get(each.cell)) for each in record.attempts],
        "superseded": [parts.superseded(each.line) for each in record.superseded],
        "grading": grading(record),
        "money": parts.money(record),
        "runs": [parts.run(run) for run in record.summary.runs],
        "amendments": amendments(record),
        "deviations": deviations(record),
        "isolation": isolation(record),
        "preparation": parts.preparation(record),
        "prices": parts.prices(record),
        "digests": parts.digests(record),
        "limits": limits(record),
        "threats": parts.blocks(section(parts.protocol(record), "threat", "limit", "validity")),
    }


def _compared(record: Record, graded: Mapping[Cell, Grade]) -> tuple[Compared, ...]:
    manifest = record.frozen.manifest
    if manifest is None:
        return ()
    control, *others = phase_arms(manifest, record.opening["phase"])
    return tuple(
        Compared(
            control,
            arm,
            rows(
                record.attempts,
                graded,
                control=control,
                treatment=arm,
                endpoints=endpoints_of(manifest),
            ),
        )
        for arm in others
    )


def _versions() -> dict[str, str]:
    found = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **found}


def _comparison(record: Record, compared: Compared, graded: Mapping[Cell, Grade]) -> dict[str, Any]:
    manifest = record.frozen.manifest
    if manifest is None:
        raise RuntimeError("a comparison of a study that was not read")
    registered = manifest.endpoints
    found = analyse(
        compared.rows,
        primary=registered.primary,
        secondary=registered.secondary,
        p_values=registered.p_values,
    )
    arms = (compared.control.id, compared.treatment.id)
    shown = by_arm(record.attempts, graded, endpoints_of(manifest))
    return {
        "control": arms[0],
        "treatment": arms[1],
        "endpoints": [
            figures.endpoint(each, p_values=registered.p_values)
            | {"arms": {arm: _distribution(shown, arm, each.endpoint) for arm in arms}}
            for each in found
        ],
        "rows": figures.inputs(compared.rows),
    }


def _distribution(
    shown: Mapping[str, Mapping[str, Iterable[Value]]], arm: str, endpoint: str
) -> dict[str, Any]:
    return figures.distribution(shown.get(arm, {}).get(endpoint, ()))


def _evaluation(
    record: Record, compared: Iterable[Compared], graded: Mapping[Cell, Grade]
) -> dict[str, Any] | None:
    """Return what evaluated patches came to; None of a study that has none."""
    if not is_evaluated(record):
        return None
    pairs_of = {each.treatment.id: each.rows.get(RESOLVED, ()) for each in compared}
    return evaluation(record, graded, pairs_of)


def _arms(record: Record, graded: Mapping[Cell, Grade]) -> dict[str, Any]:
    names = dict.fromkeys(each.cell.arm for each in record.attempts)
    manifest = record.frozen.manifest
    if manifest:
        names = dict.fromkeys(arm.id for arm in phase_arms(manifest, record.opening["phase"]))
    found = {}
    for name in names:
        of = [each for each in record.attempts if each.cell.arm == name]
        statuses: dict[str, int] = {}
        for each in of:
            statuses[each.status] = statuses.get(each.status, 0) + 1
        found[name] = figures.arm(of, graded) | {"statuses": dict(sorted(statuses.items()))}
    return found


def _flow(
    record: Record, compared: Iterable[Compared], graded: Mapping[Cell, Grade]
) -> list[dict[str, Any]]:
    manifest = record.frozen.manifest
    if manifest is None:
        return []
    primary = manifest.endpoints.primary[0]
    whole = {
        (row.task, row.repetition, arm)
        for each in compared
        for row in each.rows[primary]
        if complete(row)
        for arm in (each.control.id, each.treatment.id)
    }
    analysed = [
        each.cell
        for each in record.attempts
        if (each.cell.task, each.cell.repetition, each.cell.arm) in whole
    ]
    arms = phase_arms(manifest, record.opening["phase"])
    flows = [flow(record.attempts, graded, arm, analysed) for arm in arms]
    return [
        {
            "arm": one.arm,
            "counts": dict(one.counts),
            "losses": dict(one.losses),
            "says": sentence(one),
        }
        for one in flows
    ]


def _pairs(record: Record, compared: Iterable[Compared]) -> list[dict[str, Any]]:
    half = {each.pair for each in record.summary.half_pairs}
    whole: dict[int, list[str]] = {}
    for each in compared:
        for endpoint, of in each.rows.items():
            for row in of:
                if complete(row):
                    whole.setdefault(row.pair, []).append(endpoint)
    return [
        {
            "pair": pair[0].pair,
            "task": pair[0].cell.task,
            "repetition": pair[0].cell.repetition,
            "order": [each.cell.arm for each in pair],
            "statuses": [each.status for each in pair],
            "half": pair[0].pair in half,
            "complete": sorted(set(whole.get(pair[0].pair, ()))),
        }
        for pair in pairs(record.attempts)
    ]
