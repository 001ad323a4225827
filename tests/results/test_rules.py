from __future__ import annotations

from decimal import Decimal

import pytest

from agent_trials.errors import StudyError
from agent_trials.results.analysis import RANGES
from agent_trials.results.rules import (
    CORRECTNESS,
    COST,
    HIGHER_IS_BETTER,
    RULES,
    CheaperNotWorseRule,
    CostPerCorrectRule,
    EquivalenceRule,
    PairedDifferenceRule,
    problems,
    read,
)
from agent_trials.study.endpoints import ENDPOINTS, RESOLVED

PRIMARY = ("correctness", "cost_usd")


def test_reads_defaults_from_the_registered_endpoints() -> None:
    assert read("paired-difference", {}, primary=PRIMARY) == PairedDifferenceRule(
        "correctness",
        higher_is_better=True,
        alpha=Decimal("0.05"),
        minimum_difference=Decimal(0),
        maximum_missing=Decimal(0),
    )


def test_less_is_better_of_everything_but_correctness() -> None:
    rule = read("paired-difference", {"endpoint": "cost_usd"}, primary=PRIMARY)
    turned = read(
        "paired-difference", {"endpoint": "cost_usd", "direction": "higher"}, primary=PRIMARY
    )

    assert isinstance(rule, PairedDifferenceRule)
    assert isinstance(turned, PairedDifferenceRule)
    assert (rule.higher_is_better, turned.higher_is_better) == (False, True)


def test_reads_the_thresholds_of_every_rule() -> None:
    assert read(
        "equivalence", {"margin": "0.10", "alpha": "0.01"}, primary=["cost_usd"]
    ) == EquivalenceRule("cost_usd", Decimal("0.10"), Decimal("0.01"), Decimal(0))
    assert read(
        "cheaper-not-worse", {"correctness_margin": "0.1"}, primary=PRIMARY
    ) == CheaperNotWorseRule("cost_usd", Decimal("0.1"), Decimal("0.05"), Decimal(0))
    assert read(
        "cheaper-not-worse",
        {"correctness_margin": "0.1", "cost": "total_input_tokens"},
        primary=["correctness", "total_input_tokens"],
    ) == CheaperNotWorseRule("total_input_tokens", Decimal("0.1"), Decimal("0.05"), Decimal(0))
    assert read(
        "cost-per-correct",
        {"maximum_ratio": "0.85", "minimum_correct": "2", "maximum_missing": "0.1"},
        primary=PRIMARY,
        p_values=False,
    ) == CostPerCorrectRule(Decimal("0.85"), Decimal(2), Decimal("0.1"))


@pytest.mark.parametrize(
    ("rule", "thresholds", "where", "says"),
    [
        ("paired-diference", {}, ".rule", "did you mean 'paired-difference'?"),
        ("zzz", {}, ".rule", "use one of paired-difference, equivalence"),
        ("paired-difference", {"alhpa": "0.05"}, ".thresholds.alhpa", "did you mean 'alpha'?"),
        ("paired-difference", {"alpha": "5%"}, ".thresholds.alpha", "'5%' does not fit"),
        ("paired-difference", {"alpha": "0"}, ".thresholds.alpha", "above 0"),
        ("paired-difference", {"alpha": "0.51"}, ".thresholds.alpha", "up to 0.5"),
        ("paired-difference", {"alpha": "nan"}, ".thresholds.alpha", "'nan' does not fit"),
        ("paired-difference", {"alpha": ""}, ".thresholds.alpha", "'' does not fit"),
        ("paired-difference", {"minimum_difference": "-1"}, ".minimum_difference", "from 0"),
        ("paired-difference", {"maximum_missing": "1.5"}, ".maximum_missing", "up to 1"),
        ("paired-difference", {"endpoint": "turns"}, ".endpoint", "is not a primary endpoint"),
        ("paired-difference", {"endpoint": "cost"}, ".endpoint", "did you mean 'cost_usd'?"),
        ("paired-difference", {"direction": "hihger"}, ".direction", "did you mean 'higher'?"),
        ("equivalence", {}, ".thresholds.margin", "is not registered; write decimal text above 0"),
        ("equivalence", {"margin": "0"}, ".thresholds.margin", "above 0"),
        ("cheaper-not-worse", {"correctness_margin": "2"}, ".correctness_margin", "up to 1"),
        (
            "cheaper-not-worse",
            {"correctness_margin": "0.1", "cost": "correctness"},
            ".thresholds.cost",
            "of which less is better",
        ),
        ("cost-per-correct", {}, ".thresholds.maximum_ratio", "is not registered"),
        (
            "cost-per-correct",
            {"maximum_ratio": "0.85", "minimum_correct": "0"},
            ".thresholds.minimum_correct",
            "from 1",
        ),
    ],
)
def test_refuses_what_no_rule_knows_with_the_way_out(
    rule: str, thresholds: dict[str, str], where: str, says: str
) -> None:
    """A misspelt threshold that fell back to its default would move the verdict silently."""
    with pytest.raises(StudyError) as caught:
        read(rule, thresholds, primary=PRIMARY)

    (problem,) = caught.value.problems
    assert problem.where.startswith("study.toml: verdict")
    assert problem.where.endswith(where)
    assert says in str(problem)


def test_finds_everything_at_once() -> None:
    found = problems("equivalence", {"marign": "1", "alpha": "9"}, primary=PRIMARY)

    assert [problem.where.rpartition(".")[2] for problem in found] == ["marign", "margin", "alpha"]


@pytest.mark.parametrize("rule", ["cheaper-not-worse", "cost-per-correct"])
def test_a_rule_decides_on_registered_primary_endpoints_alone(rule: str) -> None:
    """What is not registered as primary is exploratory and cannot carry a verdict."""
    thresholds = {"cheaper-not-worse": "correctness_margin", "cost-per-correct": "maximum_ratio"}

    found = problems(rule, {thresholds[rule]: "0.5"}, primary=["turns"])

    assert any("correctness" in problem.what for problem in found)
    assert any("cost_usd" in problem.what for problem in found)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_that_tests_is_refused_where_p_values_are_not_registered(rule: str) -> None:
    """Seed 004 makes no p-value claim; a verdict on a hidden p would be one."""
    given = {"margin": "1", "correctness_margin": "0.1", "maximum_ratio": "1"}
    thresholds = {one.name: given[one.name] for one in RULES[rule] if one.default is None}

    assert problems(rule, thresholds, primary=PRIMARY) == ()
    refused = problems(rule, thresholds, primary=PRIMARY, p_values=False)
    assert bool(refused) == (rule != "cost-per-correct")


def test_rules_speak_of_endpoints_that_there_are() -> None:
    assert {CORRECTNESS, COST, *HIGHER_IS_BETTER, *RANGES} <= {RESOLVED, *ENDPOINTS}


def test_a_study_without_primary_endpoints_has_no_rule() -> None:
    assert problems("paired-difference", {}, primary=[])
