"""The named rules of a verdict and their thresholds, as a study's manifest registers them.

Thresholds are decimal text. An unknown rule or threshold is refused with the nearest known word,
a threshold out of its range with the range; everything that is wrong is found at once.

    paired-difference   one primary endpoint, sign-flip test over tasks
    equivalence         one primary endpoint, two one-sided tests within a margin
    cheaper-not-worse   correctness not worse by a margin, and a cost that is lower
    cost-per-correct    pass rate and cost per correct outcome against a ratio, without p-values
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from agent_trials.errors import Problem, StudyError
from agent_trials.study.endpoints import RESOLVED
from agent_trials.study.findings import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CORRECTNESS = "correctness"
COST = "cost_usd"
HIGHER_IS_BETTER = frozenset({CORRECTNESS, RESOLVED})
"""Of every other endpoint less is better, unless a rule's ``direction`` says otherwise."""

_DECIMAL = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")


@dataclass(frozen=True)
class PairedDifferenceRule:
    """For: better by at least ``minimum_difference`` with p <= ``alpha``; against: worse so."""

    endpoint: str
    higher_is_better: bool
    alpha: Decimal
    minimum_difference: Decimal
    maximum_missing: Decimal


@dataclass(frozen=True)
class EquivalenceRule:
    """For: within ``margin`` by two one-sided tests; against: different and not within it."""

    endpoint: str
    margin: Decimal
    alpha: Decimal
    maximum_missing: Decimal


@dataclass(frozen=True)
class CheaperNotWorseRule:
    """For: correctness above ``-correctness_margin``, and a cost lower with p <= ``alpha``."""

    cost: str
    correctness_margin: Decimal
    alpha: Decimal
    maximum_missing: Decimal


@dataclass(frozen=True)
class CostPerCorrectRule:
    """For: no lower pass rate, cost per correct outcome at most ``maximum_ratio`` of control's.

    Where the control has no correct outcome, the treatment needs ``minimum_correct`` of them.
    """

    maximum_ratio: Decimal
    minimum_correct: Decimal
    maximum_missing: Decimal


Rule: TypeAlias = PairedDifferenceRule | EquivalenceRule | CheaperNotWorseRule | CostPerCorrectRule


class Kind(StrEnum):
    """What a threshold's text is."""

    NUMBER = "decimal text"
    ENDPOINT = "a primary endpoint"
    COST = "a primary endpoint of which less is better"
    DIRECTION = "higher or lower"


@dataclass(frozen=True)
class Threshold:
    """One threshold of a rule; a number lies from ``least`` (or above it) up to ``most``.

    ``default`` is None where a study must register a value, and ``""`` where it follows from the
    study's endpoints.
    """

    name: str
    default: str | None = None
    kind: Kind = Kind.NUMBER
    least: Decimal = Decimal(0)
    most: Decimal = Decimal(10) ** 15
    above: bool = False


_ALPHA = Threshold("alpha", "0.05", most=Decimal("0.5"), above=True)
_MISSING = Threshold("maximum_missing", "0", most=Decimal(1))
_ENDPOINT = Threshold("endpoint", "", Kind.ENDPOINT)

RULES: Mapping[str, tuple[Threshold, ...]] = {
    "paired-difference": (
        _ENDPOINT,
        Threshold("direction", "", Kind.DIRECTION),
        _ALPHA,
        Threshold("minimum_difference", "0"),
        _MISSING,
    ),
    "equivalence": (_ENDPOINT, Threshold("margin", above=True), _ALPHA, _MISSING),
    "cheaper-not-worse": (
        Threshold("cost", COST, Kind.COST),
        Threshold("correctness_margin", most=Decimal(1), above=True),
        _ALPHA,
        _MISSING,
    ),
    "cost-per-correct": (
        Threshold("maximum_ratio", most=Decimal(1000), above=True),
        Threshold("minimum_correct", "1", least=Decimal(1)),
        _MISSING,
    ),
}
"""``maximum_missing`` is the share of planned pairs that may lack a value before the verdict is
``incomplete``."""

_WITHOUT_P_VALUES = frozenset({"cost-per-correct"})
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "cheaper-not-worse": (CORRECTNESS,),
    "cost-per-correct": (CORRECTNESS, COST),
}


def read(
    rule: str,
    thresholds: Mapping[str, str],
    *,
    primary: Iterable[str],
    p_values: bool = True,
    where: str = "study.toml: verdict",
) -> Rule:
    """Return the rule with its thresholds.

    Args:
        rule: its name.
        thresholds: by name, as text.
        primary: the registered primary endpoints; a rule decides on no other.
        p_values: whether the study registers p-values.
        where: the place that a problem names.

    Raises:
        StudyError: with everything that is wrong.
    """
    registered = tuple(primary)
    if found := problems(rule, thresholds, primary=registered, p_values=p_values, where=where):
        raise StudyError(found)
    values = {one.name: thresholds.get(one.name, one.default or "") for one in RULES[rule]}
    return _built(rule, values, registered)


def problems(
    rule: str,
    thresholds: Mapping[str, str],
    *,
    primary: Iterable[str],
    p_values: bool = True,
    where: str = "study.toml: verdict",
) -> tuple[Problem, ...]:
    """Return everything that is wrong with a rule and its thresholds; arguments as for ``read``."""
    registered = tuple(primary)
    if rule not in RULES:
        remedy = nearest(rule, RULES)
        return (Problem(f"{where}.rule", f"{rule!r} is no rule", remedy),)
    known = {one.name: one for one in RULES[rule]}
    place = f"{where}.thresholds"
    found = [
        Problem(f"{place}.{name}", f"rule {rule!r} has no such threshold", nearest(name, known))
        for name in thresholds
        if name not in known
    ]
    for one in known.values():
        found += _of_threshold(one, thresholds, f"{place}.{one.name}", registered)
    found += _of_endpoints(rule, registered, where)
    if not p_values and rule not in _WITHOUT_P_VALUES:
        remedy = "set p_values = true, or use cost-per-correct"
        found.append(
            Problem(f"{where}.rule", f"{rule!r} tests, and endpoints.p_values is false", remedy)
        )
    return tuple(found)


def _of_threshold(
    one: Threshold, thresholds: Mapping[str, str], place: str, primary: tuple[str, ...]
) -> list[Problem]:
    written = thresholds.get(one.name, one.default)
    if written is None:
        return [Problem(place, "is not registered", f"write {_range(one)}")]
    if one.name not in thresholds and not written:
        return []
    if one.kind is Kind.NUMBER:
        fits = _fits(one, written)
        return [] if fits else [Problem(place, f"{written!r} does not fit", f"write {_range(one)}")]
    words = _words(one.kind, primary)
    if written in words:
        return []
    return [Problem(place, f"{written!r} is not {one.kind.value}", nearest(written, words))]


def _words(kind: Kind, primary: tuple[str, ...]) -> tuple[str, ...]:
    if kind is Kind.DIRECTION:
        return ("higher", "lower")
    if kind is Kind.COST:
        return tuple(name for name in primary if name not in HIGHER_IS_BETTER)
    return primary


def _of_endpoints(rule: str, primary: tuple[str, ...], where: str) -> list[Problem]:
    if not primary:
        return [Problem(f"{where}.rule", "there is no primary endpoint", "register one")]
    return [
        Problem(
            f"{where}.rule",
            f"{rule!r} decides on {name}, which is no primary endpoint",
            f"add {name!r} to endpoints.primary",
        )
        for name in _NEEDED.get(rule, ())
        if name not in primary and not (name == CORRECTNESS and RESOLVED in primary)
    ]


def _built(rule: str, values: Mapping[str, str], primary: tuple[str, ...]) -> Rule:
    endpoint = values.get("endpoint") or primary[0]
    missing = Decimal(values["maximum_missing"])
    if rule == "paired-difference":
        better = values["direction"] or ("higher" if endpoint in HIGHER_IS_BETTER else "lower")
        return PairedDifferenceRule(
            endpoint=endpoint,
            higher_is_better=better == "higher",
            alpha=Decimal(values["alpha"]),
            minimum_difference=Decimal(values["minimum_difference"]),
            maximum_missing=missing,
        )
    if rule == "equivalence":
        return EquivalenceRule(
            endpoint, Decimal(values["margin"]), Decimal(values["alpha"]), missing
        )
    if rule == "cheaper-not-worse":
        return CheaperNotWorseRule(
            cost=values["cost"],
            correctness_margin=Decimal(values["correctness_margin"]),
            alpha=Decimal(values["alpha"]),
            maximum_missing=missing,
        )
    return CostPerCorrectRule(
        Decimal(values["maximum_ratio"]), Decimal(values["minimum_correct"]), missing
    )


def _fits(one: Threshold, written: str) -> bool:
    if not _DECIMAL.fullmatch(written):
        return False
    value = Decimal(written)
    return (one.least < value if one.above else one.least <= value) and value <= one.most


def _range(one: Threshold) -> str:
    lowest = f"above {one.least}" if one.above else f"from {one.least}"
    return f'decimal text {lowest} up to {one.most:f}, such as "0.1"'
