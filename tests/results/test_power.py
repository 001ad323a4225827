from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from agent_trials.results.hypotheses import sign_flip
from agent_trials.results.power import (
    critical_effects,
    design,
    power,
    projected_cost,
    spread,
)
from agent_trials.results.rows import differences, task_means
from paired_rows import one_pair_each, paired_rows


@pytest.mark.parametrize(("tasks", "effect"), [(6, "1.6"), (8, "1.2"), (12, "0.8")])
def test_planted_effects_are_found_as_often_as_promised(tasks: int, effect: str) -> None:
    """Studies with repetitions nested in tasks, through rows and the real test, drawn elsewhere."""
    studies, drawing = 600, np.random.default_rng(tasks)
    between, within, repetitions = 0.8, 0.6 * 2**0.5, 2
    found = 0
    for _ in range(studies):
        of_task = float(effect) + drawing.normal(0, between, tasks)
        values = of_task[:, None] + drawing.normal(0, within, (tasks, repetitions))
        rows = paired_rows({f"t{at}": [(0, float(x)) for x in of] for at, of in enumerate(values)})
        means = task_means(differences(rows)).values()
        test = sign_flip(means)
        found += test is not None and test.p <= Fraction(1, 20) and sum(means) > 0

    promised = float(power(Decimal(effect), tasks, seed=1))
    assert 0.3 < promised < 0.99
    error = 4 * (promised * (1 - promised) * (1 / studies + 1 / 2000)) ** 0.5
    assert found / studies == pytest.approx(promised, abs=error)


def test_a_critical_effect_is_where_the_test_turns_significant() -> None:
    """The subset rule against the test itself, on the very studies that were drawn."""
    tasks, studies = 7, 40
    drawn = np.random.Generator(np.random.PCG64(9)).standard_normal((studies, tasks))
    critical = critical_effects(tasks, simulations=studies, seed=9)

    assert critical is not None
    for effect in (0.5, 1.0, 1.5, 2.0):
        significant = 0
        for study in drawn:
            test = sign_flip([Fraction(float(x)) + Fraction(effect) for x in study])
            significant += test is not None and test.p <= Fraction(1, 20)
        assert sum(one < effect for one in critical) == significant


@pytest.mark.parametrize("tasks", [17, 30, 60])
def test_with_many_tasks_power_comes_close_to_a_t_test(tasks: int) -> None:
    found = design(tasks, 1)
    expected = TTestPower().solve_power(nobs=tasks, alpha=0.05, power=0.8)

    assert float(found.standard_effect or 0) == pytest.approx(expected, rel=0.06)


def test_no_effect_is_found_no_more_often_than_the_level_allows() -> None:
    """In its own direction, so half of the two-sided level."""
    assert power(0, 10, simulations=4000) <= Fraction(3, 100)


def test_five_tasks_can_never_be_significant() -> None:
    """2 / 2^5 is 0.0625: known before a cent is spent."""
    found = design(5, 10)

    assert found.smallest_p == Fraction(1, 16)
    assert found.standard_effect is None
    assert found.effect is None
    assert found.reason is not None
    assert "2/2^5" in found.reason
    assert power(100, 5) == 0


def test_more_tasks_detect_smaller_effects() -> None:
    found = [design(tasks, 1).standard_effect for tasks in (6, 8, 12, 20)]

    assert found == sorted((one for one in found if one is not None), reverse=True)


def test_a_pilot_gives_the_effect_in_the_endpoint_s_unit() -> None:
    pilot = spread(differences(one_pair_each([10, 20, 30, 40])))
    found = design(8, 3, pilot=pilot)

    assert found.standard_effect is not None
    assert found.effect is not None
    sd = float(np.std([10, 20, 30, 40], ddof=1))
    assert float(found.effect) == pytest.approx(float(found.standard_effect) * sd, rel=1e-4)
    assert (found.pairs, found.discordant_floor, found.power) == (24, 6, Decimal("0.8"))


def test_a_rule_that_asks_for_a_larger_mean_detects_less() -> None:
    pilot = spread(differences(one_pair_each([10, 20, 30, 40])))

    plain, asking = design(8, 3, pilot=pilot), design(8, 3, pilot=pilot, minimum_difference=20)

    assert plain.effect is not None
    assert asking.effect is not None
    assert asking.effect > plain.effect
    assert asking.effect > 20


def test_the_spread_between_and_within_tasks_agrees_with_an_analysis_of_variance() -> None:
    values = np.array([[3.0, 5.0, 4.0], [9.0, 8.0, 13.0], [1.0, 2.0, 0.0]])
    within = values.var(axis=1, ddof=1).mean()
    between = values.mean(axis=1).var(ddof=1) - within / 3

    found = spread(
        differences(
            paired_rows({f"t{at}": [(0, float(x)) for x in of] for at, of in enumerate(values)})
        )
    )

    assert float(found.within or 0) == pytest.approx(within**0.5, rel=1e-5)
    assert float(found.between or 0) == pytest.approx(between**0.5, rel=1e-5)
    of_six = (between + within / 6) ** 0.5
    assert float(found.of_task_mean(6) or 0) == pytest.approx(of_six, rel=1e-5)
    assert found.reason is None


def test_a_pilot_of_one_task_tells_nothing_of_how_tasks_differ() -> None:
    found = spread(differences(paired_rows({"a": [(0, 1), (0, 5)]})))

    assert (found.between, found.of_task_mean(3)) == (None, None)
    assert found.reason is not None
    assert design(8, 3, pilot=found).reason == found.reason


def test_repetitions_are_not_taken_to_help_where_the_pilot_has_none() -> None:
    found = spread(differences(one_pair_each([1, 2, 4])))

    assert found.within is None
    assert found.of_task_mean(1) == found.of_task_mean(100)


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ([Decimal("0.01"), Decimal("0.03")], Fraction(36, 50)),
        ([Decimal("0.01"), None], None),
        ([], None),
    ],
    ids=["all known", "one missing", "no attempt"],
)
def test_costs_are_projected_from_a_complete_pilot_alone(
    costs: list[Decimal | None], expected: Fraction | None
) -> None:
    assert projected_cost(costs, 36) == expected


def test_refuses_a_design_without_tasks() -> None:
    with pytest.raises(RuntimeError, match="0 tasks"):
        critical_effects(0)
