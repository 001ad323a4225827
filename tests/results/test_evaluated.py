"""What evaluated patches come to: rates over a fixed N, costs with and without the unknown."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

import evaluated_ledgers as mended
from agent_trials import canonical
from agent_trials.results import record, render_html, render_markdown, report, result_artifact
from agent_trials.results.rows_from_ledger import grades_of
from agent_trials.results.show import to_show_json, to_text
from agent_trials.results.summary import summarise
from agent_trials.session.evaluation_run import folder

if TYPE_CHECKING:
    from evaluated_ledgers import Mended


ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Mended:
    """Return an evaluated ledger: native as recorded, in the other arm all resolved."""
    found = mended.make(tmp_path_factory.mktemp("evaluated") / "made")
    found.evaluate(eval_reports=mended.reports(found.ledger.parent))
    return found


@pytest.fixture(scope="module")
def document(made: Mended) -> dict[str, Any]:
    """Return the report of that ledger."""
    return report.document(record.read(made.ledger))


def arm(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return what is said of an arm's patches."""
    found: dict[str, Any] = next(
        each for each in document["evaluation"]["arms"] if each["arm"] == name
    )
    return found


def test_each_class_is_a_grade_and_what_has_no_verdict_has_no_score(made: Mended) -> None:
    graded = grades_of(record.read(made.ledger))
    native = {c.task: (g.outcome, g.score) for c, g in graded.items() if c.arm == "native"}

    assert native == {
        "calc-1": ("resolved", 1), "calc-2": ("unresolved", 0), "text-3": ("empty-patch", 0),
        "text-4": ("error", 0), "net-5": ("infrastructure", None), "net-6": ("missing-patch", None),
    }  # fmt: skip


def test_the_rate_is_of_a_fixed_n_beside_what_it_is_at_most(document: dict[str, Any]) -> None:
    """002 divided by the runs that were there; an infrastructure failure is dropped nowhere."""
    native = arm(document, "native")

    assert (native["resolved"]["successes"], native["resolved"]["trials"]) == (1, 6)
    assert (native["atMost"]["successes"], native["atMost"]["trials"]) == (3, 6)
    assert (native["infrastructureFailures"], native["withoutVerdict"]) == (1, 2)
    assert native["evaluation"]["ambiguous"] == ["calc-2"]


def test_runs_without_usage_are_left_out_of_one_cost_and_bound_in_the_other(
    document: dict[str, Any],
) -> None:
    """Five attempts of the tool cost 0.025 to 0.029 USD; the sixth reported none, charged 0.10."""
    tool = arm(document, "tool")
    costs = tool["costPerResolved"]

    assert tool["usageMissing"] == 1
    assert tool["resolved"]["successes"] == 6
    assert (costs["reported"]["usd"], costs["reported"]["resolved"]) == ("0.027", 5)
    assert costs["bounds"]["lowerUsd"] == "0.0225"
    assert costs["bounds"]["upperUsd"] == "0.0391667"


def test_with_nothing_resolved_a_resolved_task_costs_an_infinity_that_is_tagged(
    tmp_path: Path,
) -> None:
    made = mended.make(tmp_path / "made")
    reports = mended.reports(tmp_path)
    nothing = dict.fromkeys(mended.ALL_RESOLVED, "unresolved")
    reports["tool"].write_bytes(mended.report(nothing))
    made.evaluate(eval_reports=reports)
    costs = arm(report.document(record.read(made.ledger)), "tool")["costPerResolved"]

    assert (costs["reported"]["tag"], costs["reported"]["usd"]) == ("infinite", None)
    assert (costs["bounds"]["tag"], costs["bounds"]["upperUsd"]) == ("infinite", None)


def test_pairs_are_counted_where_both_arms_have_a_verdict(document: dict[str, Any]) -> None:
    (pairs,) = document["evaluation"]["pairs"]

    assert pairs == {
        "treatment": "tool", "planned": 6, "complete": 4, "both": 1, "onlyTreatment": 3,
        "onlyControl": 0, "neither": 0, "mcnemarP": "0.25",
    }  # fmt: skip


def test_medians_and_adoption_say_of_how_many_attempts(document: dict[str, Any]) -> None:
    native, tool = arm(document, "native"), arm(document, "tool")

    assert native["medians"]["totalInputTokens"] == {"median": "1012", "measured": 5, "of": 6}
    assert native["medians"]["wallTimeMs"] == {"median": "502.5", "measured": 6, "of": 6}
    assert tool["adoption"] == {"attempts": 5, "of": 5, "calls": 5}
    assert native["adoption"]["calls"] == 0


def test_resolved_is_an_endpoint_in_place_of_correctness(document: dict[str, Any]) -> None:
    named = [each["endpoint"] for each in document["comparisons"][0]["endpoints"]]

    assert named[:2] == ["resolved", "cost_usd"]
    assert "correctness" not in named
    assert document["comparisons"][0]["endpoints"][0]["mcnemar"]["onlyTreatment"] == 3


def test_before_the_evaluation_everything_is_pending_and_there_is_no_result(
    tmp_path: Path,
) -> None:
    made = mended.make(tmp_path / "made")
    found = record.read(made.ledger)
    document = report.document(found)

    assert {grade.outcome for grade in grades_of(found).values()} == {"pending"}
    assert "incomplete" in document["verdicts"][0]["outcome"]
    assert result_artifact.artifact(found, document) is None
    assert "not evaluated" in render_markdown.render(document).decode()


def test_the_result_holds_the_digests_of_what_was_frozen_and_its_own(made: Mended) -> None:
    found = record.read(made.ledger)
    content = result_artifact.artifact(found, report.document(found))
    assert content is not None
    result = json.loads(content)
    own = result.pop("artifact_sha256")
    protocol = (made.study.folder / "PROTOCOL.md").read_bytes()

    assert own == hashlib.sha256(canonical.dumps(result)).hexdigest()
    assert result["protocol_sha256"] == hashlib.sha256(protocol).hexdigest()
    assert result["n"] == 6
    assert result["head"] == found.summary.head


def test_both_renderings_show_the_tables(made: Mended, document: dict[str, Any]) -> None:
    page = render_html.render(record.read(made.ledger), document).decode()
    text = render_markdown.render(document).decode()

    for words in ("Evaluated patches", "USD per resolved task", "Adoption of the tool"):
        assert words in page
        assert words in text
    assert folder(made.ledger).name not in page + text


def test_a_ledger_is_shown_with_its_reports(made: Mended) -> None:
    schema = json.loads((ROOT / "docs" / "show.schema.json").read_text("utf-8"))
    shown = summarise(made.ledger)
    document = to_show_json(shown)
    jsonschema.validate(document, schema)

    assert [each["arm"] for each in document["evaluations"]] == ["native", "tool"]
    assert "patches arm tool: 6 resolved" in to_text(shown)
