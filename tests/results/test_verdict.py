from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_trials.results.evidence import Evidence
from agent_trials.results.power import power
from agent_trials.results.rows import swapped
from agent_trials.results.rules import (
    CheaperNotWorseRule,
    CostPerCorrectRule,
    EquivalenceRule,
    PairedDifferenceRule,
    Rule,
)
from agent_trials.results.verdict import Outcome, decide
from paired_rows import one_pair_each, paired_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syrupy.assertion import SnapshotAssertion

    from agent_trials.results.rows import Row

ALPHA, NONE = Decimal("0.05"), Decimal(0)
BETTER = PairedDifferenceRule(
    "correctness", higher_is_better=True, alpha=ALPHA, minimum_difference=NONE, maximum_missing=NONE
)
CHEAPER = replace(BETTER, endpoint="cost_usd", higher_is_better=False)
TWO_CHEAPER = replace(CHEAPER, minimum_difference=Decimal(2))
SAME = EquivalenceRule("cost_usd", Decimal("0.01"), ALPHA, NONE)
NOT_WORSE = CheaperNotWorseRule("cost_usd", Decimal("0.2"), ALPHA, NONE)
PER_CORRECT = CostPerCorrectRule(Decimal("0.85"), Decimal(2), NONE)
MIRRORED = {
    Outcome.FOR: Outcome.AGAINST,
    Outcome.AGAINST: Outcome.FOR,
    Outcome.NO_EVIDENCE: Outcome.NO_EVIDENCE,
    Outcome.INCOMPLETE: Outcome.INCOMPLETE,
}


def evidence(rows: Mapping[str, tuple[Row, ...]], **other: object) -> Evidence:
    return Evidence(control="repository-only", treatment="docs-mcp", rows=rows, **other)  # type: ignore[arg-type] # by name


def money(*pairs: tuple[str | None, str | None]) -> tuple[Row, ...]:
    amounts = [tuple(None if one is None else Decimal(one) for one in pair) for pair in pairs]
    return paired_rows({f"t{at}": [(old, new)] for at, (old, new) in enumerate(amounts)})


def graded(*pairs: tuple[float | None, float | None]) -> tuple[Row, ...]:
    return paired_rows({f"t{at}": [pair] for at, pair in enumerate(pairs)})


SIX_BETTER = one_pair_each([1] * 6)
SIX_WORSE = tuple(row.swapped() for row in SIX_BETTER)
FIVE_BETTER = one_pair_each([1] * 5)
ALL_ALIKE, ALL_CHEAPER = one_pair_each([0] * 16), one_pair_each([-1] * 16)


@pytest.mark.parametrize(
    ("rows", "outcome"),
    [
        (SIX_BETTER, Outcome.FOR),
        (SIX_WORSE, Outcome.AGAINST),
        (FIVE_BETTER, Outcome.NO_EVIDENCE),
        (one_pair_each([0] * 8), Outcome.NO_EVIDENCE),
    ],
    ids=["six of six better", "six of six worse", "five cannot be significant", "no difference"],
)
def test_a_paired_difference_is_for_against_or_neither(
    rows: tuple[Row, ...], outcome: Outcome
) -> None:
    assert decide(BETTER, evidence({"correctness": rows})).outcome is outcome


def test_a_difference_below_the_registered_one_is_no_evidence_for() -> None:
    rows = {"cost_usd": one_pair_each([Decimal("-0.01")] * 6)}
    at, above = (
        decide(replace(CHEAPER, minimum_difference=Decimal(least)), evidence(rows)).outcome
        for least in ("0.01", "0.0100001")
    )

    assert (at, above) == (Outcome.FOR, Outcome.NO_EVIDENCE)


def test_a_difference_below_the_registered_one_is_still_evidence_against() -> None:
    rows = {"cost_usd": one_pair_each([Decimal("0.001")] * 6)}

    found = decide(replace(CHEAPER, minimum_difference=Decimal(1)), evidence(rows))

    assert found.outcome is Outcome.AGAINST


def test_a_p_at_alpha_counts() -> None:
    found = decide(replace(BETTER, alpha=Decimal("0.03125")), evidence({"correctness": SIX_BETTER}))

    assert found.outcome is Outcome.FOR
    assert found.figures["correctness.p"] == "0.03125"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"run": False, "treatment": None}, "5 of 6 planned pairs were run (stopped: budget)"),
        ({"treatment": None}, "1 of 6 pairs run lack correctness"),
    ],
    ids=["not run", "no value"],
)
def test_incomplete_comes_before_against(changes: dict[str, object], reason: str) -> None:
    """B31: the first that applies; here the rest of the rows alone would be against."""
    rows = (replace(SIX_WORSE[0], **changes), *SIX_WORSE[1:])  # type: ignore[arg-type] # by name
    stopped = None if "run" not in changes else "budget"
    loose = replace(BETTER, alpha=Decimal("0.5"))

    found = decide(loose, evidence({"correctness": rows}, stopped=stopped))

    assert decide(loose, evidence({"correctness": SIX_WORSE[1:]})).outcome is Outcome.AGAINST
    assert found.outcome is Outcome.INCOMPLETE
    assert reason in found.sentence
    assert "no evidence" in found.sentence


def test_an_early_stop_states_over_how_many_pairs() -> None:
    rows = (*FIVE_BETTER, replace(SIX_BETTER[5], run=False, control=None, treatment=None))

    found = decide(BETTER, evidence({"correctness": rows}, stopped="futility"))

    assert "over 5 of 6 planned pairs" in found.sentence
    assert (found.figures["pairs_run"], found.figures["pairs_planned"]) == ("5", "6")
    assert found.figures["correctness.mean_difference"] == "1"


def test_an_answer_that_is_not_graded_leaves_the_run_incomplete() -> None:
    found = decide(BETTER, evidence({"correctness": SIX_BETTER}, pending=1))

    assert found.outcome is Outcome.INCOMPLETE
    assert found.reasons == ("answers not graded yet: 1",)


def test_missing_values_up_to_the_registered_share_leave_a_verdict() -> None:
    rows = {"correctness": (*SIX_BETTER, *one_pair_each([None]))}
    rows["correctness"] = tuple(replace(row, pair=at) for at, row in enumerate(rows["correctness"]))
    rule = replace(BETTER, maximum_missing=Decimal("0.15"))

    assert decide(rule, evidence(rows)).outcome is Outcome.FOR
    assert decide(BETTER, evidence(rows)).outcome is Outcome.INCOMPLETE


def test_no_complete_pair_is_incomplete_whatever_share_may_be_missing() -> None:
    lenient = replace(BETTER, maximum_missing=Decimal(1))

    found = decide(lenient, evidence({"correctness": one_pair_each([None])}))

    assert found.outcome is Outcome.INCOMPLETE
    assert decide(BETTER, evidence({"correctness": ()})).outcome is Outcome.INCOMPLETE


def test_a_rehearsal_reads_rehearsal() -> None:
    """Its figures are scripted; a sentence cut out of a report must still say so."""
    found = decide(BETTER, evidence({"correctness": SIX_BETTER}, rehearsal=True))

    assert found.rehearsal
    assert found.sentence.startswith("REHEARSAL, says nothing of the world.")
    assert not decide(BETTER, evidence({"correctness": SIX_BETTER})).sentence.startswith("REH")


@pytest.mark.parametrize(
    ("cents", "outcome"),
    [
        ([1, -1, 2, -2, 1, -1, 0, 1], Outcome.FOR),
        ([500, 600, 700, 500, 600, 700, 500, 600], Outcome.AGAINST),
        ([90, -90, 80, -80, 70, -70, 50, 10], Outcome.NO_EVIDENCE),
        ([0, 0, 0, 0, 0, 0, 0, 0], Outcome.NO_EVIDENCE),
    ],
    ids=["equivalent", "different", "inconclusive", "no variance, no verdict"],
)
def test_equivalence_decides_by_its_class(cents: list[int], outcome: Outcome) -> None:
    rows = {"cost_usd": one_pair_each([Decimal(one) / 3000 for one in cents])}

    found = decide(SAME, evidence(rows))

    assert found.outcome is outcome
    turned = decide(SAME, evidence(swapped(rows)))
    assert turned.outcome is outcome


@pytest.mark.parametrize(
    ("right", "cost", "outcome"),
    [
        ([0] * 16, [-1] * 16, Outcome.FOR),
        ([0] * 8, [-1] * 8, Outcome.NO_EVIDENCE),
        ([0] * 16, [-1, 1] * 8, Outcome.NO_EVIDENCE),
        ([0] * 16, [1] * 16, Outcome.AGAINST),
        ([-1] * 6 + [0] * 10, [-1] * 16, Outcome.AGAINST),
        ([-1] * 3 + [0] * 13, [-1] * 16, Outcome.NO_EVIDENCE),
    ],
    ids=[
        "cheaper and all alike",
        "too few tasks to rule a loss out",
        "not cheaper",
        "dearer",
        "worse",
        "perhaps worse",
    ],
)
def test_cheaper_counts_only_where_it_is_not_worse(
    right: list[int], cost: list[int], outcome: Outcome
) -> None:
    rows = {"correctness": one_pair_each(right), "cost_usd": one_pair_each(cost)}

    assert decide(NOT_WORSE, evidence(rows)).outcome is outcome


@pytest.mark.parametrize(
    ("right", "cost", "outcome"),
    [
        ([(1, 1), (0, 1)], [("2", "1"), ("2", "1")], Outcome.FOR),
        ([(1, 1), (1, 1)], [("1", "0.85"), ("1", "0.85")], Outcome.FOR),
        ([(1, 1), (1, 1)], [("1", "0.86"), ("1", "0.86")], Outcome.NO_EVIDENCE),
        ([(1, 1), (1, 1)], [("1", "1.01"), ("1", "1")], Outcome.AGAINST),
        ([(1, 1), (1, 0.5)], [("1", "0.1"), ("1", "0.1")], Outcome.AGAINST),
        ([(0, 0), (0, 0)], [("2", "1"), ("2", "1")], Outcome.NO_EVIDENCE),
        ([(0, 1), (0, 1)], [("2", "9"), ("2", "9")], Outcome.FOR),
        ([(0, 1), (0, 0)], [("2", "1"), ("2", "1")], Outcome.NO_EVIDENCE),
    ],
    ids=[
        "more correct and cheaper",
        "at the ratio",
        "above the ratio",
        "dearer",
        "fewer correct",
        "two infinities",
        "control never correct, treatment often enough",
        "control never correct, treatment once",
    ],
)
def test_cost_per_correct_decides_as_registered(
    right: list[tuple[float, float]], cost: list[tuple[str, str]], outcome: Outcome
) -> None:
    """Seed 004's clauses, with the explicit cases that its infinities lacked."""
    found = decide(PER_CORRECT, evidence({"correctness": graded(*right), "cost_usd": money(*cost)}))

    assert found.outcome is outcome


def test_an_unknown_cost_never_makes_the_treatment_cheaper() -> None:
    rows = {
        "correctness": graded((1, 1), (1, 1)),
        "cost_usd": money(("1", "0.1"), ("1", None)),
    }

    found = decide(replace(PER_CORRECT, maximum_missing=Decimal("0.5")), evidence(rows))

    assert found.outcome is Outcome.NO_EVIDENCE
    assert found.figures["treatment.cost_per_correct"] == "at least 0.05"


def test_the_arm_that_was_paid_for_in_a_pair_cut_short_counts_its_cost() -> None:
    rows = {
        "correctness": graded((1, 1), (None, 0)),
        "cost_usd": money(("1", "1"), (None, "3")),
    }
    rows = {name: (of[0], replace(of[1], run=False)) for name, of in rows.items()}

    found = decide(PER_CORRECT, evidence(rows, stopped="budget"))

    assert found.outcome is Outcome.INCOMPLETE
    assert found.figures["control.cost_per_correct"] == "1"
    assert found.figures["treatment.cost_per_correct"] == "4"


def test_refuses_rows_that_do_not_belong_together() -> None:
    with pytest.raises(RuntimeError, match="no rows of cost_usd"):
        decide(CHEAPER, evidence({"correctness": SIX_BETTER}))
    with pytest.raises(RuntimeError, match="not of the same pairs"):
        decide(NOT_WORSE, evidence({"correctness": SIX_BETTER, "cost_usd": FIVE_BETTER}))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=8), st.sampled_from([BETTER, CHEAPER]))
def test_exchanging_the_arms_exchanges_for_and_against(
    amounts: list[int], rule: PairedDifferenceRule
) -> None:
    rows = {rule.endpoint: one_pair_each(amounts)}
    loose = replace(rule, alpha=Decimal("0.3"))

    there, back = decide(loose, evidence(rows)), decide(loose, evidence(swapped(rows)))

    assert back.outcome is MIRRORED[there.outcome]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([0, 1]), st.integers(-4, 4)), min_size=1, max_size=9),
    st.randoms(),
    st.sampled_from([BETTER, CHEAPER, SAME, NOT_WORSE, PER_CORRECT]),
)
def test_the_order_of_the_rows_changes_no_verdict(
    values: list[tuple[int, int]], random: object, rule: Rule
) -> None:
    rows = {
        "correctness": list(one_pair_each([right for right, _ in values])),
        "cost_usd": list(one_pair_each([cost + 5 for _, cost in values])),
    }
    expected = decide(rule, evidence({name: tuple(of) for name, of in rows.items()}))
    for of in rows.values():
        random.shuffle(of)  # type: ignore[attr-defined] # a random.Random

    assert decide(rule, evidence({name: tuple(of) for name, of in rows.items()})) == expected


@pytest.mark.parametrize(
    "levels", [(0, 1), (0, 0.5, 1)], ids=["right or wrong", "with partly right"]
)
def test_two_equal_arms_get_a_verdict_no_more_often_than_the_level(
    levels: tuple[float, ...],
) -> None:
    """A/A: both arms draw from the same task-dependent outcomes, three repetitions of 8 tasks."""
    drawing, studies, verdicts = np.random.default_rng(1), 600, 0
    for _ in range(studies):
        hard = drawing.random(8)
        grades = [
            [tuple(levels[int(u * len(levels))] for u in pair ** (2 * h)) for pair in of]
            for h, of in zip(hard, drawing.random((8, 3, 2)), strict=True)
        ]
        rows = paired_rows({f"t{at}": of for at, of in enumerate(grades)})  # type: ignore[misc] # pairs
        outcome = decide(BETTER, evidence({"correctness": rows})).outcome
        verdicts += outcome in {Outcome.FOR, Outcome.AGAINST}

    assert verdicts / studies <= 0.05 + 3 * (0.05 * 0.95 / studies) ** 0.5


def test_a_planted_saving_gets_its_verdict_as_often_as_promised() -> None:
    drawing, studies, found = np.random.default_rng(2), 400, 0
    for _ in range(studies):
        saving = [Decimal(f"{one:.6f}") for one in drawing.normal(-1.1, 1, 9)]
        outcome = decide(CHEAPER, evidence({"cost_usd": one_pair_each(saving)})).outcome
        found += outcome is Outcome.FOR

    promised = float(power(Decimal("1.1"), 9, seed=3))
    error = 4 * (promised * (1 - promised) * (1 / studies + 1 / 2000)) ** 0.5
    assert found / studies == pytest.approx(promised, abs=error)


def test_equal_arms_are_called_cheaper_no_more_often_than_half_the_level() -> None:
    """Costs of skewed noise around the same mean, outcomes that are always right."""
    drawing, studies, wrong = np.random.default_rng(4), 400, 0
    right, rule = one_pair_each([0] * 9), replace(NOT_WORSE, correctness_margin=Decimal("0.3"))
    for _ in range(studies):
        costs = enumerate(drawing.lognormal(0, 1, (9, 2)))
        rows = paired_rows({f"task-{at:03}": [(float(a), float(b))] for at, (a, b) in costs})
        outcome = decide(rule, evidence({"correctness": right, "cost_usd": rows})).outcome
        wrong += outcome is Outcome.FOR

    assert 0 < wrong / studies <= 0.025 + 3 * (0.025 * 0.975 / studies) ** 0.5


@pytest.mark.parametrize(
    ("rule", "rows", "other"),
    [
        (BETTER, {"correctness": SIX_BETTER}, {}),
        (BETTER, {"correctness": SIX_WORSE}, {}),
        (BETTER, {"correctness": FIVE_BETTER}, {}),
        (TWO_CHEAPER, {"cost_usd": one_pair_each([-1] * 6)}, {}),
        (BETTER, {"correctness": SIX_BETTER}, {"pending": 2, "rehearsal": True}),
        (
            BETTER,
            {"correctness": (*FIVE_BETTER, replace(SIX_BETTER[5], run=False, treatment=None))},
            {"stopped": "budget"},
        ),
        (BETTER, {"correctness": one_pair_each([None, None])}, {}),
        (SAME, {"cost_usd": one_pair_each([Decimal(n) / 1000 for n in (1, -2, 3, -1)])}, {}),
        (SAME, {"cost_usd": one_pair_each([0, 0, 0])}, {}),
        (NOT_WORSE, {"correctness": ALL_ALIKE, "cost_usd": ALL_CHEAPER}, {}),
        (NOT_WORSE, {"correctness": one_pair_each([0, -1]), "cost_usd": one_pair_each([1, 1])}, {}),
        (
            PER_CORRECT,
            {"correctness": graded((0, 1), (0, 1)), "cost_usd": money(("2", "1"), ("2", "1"))},
            {},
        ),
    ],
    ids=[
        "for",
        "against",
        "none",
        "too small",
        "rehearsal with pending grades",
        "stopped",
        "nothing measured",
        "equivalent",
        "no variance",
        "cheaper",
        "not cheaper",
        "cost per correct",
    ],
)
def test_what_a_reader_sees(
    rule: Rule,
    rows: dict[str, tuple[Row, ...]],
    other: dict[str, object],
    snapshot: SnapshotAssertion,
) -> None:
    found = decide(rule, evidence(rows, **other))

    assert {
        "outcome": found.outcome.value,
        "sentence": found.sentence,
        "reasons": list(found.reasons),
        "figures": dict(found.figures),
    } == snapshot


def test_thresholds_are_compared_exactly() -> None:
    """A share of one in ten is 0.1, not a float beside it."""
    rows = one_pair_each([1] * 9 + [None])
    rule = replace(BETTER, maximum_missing=Decimal("0.1"))

    assert decide(rule, evidence({"correctness": rows})).outcome is Outcome.FOR
