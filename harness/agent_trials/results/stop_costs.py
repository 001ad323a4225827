"""What the agent spent after it was sent back at a stop, at least, read from a transcript.

A stream states the prompt of every request exactly and of its output only the beginning, so what
comes out is a lower bound: prompts at the study's prices, and the output that is stated. Requests
belong to the stretch in which their first event stands; a hook's feedback begins the next stretch.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_trials.study.settings import PriceTier

FEEDBACK = "Stop hook feedback"
MILLION = 1_000_000


def stretches(transcript: bytes, prices: Sequence[PriceTier]) -> list[Decimal]:
    """Return what each stretch cost at least, USD: up to the first feedback, and after each one."""
    found = [Decimal(0)]
    seen: set[str] = set()
    for event in _events(transcript):
        if _is_feedback(event):
            found.append(Decimal(0))
        message = event.get("message")
        if event.get("type") != "assistant" or not isinstance(message, dict):
            continue
        name, usage = message.get("id"), message.get("usage")
        if isinstance(name, str) and isinstance(usage, dict) and name not in seen:
            seen.add(name)
            found[-1] += _request(usage, prices)
    return found


def _is_feedback(event: Mapping[str, Any]) -> bool:
    if event.get("type") != "user" or not event.get("isSynthetic"):
        return False
    message = event.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [{"text": content}] if isinstance(content, str) else content or []
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return any(isinstance(text, str) and FEEDBACK in text for text in texts)


def _request(usage: Mapping[str, Any], prices: Sequence[PriceTier]) -> Decimal:
    read = _count(usage.get("cache_read_input_tokens"))
    written = _count(usage.get("cache_creation_input_tokens"))
    plain = _count(usage.get("input_tokens"))
    by_life = usage.get("cache_creation")
    long = _count(by_life.get("ephemeral_1h_input_tokens")) if isinstance(by_life, dict) else 0
    prompt = plain + read + written
    tier = max(
        (each for each in prices if each.above_prompt_tokens < prompt or not prompt),
        key=lambda each: each.above_prompt_tokens,
        default=prices[0],
    )
    amount = (
        plain * tier.input
        + read * tier.cache_read
        + long * tier.cache_write_1h
        + max(0, written - long) * tier.cache_write_5m
        + _count(usage.get("output_tokens")) * tier.output
    )
    return amount / MILLION


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _events(transcript: bytes) -> Iterator[dict[str, Any]]:
    for line in transcript.split(b"\n"):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event
