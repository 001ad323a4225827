"""Which observations of a ledger a command grades, and in which order."""

from __future__ import annotations

from typing import Any, cast

import pytest

from agent_trials.session.grading_plan import Case, chosen, drawn

CASES = [Case(f"id-{n}", "ab"[n % 2], cast("Any", None)) for n in range(6)]


@pytest.mark.parametrize(
    ("offset", "limit", "run_id", "ids"),
    [
        (None, None, None, [0, 1, 2, 3, 4, 5]),
        (2, 2, None, [2, 3]),
        (None, None, "b", [1, 3, 5]),
        (1, 1, "b", [3]),
        (3, None, "b", []),
        (9, None, None, []),
        (None, 0, None, []),
    ],
    ids=["all", "a part", "a run", "a part of a run", "past a run", "past all", "none"],
)
def test_an_offset_counts_only_the_observations_of_the_run(
    offset: int | None, limit: int | None, run_id: str | None, ids: list[int]
) -> None:
    found = chosen(CASES, offset, limit, run_id)

    assert [case.blind_id for case in found] == [f"id-{number}" for number in ids]


def test_the_order_follows_from_the_seed_alone() -> None:
    """Another seed is another order, and no order is that of the attempts."""
    ids = [f"{number:016x}" for number in range(20)]

    def ordered(seed: int) -> list[str]:
        return sorted(ids, key=lambda blind_id: drawn(seed, blind_id))

    assert ordered(1) == ordered(1)
    assert ordered(1) not in (ids, ordered(2))
