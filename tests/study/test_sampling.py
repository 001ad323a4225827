"""A sample is drawn once for all: the same cells in the same order from the same seed."""

from __future__ import annotations

import hashlib
from collections import Counter
from itertools import pairwise, product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.study import sampling
from agent_trials.study.sampling import Matrix, Sample, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable

CATEGORIES = ("discovery", "architecture", "documentation", "implementation")
REPOSITORIES = ("one", "two", "three", "four", "five", "six")
ARMS = ("repository-only", "handoff", "registry")
MODELS = ("low-cost", "reference")
TASKS = {f"{name}-{category}": category for name in REPOSITORIES for category in CATEGORIES}
STUDY = Matrix(TASKS, ARMS, MODELS, 2)
ONCE = Matrix(TASKS, ARMS, MODELS, 1)
PAIRED = Matrix(TASKS, ARMS[:2], MODELS, 1)
SEEDS = st.integers(0, 2**64)

words = st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), min_size=1, max_size=8, unique=True)


@st.composite
def matrices(draw: st.DrawFn) -> Matrix:
    """Draw a whole matrix of a few ids."""
    tasks = draw(words)
    categories = draw(st.lists(st.sampled_from("ab"), min_size=len(tasks), max_size=len(tasks)))
    return Matrix(
        dict(zip(tasks, categories, strict=True)),
        tuple(draw(words)),
        tuple(draw(words))[:3],
        draw(st.integers(1, 3)),
    )


def cells(units: Iterable[Unit]) -> list[tuple[str, str, str, int]]:
    """Return the executions, one by one."""
    return [(u.task, u.model, arm, u.replicate) for u in units for arm in u.arms]


def test_the_full_sample_is_every_cell_once() -> None:
    found = cells(sampling.select(Sample.read("full-288"), STUDY, seed=1))

    assert len(found) == len(set(found)) == STUDY.executions == 288
    assert set(found) == set(product(TASKS, MODELS, ARMS, range(2)))


@given(matrices(), SEEDS)
def test_the_full_sample_of_any_matrix_is_every_cell_once(matrix: Matrix, seed: int) -> None:
    found = cells(sampling.select(Sample("full"), matrix, seed))

    assert len(found) == len(set(found)) == matrix.executions


def test_the_balanced_sample_is_the_one_that_the_contract_defines() -> None:
    """Task i: arm floor(i / 2) mod 3, model i mod 2, the first replicate."""
    found = cells(sampling.select(Sample.read("balanced-24"), ONCE, seed=1))

    assert found == [
        (task, MODELS[index % 2], ARMS[index // 2 % 3], 0) for index, task in enumerate(TASKS)
    ]
    assert set(Counter((model, arm) for _, model, arm, _ in found).values()) == {4}


def test_the_balanced_sample_does_not_depend_on_the_seed() -> None:
    drawn = {sampling.select(Sample("balanced"), ONCE, seed) for seed in range(20)}

    assert len(drawn) == 1


def test_the_pairwise_sample_is_both_arms_of_every_task_by_every_model() -> None:
    found = sampling.select(Sample.read("pairwise-96"), PAIRED, seed=1)

    assert len(cells(found)) == 96
    assert {(unit.task, unit.model) for unit in found} == set(product(TASKS, MODELS))
    assert {unit.arms for unit in found} == {ARMS[:2]}


@given(SEEDS, st.integers(1, 24))
def test_a_smaller_pairwise_sample_keeps_whole_pairs_of_the_tasks_drawn_first(
    seed: int, count: int
) -> None:
    found = sampling.select(Sample("pairwise", 4 * count), PAIRED, seed)

    def drawn(task: str) -> str:
        return hashlib.sha256(f"{seed}/task/{task}".encode()).hexdigest()

    assert len(cells(found)) == 4 * count
    assert {unit.task for unit in found} == set(sorted(TASKS, key=drawn)[:count])
    assert set(Counter(unit.task for unit in found).values()) == {len(MODELS)}


@given(matrices(), SEEDS)
def test_an_order_moves_units_and_neither_adds_nor_loses_one(matrix: Matrix, seed: int) -> None:
    units = sampling.select(Sample("full"), matrix, seed)

    ordered = sampling.in_order(units, seed)

    assert Counter(ordered) == Counter(units)
    assert ordered == sampling.in_order(tuple(reversed(units)), seed)


def test_any_program_can_draw_the_order_again() -> None:
    units = sampling.in_order(sampling.select(Sample("full"), STUDY, 7), 7)

    drawn = [
        hashlib.sha256(f"7/pair/{u.task}/{u.model}/{u.replicate}".encode()).hexdigest()
        for u in units
    ]
    assert all(one < other for one, other in pairwise(drawn))


def test_another_seed_is_another_order() -> None:
    units = sampling.select(Sample("full"), STUDY, 1)

    assert len({sampling.in_order(units, seed) for seed in range(50)}) == 50


def test_the_turns_of_a_model_and_category_follow_one_another() -> None:
    """So that taking turns balances the places within each of them, not only over the phase."""
    units = sampling.select(Sample("full"), STUDY, 3)
    found = sampling.turns(units, STUDY, 3)

    assert sorted(found.values()) == list(range(96))
    for model, category in product(MODELS, CATEGORIES):
        places = sorted(
            at for unit, at in found.items()
            if unit.model == model and TASKS[unit.task] == category
        )  # fmt: skip
        assert places == list(range(places[0], places[0] + 12))


@pytest.mark.parametrize(
    ("name", "matrix", "wrong"),
    [
        ("balanced-20", ONCE, ["do not fall equally on 6 combinations"]),
        ("balanced-30", ONCE, ["need as many tasks, and the phase has 24"]),
        ("balanced-24", STUDY, ["runs every task once"]),
        ("pairwise-96", ONCE, ["compares two arms, and the phase has 3"]),
        ("pairwise-100", PAIRED, ["are more than the 96 of 24 tasks"]),
        ("pairwise-94", PAIRED, ["leave a task without one of its 4"]),
        ("full-144", STUDY, ["everything crossed is 288 executions, not 144"]),
        ("balanced-24", ONCE, []),
        ("pairwise-16", PAIRED, []),
        ("pairwise", PAIRED, []),
        ("full-288", STUDY, []),
    ],
)
def test_a_sample_that_cannot_be_drawn_is_named(
    name: str, matrix: Matrix, wrong: list[str]
) -> None:
    found = [what for what, _ in sampling.problems(Sample.read(name), matrix)]

    assert len(found) == len(wrong)
    assert all(part in what for part, what in zip(wrong, found, strict=True))


def test_the_number_of_replicates_is_part_of_the_whole_matrix() -> None:
    """The original's plan was refused at 144 executions because it forgot them."""
    assert STUDY.executions == 2 * ONCE.executions == 288
    assert list(sampling.problems(Sample.read("full-288"), STUDY)) == []


@pytest.mark.parametrize("name", ["half", "balanced-", "full-0", "pairwise-09", "Full-288"])
def test_another_word_is_no_sample(name: str) -> None:
    assert sampling.NAME.fullmatch(name) is None
