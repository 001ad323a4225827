"""The output schema of the Codex adapter, and the check that an answer fits it.

The CLI sends a schema to the provider and checks nothing in the answer. Every field is required;
what the model did not observe it says as null. The checker knows the keywords in ``KEYWORDS`` and
refuses a schema with others, so that nothing is taken for checked that was not.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, NoReturn

from agent_trials.agents import provider_reply
from agent_trials.agents.cli_stream import DEEPEST, is_deeper
from agent_trials.agents.provider_reply import MOST_EVIDENCE, WHOLE, WORDS, InvalidReplyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

KEYWORDS = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "minimum"}
    | {"maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "description"}
)
MEASURED = (
    "searchHitRate",
    "acceptanceChecksPassed",
    "acceptanceChecksTotal",
    "errorRate",
    "documentationFindingCount",
)
"""The measurements that a model may know; costs and durations it cannot."""


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _measurement(name: str) -> dict[str, Any]:
    if name in WHOLE:
        return {"type": ["integer", "null"], "minimum": 0, "maximum": 1_000_000}
    return {"type": ["number", "null"], "minimum": 0, "maximum": 1}


OUTPUT: Mapping[str, Any] = _object(
    {
        "answer": {"type": "string", "description": "the answer to the objective, with sources"},
        **{
            name: {"type": "string", "enum": [word for word in known if word != "correct"]}
            for name, known in WORDS.items()
        },
        "evidenceIds": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[a-z0-9._:-]{1,256}$"},
            "maxItems": MOST_EVIDENCE,
            "description": "references to evidence: no paths, lower case",
        },
        "clarificationRequests": {"type": "integer", "minimum": 0, "maximum": 1000},
        "reworkCount": {"type": "integer", "minimum": 0, "maximum": 1000},
        "firstEvidenceLatencyMs": {
            "type": ["number", "null"],
            "minimum": 0,
            "maximum": 86_400_000,
            "description": "null unless a clock was read",
        },
        "measurements": _object({name: _measurement(name) for name in MEASURED}),
    }
)


def parse(answer: str) -> tuple[Any, str | None]:
    """Return the JSON value that an answer is, or why it is none."""
    try:
        value = json.loads(answer, parse_constant=_constant, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        return None, str(error)
    return (None, "nested too deep") if is_deeper(value, DEEPEST) else (value, None)


def observed(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer that fits, without the measurements that the model did not make."""
    measured = value.get("measurements", {}).items()
    return {**value, "measurements": {name: each for name, each in measured if each is not None}}


def contradictions(value: Mapping[str, Any]) -> Iterator[str]:
    """Iterate over what no schema can say and the provider contract refuses, at most one.

    A reply with it would be refused as a whole, and with it the tokens that the CLI counted.
    """
    try:
        provider_reply.read(json.dumps(observed(value)).encode())
    except InvalidReplyError as error:
        yield str(error)


def problems(value: Any, schema: Mapping[str, Any], where: str = "answer") -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Iterate over everything in which a value does not fit a schema, each with its place.

    Raises:
        RuntimeError: the schema has a keyword that is not checked here.
    """
    if unknown := schema.keys() - KEYWORDS:
        raise RuntimeError(f"the schema has keywords that are not checked: {sorted(unknown)}")
    allowed = schema.get("type")
    kinds = [allowed] if isinstance(allowed, str) else allowed
    if kinds is not None and not any(_is(value, kind) for kind in kinds):
        yield f"{where} is no {' or '.join(kinds)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is none of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, dict):
        yield from _of_object(value, schema, where)
    elif isinstance(value, list):
        yield from _of_array(value, schema, where)
    else:
        yield from _of_plain(value, schema, where)


def _of_object(value: dict[str, Any], schema: Mapping[str, Any], where: str) -> Iterator[str]:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{where}.{name} is missing"
    for name, item in value.items():
        if name in known:
            yield from problems(item, known[name], f"{where}.{name}")
        elif schema.get("additionalProperties", True) is False:
            yield f"{where} has a field that the schema does not know"


def _of_array(value: list[Any], schema: Mapping[str, Any], where: str) -> Iterator[str]:
    yield from _sized(len(value), schema, "Items", where)
    for index, item in enumerate(value):
        yield from problems(item, schema.get("items", {}), f"{where}[{index}]")


def _of_plain(value: Any, schema: Mapping[str, Any], where: str) -> Iterator[str]:  # noqa: ANN401 - text, number or neither
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if _is(value, "number") and not low <= value <= high:
        yield f"{where} is out of its range"
    if not isinstance(value, str):
        return
    yield from _sized(len(value), schema, "Length", where)
    pattern = schema.get("pattern")
    # Python's $ would also match before a last line feed.
    if pattern is not None and not re.search(re.sub(r"\$$", r"\\Z", pattern), value):
        yield f"{where} is not like {pattern}"


def _sized(size: int, schema: Mapping[str, Any], of: str, where: str) -> Iterator[str]:
    if size < schema.get(f"min{of}", 0) or size > schema.get(f"max{of}", math.inf):
        yield f"{where} has {size} {of.lower()}"


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool) or value is None:
        return kind == ("boolean" if value is not None else "null")
    if isinstance(value, int | float):
        whole = isinstance(value, int) or value.is_integer()
        return math.isfinite(value) and (kind == "number" or (kind == "integer" and whole))
    types: dict[str, type] = {"string": str, "array": list, "object": dict}
    return kind in types and isinstance(value, types[kind])


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")
