"""Reads the output of a `codex exec --json` process: what it showed and what is wrong.

Pure, and total: any bytes give a reading. Exit code 0 and ``turn.completed`` are both insufficient:
a completed run has both, one turn, an answer that fits, counts that can be believed, and nothing
that its command line did not allow. The order in which a status is decided stands in
``codex_rules.CLASSES``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_trials.agents import (
    codex_checks,
    codex_rules,
    codex_schema,
    codex_stream,
    codex_telemetry,
    codex_usage,
)
from agent_trials.agents.cli_rules import Finding
from agent_trials.agents.cli_stream import mapping
from agent_trials.agents.codex_stream import MCP
from agent_trials.agents.codex_usage import CountsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_trials.agents.cli_rules import ProcessFacts
    from agent_trials.agents.codex_rules import Expected
    from agent_trials.agents.codex_stream import Stream
    from agent_trials.agents.codex_usage import Usage
    from agent_trials.records import Status

_RECONNECTING = "Reconnecting..."
_ELSEWHERE = frozenset({"sub-agent", "foreign-model"})
"""What spends tokens that are not, or not all, in the figures of the model that was asked."""


@dataclass(frozen=True)
class ServerUse:
    """What shows of an MCP server: it was ready before the first request, calls, their results."""

    ready: bool
    calls: int
    answered: int


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Everything that one process showed.

    Texts in it are as model, server and provider wrote them: nothing of it is public as it stands.
    ``usage`` is this process's own, None where it is unknown, cannot be believed, or is another
    model's as well, also after a reconnect: the tokens of a reply that was cut off are in no
    figure. ``value`` is the answer as the schema's object.
    """

    status: Status
    findings: tuple[Finding, ...]
    answer: str | None
    value: Any
    usage: Usage | None
    reconnects: int
    unfinished: int
    notes: tuple[str, ...]
    servers: Mapping[str, ServerUse]
    measurements: Mapping[str, int] = field(default_factory=dict)

    @property
    def codes(self) -> tuple[str, ...]:
        """Return the code of every problem, in the order of their classes, each once."""
        return codex_rules.in_order(finding.code for finding in self.findings)


def read(
    stdout: bytes,
    process: ProcessFacts,
    expected: Expected,
    *,
    stderr: str = "",
    provider_input_bytes: int = 0,
) -> Reading:
    """Return the reading of a whole or broken-off output.

    Args:
        stdout: all that was printed.
        process: how the process ended, and when its output arrived.
        expected: what its command line lets it show.
        stderr: what it wrote there; some set-up problems show nowhere else.
        provider_input_bytes: what the CLI was given, for the telemetry.
    """
    stream = codex_stream.parse(stdout)
    done = bool(stream.of("turn.completed"))
    answer = stream.messages[-1] if stream.messages and done else None
    usage, counts = _usage(stream, expected)
    findings = (
        *codex_checks.of_process(stream, process, stderr),
        *codex_checks.of_shape(stream),
        *codex_checks.of_turn(stream),
        *codex_checks.of_setup(stream, stderr, expected),
        *codex_checks.of_conduct(stream, expected),
        *counts,
        *(codex_checks.of_answer(answer, expected) if done else ()),
    )
    codes = codex_rules.in_order(finding.code for finding in findings)
    reconnects = sum(event.message.startswith(_RECONNECTING) for event in stream.of("error"))
    fits = answer is not None and not {
        "no-answer",
        "answer-not-json",
        "answer-breaks-schema",
    }.intersection(codes)
    return Reading(
        status=codex_rules.status(codes),
        findings=findings,
        answer=answer,
        value=codex_schema.parse(answer)[0] if fits and expected.schema and answer else None,
        usage=None if reconnects or _ELSEWHERE.intersection(codes) else usage,
        reconnects=reconnects,
        unfinished=sum(not item.ended for item in stream.tools),
        notes=tuple(stream.notes),
        servers=_servers(stream, expected),
        measurements=codex_telemetry.measurements(stream, process, provider_input_bytes),
    )


def _usage(stream: Stream, expected: Expected) -> tuple[Usage | None, tuple[Finding, ...]]:
    """Return this process's tokens; of several turns the last total, which must not shrink."""
    total = expected.prior
    try:
        for event in stream.of("turn.completed"):
            now = codex_usage.read(mapping(event.data.get("usage")))
            if total is not None:
                now.since(total)
            total = now
        if total is None or not stream.of("turn.completed"):
            return None, ()
        return (total.since(expected.prior) if expected.prior else total), ()
    except CountsError as error:
        return None, (Finding("counts-invalid", str(error)),)


def _servers(stream: Stream, expected: Expected) -> dict[str, ServerUse]:
    """Return what shows of each server: a turn begins only when the required ones are ready."""
    began = bool(stream.of("turn.started"))
    found = {}
    for server in expected.servers:
        calls = [
            item
            for item in stream.items
            if item.kind == MCP and item.data.get("server") == server.name
        ]
        answered = sum(map(codex_checks.is_answered, calls))
        found[server.name] = ServerUse(server.required and began, len(calls), answered)
    return found
