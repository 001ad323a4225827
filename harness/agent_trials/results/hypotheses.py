"""Exact tests: sign flips over tasks, McNemar over pairs, and Holm's correction.

Every p-value is a fraction of counted arrangements, compared in whole numbers: a sum of floats
loses ties, and a lost tie makes a p-value too small.

Sources:
    sign flips: R. A. Fisher, The Design of Experiments (1935), section 21;
    (b + 1) / (m + 1): B. Phipson and G. K. Smyth, Statistical Applications in Genetics and
        Molecular Biology 9 (2010), article 39;
    exact McNemar: M. W. Fagerland, S. Lydersen and P. Laake, BMC Medical Research Methodology 13
        (2013) 91, the exact conditional test;
    Holm: S. Holm, Scandinavian Journal of Statistics 6 (1979) 65-70.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from agent_trials.results.numbers import whole
from agent_trials.results.rows import measured

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from agent_trials.results.rows import Row

EXACT_TASKS = 16
"""Up to this many tasks every arrangement of signs is counted."""

FLIPS = 100_000
"""How many seeded arrangements are drawn above it."""

_CHUNK = 8
_LARGEST_SUM = 2**63


@dataclass(frozen=True)
class SignFlip:
    """A two-sided test of no difference: how many arrangements of signs are as extreme.

    ``p`` is ``extreme / arrangements``; of drawn arrangements ``(b + 1) / (m + 1)``, the one
    observed being counted with them.
    """

    tasks: int
    extreme: int
    arrangements: int
    exact: bool

    @property
    def p(self) -> Fraction:
        """Return the two-sided p-value, a fraction above 0."""
        return Fraction(self.extreme, self.arrangements)


@dataclass(frozen=True)
class McNemar:
    """A two-sided test over pairs in which exactly one arm is correct.

    ``clustered`` says that a task has more than one complete pair: the test takes pairs for
    independent, so it then describes and does not decide.
    """

    only_treatment: int
    only_control: int
    pairs: int
    clustered: bool

    @property
    def discordant(self) -> int:
        """Return the number of pairs that count."""
        return self.only_treatment + self.only_control

    @property
    def p(self) -> Fraction:
        """Return the two-sided p-value: twice the smaller binomial tail, at most 1."""
        n, fewer = self.discordant, min(self.only_treatment, self.only_control)
        return min(Fraction(1), Fraction(2 * sum(comb(n, k) for k in range(fewer + 1)), 2**n))


def sign_flip(means: Iterable[Fraction], *, seed: int = 0) -> SignFlip | None:
    """Return the sign-flip test over the tasks' mean differences; None of no task.

    Exact up to 16 tasks. Above, 100,000 arrangements are drawn: with n = ceil(t / 8), the i-th
    (from 0) is read from the bytes i * n to (i + 1) * n of SHAKE-256 of ``sign-flip/<seed>``, the
    least significant bit of each byte first; a 1 is a minus, over the absolute differences in
    ascending order. Any program can draw them again, and exchanging the arms draws the same.
    """
    signed, _ = whole(tuple(means))
    if not signed:
        return None
    observed = abs(sum(signed))
    sizes = sorted(map(abs, signed))
    if len(sizes) <= EXACT_TASKS:
        # Flipping every sign gives the mirrored sum, so half of the arrangements is enough.
        sums = _signed_sums(sizes[1:], sizes[0])
        extreme = 2 * sum(abs(total) >= observed for total in sums)
        return SignFlip(len(sizes), extreme, 2 ** len(sizes), exact=True)
    drawn = int(np.count_nonzero(abs(_drawn_sums(sizes, seed)) >= observed))
    return SignFlip(len(sizes), drawn + 1, FLIPS + 1, exact=False)


def smallest_sign_flip_p(tasks: int) -> Fraction:
    """Return the smallest two-sided p that so many tasks can give: 2 / 2^t, at most 1."""
    return min(Fraction(1), Fraction(2, 2**tasks))


def mcnemar(rows: Iterable[Row]) -> McNemar:
    """Return the exact McNemar test over complete pairs; only the score 1 is correct."""
    outcomes = [
        (row.task, control == 1, treatment == 1)
        for row in rows
        if (control := measured(row.control)) is not None
        and (treatment := measured(row.treatment)) is not None
    ]
    return McNemar(
        only_treatment=sum(new and not old for _, old, new in outcomes),
        only_control=sum(old and not new for _, old, new in outcomes),
        pairs=len(outcomes),
        clustered=len({task for task, _, _ in outcomes}) < len(outcomes),
    )


def discordant_floor(alpha: Fraction = Fraction(1, 20)) -> int:
    """Return how many discordant pairs, all one way, an exact McNemar test needs: 6 at 0.05.

    Raises:
        RuntimeError: alpha is not above 0.
    """
    if alpha <= 0:
        raise RuntimeError(f"a level of {alpha}; use one above 0")
    return next(n for n in count(1) if Fraction(2, 2**n) <= alpha)


def holm(p_values: Mapping[str, Fraction | None]) -> dict[str, Fraction | None]:
    """Return Holm's adjusted p-values, endpoints in the order given.

    A registered endpoint without a p-value keeps None and still counts: what could not be
    measured does not make the others easier.
    """
    known = sorted((p, name) for name, p in p_values.items() if p is not None)
    adjusted: dict[str, Fraction | None] = dict.fromkeys(p_values)
    largest = Fraction(0)
    for rank, (p, name) in enumerate(known):
        largest = max(largest, min(Fraction(1), p * (len(p_values) - rank)))
        adjusted[name] = largest
    return adjusted


def _signed_sums(values: Sequence[int], start: int) -> list[int]:
    sums = [start]
    for value in values:
        sums = [total + value for total in sums] + [total - value for total in sums]
    return sums


def _drawn_sums(values: Sequence[int], seed: int) -> NDArray[Any]:
    chunks = [values[at : at + _CHUNK] for at in range(0, len(values), _CHUNK)]
    drawn = _drawn(len(chunks), seed)
    # Whole numbers of the machine where every sum fits, of Python where one might not.
    kind = np.int64 if sum(values) < _LARGEST_SUM else np.object_
    signs = _signs().astype(kind)
    totals, of_chunk = np.zeros(FLIPS, dtype=kind), np.empty(FLIPS, dtype=kind)
    for chunk, bytes_drawn in zip(chunks, drawn, strict=True):
        of_byte = signs[:, : len(chunk)] @ np.array(chunk, dtype=kind)
        np.take(of_byte, bytes_drawn, out=of_chunk, mode="clip")
        np.add(totals, of_chunk, out=totals)
    return totals


@functools.lru_cache(maxsize=1)
def _drawn(chunks: int, seed: int) -> NDArray[np.uint8]:
    """Return a row of bytes for each chunk: every endpoint of a report flips the same signs."""
    digest = hashlib.shake_256(f"sign-flip/{seed}".encode("ascii")).digest(chunks * FLIPS)
    by_flip = np.frombuffer(digest, dtype=np.uint8).reshape(FLIPS, chunks)
    return np.ascontiguousarray(by_flip.T)


def _signs() -> NDArray[np.int64]:
    """Return the signs that each byte stands for, least significant bit first, a 1 being minus."""
    every = np.arange(2**_CHUNK, dtype=np.uint8)[:, None]
    return 1 - 2 * np.unpackbits(every, axis=1, bitorder="little").astype(np.int64)
