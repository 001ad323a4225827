"""What an attempt costs by the price table, under both tier rules; pure arithmetic over counts.

Rules, each with one function:
    a request's tier is the last whose bound its prompt passes            -> tier_of
        (prompt = input + cache reads + cache writes; the bound itself is the lower tier)
    per request: each request in its own tier, as the CLI prices          -> per_request
    whole attempt: everything in the tier of the largest prompt           -> whole_attempt
    two costs agree when equal or within a factor of two                  -> agree
    what is charged is the tier rule's figure if it agrees, else the other -> compute

The per-request figure is an interval where the stream does not tell how output divides between
tiers, or how large a request without an event was. It counts as its point nearest the reported
cost. A cache write of unknown life costs the 1-hour rate in both figures, the dearer one (the CLI
takes the 5-minute rate).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING

from agent_trials.money import MILLION, ZERO

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Literal

    from agent_trials.study.settings import PriceTier

    TierRule = Literal["per-request", "whole-attempt"]

_EXACT = Context(prec=60)
_PLACES = Decimal("1e-12")


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Token counts of one request or many; ``input`` is without cache reads and writes."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    write_5m: int = 0
    write_1h: int = 0
    write_unattributed: int = 0
    web_searches: int = 0

    @property
    def cache_write(self) -> int:
        """Return all tokens written to a cache, whatever their life."""
        return self.write_5m + self.write_1h + self.write_unattributed

    @property
    def hour_writes(self) -> int:
        """Return the writes priced at the 1-hour rate: those of unknown life too."""
        return self.write_1h + self.write_unattributed

    @property
    def prompt(self) -> int:
        """Return the size that decides the tier."""
        return self.input + self.cache_read + self.cache_write


@dataclass(frozen=True)
class RequestUsage:
    """One request that the stream shows; ``output_known`` is False for a start snapshot."""

    tokens: Tokens
    output_known: bool = False


@dataclass(frozen=True)
class Interval:
    """Bounds of a cost in USD, both included."""

    low: Decimal
    high: Decimal

    def nearest(self, point: Decimal | None) -> Decimal:
        """Return the point of the interval nearest to another cost; without one, the upper end."""
        if point is None:
            return self.high
        return min(max(point, self.low), self.high)


@dataclass(frozen=True)
class Computed:
    """Both figures in USD, and which of them counts.

    ``charged`` is the tier rule's figure if it agrees with the reported cost, else the other if
    that agrees, else the tier rule's. ``basis`` names the figure by a code.
    """

    per_request: Decimal
    whole_attempt: Decimal
    charged: Decimal
    agrees: bool
    basis: str


def tier_of(prompt: int, prices: Sequence[PriceTier]) -> PriceTier:
    """Return the tier of a prompt of so many tokens; below every bound it is the lowest."""
    ordered = sorted(prices, key=lambda tier: tier.above_prompt_tokens)
    passed = [tier for tier in ordered if prompt > tier.above_prompt_tokens]
    return passed[-1] if passed else ordered[0]


def whole_attempt(
    totals: Tokens, largest: int | None, prices: Sequence[PriceTier], web_search_usd: Decimal
) -> tuple[Decimal, str]:
    """Return the cost with everything in one tier, and a code for the tier and its source.

    ``largest`` is the largest prompt of a single request; None lets the aggregate prompt decide,
    which is an upper bound.
    """
    tier = tier_of(totals.prompt if largest is None else largest, prices)
    source = "aggregate-prompt" if largest is None else "largest-request"
    cost = _in_one_tier(totals, tier) + totals.web_searches * web_search_usd
    return cost, f"above-{tier.above_prompt_tokens}-by-{source}"


def per_request(
    totals: Tokens,
    requests: Sequence[RequestUsage],
    prices: Sequence[PriceTier],
    web_search_usd: Decimal,
) -> Interval:
    """Return the bounds of the cost with each request in its own tier.

    ``totals`` is what has to be priced; ``requests`` tells how it divides. What the totals hold
    beyond the requests belongs to requests without an event, each at most as large as that rest.
    Where the requests show more than the totals, the totals are filled from them either way.
    """
    seen = [(request, tier_of(request.tokens.prompt, prices)) for request in requests]
    hidden = _hidden_tiers(totals, [request.tokens for request in requests], prices)
    searches = totals.web_searches * web_search_usd
    possible = {tier.above_prompt_tokens: tier for tier in (*hidden, *(tier for _, tier in seen))}
    if len(possible) == 1:
        [only] = possible.values()
        exact = _in_one_tier(totals, only) + searches
        return Interval(exact, exact)
    parts = [
        _bounds(
            totals.input,
            [_Lot(request.tokens.input, tier.input) for request, tier in seen],
            _spread(tier.input for tier in hidden),
        ),
        _bounds(
            totals.cache_read,
            [_Lot(request.tokens.cache_read, tier.cache_read) for request, tier in seen],
            _spread(tier.cache_read for tier in hidden),
        ),
        *_write_bounds(totals, seen, hidden),
        _output_bounds(totals, seen, hidden),
    ]
    return Interval(
        _usd(sum((part.low for part in parts), ZERO)) + searches,
        _usd(sum((part.high for part in parts), ZERO)) + searches,
    )


def agree(reported: Decimal, computed: Decimal) -> bool:
    """Tell whether two costs are equal or within a factor of two; two zeros agree."""
    return reported <= 2 * computed and computed <= 2 * reported


def compute(
    totals: Tokens,
    requests: Sequence[RequestUsage],
    reported: Decimal | None,
    prices: Sequence[PriceTier],
    *,
    rule: TierRule,
    web_search_usd: Decimal,
) -> Computed:
    """Return both figures, and the one that is charged."""
    interval = per_request(totals, requests, prices, web_search_usd)
    largest = max((request.tokens.prompt for request in requests), default=None)
    whole, whole_basis = whole_attempt(totals, largest, prices, web_search_usd)
    point = interval.nearest(reported)
    figures = [(point, "per-request"), (whole, whole_basis)]
    if rule == "whole-attempt":
        figures.reverse()
    agreeing = [pair for pair in figures if reported is not None and agree(reported, pair[0])]
    charged, basis = (agreeing or figures)[0]
    return Computed(point, whole, charged, agrees=bool(agreeing), basis=basis)


@dataclass(frozen=True)
class _Lot:
    """Tokens that are known to be in one request, and their rate per million."""

    tokens: int
    rate: Decimal


def _in_one_tier(tokens: Tokens, tier: PriceTier) -> Decimal:
    return _usd(
        tokens.input * tier.input
        + tokens.output * tier.output
        + tokens.cache_read * tier.cache_read
        + tokens.write_5m * tier.cache_write_5m
        + tokens.hour_writes * tier.cache_write_1h
    )


def _bounds(total: int, lots: Sequence[_Lot], rest: Interval) -> Interval:
    """Return the bounds of ``total`` tokens, first from the lots, then at the rates of the rest."""
    left = total - sum(lot.tokens for lot in lots)
    if left < 0:
        cheap_first = sorted(lots, key=lambda lot: lot.rate)
        return Interval(_fill(total, cheap_first), _fill(total, reversed(cheap_first)))
    known = sum((lot.tokens * lot.rate for lot in lots), ZERO)
    return Interval(known + left * rest.low, known + left * rest.high)


def _fill(total: int, lots: Iterable[_Lot]) -> Decimal:
    units = ZERO
    for lot in lots:
        taken = min(lot.tokens, total)
        units += taken * lot.rate
        total -= taken
    return units


def _write_bounds(
    totals: Tokens, seen: Sequence[tuple[RequestUsage, PriceTier]], hidden: Sequence[PriceTier]
) -> list[Interval]:
    """Return the bounds of the cache writes of either life; the totals' word on lives holds."""
    possible = [*hidden, *(t for r, t in seen if r.tokens.write_unattributed)]
    anywhere = possible or [tier for _, tier in seen]
    return [
        _bounds(
            totals.write_5m,
            [_Lot(request.tokens.write_5m, tier.cache_write_5m) for request, tier in seen],
            _spread(tier.cache_write_5m for tier in anywhere),
        ),
        _bounds(
            totals.hour_writes,
            [_Lot(request.tokens.hour_writes, tier.cache_write_1h) for request, tier in seen],
            _spread(tier.cache_write_1h for tier in anywhere),
        ),
    ]


def _output_bounds(
    totals: Tokens, seen: Sequence[tuple[RequestUsage, PriceTier]], hidden: Sequence[PriceTier]
) -> Interval:
    """Return the bounds of the output: known ends at their tier, the rest where it can be."""
    lots = [_Lot(r.tokens.output, tier.output) for r, tier in seen if r.output_known]
    possible = [tier.output for r, tier in seen if not r.output_known]
    possible += [tier.output for tier in hidden]
    return _bounds(totals.output, lots, _spread(possible or [tier.output for _, tier in seen]))


def _hidden_tiers(
    totals: Tokens, requests: Sequence[Tokens], prices: Sequence[PriceTier]
) -> list[PriceTier]:
    """Return the tiers in which requests without an event can have been; none if there are none."""
    rest = sum(
        max(0, total - shown)
        for total, shown in (
            (totals.input, sum(tokens.input for tokens in requests)),
            (totals.cache_read, sum(tokens.cache_read for tokens in requests)),
            (totals.cache_write, sum(tokens.cache_write for tokens in requests)),
        )
    )
    if not rest and requests:
        return []
    top = tier_of(rest, prices).above_prompt_tokens
    bottom = min(tier.above_prompt_tokens for tier in prices)
    return [tier for tier in prices if bottom <= tier.above_prompt_tokens <= top]


def _spread(rates: Iterable[Decimal]) -> Interval:
    found = sorted(rates) or [ZERO]
    return Interval(found[0], found[-1])


def _usd(units: Decimal) -> Decimal:
    """Return tokens x USD per million as USD, half-even at 12 places."""
    cost = _EXACT.divide(units, MILLION)
    return cost.quantize(_PLACES, rounding=ROUND_HALF_EVEN, context=_EXACT)
