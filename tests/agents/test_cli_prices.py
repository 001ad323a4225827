from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.agents.cli_prices import (
    Interval,
    RequestUsage,
    Tokens,
    agree,
    compute,
    per_request,
    tier_of,
    whole_attempt,
)
from recordings import PRICES

SEARCH = Decimal("0.01")
BASE, UPPER = PRICES

# input, output, read, write 5m, write 1h -> USD, as the CLI itself reported them.
VECTORS = [
    ((4900, 210, 1500, 0, 500), "0.00071"),
    ((1000, 100, 5000, 2000, 0), "0.00045"),
    ((1000, 100, 5000, 0, 2000), "0.0006"),
    ((60000, 100, 60000, 0, 0), "0.03325"),
    ((10000, 100, 20000, 80000, 0), "0.05625"),
    ((100000, 10, 0, 0, 0), "0.010005"),
    ((100001, 10, 0, 0, 0), "0.0500255"),
    ((60000, 10, 40000, 0, 0), "0.006405"),
    ((60000, 10, 20000, 0, 30000), "0.061025"),
    ((1000, 100, 5000, 3000, 0), "0.000575"),
    ((1000, 100, 5000, 0, 3000), "0.0008"),
    ((1000, 100, 5000, 2000, 3000), "0.00105"),
    ((100000, 100, 0, 0, 0), "0.01005"),
    ((100001, 100, 0, 0, 0), "0.0502505"),
]


def _tokens(counts: tuple[int, int, int, int, int]) -> Tokens:
    names = ("input", "output", "cache_read", "write_5m", "write_1h")
    return Tokens(**dict(zip(names, counts, strict=True)))


def _requests(*tokens: Tokens, known: bool = False) -> list[RequestUsage]:
    return [RequestUsage(one, output_known=known) for one in tokens]


@pytest.mark.parametrize(("counts", "usd"), VECTORS, ids=[str(v[0]) for v in VECTORS])
def test_one_request_costs_what_the_cli_reported(
    counts: tuple[int, int, int, int, int], usd: str
) -> None:
    tokens = _tokens(counts)

    exact = Interval(Decimal(usd), Decimal(usd))
    assert per_request(tokens, _requests(tokens), PRICES, SEARCH) == exact
    assert whole_attempt(tokens, tokens.prompt, PRICES, SEARCH)[0] == Decimal(usd)


def test_a_prompt_is_input_and_cache_reads_and_writes() -> None:
    """99,001 tokens read from the cache and 1,000 new ones are a prompt above 100,000."""
    assert tier_of(Tokens(input=1000, cache_read=99_001).prompt, PRICES) is UPPER
    assert tier_of(Tokens(input=999, write_1h=99_001).prompt, PRICES) is BASE
    assert tier_of(Tokens(input=1000, write_5m=99_001).prompt, PRICES) is UPPER


def test_the_order_of_the_tiers_in_the_table_does_not_matter() -> None:
    assert tier_of(100_000, tuple(reversed(PRICES))) is BASE
    assert tier_of(100_001, tuple(reversed(PRICES))) is UPPER
    assert tier_of(0, tuple(reversed(PRICES))) is BASE


def test_each_request_is_priced_in_its_own_tier() -> None:
    """Four requests of 90k, 90k, 90k and 110k: the whole-attempt rule would triple the cost."""
    parts = [Tokens(input=size, output=10) for size in (90_000, 90_000, 90_000, 110_000)]
    totals = Tokens(input=380_000, output=40)

    interval = per_request(totals, _requests(*parts, known=True), PRICES, SEARCH)

    assert interval == Interval(Decimal("0.08204"), Decimal("0.08204"))
    assert whole_attempt(totals, 110_000, PRICES, SEARCH)[0] == Decimal("0.1901")


def test_output_that_the_stream_does_not_divide_makes_an_interval() -> None:
    """Start snapshots say nothing of the output, so it may all lie in either tier."""
    parts = [Tokens(input=60_000, output=1), Tokens(input=112_000, output=1)]
    totals = Tokens(input=172_000, output=300)

    interval = per_request(totals, _requests(*parts), PRICES, SEARCH)

    assert interval == Interval(Decimal("0.06215"), Decimal("0.06275"))
    assert interval.nearest(Decimal("0.0625")) == Decimal("0.0625")
    assert interval.nearest(Decimal("0.01")) == Decimal("0.06215")
    assert interval.nearest(Decimal(1)) == Decimal("0.06275")
    assert interval.nearest(None) == Decimal("0.06275")


def test_a_small_rest_without_an_event_belongs_to_the_lower_tier() -> None:
    """A cut stream shows in the totals only; a rest of 5,000 tokens is no prompt above 100,000."""
    totals = Tokens(input=106_000, output=20)

    interval = per_request(totals, _requests(Tokens(input=101_000)), PRICES, SEARCH)

    assert interval == Interval(Decimal("0.05101"), Decimal("0.05105"))


def test_a_large_rest_without_an_event_may_lie_in_every_tier() -> None:
    interval = per_request(Tokens(input=150_000), [], PRICES, SEARCH)

    assert interval == Interval(Decimal("0.015"), Decimal("0.075"))


def test_a_write_of_unknown_life_costs_the_hourly_rate_in_both_figures() -> None:
    """The CLI takes the 5-minute rate; the study protocol the 1-hour one, which is dearer."""
    totals = Tokens(input=1000, output=100, cache_read=5000, write_unattributed=3000)

    computed = compute(
        totals, _requests(totals), Decimal("0.000575"), PRICES, rule="per-request",
        web_search_usd=SEARCH,
    )  # fmt: skip

    assert computed.charged == Decimal("0.0008")
    assert computed.agrees


def test_every_web_search_has_its_price() -> None:
    totals = Tokens(input=1000, output=100, web_searches=3)

    assert per_request(totals, [], PRICES, SEARCH).low == Decimal("0.03015")
    assert whole_attempt(totals, None, PRICES, SEARCH)[0] == Decimal("0.03015")


def test_without_requests_the_aggregate_prompt_decides_the_whole_attempts_tier() -> None:
    totals = Tokens(input=100_001)

    assert whole_attempt(totals, None, PRICES, SEARCH) == (
        Decimal("0.0500005"), "above-100000-by-aggregate-prompt",
    )  # fmt: skip
    assert whole_attempt(totals, 60_000, PRICES, SEARCH) == (
        Decimal("0.0100001"), "above-0-by-largest-request",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("reported", "computed", "agreed"),
    [
        ("0", "0", True),
        ("0", "0.000001", False),
        ("0.000001", "0", False),
        ("0.1", "0.2", True),
        ("0.2", "0.1", True),
        ("0.1", "0.200000000001", False),
        ("0.200000000001", "0.1", False),
    ],
)
def test_costs_agree_within_a_factor_of_two(reported: str, computed: str, agreed: bool) -> None:  # noqa: FBT001 - a column of the table
    assert agree(Decimal(reported), Decimal(computed)) is agreed


def _crossing() -> tuple[Tokens, list[RequestUsage]]:
    parts = [Tokens(input=95_000, output=1) for _ in range(5)] + [Tokens(input=101_000, output=1)]
    return Tokens(input=576_000, output=60), _requests(*parts)


def test_the_other_figure_is_charged_where_the_tier_rules_own_does_not_agree() -> None:
    """A healthy long attempt: the CLI is exactly right, the whole-attempt figure three times it."""
    totals, requests = _crossing()

    computed = compute(
        totals, requests, Decimal("0.09805"), PRICES, rule="whole-attempt", web_search_usd=SEARCH
    )

    assert computed.whole_attempt == Decimal("0.28815")
    assert computed.charged == Decimal("0.09805")
    assert computed.agrees
    assert computed.basis == "per-request"


def test_the_tier_rules_figure_is_charged_where_both_agree() -> None:
    parts = [Tokens(input=60_000, output=1), Tokens(input=112_000, output=1)]
    totals, reported = Tokens(input=172_000, output=300), Decimal("0.0627")

    figures = {
        rule: compute(
            totals, _requests(*parts), reported, PRICES, rule=rule, web_search_usd=SEARCH
        ).charged
        for rule in ("per-request", "whole-attempt")
    }

    assert figures == {"per-request": reported, "whole-attempt": Decimal("0.08675")}


def test_nothing_agrees_without_a_reported_cost() -> None:
    totals, requests = _crossing()

    computed = compute(totals, requests, None, PRICES, rule="per-request", web_search_usd=SEARCH)

    assert not computed.agrees


COUNTS = st.integers(min_value=0, max_value=300_000)
TOKENS = st.builds(
    Tokens,
    input=COUNTS,
    output=COUNTS,
    cache_read=COUNTS,
    write_5m=COUNTS,
    write_1h=COUNTS,
    write_unattributed=COUNTS,
)


def _sum(parts: list[Tokens]) -> Tokens:
    names = ("input", "output", "cache_read", "write_5m", "write_1h", "write_unattributed")
    return Tokens(**{name: sum(getattr(part, name) for part in parts) for name in names})


@given(parts=st.lists(TOKENS, min_size=1, max_size=6), hidden=st.integers(0, 6), data=st.data())
def test_the_interval_always_holds_the_true_cost(
    parts: list[Tokens], hidden: int, data: st.DataObject
) -> None:
    """Whatever the stream hides - outputs, whole requests - the exact price lies inside."""
    true = sum(
        (per_request(part, _requests(part, known=True), PRICES, SEARCH).low for part in parts),
        Decimal(0),
    )
    requests = [
        RequestUsage(part, output_known=data.draw(st.booleans())) for part in parts[hidden:]
    ]

    interval = per_request(_sum(parts), requests, PRICES, SEARCH)

    assert interval.low <= true <= interval.high


@given(totals=TOKENS, parts=st.lists(TOKENS, max_size=6))
def test_totals_are_priced_even_where_the_stream_contradicts_them(
    totals: Tokens, parts: list[Tokens]
) -> None:
    """Start snapshots may exceed the final counts: the totals are what is priced."""
    interval = per_request(totals, _requests(*parts), PRICES, SEARCH)
    cheapest = whole_attempt(totals, 0, PRICES, SEARCH)[0]
    dearest = whole_attempt(totals, 100_001, PRICES, SEARCH)[0]

    assert interval.low <= interval.high
    assert cheapest <= interval.low
    assert interval.high <= dearest
