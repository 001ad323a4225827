"""Everything that a report says of one endpoint, and which of it was registered.

What is not registered in ``[endpoints]`` is exploratory, whatever it shows. Where p-values are left
out, none is computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from agent_trials.results.confounders import (
    PositionEffect,
    WarmthEffect,
    position_effect,
    warmth_effect,
)
from agent_trials.results.effects import (
    Bounds,
    Delivered,
    PairedDifference,
    as_delivered,
    bound,
    summarise,
)
from agent_trials.results.hypotheses import McNemar, SignFlip, holm, mcnemar, sign_flip
from agent_trials.results.numbers import Number, rounded
from agent_trials.results.rows import differences, exactly, log_ratios, task_means
from agent_trials.results.rules import HIGHER_IS_BETTER
from agent_trials.results.statistics import Interval, NoInterval, bca_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal
    from fractions import Fraction

    from agent_trials.results.rows import Row

RANGES: Mapping[str, tuple[Number | None, Number | None]] = dict.fromkeys(HIGHER_IS_BETTER, (0, 1))
"""The least and the most that a missing value could be, where it is not 0 and without limit."""


class Standing(StrEnum):
    """How much an endpoint's figures may be relied on."""

    PRIMARY = "primary"
    SECONDARY = "secondary"
    EXPLORATORY = "exploratory"


@dataclass(frozen=True)
class Ratio:
    """Treatment by control, as the geometric mean over tasks (means of logarithms).

    ``ratio`` is None, with a ``reason``, where no pair is complete or a value is not above zero.
    """

    ratio: Decimal | None
    interval: Interval | NoInterval
    reason: str | None


@dataclass(frozen=True)
class Analysis:
    """One endpoint: both views, interval, tests and what else could have made the difference.

    ``difference``, ``interval`` and the tests are over the complete pairs; ``bounds`` is over all
    planned ones. ``holm_p`` is there for a secondary endpoint, ``mcnemar`` for correctness.
    """

    endpoint: str
    standing: Standing
    difference: PairedDifference
    interval: Interval | NoInterval
    ratio: Ratio
    bounds: Bounds
    delivered: Delivered
    position: PositionEffect
    warmth: WarmthEffect
    sign_flip: SignFlip | None
    mcnemar: McNemar | None
    holm_p: Fraction | None


def analyse(
    rows: Mapping[str, Iterable[Row]],
    *,
    primary: Iterable[str],
    secondary: Iterable[str] = (),
    p_values: bool = True,
    seed: int = 0,
) -> tuple[Analysis, ...]:
    """Return the analysis of every endpoint: primary ones first, then secondary, then the rest.

    Args:
        rows: for each endpoint a row for each planned pair.
        primary: the registered primary endpoints.
        secondary: the registered secondary endpoints, over which Holm's correction goes.
        p_values: whether tests are made at all.
        seed: of bootstrap and sign flips.
    """
    standings = dict.fromkeys(primary, Standing.PRIMARY)
    standings |= {name: Standing.SECONDARY for name in secondary if name not in standings}
    standings |= {name: Standing.EXPLORATORY for name in rows if name not in standings}
    every = [
        analyse_endpoint(name, rows.get(name, ()), standing=standing, p_values=p_values, seed=seed)
        for name, standing in standings.items()
    ]
    return _corrected(every)


def analyse_endpoint(
    endpoint: str,
    rows: Iterable[Row],
    *,
    standing: Standing = Standing.EXPLORATORY,
    p_values: bool = True,
    seed: int = 0,
) -> Analysis:
    """Return the analysis of one endpoint; ``holm_p`` is left to ``analyse``."""
    planned = exactly(rows)
    pairs = differences(planned)
    means = tuple(task_means(pairs).values())
    position = position_effect(pairs, seed=seed)
    return Analysis(
        endpoint=endpoint,
        standing=standing,
        difference=summarise(pairs),
        interval=bca_interval(means, seed=seed),
        ratio=geometric_ratio(planned, seed=seed),
        bounds=bound(planned, *RANGES.get(endpoint, (0, None)), pairs=pairs),
        delivered=as_delivered(planned, pairs=pairs),
        position=position if p_values else replace(position, test=None),
        warmth=warmth_effect(pairs),
        sign_flip=sign_flip(means, seed=seed) if p_values else None,
        mcnemar=mcnemar(planned) if p_values and endpoint in HIGHER_IS_BETTER else None,
        holm_p=None,
    )


def geometric_ratio(rows: Iterable[Row], *, seed: int = 0) -> Ratio:
    """Return treatment by control on the log scale, over the complete pairs."""
    logs = log_ratios(rows)
    if logs is None:
        reason = "a complete pair holds a value that is not above zero: it has no logarithm"
        return Ratio(None, NoInterval(reason), reason)
    means = tuple(task_means(logs).values())
    if not means:
        return Ratio(None, NoInterval("no complete pair"), "no complete pair")
    interval = bca_interval(means, seed=seed)
    if isinstance(interval, Interval):
        interval = replace(
            interval,
            lower=rounded(math.exp(interval.lower)),
            upper=rounded(math.exp(interval.upper)),
        )
    return Ratio(rounded(math.exp(sum(means) / len(means))), interval, None)


def _corrected(every: Iterable[Analysis]) -> tuple[Analysis, ...]:
    found = tuple(every)
    adjusted = holm(
        {
            one.endpoint: one.sign_flip.p if one.sign_flip else None
            for one in found
            if one.standing is Standing.SECONDARY
        }
    )
    return tuple(replace(one, holm_p=adjusted.get(one.endpoint)) for one in found)
