"""How each arm went to its model, as a ledger's run-opened states it.

Most ledgers have one way, and no ``ways``. Where arms differ in model or transport, or several
models answered, each way stands there in full; who reads a difference must know it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


TIER = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
CONFIGURED = (
    ("input", "inputPerMillionUsd"),
    ("cached input", "cachedInputPerMillionUsd"),
    ("output", "outputPerMillionUsd"),
)


def models(opening: Mapping[str, Any]) -> tuple[str, ...]:
    """Return every model that was asked."""
    named = [str(way["model"]) for way in opening.get("ways", ())]
    return tuple(dict.fromkeys(named or [str(opening["model"])]))


def transports(opening: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return every transport that was used, with the settings of the first way over it."""
    found: dict[str, Mapping[str, Any]] = {}
    for way in opening.get("ways", ()):
        found.setdefault(str(way["transport"]), way["transportSettings"])
    return found or {str(opening["transport"]): opening.get("transportSettings", {})}


def statements(opening: Mapping[str, Any]) -> list[str]:
    """Return what must be read before any difference between arms is."""
    found = []
    ways, compares = opening.get("ways", ()), opening.get("compares", ())
    if compares:
        words = " and ".join(compares)
        arms = [
            f"{way['arm']} asked {way['model']} over {way['transport']}"
            for way in ways
            if way["slot"] in {None, ways[0]["slot"]}
        ]
        found.append(
            f"The arms differ in {words}: {'; '.join(arms)}. A difference between them is one of"
            f" {words}, and of whatever else these arms do not share."
        )
    slots = {way["slot"]: way["model"] for way in ways if way["slot"] is not None}
    if slots:
        named = ", ".join(f"{model} ({slot})" for slot, model in slots.items())
        found.append(
            f"Every task was asked of {len(slots)} models: {named}. All arms of a pair asked the"
            " same one; figures over all pairs mix the models."
        )
    return found


def rates(opening: Mapping[str, Any]) -> list[str]:
    """Return the rates of each model or arm that has its own, in words; USD per million tokens."""
    found = []
    for way in opening.get("ways", ()):
        settings, slot = way["transportSettings"], f" ({way['slot']})" if way["slot"] else ""
        who = f"{way['arm']}: {way['model']}{slot} over {way['transport']}"
        if "input_usd_per_million" in settings:
            upper = (settings["input_usd_per_million"], settings["output_usd_per_million"])
            found.append(f"{who}: input {upper[0]}, output {upper[1]}")
        for tier in settings.get("prices", ()):
            above = tier["above_prompt_tokens"]
            per = ", ".join(f"{name} {tier[name]}" for name in TIER)
            found.append(f"{who}, prompts above {above} tokens: {per}")
    for each in opening.get("providerPrices", ()):
        per = ", ".join(f"{name} {each[key]}" for name, key in CONFIGURED)
        found.append(f"{each['arm']}: {each['model']}, as configured: {per}")
    return found
