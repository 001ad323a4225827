"""Counts, bytes and durations of a Codex run: no command, path, prompt or answer is in them.

The names are those of the study provider CLI contract. Tool events are a lower bound: calls that
the CLI refuses itself have no event. Bytes of outputs are what was printed, which is more than the
model read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agent_trials.agents.codex_stream import COMMAND, MCP

if TYPE_CHECKING:
    from agent_trials.agents.cli_rules import ProcessFacts
    from agent_trials.agents.codex_stream import Event, Item, Stream

_INPUTS = ("arguments", "changes", "query", "prompt")
_OUTPUTS = ("result", "error", "agents_states")


def measurements(
    stream: Stream, process: ProcessFacts, provider_input_bytes: int
) -> dict[str, int]:
    """Return the measurements of a run, only what was observed.

    Args:
        stream: what was printed.
        process: its wall time and the arrival of its output.
        provider_input_bytes: bytes of prompt and schema that the CLI was given.
    """
    tools = stream.tools
    given, got = sum(map(_input_bytes, tools)), sum(map(_output_bytes, tools))
    said = sum(len(encoded(message)) for message in stream.messages)
    found: dict[str, int | None] = {
        "observedToolEventCount": len(tools),
        "observedToolInputBytes": given,
        "observedToolOutputBytes": got,
        "observedProviderInputBytes": provider_input_bytes,
        "observedAgentMessageBytes": said,
        "observedContextBytes": given + got + said + provider_input_bytes,
        "observedProviderDurationMs": process.wall_time_ms,
        "timeToFirstToolEventMs": arrival(tools[0].first, process) if tools else None,
    }
    return {name: figure for name, figure in found.items() if figure is not None}


def arrival(event: Event, process: ProcessFacts) -> int | None:
    """Return the milliseconds until an event's whole line was there, None if that is unknown."""
    return next((at for size, at in process.arrivals if size >= event.end), None)


def encoded(value: str) -> bytes:
    """Return the UTF-8 bytes of a text, lone surrogates replaced."""
    return value.encode("utf-8", "replace")


def _input_bytes(item: Item) -> int:
    if item.kind == COMMAND:
        return _size(item.data.get("command"))
    return sum(_size(item.data.get(name)) for name in _INPUTS)


def _output_bytes(item: Item) -> int:
    if item.kind == COMMAND:
        return _size(item.data.get("aggregated_output"))
    if item.kind == MCP:
        result = item.data.get("result")
        return _size(item.data.get("error") if result is None else result)
    return sum(_size(item.data.get(name)) for name in _OUTPUTS)


def _size(value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, str):
        return len(encoded(value))
    return len(encoded(json.dumps(value, ensure_ascii=False, separators=(",", ":"))))
