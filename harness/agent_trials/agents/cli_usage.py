"""Token counts in a Claude Code stream: of each request, of the process, of the whole session.

Three places tell them, each with its own reach:
    an assistant event's usage     one request; prompt counts exact, output as at the start
    a message_delta's usage        one request, final (only with --include-partial-messages)
    the result's ``usage``         this process, without sub-agents and the response over budget
    the result's ``modelUsage``    the whole session, by model, with everything; what is priced
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.agents.cli_prices import RequestUsage, Tokens
from agent_trials.agents.cli_stream import SYNTHETIC, mapping, text
from agent_trials.money import ZERO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from decimal import Decimal

    from agent_trials.agents.cli_stream import Event, Stream

_LARGEST_COUNT = 10**12
_DATED = re.compile(r"-[0-9]{8}$")
_MODEL_COUNTS = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")


@dataclass(frozen=True)
class SessionTotals:
    """What a session had cost when a process of it ended; the next one's figures include it.

    ``tokens`` is None where only the cost is known. ``cost_usd`` is None where not even that is
    known: the process was killed before it said so. ``charged_usd`` is what it was charged then.
    """

    cost_usd: Decimal | None
    tokens: Tokens | None = None
    charged_usd: Decimal = ZERO


@dataclass(frozen=True)
class ModelUsage:
    """The session's counts by model; ``tokens`` is None if a count is missing or invalid."""

    models: tuple[str, ...]
    foreign: tuple[str, ...]
    bases: tuple[str | None, ...]
    tokens: Tokens | None


def count(value: object) -> int | None:
    """Return a valid token count: a whole number, not negative, not absurd."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _LARGEST_COUNT else None


def same_model(name: str, model: str) -> bool:
    """Tell whether a name is the model or a dated name of the same; two dates are two models."""
    dates = _DATED.findall(name) + _DATED.findall(model)
    return _DATED.sub("", name) == _DATED.sub("", model) and len(set(dates)) <= 1


def usage(value: object) -> Tokens | None:
    """Return the counts of an API ``usage`` object, or None if one is missing or invalid.

    Cache counts may be absent; a life of cache writes beyond the written tokens is invalid.
    """
    found = mapping(value)
    lives = mapping(found.get("cache_creation"))
    numbers = [
        count(found.get("input_tokens")),
        count(found.get("output_tokens")),
        _optional(found, "cache_read_input_tokens"),
        _optional(found, "cache_creation_input_tokens"),
        _optional(lives, "ephemeral_5m_input_tokens"),
        _optional(lives, "ephemeral_1h_input_tokens"),
    ]
    searches = _optional(mapping(found.get("server_tool_use")), "web_search_requests")
    if searches is None or any(number is None for number in numbers):
        return None
    tokens, output, read, written, five, hour = (number or 0 for number in numbers)
    if five + hour > written:
        return None
    return Tokens(
        input=tokens,
        output=output,
        cache_read=read,
        write_5m=five,
        write_1h=hour,
        write_unattributed=written - five - hour,
        web_searches=searches,
    )


def requests(stream: Stream, is_model: Callable[[str], bool]) -> dict[str, RequestUsage]:
    """Return the requests that the stream shows, by message id, each counted once.

    ``is_model`` tells whose messages count. A message without id or with invalid usage is left
    out: the totals hold it all the same.
    """
    starts: dict[str, Mapping[str, Any]] = {}
    found: dict[str, RequestUsage] = {}
    for message in _messages(stream):
        identity, model = text(message.get("id")), text(message.get("model"))
        written = mapping(message.get("usage"))
        tokens = usage(written)
        if identity and model and is_model(model) and tokens is not None:
            seen = found.get(identity)
            if seen is None or _size(tokens) > _size(seen.tokens):
                starts[identity], found[identity] = written, RequestUsage(tokens)
    for event in stream.events:
        identity, final = _final(event)
        if identity in starts:
            tokens = usage({**starts[identity], **final})
            if tokens is not None:
                found[identity] = RequestUsage(tokens, output_known=True)
    return found


def model_names(stream: Stream) -> list[str]:
    """Return every model named by a message or fallen back to, without the CLI's own messages."""
    found = [text(message.get("model")) for message in _messages(stream)]
    found += [text(event.data.get("fallback_model")) for event in stream.systems("model_fallback")]
    return sorted({name for name in found if name is not None and name != SYNTHETIC})


def model_usage(result: Event, is_model: Callable[[str], bool]) -> ModelUsage:
    """Return the session's counts, those of the attempt's own model added up."""
    entries = mapping(result.data.get("modelUsage"))
    foreign = [name for name, entry in entries.items() if not _is_own(name, entry, is_model)]
    own = [mapping(entry) for name, entry in entries.items() if name not in foreign]
    written = usage(result.data.get("usage"))
    counted = [_model_tokens(entry, written) for entry in own]
    valid = [tokens for tokens in counted if tokens is not None]
    return ModelUsage(
        models=tuple(entries),
        foreign=tuple(sorted(foreign)),
        bases=tuple(text(mapping(entry).get("costBasis")) for entry in entries.values()),
        tokens=_added(valid) if own and len(valid) == len(own) else None,
    )


def in_this_process(
    session: Tokens, process: Tokens | None, total: Decimal, prior: SessionTotals | None
) -> tuple[Tokens, Decimal, bool]:
    """Return the counts and the reported cost of one process, and whether it carried a session on.

    The CLI adds the earlier turns of a resumed session unless their record was lost (SIGKILL):
    then the session's counts equal the process's, or its cost is below what it was.
    """
    lost = process is not None and _same_counts(session, process)
    if prior is None or prior.cost_usd is None or lost or total < prior.cost_usd:
        return session, total, False
    difference = _difference(session, prior.tokens, process) if prior.tokens else process
    return difference or process or session, total - prior.cost_usd, True


def earlier(session: Tokens, process: Tokens | None) -> Tokens | None:
    """Return what a session had used before one process of it; None where that cannot be told.

    Where the counts of both are equal, the record of what was before was lost.
    """
    if process is None or _same_counts(session, process):
        return None
    return _difference(session, process, None)


def reported_cost(result: Event) -> Decimal | None:
    """Return the session's cost that a result states, or None if it is no valid cost."""
    return money.from_provider(result.data.get("total_cost_usd"))


def lower_bound(shown: Mapping[str, RequestUsage]) -> Tokens:
    """Return what the shown requests used at least: output counts only where it is final."""
    return _added(
        [
            request.tokens if request.output_known else replace(request.tokens, output=0)
            for request in shown.values()
        ]
    )


def shows_all(shown: Mapping[str, RequestUsage], totals: Tokens) -> bool:
    """Tell whether the shown requests make up all prompt tokens of the totals."""
    seen = _added([request.tokens for request in shown.values()])
    return (seen.input, seen.cache_read, seen.cache_write) == (
        totals.input,
        totals.cache_read,
        totals.cache_write,
    )


def _messages(stream: Stream) -> Iterator[Mapping[str, Any]]:
    for event in stream.events:
        if event.has("assistant"):
            yield event.message
        if event.has("stream_event"):
            yield mapping(mapping(event.data.get("event")).get("message"))


def _final(event: Event) -> tuple[str, Mapping[str, Any]]:
    """Return a message's id and the counts at its end, or an empty id."""
    inner = mapping(event.data.get("event")) if event.has("stream_event") else {}
    if inner.get("type") != "message_delta":
        return "", {}
    final = mapping(inner.get("usage"))
    return text(event.data.get("api_message_id")) or "", {
        name: value for name, value in final.items() if value is not None
    }


def _is_own(name: str, entry: object, is_model: Callable[[str], bool]) -> bool:
    canonical = text(mapping(entry).get("canonicalModel"))
    return is_model(name) and (canonical is None or is_model(canonical))


def _model_tokens(entry: Mapping[str, Any], process: Tokens | None) -> Tokens | None:
    """Return one model's counts; the life of its writes stands there or in the process's usage."""
    numbers = [count(entry.get(name)) for name in _MODEL_COUNTS]
    searches = _optional(entry, "webSearchRequests")
    five = _optional(entry, "cacheCreationEphemeral5mInputTokens")
    hour = _optional(entry, "cacheCreationEphemeral1hInputTokens")
    if None in (*numbers, searches, five, hour):
        return None
    tokens, output, read, written = (number or 0 for number in numbers)
    if not (five or hour) and process is not None:
        five, hour = process.write_5m, process.write_1h
    five = min(five or 0, written)
    hour = min(hour or 0, written - five)
    return Tokens(
        input=tokens,
        output=output,
        cache_read=read,
        write_5m=five,
        write_1h=hour,
        write_unattributed=written - five - hour,
        web_searches=searches or 0,
    )


def _optional(found: Mapping[str, Any], name: str) -> int | None:
    """Return a count that may be absent or null (0), or None if it is invalid."""
    value = found.get(name)
    return 0 if value is None else count(value)


def _added(parts: list[Tokens]) -> Tokens:
    return Tokens(
        **{name.name: sum(getattr(part, name.name) for part in parts) for name in fields(Tokens)}
    )


def _size(tokens: Tokens) -> tuple[int, int]:
    return tokens.prompt, tokens.output


def _same_counts(one: Tokens, other: Tokens) -> bool:
    return (one.input, one.output, one.cache_read, one.cache_write) == (
        other.input,
        other.output,
        other.cache_read,
        other.cache_write,
    )


def _difference(session: Tokens, earlier: Tokens, process: Tokens | None) -> Tokens | None:
    """Return what the session's counts grew by, or None if one shrank.

    The lives of its cache writes are the process's: the session's do not stand in the stream.
    """
    written = session.cache_write - earlier.cache_write
    counts = {
        name: getattr(session, name) - getattr(earlier, name)
        for name in ("input", "output", "cache_read", "web_searches")
    }
    if min(*counts.values(), written) < 0:
        return None
    five = min(process.write_5m, written) if process else 0
    hour = min(process.write_1h, written - five) if process else 0
    return Tokens(**counts, write_5m=five, write_1h=hour, write_unattributed=written - five - hour)
