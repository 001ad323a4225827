from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from agent_trials.results.reviewed_rows import turn
from agent_trials.results.stop_costs import stretches
from agent_trials.study.settings import PriceTier
from reviewed_rows import asks

LOW, HIGH = (
    PriceTier(
        above_prompt_tokens=above,
        input=Decimal(1) * times,
        output=Decimal(10) * times,
        cache_read=Decimal("0.1") * times,
        cache_write_5m=Decimal(2) * times,
        cache_write_1h=Decimal(4) * times,
    )
    for above, times in ((0, 1), (100_000, 5))
)
PRICES = (LOW, HIGH)


def request(name: str, **usage: Any) -> dict[str, Any]:  # noqa: ANN401 - counts by name
    message = {"id": name, "usage": usage, "content": []}
    return {"type": "assistant", "message": message}


def feedback(text: str = "Stop hook feedback:\nnot yet") -> dict[str, Any]:
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return {"type": "user", "isSynthetic": True, "message": message}


def stream(*events: dict[str, Any]) -> bytes:
    return b"not json\n" + b"".join(json.dumps(event).encode() + b"\n" for event in events)


def test_requests_count_where_their_first_event_stands() -> None:
    """A message with several blocks is several events and one request."""
    first, later = request("a", input_tokens=1000), request("b", input_tokens=3000)

    found = stretches(stream(first, first, feedback(), later, feedback()), PRICES)

    assert found == [Decimal("0.001"), Decimal("0.003"), Decimal(0)]


def test_every_class_of_tokens_has_its_price_and_a_long_prompt_its_tier() -> None:
    usage = {
        "input_tokens": 1000,
        "output_tokens": 100,
        "cache_read_input_tokens": 10_000,
        "cache_creation_input_tokens": 3000,
        "cache_creation": {"ephemeral_1h_input_tokens": 1000},
    }
    # 1000 at 1, 100 at 10, 10000 at 0.1, 2000 at 2 and 1000 at 4
    assert stretches(stream(request("a", **usage)), PRICES) == [Decimal("0.011")]
    long = stretches(stream(request("a", input_tokens=100_001)), PRICES)
    assert long == [Decimal("0.500005")]
    at = stretches(stream(request("a", input_tokens=100_000)), PRICES)
    assert at == [Decimal("0.1")]


def test_what_else_the_cli_adds_begins_no_stretch() -> None:
    said = feedback("Output token limit hit. Resume directly")

    assert len(stretches(stream(said, {"type": "user", "message": {"content": "x"}}), PRICES)) == 1


def test_a_stop_at_which_the_agent_was_sent_back_gets_what_came_after() -> None:
    observation = {
        "status": "completed",
        "stops": [{"stop": at, "atMs": at, "passed": True} for at in (1, 2)],
    }
    spent = [Decimal(5), Decimal(7)]

    found = turn(observation, (asks(), asks(delivered=False)), spent)

    assert [stop.agent_cost_after for stop in found.stops] == [Decimal(7), None]
