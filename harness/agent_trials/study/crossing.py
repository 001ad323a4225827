"""Which factors of a schedule can be told apart, read from a table of one factor by another.

Two levels of a factor can be compared free of another factor if a chain of shared levels joins
them (the design is connected). So, with the groups of levels that no chain joins:
    one group                        apart: equally, if all counts are in proportion, else unequally
    as many groups as levels         not apart at all: they are confounded
    something between                apart inside a group only
This holds for any schedule; nothing here knows a sample by its name.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Told = Literal["equally", "unequally", "partly", "not"]


@dataclass(frozen=True)
class Crossing:
    """A factor by another one: how often their levels meet, levels in the order of appearance."""

    factor: str
    other: str
    counts: Mapping[tuple[str, str], int]

    @property
    def levels(self) -> tuple[str, ...]:
        """Return the levels of the factor."""
        return tuple(dict.fromkeys(level for level, _ in self.counts))

    @property
    def others(self) -> tuple[str, ...]:
        """Return the levels of the other factor."""
        return tuple(dict.fromkeys(other for _, other in self.counts))

    @property
    def groups(self) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
        """Return the levels that chains join, each group with the other factor's levels in it."""
        found: list[tuple[set[str], set[str]]] = []
        for level, other in self.counts:
            joined = [each for each in found if level in each[0] or other in each[1]]
            merged = (
                {level}.union(*(a for a, _ in joined)),
                {other}.union(*(b for _, b in joined)),
            )
            found = [each for each in found if each not in joined] + [merged]
        return tuple(
            (
                tuple(level for level in self.levels if level in one),
                tuple(other for other in self.others if other in two),
            )
            for one, two in found
        )

    @property
    def told(self) -> Told:
        """Return how well the factor's levels are told apart from the other factor's."""
        groups = len(self.groups)
        if groups > 1:
            return "not" if groups == len(self.levels) else "partly"
        return "equally" if self._in_proportion() else "unequally"

    def _in_proportion(self) -> bool:
        total = sum(self.counts.values())
        by_level, by_other = Counter[str](), Counter[str]()
        for (level, other), count in self.counts.items():
            by_level[level] += count
            by_other[other] += count
        return all(
            self.counts.get((level, other), 0) * total == by_level[level] * by_other[other]
            for level in by_level
            for other in by_other
        )


def cross(rows: Iterable[Mapping[str, str]], factor: str, other: str) -> Crossing:
    """Return the table of two factors over the rows, a row for each planned attempt."""
    return Crossing(factor, other, Counter((row[factor], row[other]) for row in rows))
