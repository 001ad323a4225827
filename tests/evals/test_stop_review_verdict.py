"""The registered verdict of the stop-review trial, at every boundary."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.results.reviewed import Reviewed, Stop
from agent_trials.results.rules import CostPerCorrectRule
from agent_trials.results.verdict import Outcome, Verdict, decide
from agent_trials.study import manifest
from reviewed_rows import PLAIN, REVIEWER, asks, attempt, ended, evidence, repaired, turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from agent_trials.results.evidence import Evidence, Finding

STUDY = Path(__file__).parents[2] / "evals/stop_review"
RULE = CostPerCorrectRule(Decimal("0.85"), Decimal(2), Decimal(0))
TASKS = [f"t{number}" for number in range(1, 7)]


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("study_verdict", STUDY / "verdict.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


OWN = _module()
FIND: Callable[[Evidence], Finding] = OWN.find


def verdict(attempts: Sequence[Reviewed], **other: Any) -> Verdict:  # noqa: ANN401 - by name
    return decide(RULE, evidence(attempts, **other), finder=FIND)


def plain(passes: int = 6, first: int = 4, cost: str = "1.00") -> list[Reviewed]:
    """Return the control's six attempts, of which the first ones pass, or pass at once."""
    return [
        ended(task, PLAIN, passed=at < passes, first=at < first, cost=cost)
        for at, task in enumerate(TASKS)
    ]


def review(
    passes: int = 6, repairs: int = 2, cost: str = "0.80", without: str = "0.85"
) -> list[Reviewed]:
    """Return the treatment's six: repaired ones (0.05 USD dearer), then passing, then failing."""
    return [
        repaired(task, cost=cost)
        if at < repairs
        else ended(task, REVIEWER, passed=at < passes, cost=without)
        for at, task in enumerate(TASKS)
    ]


def needless(of: Reviewed, *, passed: bool = True) -> Reviewed:
    """Return the attempt with an intervention at a stop that passed already."""
    last = of.turns[-1]
    stop = Stop(passed=True, review=asks(cost=Decimal(0)))
    failed = () if passed else ("R1",)
    changed = replace(last, stops=(*last.stops, stop), passed=passed, failed=failed)
    return replace(of, turns=(*of.turns[:-1], changed))


def test_all_conditions_together_are_evidence_for() -> None:
    found = verdict(plain() + review())

    assert found.outcome is Outcome.FOR
    assert found.figures["treatment.cost_per_correct"] == "0.85"


def test_the_claim_states_its_scope_and_no_more() -> None:
    found = verdict(plain() + review())

    claim = (
        "on 6 fresh multi-step tasks, claude-opus-5-5 at effort low, CLI 2.1.296, product"
        " sha256:0a1b, review lowered list cost per correct outcome by 15.0% (6 vs 6 passes)"
    )
    assert found.reasons == (claim,)
    assert found.sentence.startswith(f"Evidence for: {claim}. Compared with plain over")
    assert " p " not in found.sentence
    assert "token" not in found.sentence


def test_a_saving_is_never_rounded_up() -> None:
    found = verdict(plain(cost="1.07") + review())

    assert "by 20.5% " in found.reasons[0]  # 20.56


@pytest.mark.parametrize(
    ("control", "treatment", "outcome"),
    [
        (plain(), review(without="0.85"), Outcome.FOR),
        (plain(), review(without="0.8500001"), Outcome.NO_EVIDENCE),
        (plain(first=4), review(), Outcome.FOR),
        (plain(first=5), review(), Outcome.NO_EVIDENCE),
        (plain(), review(repairs=2), Outcome.FOR),
        (plain(), review(repairs=1, without="0.80"), Outcome.NO_EVIDENCE),
        (plain(passes=5), review(passes=5, without="0.70"), Outcome.FOR),
        (plain(passes=5), review(passes=4, without="0.10"), Outcome.AGAINST),
        (plain(0, 0), review(passes=2), Outcome.FOR),
        (plain(0, 0), review(passes=1, repairs=1), Outcome.NO_EVIDENCE),
        (plain(0, 0), review(passes=0, repairs=0), Outcome.NO_EVIDENCE),
        (plain(1, 0), review(passes=0, repairs=0), Outcome.AGAINST),
        (plain(cost="0.90"), review(repairs=0, without="0.90"), Outcome.NO_EVIDENCE),
        (plain(cost="0.90"), review(repairs=0, without="0.9000001"), Outcome.AGAINST),
        (plain(cost="0.10"), review(repairs=1), Outcome.NO_EVIDENCE),
        (plain(0, 0), review(passes=6, repairs=0), Outcome.NO_EVIDENCE),
    ],
    ids=[
        "at 0.85 of the cost",
        "just above 0.85 of the cost",
        "4 of 6 of the control pass at once",
        "5 of 6 of the control pass at once",
        "repairs on two tasks",
        "a repair on one task",
        "as many passes",
        "one pass fewer, much cheaper",
        "control infinite, treatment passes 2",
        "control infinite, treatment passes 1",
        "both infinite",
        "treatment infinite",
        "no repair at the same cost",
        "no repair and just dearer",
        "dearer with one repair",
        "control infinite and no repair",
    ],
)
def test_every_boundary_of_the_rule(
    control: list[Reviewed], treatment: list[Reviewed], outcome: Outcome
) -> None:
    assert verdict(control + treatment).outcome is outcome


def test_two_repairs_of_one_task_are_one_task() -> None:
    failing = Stop(passed=False, review=asks(cost=Decimal(0)))
    twice = (failing, Stop(passed=True), failing, Stop(passed=True))
    of = review(repairs=0, without="0.50")
    of[0] = attempt("t1", REVIEWER, turn("0.50", *twice, passed=True))

    found = verdict(plain() + of)

    assert found.outcome is Outcome.NO_EVIDENCE
    assert (found.figures["credited_repairs"], found.figures["credited_tasks"]) == ("2", "1")


@pytest.mark.parametrize(
    ("how_many", "outcome"), [(1, Outcome.FOR), (2, Outcome.NO_EVIDENCE)], ids=["one", "two"]
)
def test_one_unnecessary_intervention_is_allowed(how_many: int, outcome: Outcome) -> None:
    of = review()

    found = verdict(plain() + [needless(each) for each in of[:how_many]] + of[how_many:])

    assert found.outcome is outcome
    assert found.figures["unnecessary_interventions"] == str(how_many)


def test_one_harmful_intervention_is_against_whatever_else_holds() -> None:
    """Everything else would be evidence for: against is looked at before it."""
    of = review(without="0.10")
    of[5] = needless(of[5], passed=False)

    found = verdict(plain(passes=5) + of)

    assert found.outcome is Outcome.AGAINST
    assert found.reasons == ("harmful interventions: 1",)


def test_against_comes_before_a_mechanism_that_was_not_exercised() -> None:
    """The published result was against, with first turns that nearly all passed."""
    found = verdict(plain(first=6, cost="0.10") + review(repairs=0))

    assert found.outcome is Outcome.AGAINST


def test_an_intervention_of_another_product_in_the_control_is_not_counted() -> None:
    control = [needless(each) for each in plain()]

    assert verdict(control + review()).figures["unnecessary_interventions"] == "0"


@pytest.mark.parametrize("stopped", ["budget", "infrastructure", "follow-up-budget", None])
def test_an_incomplete_run_is_no_evidence_whatever_its_pairs_say(stopped: str | None) -> None:
    of = plain()[:5] + review(passes=0, repairs=0)[:5]

    found = verdict(of, planned=6, stopped=stopped)

    assert found.outcome is Outcome.INCOMPLETE
    assert found.sentence.startswith("Incomplete, no evidence: 5 of 6 planned pairs were run")


def test_a_follow_up_that_was_owed_and_not_taken_makes_it_incomplete() -> None:
    """A harness that was killed between two turns leaves no reason behind."""
    found = verdict(plain() + review(), owed=1)

    assert found.outcome is Outcome.INCOMPLETE
    assert found.reasons == ("further turns that were owed and not taken: 1",)


def test_a_tree_that_no_checker_could_look_at_makes_it_incomplete() -> None:
    """It is neither a pass nor a failure, and counts as none of them."""
    found = verdict(plain() + review(), undecided=1)

    assert found.outcome is Outcome.INCOMPLETE
    assert found.reasons == ("trees without a checker's verdict: 1",)


def test_a_stop_for_futility_is_decided_over_the_pairs_that_were_run() -> None:
    """Denominators are the five pairs that were run, and the sentence says of how many."""
    of = plain(cost="0.10")[:5] + review(repairs=0)[:5]

    found = verdict(of, planned=6, stopped="futility")

    assert found.outcome is Outcome.AGAINST
    assert "over 5 of 6 planned pairs" in found.sentence
    assert found.figures["control.cost_per_correct"] == "0.1"


def test_a_cost_that_is_missing_makes_it_incomplete() -> None:
    found = evidence(plain() + review())
    rows = (replace(found.rows["cost_usd"][0], treatment=None), *found.rows["cost_usd"][1:])

    result = decide(RULE, replace(found, rows={**found.rows, "cost_usd": rows}), finder=FIND)

    assert result.outcome is Outcome.INCOMPLETE


def test_the_published_result_comes_out_of_rows_that_give_its_figures() -> None:
    """No credited repair, nothing unnecessary, 2.91 USD spent: evidence against at this scale."""
    control = plain(passes=6, first=6, cost="0.23")
    treatment = review(passes=6, repairs=0, without="0.255")

    found = verdict(control + treatment)

    assert found.outcome is Outcome.AGAINST
    assert found.figures["spent_usd"] == "2.91"
    assert found.figures["credited_repairs"] == "0"
    assert found.figures["unnecessary_interventions"] == "0"
    assert found.sentence.startswith("Evidence against: at this scale, on 6 fresh multi-step tasks")


def test_a_claim_without_a_figure_of_the_control_names_no_percentage() -> None:
    found = verdict(plain(0, 0) + review(passes=2))

    assert (
        "review gave correct outcomes where there were none without it (2 vs 0 passes)"
        in (found.reasons[0])
    )
    assert "%" not in found.reasons[0]


def test_a_rehearsal_says_nothing_of_the_world() -> None:
    found = verdict(plain() + review(), rehearsal=True)

    assert found.sentence.startswith("REHEARSAL, says nothing of the world. ")


def turn_row(task: str, arm: str, stops: list[bool], *events: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a first turn, as a running trial has it."""
    facts = [{"stop": at, "atMs": 0, "passed": each} for at, each in enumerate(stops, 1)]
    checker = {"passed": stops[-1], "groups": {"r01": stops[-1]}}
    seen = {"status": "completed", "costUsd": "0.1", "stops": facts, "checker": checker}
    place = {"task": task, "arm": arm, "repetition": 1, "turn": 1}
    return {**place, "observation": seen, "sideEvents": list(events)}


REVIEW = {
    "event": "SEMANTIC_REVIEW", "judgement": "correct", "goal_ids": ["G1"], "goals": ["G1"],
    "evidence_ids": ["E1"], "evidence": ["E1"], "reason": "r01",
}  # fmt: skip
CONTINUE = {"event": "SEMANTIC_CONTINUE"}


@pytest.mark.parametrize(
    ("repairs", "remaining", "stop"),
    [
        (0, 2, None),
        (0, 1, "futility"),
        (1, 1, None),
        (0, 0, None),
    ],
    ids=["two pairs left", "one pair left and no repair", "one left and one repair", "the end"],
)
def test_a_run_stops_when_the_rest_cannot_make_a_claim(
    repairs: int, remaining: int, stop: str | None
) -> None:
    repaired_row = turn_row("t1", REVIEWER, [False, True], REVIEW, CONTINUE)
    rows = [repaired_row if repairs else turn_row("t1", REVIEWER, [False])]

    assert OWN.after_pair(rows, remaining)["stop"] == stop


def test_a_pair_is_told_in_credited_and_unnecessary_interventions() -> None:
    rows = [
        turn_row("t1", PLAIN, [True]),
        turn_row("t1", REVIEWER, [False, True], REVIEW, CONTINUE),
        turn_row("t2", REVIEWER, [True, False], REVIEW, CONTINUE),
    ]

    assert OWN.after_pair(rows, 3)["line"] == (
        "credited repairs 1, unnecessary interventions 1 (harmful 1)"
    )


def test_the_events_have_the_names_that_the_study_registers() -> None:
    """A pair is looked at without the manifest; the two must not part."""
    arms = {arm.id: arm for arm in manifest.load(STUDY).manifest.arms}

    assert arms["review"].reviews == OWN.REVIEWS
