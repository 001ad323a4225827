"""What an http attempt has shown so far, and what that makes of it.

A problem is a code, which the ledger shows, and a detail, which stays private. The status is that
of the first rank, in the order below, to which any problem found belongs; without one the attempt
is completed. Where a study is unsure what a code means, this table is the answer:

    interrupted      interrupted
    timed-out        deadline (of the attempt), request-timeout (of one request)
    failed           http-STATUS, connection-lost, malformed-response
    invalid-setup    mcp-server-failed, mcp-tools-missing, foreign-tool-call (a tool not offered),
                     treatment-lost (every call of an MCP tool was answered with an error)
    invalid-cost     usage-lost, usage-invalid, usage-above-ceiling, usage-cached, foreign-model
    budget-exceeded  request-does-not-fit
    incomplete       turn-limit, output-limit, context-limit
    failed           refusal, unexpected-stop (a stop reason that this loop has no next step for)
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_trials.agents import metering
from agent_trials.agents.base import OTHER, public_tool_name
from agent_trials.records import AttemptResult, Observation, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_trials.agents.metering import Meter
    from agent_trials.records import AttemptRequest, Secret

TRANSPORT = "http"
COST_BASIS = "upper-rates; not a billed amount"
REMOVED = "[key removed]"

INTERRUPTED = "interrupted"
DEADLINE = "deadline"
REQUEST_TIMEOUT = "request-timeout"
CONNECTION_LOST = "connection-lost"
MALFORMED_RESPONSE = "malformed-response"
MCP_SERVER_FAILED = "mcp-server-failed"
MCP_TOOLS_MISSING = "mcp-tools-missing"
FOREIGN_TOOL_CALL = "foreign-tool-call"
TREATMENT_LOST = "treatment-lost"
FOREIGN_MODEL = "foreign-model"
DOES_NOT_FIT = "request-does-not-fit"
TURN_LIMIT = "turn-limit"
OUTPUT_LIMIT = "output-limit"
CONTEXT_LIMIT = "context-limit"
REFUSAL = "refusal"
UNEXPECTED_STOP = "unexpected-stop"

_USAGE = (
    metering.USAGE_LOST,
    metering.USAGE_INVALID,
    metering.USAGE_ABOVE_CEILING,
    metering.USAGE_CACHED,
)
_RANKS: tuple[tuple[Status, re.Pattern[str]], ...] = tuple(
    (status, re.compile("|".join(codes)))
    for status, codes in (
        (Status.INTERRUPTED, (INTERRUPTED,)),
        (Status.TIMED_OUT, (DEADLINE, REQUEST_TIMEOUT)),
        (Status.FAILED, ("http-[0-9]{3}", CONNECTION_LOST, MALFORMED_RESPONSE)),
        (
            Status.INVALID_SETUP,
            (MCP_SERVER_FAILED, MCP_TOOLS_MISSING, FOREIGN_TOOL_CALL, TREATMENT_LOST),
        ),
        (Status.INVALID_COST, (*_USAGE, FOREIGN_MODEL)),
        (Status.BUDGET_EXCEEDED, (DOES_NOT_FIT,)),
        (Status.INCOMPLETE, (TURN_LIMIT, OUTPUT_LIMIT, CONTEXT_LIMIT)),
        (Status.FAILED, (REFUSAL, UNEXPECTED_STOP)),
    )
)
_PUBLIC_WORD = re.compile(r"[A-Za-z0-9._:-]{1,128}")


def status_of(codes: Iterable[str]) -> Status:
    """Return the status that the problems found make of an attempt."""
    found = tuple(codes)
    for status, pattern in _RANKS:
        if any(pattern.fullmatch(code) for code in found):
            return status
    if found:
        raise RuntimeError(f"no rank for {found!r}")
    return Status.COMPLETED


@dataclass
class Calls:
    """The tool calls that the model asked for, by the name under which they are published.

    ``mcp_results`` holds, for every call of an MCP tool that was answered, whether with an error.
    """

    by_name: Counter[str] = field(default_factory=Counter)
    errors_by_name: Counter[str] = field(default_factory=Counter)
    mcp: int = 0
    mcp_results: list[bool] = field(default_factory=list)

    @property
    def treatment_lost(self) -> bool:
        """Return whether MCP tools were called and every answer was an error."""
        return bool(self.mcp_results) and all(self.mcp_results)


@dataclass(repr=False)
class Course:
    """What has happened in one attempt until now; times are the clock's seconds.

    ``secret`` is the key, kept out of everything that leaves here. There is no representation
    that shows fields, because they hold the answer and the transcript.
    """

    request: AttemptRequest
    meter: Meter
    secret: Secret
    tools: tuple[str, ...] | None = None
    mcp_servers: tuple[Mapping[str, str], ...] | None = None
    calls: Calls = field(default_factory=Calls)
    problems: list[tuple[str, str]] = field(default_factory=list)
    transcript: list[dict[str, Any]] = field(default_factory=list)
    answer: str | None = None
    answered_by: object = None
    stop_reason: str | None = None
    first_request_at: float | None = None
    ended_at: float | None = None

    def add(self, code: str, detail: object = "") -> None:
        """Keep a problem: its code is published, the detail is not."""
        self.problems.append((code, str(detail)))

    def redacted(self, text: str) -> str:
        """Return the text without the key, as it stands and as JSON writes it."""
        written = json.dumps(self.secret.reveal())[1:-1]
        return text.replace(written, REMOVED).replace(self.secret.reveal(), REMOVED)

    def tool_name(self, name: str) -> str:
        """Return the name under which a call of a tool is counted."""
        return public_tool_name(name, self.tools or ()) if self.redacted(name) == name else OTHER

    def word(self, text: object) -> str | None:
        """Return a short word of the provider's if it can be published."""
        if not isinstance(text, str):
            return None
        return text if _PUBLIC_WORD.fullmatch(text) and self.redacted(text) == text else OTHER


def result(course: Course) -> AttemptResult:
    """Return what the attempt gives back: status, charge, counts, and the private rest."""
    problems = [*course.problems, *_found_at_the_end(course)]
    codes = tuple(dict.fromkeys(code for code, _ in problems))
    private: dict[str, Any] = {
        "problems": [
            {"code": code, "detail": course.redacted(detail)} for code, detail in problems if detail
        ]
    }
    if course.answer is not None:
        private["answer"] = course.redacted(course.answer)
    return AttemptResult(
        observation=_observation(course, status_of(codes), codes),
        private={name: value for name, value in private.items() if value or name == "answer"},
        artifacts=_artifacts(course),
    )


def _found_at_the_end(course: Course) -> list[tuple[str, str]]:
    found = []
    if course.calls.treatment_lost:
        found.append((TREATMENT_LOST, ""))
    answered = course.meter.requests == 0 or course.meter.complete
    if not answered and not any(code in _USAGE for code, _ in course.problems):
        found.append((metering.USAGE_LOST, ""))
    return found


def _observation(course: Course, status: Status, codes: tuple[str, ...]) -> Observation:
    meter, calls = course.meter, course.calls
    measured = status is Status.COMPLETED and meter.complete
    return Observation(
        status=status,
        transport=TRANSPORT,
        problems=codes,
        charged_usd=meter.charged,
        cost_usd=meter.charged if measured else None,
        cost_lower_usd=None if measured else meter.lower,
        cost_upper_usd=None if measured else meter.charged,
        cost_basis=COST_BASIS,
        attempt_budget_usd=course.request.limit_usd,
        usage_complete=meter.complete,
        input_tokens=meter.total("input_tokens"),
        output_tokens=meter.total("output_tokens"),
        cache_creation_input_tokens=meter.total("cache_creation_input_tokens"),
        cache_read_input_tokens=meter.total("cache_read_input_tokens"),
        turns=meter.requests,
        tool_calls=calls.by_name.total(),
        tool_calls_by_name=_sorted(calls.by_name),
        tool_errors_by_name=_sorted(calls.errors_by_name),
        mcp_tool_calls=calls.mcp,
        model=course.request.model,
        resolved_model=course.word(course.answered_by),
        tools=course.tools,
        mcp_servers=course.mcp_servers,
        stop_reason=course.word(course.stop_reason),
        wall_time_ms=_wall_time_ms(course),
        export_digest=course.request.corpus.digest,
    )


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def _wall_time_ms(course: Course) -> int | None:
    if course.first_request_at is None or course.ended_at is None:
        return None
    return round((course.ended_at - course.first_request_at) * 1000)


def _artifacts(course: Course) -> dict[str, bytes]:
    lines = [course.redacted(json.dumps(line, sort_keys=True)) for line in course.transcript]
    return {"transcript": "".join(f"{line}\n" for line in lines).encode("ascii")} if lines else {}
