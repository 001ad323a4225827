"""Selects the tasks of a benchmark by a rule that leaves nobody a choice; pure.

The rule is that of the Agent-Task-Benchmark v1: all instances in ascending order of their id as
text; grouped by repository; the repositories visited in ascending order of their names, over and
over, each giving its first instance that is not taken yet, until enough are taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

RULE = (
    "sort by instance_id ascending; group by repo; visit repos in ascending name order"
    " round-robin, taking the first untaken instance of each, until n are taken"
)


@dataclass(frozen=True)
class Instance:
    """One instance of a benchmark; what its source does not say is None."""

    instance_id: str
    repo: str
    base_commit: str | None = None
    environment_setup_commit: str | None = None
    problem_statement: str | None = None
    version: str | None = None


def select(instances: Iterable[Instance], n: int) -> tuple[Instance, ...]:
    """Return ``n`` instances in the order in which the rule takes them, or all where n is more.

    Ids and names are compared as text, by code point: ``astropy__astropy-12907`` comes before
    ``astropy__astropy-7166``.
    """
    by_repository: dict[str, list[Instance]] = {}
    for instance in sorted(instances, key=lambda each: each.instance_id):
        by_repository.setdefault(instance.repo, []).append(instance)
    rounds = zip_longest(*(by_repository[name] for name in sorted(by_repository)))
    taken = (each for each in chain.from_iterable(rounds) if each is not None)
    return tuple(islice(taken, n))
