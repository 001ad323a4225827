"""What arms differ in is said before any difference between them is."""

from __future__ import annotations

from typing import Any

from agent_trials.results import ways

RATES = {"input_usd_per_million": "1", "output_usd_per_million": "2"}
TIER = {
    "above_prompt_tokens": 0, "input": "1", "output": "2", "cache_read": "3",
    "cache_write_5m": "4", "cache_write_1h": "5",
}  # fmt: skip


def way(arm: str, slot: str | None, model: str, **changed: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "arm": arm, "slot": slot, "model": model, "transport": "http",
        "transportSettings": RATES, **changed,
    }  # fmt: skip


EVERY = "input 1, output 2, cache_read 3, cache_write_5m 4, cache_write_1h 5"
COMPARED = {
    "transport": "cli+http",
    "model": "small + large",
    "compares": ["model", "transport"],
    "ways": [
        way("a", None, "small"),
        way("b", None, "large", transport="cli", transportSettings={"prices": [TIER]}),
    ],
}
SLOTTED = {
    "transport": "http",
    "model": "small + large",
    "compares": [],
    "ways": [
        way(arm, slot, model)
        for arm in ("a", "b")
        for slot, model in (("s", "small"), ("l", "large"))
    ],
}
PLAIN = {"transport": "http", "model": "small", "transportSettings": RATES}


def test_a_comparison_of_models_and_transports_says_so() -> None:
    (said,) = ways.statements(COMPARED)

    assert said.startswith("The arms differ in model and transport: a asked small over http; b ask")


def test_several_models_are_named_and_their_mixture_too() -> None:
    (said,) = ways.statements(SLOTTED)

    assert said.startswith("Every task was asked of 2 models: small (s), large (l).")
    assert "figures over all pairs mix the models" in said


def test_one_way_needs_no_word() -> None:
    assert ways.statements(PLAIN) == []
    assert ways.rates(PLAIN) == []
    assert ways.models(PLAIN) == ("small",)
    assert ways.transports(PLAIN) == {"http": RATES}


def test_models_and_transports_are_those_of_every_way() -> None:
    assert ways.models(SLOTTED) == ("small", "large")
    assert list(ways.transports(COMPARED)) == ["http", "cli"]


def test_rates_are_stated_of_each_way_and_each_command() -> None:
    prices = [
        {
            "arm": "a", "model": "m", "inputPerMillionUsd": "1", "cachedInputPerMillionUsd": "0.5",
            "outputPerMillionUsd": "3",
        }
    ]  # fmt: skip

    assert ways.rates(COMPARED) == [
        "a: small over http: input 1, output 2",
        f"b: large over cli, prompts above 0 tokens: {EVERY}",
    ]
    assert ways.rates({**PLAIN, "providerPrices": prices}) == [
        "a: m, as configured: input 1, cached input 0.5, output 3"
    ]
