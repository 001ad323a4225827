"""What the Codex adapter says of a run: the reply of the provider contract.

The semantic fields are the model's own word, as the schema had it say them. Counts, tokens and
telemetry are what the CLI printed. A run that is not completed says so under ``execution``: that
can make an attempt invalid or failed, and never completed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_trials.agents import codex_schema
from agent_trials.records import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_trials.agents.codex_reading import Reading


def of_reading(reading: Reading) -> dict[str, Any]:
    """Return the reply of a run that was started."""
    said = {} if reading.value is None else codex_schema.observed(reading.value)
    reply = said | _tokens(reading)
    measured = dict(reading.measurements) | reply.pop("measurements", {})
    if reading.usage is not None and reading.usage.reasoning is not None:
        measured["reasoningOutputTokens"] = reading.usage.reasoning
    reply["toolCalls"] = reading.measurements["observedToolEventCount"]
    reply["measurements"] = measured
    if reading.servers:
        reply["servers"] = {
            name: {"ready": use.ready, "calls": use.calls, "answered": use.answered}
            for name, use in reading.servers.items()
        }
    if reading.status is not Status.COMPLETED:
        reply["execution"] = execution(reading.status, reading.codes)
    return reply


def execution(status: Status, codes: Iterable[str]) -> dict[str, Any]:
    """Return why an attempt is not completed."""
    return {"status": status.value, "problems": list(codes)}


def _tokens(reading: Reading) -> dict[str, Any]:
    if reading.usage is None:
        return {}
    found = {"inputTokens": reading.usage.input, "outputTokens": reading.usage.output}
    cached = {} if reading.usage.cached is None else {"cachedInputTokens": reading.usage.cached}
    return found | cached | {"tokenMethod": "provider"}
