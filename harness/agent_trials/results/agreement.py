"""How far two adjudicators agree, and how far an adjudicator could tell the arms apart.

Sources:
    kappa: J. Cohen, Educational and Psychological Measurement 20 (1960) 37-46;
    blinding index: H. Bang, L. Ni and C. E. Davis, Controlled Clinical Trials 25 (2004) 143-156.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING

from agent_trials.results.numbers import rounded
from agent_trials.results.rates import normal_quantile

if TYPE_CHECKING:
    from collections.abc import Iterable

_DEFAULT_LEVEL = Decimal("0.95")


@dataclass(frozen=True)
class Agreement:
    """Two adjudicators over the same observations.

    ``share`` is the agreement (0 to 1), ``kappa`` what of it is beyond chance; ``kappa`` is None
    where both used one and the same category throughout, so that chance explains everything.
    ``unpaired`` counts observations that one of them did not grade.
    """

    pairs: int
    unpaired: int
    agreed: int
    share: Fraction | None
    kappa: Fraction | None


@dataclass(frozen=True)
class BlindingIndex:
    """Bang's index of one arm: 1 all guessed right, 0 as by chance, -1 all guessed wrong.

    The interval is clipped to [-1, 1]. It has no width when every guess is the same: a Wald
    interval cannot see the doubt there. All three are None when there was no guess.
    """

    right: int
    wrong: int
    undecided: int
    index: Fraction | None
    lower: Decimal | None
    upper: Decimal | None

    @property
    def guesses(self) -> int:
        """Return how often the adjudicator was asked, undecided answers included."""
        return self.right + self.wrong + self.undecided


def agreement(grades: Iterable[tuple[str | None, str | None]]) -> Agreement:
    """Return percent agreement and Cohen's kappa of two adjudicators.

    Args:
        grades: for each observation the category that either gave; None where one gave none.
    """
    every = tuple(grades)
    both = [(one, other) for one, other in every if one is not None and other is not None]
    agreed = sum(one == other for one, other in both)
    if not both:
        return Agreement(0, len(every), 0, None, None)
    share = Fraction(agreed, len(both))
    chance = _by_chance(both)
    kappa = None if chance == 1 else (share - chance) / (1 - chance)
    return Agreement(len(both), len(every) - len(both), agreed, share, kappa)


def blinding_index(
    *, right: int, wrong: int, undecided: int = 0, level: Decimal = _DEFAULT_LEVEL
) -> BlindingIndex:
    """Return Bang's blinding index of one arm of two, with its Wald interval.

    ``(right - wrong) / n`` over all n guesses, with the variance of a difference of two shares of
    one sample, ``(p + q - (p - q)^2) / n``.

    Args:
        right: guesses that named this arm.
        wrong: guesses that named the other arm.
        undecided: answers that named neither.
        level: the level of the two-sided interval.

    Raises:
        RuntimeError: a count is negative.
    """
    if min(right, wrong, undecided) < 0:
        raise RuntimeError(f"negative guesses: {right} right, {wrong} wrong, {undecided} undecided")
    n = right + wrong + undecided
    if n == 0:
        return BlindingIndex(0, 0, 0, None, None, None)
    index = Fraction(right - wrong, n)
    variance = (Fraction(right + wrong, n) - index**2) / n
    half = normal_quantile(level) * sqrt(variance)
    lower, upper = max(-1.0, float(index) - half), min(1.0, float(index) + half)
    return BlindingIndex(right, wrong, undecided, index, rounded(lower), rounded(upper))


def _by_chance(both: list[tuple[str, str]]) -> Fraction:
    first, second = Counter(one for one, _ in both), Counter(other for _, other in both)
    return Fraction(sum(first[name] * second[name] for name in first), len(both) ** 2)
