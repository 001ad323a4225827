from __future__ import annotations

import decimal
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials import money
from agent_trials.agents import metering
from agent_trials.agents.metering import Ceiling, DoesNotFitError, Meter, Rates, UsageError

if TYPE_CHECKING:
    from random import Random

RATES = Rates(Decimal("0.50"), Decimal("2.50"))


def meter(limit: str = "0.10", max_tokens: int = 1024) -> Meter:
    return Meter(Decimal(limit), RATES, max_tokens)


def usage(input_tokens: object = 100, output_tokens: object = 10, **more: object) -> dict[str, Any]:
    return {"usage": {"input_tokens": input_tokens, "output_tokens": output_tokens, **more}}


def test_ceiling_is_twice_the_bytes_and_the_protocol_and_all_of_the_output() -> None:
    ceiling = Ceiling.of(1000, 1024, RATES)

    assert ceiling.input_tokens == 2 * 1000 + 8192
    assert ceiling.usd == (10192 * Decimal("0.50") + 1024 * Decimal("2.50")) / 1_000_000


def test_refuses_the_request_whose_ceiling_does_not_fit_in_what_is_left() -> None:
    """Guard: without it an attempt spends more than was reserved for it."""
    exact = Ceiling.of(0, 1024, RATES).usd
    assert exact == Decimal("0.006656")

    fits = meter("0.006656")
    assert fits.open(0) == 1
    with pytest.raises(DoesNotFitError) as refused:
        meter("0.006656").open(1)

    assert refused.value.left == Decimal("0.006656")
    assert refused.value.ceiling == Decimal("0.006657")


def test_open_requests_count_at_their_ceiling_against_the_limit() -> None:
    """Guard: two requests that fit one by one need not fit together."""
    twice = meter("0.0133")
    twice.open(0)
    with pytest.raises(DoesNotFitError):
        twice.open(0)

    assert twice.requests == 1


def test_limit_is_rounded_down_before_anything_is_held_against_it() -> None:
    """Guard: a limit of more than six places would be above what the ledger holds for it."""
    assert Ceiling.of(0, 1, RATES).usd == Decimal("0.0040985")

    with pytest.raises(DoesNotFitError):
        meter("0.0040985", max_tokens=1).open(0)
    assert meter("0.004099", max_tokens=1).open(0) == 1


def test_valid_usage_releases_the_ceiling() -> None:
    one = meter()
    number = one.open(500)
    before = one.charged
    one.settle(number, usage())

    assert before == Ceiling.of(500, 1024, RATES).usd
    assert one.charged == Decimal("0.000075")
    assert one.complete


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, metering.USAGE_LOST),
        ({"usage": None}, metering.USAGE_LOST),
        ({"usage": []}, metering.USAGE_LOST),
        ({"usage": {"input_tokens": 1}}, metering.USAGE_LOST),
        ({"usage": {"output_tokens": 1}}, metering.USAGE_LOST),
        (usage(input_tokens=None), metering.USAGE_LOST),
        (usage(input_tokens=-1), metering.USAGE_INVALID),
        (usage(output_tokens=-1), metering.USAGE_INVALID),
        (usage(input_tokens="100"), metering.USAGE_INVALID),
        (usage(input_tokens=100.0), metering.USAGE_INVALID),
        (usage(output_tokens=True), metering.USAGE_INVALID),
        (usage(input_tokens=2 * 500 + 8192 + 1), metering.USAGE_ABOVE_CEILING),
        (usage(output_tokens=1025), metering.USAGE_ABOVE_CEILING),
        (usage(cache_read_input_tokens=1), metering.USAGE_CACHED),
        (usage(cache_creation_input_tokens=1), metering.USAGE_CACHED),
        (usage(cache_read_input_tokens=-1), metering.USAGE_INVALID),
    ],
    ids=[
        "none", "null", "no object", "no output", "no input", "null input", "negative input",
        "negative output", "text", "float", "boolean", "input above", "output above", "cache read",
        "cache written", "negative cache",
    ],
)  # fmt: skip
def test_lost_or_invalid_usage_keeps_the_ceiling(body: dict[str, Any], code: str) -> None:
    """Guard, one per field: a provider's mistake must not make the recorded spend smaller."""
    one = meter()
    number = one.open(500)
    with pytest.raises(UsageError) as invalid:
        one.settle(number, body)

    assert invalid.value.code == code
    assert one.charged == Ceiling.of(500, 1024, RATES).usd
    assert not one.complete
    assert one.total("input_tokens") is None


def test_usage_at_its_ceiling_is_valid() -> None:
    one = meter()
    one.settle(one.open(500), usage(2 * 500 + 8192, 1024, cache_read_input_tokens=0))

    assert one.charged == Ceiling.of(500, 1024, RATES).usd
    assert one.total("cache_read_input_tokens") == 0


def test_counts_that_no_answer_stated_are_missing_and_not_zero() -> None:
    one = meter()
    assert one.total("input_tokens") is None

    one.settle(one.open(1), usage(7, 3))

    assert one.total("input_tokens") == 7
    assert one.total("cache_read_input_tokens") is None


def test_nothing_asked_is_nothing_charged_and_not_complete() -> None:
    assert meter().charged == 0
    assert not meter().complete


def test_the_operators_decimal_context_changes_no_amount() -> None:
    """Whoever runs pytest may have a context of four digits; money must not notice."""
    with decimal.localcontext(decimal.Context(prec=4, rounding=decimal.ROUND_FLOOR)):
        one = meter()
        number = one.open(12345)
        opened = one.charged
        one.settle(number, usage(12345, 567))
        settled = one.charged

    assert opened == Decimal("0.019001")
    assert settled == Decimal("0.00759")


_SEND = st.tuples(
    st.integers(0, 200_000),  # bytes of the body
    st.floats(0, 1),  # how much of its ceiling the provider bills
    st.sampled_from(["settled", "lost", "negative", "above", "cached"]),
)


def _answer(ceiling: Ceiling, share: float, fate: str) -> dict[str, Any]:
    counts = [int(ceiling.input_tokens * share), int(ceiling.output_tokens * share)]
    if fate == "negative":
        counts[0] = -counts[0] - 1
    if fate == "above":
        counts[1] = ceiling.output_tokens + 1
    return usage(*counts, cache_read_input_tokens=int(fate == "cached"))


@given(
    sends=st.lists(_SEND, max_size=12),
    order=st.randoms(use_true_random=False),
    limit=st.decimals("0.001", "1", places=7),
)
def test_no_order_of_events_charges_less_than_was_billed_or_more_than_the_limit(
    sends: list[tuple[int, float, str]], order: Random, limit: Decimal
) -> None:
    """Law: whatever is lost, refused or lied about, and in whatever order answers are read."""
    one = Meter(limit, RATES, 1024)
    billed, waiting = Decimal(0), []
    for size, share, fate in sends:
        try:
            number = one.open(size)
        except DoesNotFitError:
            continue
        ceiling = Ceiling.of(size, 1024, RATES)
        billed += RATES.price(int(ceiling.input_tokens * share), int(1024 * share))
        if fate != "lost":
            waiting.append((number, _answer(ceiling, share, fate)))
        assert one.charged <= money.limit(limit)
    order.shuffle(waiting)
    for number, body in waiting:
        try:
            one.settle(number, body)
        except UsageError:
            assert body != usage()
        assert billed <= one.charged <= money.limit(limit)

    assert one.lower <= one.charged
    assert billed <= one.charged
