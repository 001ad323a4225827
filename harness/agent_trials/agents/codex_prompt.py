"""What the Codex CLI is asked: the request in words, and the deterministic handoff as it is.

The handoff is compact JSON: its content is whole, formatting costs tokens. The agent is told to
begin where it says. Nothing here names the arm, the study or a path of this machine.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BEGIN = (
    "A deterministic handoff for this task stands below as JSON. Begin at the paths in its"
    " startHere and readBeforeEditing before you explore the repository."
)
ANSWER = (
    "End with one JSON object that fits the given schema, and nothing else. Write null for what you"
    " did not observe, and as evidenceIds short lower-case references, never paths."
)
_STARTS = ("startHere", "readBeforeEditing")


class RequestError(ValueError):
    """A request that cannot be asked, or a handoff that is none."""


def read(data: bytes) -> dict[str, Any]:
    """Return the request on standard input.

    Raises:
        RequestError: it is no JSON object with an objective.
    """
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RequestError(f"standard input is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise RequestError("standard input is no JSON object")
    objective = value.get("objective")
    if not isinstance(objective, str) or not objective.strip():
        raise RequestError('the request has no "objective"; name it in transports.provider.request')
    return value


def compact(output: bytes) -> str:
    """Return a handoff as compact JSON, its content and the order of its keys kept.

    Raises:
        RequestError: it is no JSON object that says where to start.
    """
    try:
        value = json.loads(output.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise RequestError("the handoff is no JSON") from error
    if not isinstance(value, dict) or not any(_holds(value, name) for name in _STARTS):
        raise RequestError(f"the handoff is no JSON object with {' or '.join(_STARTS)}")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def prompt(request: Mapping[str, Any], handoff: str | None) -> str:
    """Return the text for standard input; only what the request has is in it.

    Args:
        request: the provider contract's.
        handoff: the compact JSON of a hand-off that was made for this run; without one, a hand-off
            that is the last line of the request's context is the one.
    """
    told = str(request.get("initialContext") or "").rstrip()
    before, _, last = told.rpartition("\n")
    if handoff is None and _is_handoff(last):
        request, handoff = {**request, "initialContext": before}, last
    parts = [str(request["objective"]).strip(), *_context(request)]
    if handoff is not None:
        parts.append(f"{BEGIN}\n{handoff}")
    return "\n\n".join([*parts, ANSWER]) + "\n"


def _context(request: Mapping[str, Any]) -> Iterator[str]:
    for name, heading in (
        ("initialContext", "Context:"),
        ("expectedOutcome", "Expected outcome:"),
    ):
        told = request.get(name)
        if isinstance(told, str) and told.strip():
            yield f"{heading}\n{told.strip()}"
    for name, heading in (
        ("allowedTools", "Use these tools only:"),
        ("forbiddenActions", "Do not do any of this:"),
        ("evidenceRequirements", "Evidence that is required:"),
        ("acceptanceChecks", "Your answer will be checked by:"),
    ):
        lines = request.get(name)
        told = [each for each in lines if isinstance(each, str)] if isinstance(lines, list) else []
        if told:
            yield "\n".join([heading, *(f"- {each}" for each in told)])


def _is_handoff(line: str) -> bool:
    try:
        return compact(line.encode("utf-8", "replace")) is not None
    except RequestError:
        return False


def _holds(value: object, name: str) -> bool:
    """Tell whether an object, at whatever depth, has something under a name."""
    if isinstance(value, dict):
        return bool(value.get(name)) or any(_holds(each, name) for each in value.values())
    return isinstance(value, list) and any(_holds(each, name) for each in value)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
