"""What of a reading is public: counts, known words and codes, never a word of model or provider.

A text from the stream is published only if it is one that the study or this file already knows;
any other is ``other``, and stands in the private record.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

from agent_trials.agents import cli_rules, cli_usage
from agent_trials.agents.base import OTHER
from agent_trials.agents.cli_stream import encodable, mapping, names, sequence, text
from agent_trials.records import Denials, Observation, Status

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from agent_trials.agents.cli_rules import Expected, ProcessFacts
    from agent_trials.agents.transcript import Reading

_Found = TypeVar("_Found")

TRANSPORT = "cli"

SUBTYPES = (
    "success",
    "error_during_execution",
    "error_max_budget_usd",
    "error_max_turns",
    "error_max_structured_output_retries",
)
STOP_REASONS = (
    "end_turn", "tool_use", "pause_turn", "stop_sequence", "refusal", "max_tokens",
    "model_context_window_exceeded",
)  # fmt: skip
TERMINAL_REASONS = (
    "completed", "api_error", "image_error", "prompt_too_long", "blocking_limit",
    "budget_exhausted", "max_turns", "aborted_streaming", "aborted_tools",
)  # fmt: skip
PERMISSION_MODES = (
    "default", "acceptEdits", "auto", "bypassPermissions", "dontAsk", "manual", "plan",
)  # fmt: skip
SERVER_STATES = ("connected", "failed", "pending", "needs-auth", "disabled")
COST_BASES = ("list", "unknown")

_VERSION = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6}){2}")
_MODEL = re.compile(r"[a-z0-9.-]{1,64}")


def observation(
    reading: Reading,
    process: ProcessFacts,
    expected: Expected,
    *,
    environment_digest: str,
    expected_version: str | None,
    survivors: int,
) -> Observation:
    """Return the public part of a reading, every field that can be told from it."""
    costs, tokens = reading.costs, _tokens(reading)
    result = reading.result.data if reading.result else {}
    computed = costs.computed
    known = {*expected.tools, *expected.denied}
    return Observation(
        status=reading.status,
        transport=TRANSPORT,
        problems=reading.codes,
        setup_problem=cli_rules.first_of(Status.INVALID_SETUP, reading.codes),
        cost_problem=cli_rules.first_of(Status.INVALID_COST, reading.codes),
        charged_usd=reading.charged_usd,
        cost_usd=costs.measured if reading.usage_complete else None,
        cost_lower_usd=None if reading.usage_complete else costs.lower_bound,
        attempt_budget_usd=expected.reservation_usd,
        cli_reported_cost_usd=costs.reported,
        computed_cost_usd=computed.charged if computed else None,
        computed_per_request_usd=computed.per_request if computed else None,
        computed_whole_attempt_usd=computed.whole_attempt if computed else None,
        cost_basis=computed.basis if computed else None,
        usage_complete=reading.usage_complete,
        usage_missing=costs.reported is None and costs.tokens is None,
        **tokens,
        turns=_turns(reading),
        num_turns=cli_usage.count(result.get("num_turns")),
        tool_calls=len(reading.calls.names),
        tool_calls_by_name=_published(reading.calls.count_by_name(), known),
        tool_errors_by_name=_published(reading.calls.errors_by_name(), known),
        mcp_tool_calls=sum(name.startswith("mcp__") for name in reading.calls.names.values()),
        permission_denials=_denials(reading.denials, known),
        **_session(reading, expected),
        expected_cli_version=expected_version,
        cli_subtype=_word(result.get("subtype"), SUBTYPES),
        is_error=result.get("is_error") if isinstance(result.get("is_error"), bool) else None,
        stop_reason=_word(result.get("stop_reason"), STOP_REASONS),
        terminal_reason=_word(result.get("terminal_reason"), TERMINAL_REASONS),
        api_error_status=cli_usage.count(result.get("api_error_status")),
        provider_cost_basis=_cost_basis(result),
        exit_code=process.exit_code,
        retries=reading.retries,
        continuations=reading.continuations,
        sub_agents=reading.sub_agents,
        hooks=reading.hooks or None,
        session_cost_usd=costs.session_usd,
        wall_time_ms=process.wall_time_ms,
        time_to_init_ms=reading.time_to_init_ms,
        environment_digest=environment_digest,
        survivors=survivors,
    )


def private(reading: Reading) -> dict[str, Any]:
    """Return what may hold words of model, server or provider: answer, problems, names."""
    problems = [{"code": one.code, "detail": one.detail} for one in reading.findings]
    calls = reading.calls
    found: dict[str, Any] = {
        "problems": problems,
        "toolCallsByName": _encodable(calls.count_by_name()),
        "toolErrorsByName": _encodable(calls.errors_by_name()),
        "permissionDenials": [encodable(name) for name in reading.denials],
        "models": [encodable(name) for name in reading.models],
    }
    return found if reading.answer is None else {**found, "answer": reading.answer}


def _tokens(reading: Reading) -> dict[str, Any]:
    """Return the counts of the process, or of what was seen of one that gave no result."""
    totals, shown = reading.costs.tokens, reading.costs.shown
    ended = all(request.output_known for request in shown.values())
    if totals is None and not shown:
        return {}
    counts = totals or cli_usage.lower_bound(shown)
    return {
        "input_tokens": counts.input,
        "output_tokens": counts.output if totals or ended else None,
        "cache_creation_input_tokens": counts.cache_write,
        "cache_read_input_tokens": counts.cache_read,
        "web_search_requests": counts.web_searches if totals else None,
    }


def _turns(reading: Reading) -> int | None:
    """Return the number of model requests, if the stream shows every one."""
    totals, shown = reading.costs.tokens, reading.costs.shown
    if totals is None or not cli_usage.shows_all(shown, totals):
        return None
    return len(shown)


def _session(reading: Reading, expected: Expected) -> dict[str, Any]:
    """Return the fields that the init event announces; without one, the version that was probed."""
    if reading.init is None:
        return {"cli_version": expected.version}
    data = reading.init.data
    listed = names(data.get("tools"))
    known = {*expected.tools, *expected.denied}
    return {
        "model": _model(text(data.get("model")), expected),
        "resolved_model": _resolved(reading, expected),
        "tools": None if listed is None else _each_once(_known(name, known) for name in listed),
        "mcp_servers": tuple(
            {"name": name, "status": state}
            for name, state in _each_once(
                (
                    _known(mapping(server).get("name"), expected.mcp_tools),
                    _known(mapping(server).get("status"), SERVER_STATES),
                )
                for server in sequence(data.get("mcp_servers"))
            )
        ),
        "permission_mode": _word(data.get("permissionMode"), PERMISSION_MODES),
        "cli_version": _matching(text(data.get("claude_code_version")), _VERSION),
    }


def _each_once(found: Iterable[_Found]) -> tuple[_Found, ...]:
    """Return what was found without repetitions, so that no stream makes a long line."""
    return tuple(dict.fromkeys(found))


def _resolved(reading: Reading, expected: Expected) -> str | None:
    """Return the name under which the model answered; a dated one says more than an alias."""
    own = [name for name in reading.models if expected.is_model(name)]
    if len(own) != len(reading.models):
        return OTHER
    return _model(max(own, key=len, default=None), expected)


def _model(name: str | None, expected: Expected) -> str | None:
    if name is None or expected.is_model(name):
        return _matching(name, _MODEL)
    return OTHER


def _cost_basis(result: Mapping[str, Any]) -> str | None:
    entries = mapping(result.get("modelUsage")).values()
    found = {_word(mapping(entry).get("costBasis"), COST_BASES) for entry in entries}
    return found.pop() if len(found) == 1 else (OTHER if found else None)


def _denials(found: Iterable[str], known: Collection[str]) -> Denials:
    denied = list(found)
    return Denials(len(denied), tuple(sorted({_known(name, known) for name in denied})))


def _published(counts: Mapping[str, int], known: Collection[str]) -> dict[str, int]:
    published: Counter[str] = Counter()
    for name, count in counts.items():
        published[_known(name, known)] += count
    return dict(sorted(published.items()))


def _known(value: object, known: Iterable[str]) -> str:
    return next((word for word in known if word == value), OTHER)


def _word(value: object, known: Iterable[str]) -> str | None:
    return None if value is None else _known(value, known)


def _matching(value: str | None, pattern: re.Pattern[str]) -> str | None:
    return value if value is None or pattern.fullmatch(value) else OTHER


def _encodable(counts: Mapping[str, int]) -> dict[str, int]:
    return {encodable(name): count for name, count in counts.items()}
