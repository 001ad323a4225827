"""What is looked at after each pair: figures of the rows, and the study's own rules over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.session import pairs

if TYPE_CHECKING:
    from pathlib import Path

RULE = """\
def after_pair(rows, remaining):
    credited = sum(len(row["sideEvents"]) for row in rows)
    futile = remaining < 2 - credited
    return {"line": f"credited {credited}, remaining {remaining}",
            "stop": "futile" if futile else None}
"""


def row(arm: str, *, pair: int = 0, turn: int = 1, **observation: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of an observation
    """Return a turn of one task."""
    shown = {"costUsd": "0.02", "checker": {"passed": True}, "sideCosts": None, **observation}
    return {
        "task": f"task-{pair}", "arm": arm, "repetition": 1, "turn": turn, "pair": pair,
        "position": 0, "observation": shown, "sideEvents": [],
    }  # fmt: skip


def side(calls: int, *, declared: bool = True, missing: int = 0) -> dict[str, Any]:
    """Return what an arm's product spent."""
    return {"calls": calls, "declared": declared, "missing": missing}


def look(folder: Path, *rows: dict[str, Any], remaining: int = 3, scored: bool = True) -> Any:  # noqa: ANN401 - what was looked at
    """Return what the rows show after the first pair."""
    return pairs.look(rows, folder=folder, remaining=remaining, spent="0.3", scored=scored, pair=0)


def test_the_last_turn_of_an_attempt_is_its_verdict(tmp_path: Path) -> None:
    """The follow-up's checker looked at the final tree."""
    failed = {"passed": False}
    rows = (row("plain", checker=failed), row("plain", turn=2), row("review", checker=failed))
    found = look(tmp_path, *rows)

    assert found.words == (
        "spent 0.3 USD; plain passes 1 of 1; review passes 0 of 1; costs complete"
    )
    assert found.stop is None


@pytest.mark.parametrize(
    "lacking", [{"costUsd": None}, {"sideCosts": side(2, missing=1)}], ids=["agent", "product"]
)
def test_says_where_a_cost_is_missing(tmp_path: Path, lacking: dict[str, Any]) -> None:
    """A run whose costs are not whole is found out after its first pair."""
    found = look(tmp_path, row("plain"), row("review", **lacking))

    assert "costs incomplete in 1 turn" in found.words


@pytest.mark.parametrize(
    ("calls", "scored", "stop"),
    [(0, False, "product-not-called"), (1, False, None), (0, True, None)],
    ids=["smoke without a call", "smoke with one", "scored"],
)
def test_an_unscored_phase_stops_where_a_product_was_not_called(
    tmp_path: Path, calls: int, *, scored: bool, stop: str | None
) -> None:
    """That is what a smoke phase is for; in a scored one it is a result."""
    rows = (
        row("plain", sideCosts=side(0, declared=False)),
        row("review", sideCosts=side(calls)),
    )

    assert look(tmp_path, *rows, scored=scored).stop == stop


@pytest.mark.parametrize(("remaining", "stop"), [(2, None), (1, "futile")])
def test_the_studys_own_rule_ends_a_run_that_can_show_nothing_more(
    tmp_path: Path, remaining: int, stop: str | None
) -> None:
    """Money for pairs that cannot change the verdict is spent for nothing."""
    (tmp_path / "verdict.py").write_text(RULE, encoding="utf-8")
    found = look(tmp_path, row("plain"), row("review"), remaining=remaining)

    assert found.stop == stop
    assert f"credited 0, remaining {remaining}" in found.words
