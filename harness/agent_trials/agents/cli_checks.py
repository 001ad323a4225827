"""Finds what is wrong with an attempt of the Claude CLI: every problem, not only the first.

A finding's code is ours and public; its detail may hold anything that a model, server or provider
wrote, and is for the private record.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from agent_trials.agents import cli_usage
from agent_trials.agents.base import OTHER
from agent_trials.agents.cli_rules import Finding
from agent_trials.agents.cli_stream import encodable, mapping, names, sequence, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_trials.agents.cli_rules import Expected, ProcessFacts
    from agent_trials.agents.cli_stream import Calls, Event, Stream

HOOK_EVENTS = (
    "SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop",
    "SubagentStop", "PreCompact", "Notification",
)  # fmt: skip
_LONGEST_DETAIL = 2_000


def of_process(stream: Stream, process: ProcessFacts) -> Iterator[Finding]:
    """Find what ended the process otherwise than by itself, and what its end lacks."""
    if process.interrupted:
        yield Finding("interrupted")
    if process.timed_out:
        yield Finding("deadline")
    if process.truncated:
        yield Finding("stdout-over-bound")
    if not stream.results:
        yield Finding("no-result", f"exit code {process.exit_code}")
    elif _is_provider_error(stream.results[-1].data):
        yield Finding("provider-error", shown(_error_of(stream.results[-1].data)))
    if not stream.inits and process.exit_code != 0:
        yield Finding("ended-before-init", f"exit code {process.exit_code}")


def of_shape(stream: Stream) -> Iterator[Finding]:
    """Find lines, inits and results that are not where and as often as they must be."""
    inits, results = stream.inits, stream.results
    if stream.broken_lines:
        yield Finding("line-not-json", f"lines {shown(list(stream.broken_lines[:20]))}, from 0")
    if not inits:
        yield Finding("no-init")
    if len(inits) > 1:
        yield Finding("init-repeated", f"{len(inits)} init events")
    if inits and any(_is_work(event) for event in stream.events if event.line < inits[0].line):
        yield Finding("init-late")
    if len(results) > 1:
        yield Finding("result-repeated", f"{len(results)} result events")
    if results and _after(stream, results[-1]):
        yield Finding("result-not-last")
    sessions = {shown(event.data.get("session_id")) for event in (*inits, *results)}
    if inits and len(sessions) > 1:
        yield Finding("result-of-another-session", f"sessions {sorted(sessions)}")


def of_init(init: Event, expected: Expected) -> Iterator[Finding]:
    """Find how the announced session differs from the arm's."""
    data = init.data
    model = text(data.get("model"))
    if model is None or not expected.is_model(model):
        yield Finding("model-differs", shown(data.get("model")))
    yield from _tools(data, expected)
    yield from _servers(data, expected)
    if expected.permission_mode not in (None, data.get("permissionMode")):
        yield Finding("permission-mode-differs", shown(data.get("permissionMode")))
    if expected.version not in (None, data.get("claude_code_version")):
        yield Finding("version-differs", shown(data.get("claude_code_version")))


def of_conduct(stream: Stream, found: Calls, expected: Expected) -> Iterator[Finding]:
    """Find calls, denials and changes that the arm does not allow after the session began."""
    allowed = {_kind(name) for name in expected.tools}
    outside = sorted({name for name in found.names.values() if _kind(name) not in allowed})
    if outside:
        yield Finding("foreign-tool-call", shown(outside))
    refused = sorted({name for name in denials(stream) if name not in expected.accepted_denials})
    if refused:
        yield Finding("denial-not-accepted", shown(refused))
    vanished = sorted({found.names[call] for call in found.unavailable} - set(outside))
    changed = [event.line for event in stream.events if _changes_session(event, stream.inits)]
    if vanished or changed:
        yield Finding("tools-changed", f"gone {shown(vanished)}, announced in lines {changed}")
    yield from _lost_treatments(stream, found, expected)
    spawned = sub_agents(stream)
    if spawned and "Agent" not in allowed:
        yield Finding("sub-agent", f"{spawned}")


def _lost_treatments(stream: Stream, found: Calls, expected: Expected) -> Iterator[Finding]:
    """Find servers that were asked and never answered but with an error.

    A call without an answer counts only where the run ended well: any other end may cut it off.
    """
    ended_well = any(
        result.data.get("subtype") == "success" and result.data.get("is_error") is False
        for result in stream.results[-1:]
    )
    for server, tools in expected.mcp_tools.items():
        asked = [call for call, name in found.names.items() if name in tools]
        answers = [found.errors[call] for call in asked if call in found.errors]
        if asked and all(answers) and (answers or ended_well):
            yield Finding(
                "treatment-lost", f"{server}: {sum(answers)} errors of {len(asked)} calls"
            )


def of_hooks(stream: Stream, result: Event, expected: Expected) -> Iterator[Finding]:
    """Find hooks that did not answer although the session came to the end at which they must."""
    if result.data.get("subtype") != "success" or result.data.get("is_error") is not False:
        return
    answered = hooks(stream)
    missing = [event for event in expected.hooks if not answered.get(event)]
    if missing:
        yield Finding("hooks-not-loaded", shown(missing))


def hooks(stream: Stream) -> dict[str, int]:
    """Return how often hooks answered, by their event; unknown events are ``other``."""
    found = [text(event.data.get("hook_event")) for event in stream.systems("hook_response")]
    return dict(Counter(name if name in HOOK_EVENTS else OTHER for name in found if name))


def of_end(result: Event, process: ProcessFacts) -> Iterator[Finding]:
    """Find what separates the end from a clean success."""
    data = result.data
    if data.get("subtype") == "error_max_budget_usd":
        yield Finding("limit-reached")
    if data.get("is_error") is not False:
        yield Finding("result-is-error", shown(_error_of(data)))
    if data.get("subtype") != "success":
        yield Finding("result-not-success", shown(data.get("subtype")))
    elif text(data.get("result")) is None:
        yield Finding("no-answer")
    if process.exit_code != 0:
        yield Finding("exit-code", f"{process.exit_code}")


def denials(stream: Stream) -> list[str]:
    """Return the tool of every permission denial: those of the result, and those only announced."""
    listed = [
        mapping(denial)
        for result in stream.results
        for denial in sequence(result.data.get("permission_denials"))
    ]
    announced = [event.data for event in stream.systems("permission_denied")]
    found: list[str] = []
    seen: set[str] = set()
    for denial in [*listed, *announced]:
        call = text(denial.get("tool_use_id"))
        if call is None or call not in seen:
            found.append(text(denial.get("tool_name")) or "")
        seen.update([] if call is None else [call])
    return found


def sub_agents(stream: Stream) -> int:
    """Return how many sub-agents were started, by the result's count or the events."""
    counts = [
        cli_usage.count(mapping(result.data.get("subagent_stats")).get("spawned")) or 0
        for result in stream.results
    ]
    return max([len(stream.systems("task_started")), *counts])


def _is_provider_error(data: Mapping[str, Any]) -> bool:
    """Tell whether the provider, not the task, ended the run.

    Such a result says ``success`` and ``is_error`` at once; its status may be absent.
    """
    if data.get("is_error") is not True:
        return False
    return data.get("subtype") == "success" or data.get("api_error_status") is not None


def _error_of(data: Mapping[str, Any]) -> list[object]:
    found = (data.get(name) for name in ("api_error_status", "terminal_reason", "result", "errors"))
    return [value for value in found if value is not None]


def _is_work(event: Event) -> bool:
    return event.has("assistant") or event.has("result")


def _after(stream: Stream, result: Event) -> bool:
    later_line = any(line > result.line for line in stream.broken_lines)
    return later_line or stream.events[-1].line > result.line


def _tools(data: Mapping[str, Any], expected: Expected) -> Iterator[Finding]:
    found = names(data.get("tools"))
    if found is None:
        yield Finding("tools-missing", shown(data.get("tools")))
        return
    kinds = Counter(_kind(name) for name in found)
    wanted = {_kind(name) for name in expected.tools}
    if wanted - kinds.keys():
        yield Finding("tools-missing", shown(sorted(wanted - kinds.keys())))
    if kinds.keys() - wanted:
        yield Finding("tools-extra", shown(sorted(kinds.keys() - wanted)))
    repeated = sorted(name for name, count in kinds.items() if count > 1)
    if repeated:
        yield Finding("tools-repeated", shown(repeated))


def _servers(data: Mapping[str, Any], expected: Expected) -> Iterator[Finding]:
    found = [mapping(server) for server in sequence(data.get("mcp_servers"))]
    listed = sorted(text(server.get("name")) or "" for server in found)
    if not isinstance(data.get("mcp_servers"), list) or listed != sorted(expected.mcp_tools):
        yield Finding("mcp-servers-differ", shown(data.get("mcp_servers")))
    states = [server.get("status") for server in found]
    if any(state != "connected" for state in states):
        yield Finding("mcp-server-not-connected", shown(states))
    if data.get("mcp_server_errors"):
        yield Finding("mcp-server-errors", shown(data.get("mcp_server_errors")))


def _kind(name: str) -> str:
    """Return one name for the tool that init calls ``Task`` and its calls ``Agent``."""
    return "Agent" if name == "Task" else name


def _changes_session(event: Event, inits: list[Event]) -> bool:
    """Tell whether a later system event announces other tools or servers than the init event."""
    if not inits or event.is_init or not event.has("system"):
        return False
    first = inits[0].data
    return any(
        isinstance(event.data.get(name), list) and event.data[name] != first.get(name)
        for name in ("tools", "mcp_servers")
    )


def shown(value: object) -> str:
    """Return a foreign value as text that can be written anywhere, cut to a sane length."""
    return encodable(str(value))[:_LONGEST_DETAIL]
