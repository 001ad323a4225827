"""Reads the output of a Claude CLI process: what it showed, what is wrong, what it costs.

Pure, and total: any bytes give a reading. The order in which a status is decided stands in
``cli_rules.CLASSES``. What is charged:
    completed      -> the larger of the reported and the computed cost
    anything else  -> the larger of the reservation and every valid cost
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_trials import money
from agent_trials.agents import cli_checks, cli_costs, cli_rules, cli_stream, cli_usage
from agent_trials.agents.cli_rules import Finding
from agent_trials.records import Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from agent_trials.agents.cli_costs import Costs
    from agent_trials.agents.cli_rules import Expected, ProcessFacts
    from agent_trials.agents.cli_stream import Calls, Event, Stream

_COUNTED_ENDS = ("success", "error_max_budget_usd", "error_max_turns")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Everything that one process showed.

    Texts in it are as model, server and provider wrote them: nothing of it is public as it stands.
    ``usage_complete`` tells whether the counts hold every request of the process.
    """

    status: Status
    findings: tuple[Finding, ...]
    charged_usd: Decimal
    costs: Costs
    usage_complete: bool
    calls: Calls
    denials: tuple[str, ...]
    models: tuple[str, ...]
    init: Event | None
    result: Event | None
    retries: int
    continuations: int
    sub_agents: int
    hooks: dict[str, int]
    answer: str | None
    time_to_init_ms: int | None

    @property
    def codes(self) -> tuple[str, ...]:
        """Return the code of every problem, in the order of their classes, each once."""
        found = {finding.code for finding in self.findings}
        return tuple(code for code in cli_rules.CODES if code in found)


def read(stdout: bytes, process: ProcessFacts, expected: Expected) -> Reading:
    """Return the reading of a whole or broken-off output."""
    stream = cli_stream.parse(stdout)
    calls = cli_stream.calls(stream)
    init, result = _first(stream.inits), _first(stream.results[-1:])
    is_model = _model_of(init, expected)
    costs = cli_costs.of_stream(stream, expected, is_model)
    findings = [
        *cli_checks.of_process(stream, process),
        *cli_checks.of_shape(stream),
        *(cli_checks.of_init(init, expected) if init else ()),
        *cli_checks.of_conduct(stream, calls, expected),
        *(cli_costs.findings(stream, costs, is_model) if result else ()),
        *(cli_checks.of_hooks(stream, result, expected) if result else ()),
        *(cli_checks.of_end(result, process) if result else ()),
        *(_overshoot(result, costs, expected) if result else ()),
    ]
    status = cli_rules.status(finding.code for finding in findings)
    return Reading(
        status=status,
        findings=tuple(findings),
        charged_usd=charge(status, costs, expected.reservation_usd),
        costs=costs,
        usage_complete=_is_complete(result, costs, findings),
        calls=calls,
        denials=tuple(cli_checks.denials(stream)),
        models=tuple(cli_usage.model_names(stream)),
        init=init,
        result=result,
        retries=len(stream.systems("api_retry")),
        continuations=sum(event.data.get("isSynthetic") is True for event in stream.events),
        sub_agents=cli_checks.sub_agents(stream),
        hooks=cli_checks.hooks(stream),
        answer=_answer(stream, result),
        time_to_init_ms=_arrival(init, process) if init else None,
    )


def charge(status: Status, costs: Costs, reservation: Decimal) -> Decimal:
    """Return what counts against the cap, USD, rounded up to 9 places."""
    if status is Status.COMPLETED and costs.measured is not None:
        return money.charge(costs.measured)
    return money.charge(max(reservation, costs.lower_bound))


def _first(events: list[Event]) -> Event | None:
    return events[0] if events else None


def _model_of(init: Event | None, expected: Expected) -> Callable[[str], bool]:
    """Return the test for the attempt's own model: the one that the session resolved it to."""
    resolved = cli_stream.text(init.data.get("model")) if init else None
    if resolved is None or not expected.is_model(resolved):
        return expected.is_model
    model = resolved
    return lambda name: cli_usage.same_model(name, model) and expected.is_model(name)


def _overshoot(result: Event, costs: Costs, expected: Expected) -> list[Finding]:
    """Find a success that costs more than was reserved for it."""
    cost = costs.measured
    if cost is None or result.data.get("subtype") != "success":
        return []
    above = money.charge(cost) > expected.reservation_usd
    return [Finding("charged-above-reservation", money.text(cost))] if above else []


def _is_complete(result: Event | None, costs: Costs, findings: list[Finding]) -> bool:
    """Tell whether every request is in the counts: nothing lost, cut off, or of another model."""
    if result is None or costs.tokens is None or costs.measured is None:
        return False
    lossy = {
        "interrupted", "deadline", "stdout-over-bound", "provider-error", "result-repeated",
        "counts-invalid", "foreign-model", "permission-mode-differs",
    }  # fmt: skip
    ended = result.data.get("subtype") in _COUNTED_ENDS
    return ended and lossy.isdisjoint(finding.code for finding in findings)


def _answer(stream: Stream, result: Event | None) -> str | None:
    """Return the answer: the result's, or after the limit was reached the last message's."""
    if result is None or result.data.get("is_error") is True:
        reached = result is not None and result.data.get("subtype") == "error_max_budget_usd"
        found = cli_stream.last_text(stream) if reached else None
    else:
        found = cli_stream.text(result.data.get("result"))
    return None if found is None else cli_stream.encodable(found)


def _arrival(event: Event, process: ProcessFacts) -> int | None:
    """Return the milliseconds after which the event had been read whole."""
    return next((ms for offset, ms in process.arrivals if offset >= event.end), None)
