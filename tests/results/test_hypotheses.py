from __future__ import annotations

import hashlib
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from agent_trials.results.hypotheses import (
    FLIPS,
    discordant_floor,
    holm,
    mcnemar,
    sign_flip,
    smallest_sign_flip_p,
)
from paired_rows import one_pair_each, paired_rows

DARWIN = (49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48)
"""Crossed minus self-fertilised maize, eighths of an inch (Darwin 1876)."""

SHARES = st.integers(0, 2**12).map(lambda count: Fraction(count, 2**12))
SMALL = st.lists(st.fractions(-5, 5, max_denominator=6), min_size=1, max_size=7)


def test_sign_flips_agree_with_fisher() -> None:
    """Fisher, The Design of Experiments (1935), section 21: 1,726 of 32,768 arrangements."""
    found = sign_flip(map(Fraction, DARWIN))

    assert found is not None
    assert (found.extreme, found.arrangements, found.exact) == (1726, 32768, True)


@given(SMALL)
def test_sign_flips_agree_with_enumeration(means: list[Fraction]) -> None:
    observed = abs(sum(means, Fraction(0)))
    signs = list(product((1, -1), repeat=len(means)))
    as_extreme = sum(
        abs(sum((s * m for s, m in zip(arrangement, means, strict=True)), Fraction(0))) >= observed
        for arrangement in signs
    )

    found = sign_flip(means)

    assert found is not None
    assert found.p == Fraction(as_extreme, len(signs))


def test_ties_are_kept_where_floats_lose_them() -> None:
    """0.1 + 0.2 - 0.3 is not 0 as floats, and the lost tie makes p smaller than it is."""
    found = sign_flip([Fraction(1, 10), Fraction(2, 10), Fraction(3, 10), Fraction(0)])

    assert found is not None
    assert found.p == Fraction(1, 4)
    tied = sign_flip([Fraction(1, 10), Fraction(2, 10), Fraction(-3, 10)])
    assert tied is not None
    assert tied.p == 1


@given(SMALL, st.fractions(Fraction(1, 9), 9, max_denominator=9), st.randoms())
def test_sign_flips_see_neither_arm_nor_unit_nor_order(
    means: list[Fraction], factor: Fraction, random: object
) -> None:
    changed = [-mean * factor for mean in means]
    random.shuffle(changed)  # type: ignore[attr-defined] # a random.Random

    assert sign_flip(changed) == sign_flip(means)


def test_up_to_16_tasks_are_counted_and_17_are_drawn() -> None:
    sixteen = sign_flip([Fraction(1)] * 16)
    seventeen = sign_flip([Fraction(1)] * 17)

    assert sixteen is not None
    assert seventeen is not None
    assert (sixteen.p, sixteen.exact) == (Fraction(2, 2**16), True)
    assert (seventeen.arrangements, seventeen.exact) == (FLIPS + 1, False)
    assert seventeen.p >= Fraction(1, FLIPS + 1)


def test_a_drawn_p_is_never_zero_and_counts_the_arrangement_observed() -> None:
    """(b + 1) / (m + 1): with 40 tasks all one way no drawn arrangement is as extreme."""
    found = sign_flip([Fraction(1)] * 40)

    assert found is not None
    assert (found.extreme, found.p) == (1, Fraction(1, 100_001))


def test_drawn_sign_flips_come_close_to_the_exact_answer() -> None:
    """Darwin's 15 pairs beside three tasks of no difference: the exact p stays 1726 / 32768."""
    found = sign_flip([*map(Fraction, DARWIN), Fraction(0), Fraction(0), Fraction(0)], seed=7)

    assert found is not None
    assert not found.exact
    assert float(found.p) == pytest.approx(1726 / 32768, abs=4 * (0.0527 * 0.9473 / FLIPS) ** 0.5)


def test_drawn_sign_flips_are_the_documented_ones() -> None:
    """Another program draws the same: the arrangements made again from the docstring alone."""
    sizes = sorted(abs(value) for value in (*DARWIN, 3, 5, 7))
    observed, extreme = abs(sum((*DARWIN, 3, 5, 7))), 0
    stream = hashlib.shake_256(b"sign-flip/42").digest(3 * FLIPS)
    for at in range(FLIPS):
        bits = int.from_bytes(stream[3 * at : 3 * at + 3], "little")
        total = sum(-size if bits >> i & 1 else size for i, size in enumerate(sizes))
        extreme += abs(total) >= observed

    found = sign_flip(map(Fraction, (*DARWIN, 3, 5, 7)), seed=42)

    assert found is not None
    assert found.extreme == extreme + 1


def test_drawn_sign_flips_are_exact_beyond_the_machine_s_numbers() -> None:
    """Very fine fractions make whole numbers that 64 bits do not hold; a wrapped sum would lie."""
    plain = [Fraction(value) for value in (*DARWIN, 3, 5, 7)]
    huge = [value * 10**30 for value in plain]

    assert sign_flip([value / 3**40 for value in huge]) == sign_flip(plain)
    assert sign_flip([*huge, Fraction(1, 7)]) == sign_flip([*plain, Fraction(1, 7 * 10**30)])


@settings(max_examples=5)
@given(st.lists(st.integers(-9, 9), min_size=17, max_size=20), st.randoms())
def test_drawn_sign_flips_see_neither_arm_nor_order(means: list[int], random: object) -> None:
    changed = [-mean for mean in means]
    random.shuffle(changed)  # type: ignore[attr-defined] # a random.Random

    assert sign_flip(map(Fraction, changed)) == sign_flip(map(Fraction, means))


def test_no_task_has_no_test() -> None:
    assert sign_flip([]) is None


@pytest.mark.parametrize("tasks", range(1, 13))
def test_the_floor_is_the_p_of_tasks_that_all_point_one_way(tasks: int) -> None:
    found = sign_flip([Fraction(at + 1) for at in range(tasks)])

    assert found is not None
    assert found.p == smallest_sign_flip_p(tasks) == min(Fraction(1), Fraction(2, 2**tasks))


def test_mcnemar_agrees_with_a_published_example() -> None:
    """Airway hyper-responsiveness, Bentur et al. in Fagerland et al. (2013): 7 against 1, 0.070."""
    rows = paired_rows(
        {
            f"child-{at}": [pair]
            for at, pair in enumerate([(0, 1)] * 7 + [(1, 0)] + [(1, 1)] + [(0, 0)] * 12)
        }
    )

    found = mcnemar(rows)

    assert (found.only_treatment, found.only_control, found.discordant, found.pairs) == (
        7,
        1,
        8,
        21,
    )
    assert found.p == Fraction(9, 128)
    assert not found.clustered


@given(st.integers(0, 30), st.integers(0, 30))
def test_mcnemar_agrees_with_statsmodels(only_treatment: int, only_control: int) -> None:
    rows = one_pair_each([1] * only_treatment) + tuple(
        row.swapped() for row in one_pair_each([1] * only_control)
    )
    expected = statsmodels_mcnemar([[0, only_control], [only_treatment, 0]], exact=True).pvalue

    assert float(mcnemar(rows).p) == pytest.approx(expected)


def test_mcnemar_takes_partly_correct_for_not_correct_and_leaves_missing_out() -> None:
    found = mcnemar(paired_rows({"a": [(0.5, 1)], "b": [(0.5, 0)], "c": [(1, None)]}))

    assert (found.only_treatment, found.only_control, found.pairs) == (1, 0, 2)


def test_mcnemar_says_when_its_pairs_are_not_independent() -> None:
    assert mcnemar(paired_rows({"a": [(0, 1), (0, 1)]})).clustered


def test_no_discordant_pair_is_no_evidence() -> None:
    assert mcnemar(paired_rows({"a": [(1, 1)]})).p == 1


def test_six_discordant_pairs_one_way_are_the_floor() -> None:
    """Five one way give 0.0625: such a design cannot come out significant."""
    assert discordant_floor() == 6
    assert mcnemar(one_pair_each([1] * 6)).p == Fraction(1, 32)
    assert mcnemar(one_pair_each([1] * 5)).p == Fraction(1, 16)
    with pytest.raises(RuntimeError, match="above 0"):
        discordant_floor(Fraction(0))


@settings(max_examples=10)  # statsmodels collects all garbage at every call
@given(st.dictionaries(st.sampled_from("abcdefgh"), SHARES, min_size=1))
def test_holm_agrees_with_statsmodels(p_values: dict[str, Fraction]) -> None:
    expected = multipletests([float(p) for p in p_values.values()], method="holm")[1]

    found = holm(p_values)

    assert list(found) == list(p_values)
    assert [float(p or 0) for p in found.values()] == pytest.approx(list(expected))


def test_an_endpoint_that_could_not_be_measured_does_not_ease_the_others() -> None:
    """Else a lost measurement would make the remaining endpoints significant."""
    assert holm({"a": Fraction(1, 40), "b": None}) == {"a": Fraction(1, 20), "b": None}
