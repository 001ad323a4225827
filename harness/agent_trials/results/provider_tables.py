"""What a report shows of provider commands: tables of words, the same in every rendering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Table:
    """One table of a report: a heading, the names of its columns, rows of words."""

    heading: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


SHOWN = ("scenario", "category", "difficulty", "repository", "model", "variant")
_GROUP = (
    "attempts", "completed", "checks passed", "graded correct", "provider's tokens, mean",
    "provider's tokens, p95", "USD at configured rates, mean", "wall time ms, p95",
)  # fmt: skip
_WORD = ("scenario", "figure", "reported", "missing", "mean", "p95")


def tables(found: Mapping[str, Any] | None) -> list[Table]:
    """Return what a report shows of the groups; self-reports in a table of their own."""
    if found is None:
        return []
    groups = found["groups"]
    named = [
        Table(f"By {name}", (name, *_GROUP), tuple(_row(each) for each in groups[name]))
        for name in SHOWN
        if groups[name]
    ]
    words = tuple(
        (each["group"], name, str(of["measured"]), str(of["missing"]), _known(of["mean"]),
         _known(of["p95"]))
        for each in groups["scenario"]
        for name, of in each["figures"]["selfReported"].items()
    )  # fmt: skip
    heading = "The commands' own word of their work: self-reports, never grades"
    missing = tuple((name,) for name in groups["all"][0]["missingMetrics"])
    return [
        *named,
        Table(heading, _WORD, words),
        Table("Missing metrics (-partial: of some attempts)", ("metric",), missing),
    ]


def _row(group: Mapping[str, Any]) -> tuple[str, ...]:
    of, graded = group["figures"], group["graded"]["correctOfScored"]
    tokens = of["counted"].get("providerTokenCostUnits", {})
    checks = group["checks"]
    return (
        group["group"],
        str(group["attempts"]),
        str(group["completed"]["successes"]),
        f"{checks['passed']} of {checks['ran']}" if checks else "none",
        f"{graded['successes']} of {graded['trials']}",
        _known(tokens.get("mean")),
        _known(tokens.get("p95")),
        _known(of["derived"].get("agentCostUsd", {}).get("mean")),
        _known(of["measured"].get("wallTimeMs", {}).get("p95")),
    )


def _known(figure: str | None) -> str:
    return "missing" if figure is None else figure
