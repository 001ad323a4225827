"""Figures of provider runs by group; nobody's word stands under another's name."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agent_trials.records import Cell
from agent_trials.results.provider_groups import providers
from agent_trials.results.provider_tables import tables
from agent_trials.results.record import Attempt, Fate
from agent_trials.results.rows_from_ledger import Grade
from agent_trials.study import manifest
from agent_trials.study.settings import (
    Manifest,
    ModelSettings,
    ProviderSettings,
    ProviderTask,
    TransportSettings,
)

QUICKSTART = Path(__file__).parents[2] / "evals" / "quickstart"
OPENING = {"transport": "provider"}


@pytest.fixture(scope="module")
def study() -> Manifest:
    """Two tasks, asked of two models over provider commands."""
    loaded = manifest.load(QUICKSTART).manifest
    models = (ModelSettings(id="low", model="small"), ModelSettings(id="ref", model="large"))
    tasks = {loaded.tasks[0].id: ProviderTask(difficulty="easy")}
    return replace(
        loaded, models=models, transports=TransportSettings(provider=ProviderSettings(tasks=tasks))
    )


def attempt(study: Manifest, number: int, **turn: Any) -> Attempt:  # noqa: ANN401 - an observation
    """Return an attempt of the first task; arms alternate, repetitions follow."""
    arm = study.arms[number % 2].id
    cell = Cell("full", study.tasks[0].id, arm, number // 2 + 1)
    told = {"status": "completed", "wallTimeMs": 100 + number, **turn}
    return Attempt(
        cell=cell, pair=number // 2, position=number, fate=Fate.SETTLED, admitted=True,
        turns=(told,),
    )  # fmt: skip


def told(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - what a provider says
    return {"selfReported": {}, "measurements": {}, "estimates": {}, **fields}


def groups(study: Manifest, *attempts: Attempt, by: str = "all") -> list[dict[str, Any]]:
    found = providers(study, attempts, {}, OPENING)
    assert found is not None
    named: list[dict[str, Any]] = found["groups"][by]
    return named


def test_a_run_without_provider_commands_has_no_groups(study: Manifest) -> None:
    assert providers(study, [attempt(study, 0)], {}, {"transport": "http"}) is None
    assert tables(None) == []


def test_only_the_arms_over_provider_commands_are_in_the_groups(study: Manifest) -> None:
    ways = [
        {"arm": study.arms[0].id, "transport": "http"},
        {"arm": study.arms[1].id, "transport": "provider"},
    ]
    both = [attempt(study, 0), attempt(study, 1)]

    found = providers(study, both, {}, {"transport": "http+provider", "ways": ways})

    assert found is not None
    assert [each["group"] for each in found["groups"]["scenario"]] == [study.arms[1].id]


def test_groups_are_by_everything_that_the_contract_names(study: Manifest) -> None:
    found = providers(study, [attempt(study, n) for n in range(8)], {}, OPENING)

    assert found is not None
    of = {
        name: [(g["group"], g["attempts"]) for g in each] for name, each in found["groups"].items()
    }
    assert of["all"] == [("all", 8)]
    assert of["scenario"] == [(study.arms[0].id, 4), (study.arms[1].id, 4)]
    assert of["model"] == [("small", 4), ("large", 4)]
    assert of["replicate"] == [("0", 4), ("1", 4)]
    assert of["difficulty"] == [("easy", 8)]
    assert of["category"] == [(study.tasks[0].category, 8)]
    assert of["repository"] == [(study.tasks[0].repository, 8)]
    assert of["variant"] == []


def test_whose_word_a_figure_is_stands_above_it(study: Manifest) -> None:
    one = attempt(
        study, 0, inputTokens=100, outputTokens=10, computedCostUsd="0.25",
        provider=told(
            providerTokenCostUnits=110,
            selfReported={"toolCalls": 4, "firstEvidenceLatencyMs": "820"},
            measurements={"searchHitRate": "1", "myOwn": "2.5", "agentCostUsd": "7"},
            estimates={"contextTokens": 33, "contextTokenMethod": "estimate"},
        ),
    )  # fmt: skip

    (group,) = groups(study, one)

    figures = group["figures"]
    assert figures["counted"]["providerTokenCostUnits"]["mean"] == "110"
    assert figures["derived"]["agentCostUsd"]["mean"] == "0.25"
    assert figures["selfReported"]["agentCostUsd"]["mean"] == "7"
    assert figures["selfReported"]["myOwn"]["mean"] == "2.5"
    assert figures["estimates"] == {"contextTokens": figures["estimates"]["contextTokens"]}
    assert "contextTokens" not in {**figures["counted"], **figures["measured"]}
    assert "providerTokenCostUnits" not in {**figures["derived"], **figures["measured"]}


def test_the_95th_percentile_is_the_nearest_rank(study: Manifest) -> None:
    """Of twenty values it is the nineteenth, and no mean of two of them."""
    twenty = [attempt(study, n, wallTimeMs=n + 1) for n in range(20)]

    (group,) = groups(study, *twenty)

    assert group["figures"]["measured"]["wallTimeMs"]["p95"] == "19"


def test_missing_metrics_are_named_and_partial_ones_said_to_be_partial(study: Manifest) -> None:
    both = (
        attempt(study, 0, provider=told(measurements={"errorRate": "0", "myOwn": "1"})),
        attempt(study, 1, provider=told(measurements={"errorRate": "0"})),
    )

    (group,) = groups(study, *both)

    missing = group["missingMetrics"]
    assert "selfReported.searchHitRate" in missing
    assert "selfReported.myOwn-partial" in missing
    assert "counted.providerTokenCostUnits" in missing
    assert not any(
        name.startswith(("selfReported.errorRate", "measured.wallTime")) for name in missing
    )


def test_an_attempt_that_never_ran_is_missing_and_no_zero(study: Manifest) -> None:
    blocked = replace(attempt(study, 1), fate=Fate.BLOCKED, turns=())

    (group,) = groups(study, attempt(study, 0), blocked)

    assert group["completed"]["trials"] == 2
    assert group["completed"]["successes"] == 1
    assert group["figures"]["measured"]["wallTimeMs"] == {
        "measured": 1, "missing": 1, "mean": "100", "median": "100", "p95": "100",
    }  # fmt: skip
    assert "measured.wallTimeMs-partial" in group["missingMetrics"]


def checked(outcome: str | None, passed: int | None, failed: int | None) -> dict[str, Any]:
    return {"outcome": outcome, "passed": passed, "failed": failed, "total": 2, "checks": []}


def test_checks_that_showed_nothing_are_in_no_rate_of_what_was_decided(study: Manifest) -> None:
    found = [
        checked("correct", 2, 0), checked("partial", 1, 1), checked(None, 1, 0),
        checked("blocked", None, None),
    ]  # fmt: skip

    (group,) = groups(study, *(attempt(study, n, acceptance=of) for n, of in enumerate(found)))

    checks = group["checks"]
    assert checks["outcomes"] == {"blocked": 1, "correct": 1, "missing": 1, "partial": 1}
    assert (checks["correctOfChecked"]["successes"], checks["correctOfChecked"]["trials"]) == (1, 4)
    assert (checks["correctOfDecided"]["successes"], checks["correctOfDecided"]["trials"]) == (1, 2)
    assert (checks["passed"], checks["ran"]) == (3, 4)


def test_a_providers_word_of_its_success_is_no_grade(study: Manifest) -> None:
    """It may call everything a success; what was graded is what counts as right."""
    proud = attempt(study, 0, provider=told(selfReported={"taskOutcome": "success"}))
    grades = {proud.cell: Grade("incorrect", Decimal(0), None)}

    found = providers(study, [proud], grades, OPENING)

    assert found is not None
    assert found["groups"]["all"][0]["graded"]["correctOfScored"]["successes"] == 0
    assert found["groups"]["all"][0]["graded"]["correctOfScored"]["trials"] == 1
    assert found["outcomes"][proud.cell.arm]["taskOutcome"] == {"success": 1}
    assert found["outcomes"]["says"] == "self-reports of the commands, never grades"


def test_tables_show_every_group_and_keep_self_reports_apart(study: Manifest) -> None:
    one = attempt(study, 0, provider=told(measurements={"searchHitRate": "1"}))

    shown = tables(providers(study, [one], {}, OPENING))

    headings = [each.heading for each in shown]
    assert headings[:5] == [
        "By scenario", "By category", "By difficulty", "By repository", "By model",
    ]  # fmt: skip
    words = next(each for each in shown if "self-reports" in each.heading)
    assert words.rows == ((one.cell.arm, "searchHitRate", "1", "0", "1", "1"),)
    assert all(len(row) == len(each.head) for each in shown for row in each.rows)
