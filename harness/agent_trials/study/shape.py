"""Checks a document against the dataclasses of ``settings``, and says in words what does not fit.

Every place that does not fit is reported at once. What is wrong with an optional place does not
hide the rest: the value is then read without it, so that the rules over the whole can be checked.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import re
import typing
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from agent_trials.errors import MoneyError
from agent_trials.study.findings import Finding, KeyPath, child, nearest, shown

if typing.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic_core import ErrorDetails

T = TypeVar("T")
MOST_ROUNDS = 8
"""Removing what does not fit can uncover more (a removed list element); it ends soon."""

_PATTERNS = {
    r"^[a-z0-9]+(-[a-z0-9]+)*$": "write lower-case letters, digits and single hyphens",
    r"^[0-9a-f]{40}$": "write a full commit id of 40 lower-case hex digits",
    r"^[A-Za-z_][A-Za-z0-9_]*$": "write the name of an environment variable",
    r"^[A-Za-z0-9][A-Za-z0-9_.-]*$": "write the name of a file that lies beside the manifest",
    r"^[A-Za-z0-9_-]{1,64}$": "write up to 64 letters, digits, hyphens and underscores",
    r"^[a-z][a-z0-9_]*$": "write a lower-case letter, then letters, digits and underscores",
    r"^[a-z][a-z0-9-]{0,127}$": "write a lower-case letter, then letters, digits and hyphens",
    r"^[a-z0-9._:-]{1,256}$": "write lower-case letters, digits and . _ : -",
    r"^[0-9a-f]{64}$": "write 64 lower-case hex digits",
    r"^(balanced|pairwise|full)(-[1-9][0-9]{0,6})?$": (
        'write "balanced", "pairwise" or "full", with the number of attempts such as "balanced-24"'
    ),
    r"^sha256:[0-9a-f]{64}$": "write the digest that agent-trials check prints",
    r"^[01](\.[0-9]{1,3})?$": 'write it as text between "0" and "1.999"',
}
_KINDS = {
    "bool_type": ("no truth value", "write true or false"),
    "int_type": ("no whole number", "write digits without quotes"),
    "string_type": ("no text", "write it in quotes"),
    "tuple_type": ("no list", "write it in square brackets"),
    "dataclass_type": ("no table", "write keys and values"),
    "dict_type": ("no table", "write keys and values"),
    "mapping_type": ("no table", "write keys and values"),
}


@dataclasses.dataclass(frozen=True)
class Fitted(Generic[T]):
    """What could be read, if anything, and every place that does not fit."""

    value: T | None
    findings: tuple[Finding, ...]


def fit(document: dict[str, Any], shape: type[T]) -> Fitted[T]:
    """Read a document of JSON values as the given dataclass; unknown keys are findings."""
    adapter: TypeAdapter[T] = _adapter(shape)  # type: ignore[arg-type] # a type is hashable
    rest, findings = document, list[Finding]()
    if rest.get("schema") is True:  # JSON's true equals 1
        findings.append(Finding(("schema",), "is no number", "write 1"))
    for _ in range(MOST_ROUNDS):
        try:
            value = adapter.validate_json(json.dumps(rest), strict=True)
        except ValidationError as error:
            rest = copy.deepcopy(document) if rest is document else rest  # mended below
            places = _places(error, rest)
            new = [_finding(path, details, rest, shape) for path, details in places.items()]
            findings += [each for each in new if not any(each.touches(old) for old in findings)]
            if not all(_mended(rest, path, details[0]) for path, details in places.items()):
                return Fitted(None, tuple(findings))
        else:
            return Fitted(value, tuple(findings))
    return Fitted(None, tuple(findings))


@functools.cache
def _adapter(shape: type[Any]) -> TypeAdapter[Any]:
    """Return the validator of a dataclass, built once: it takes longer than a whole study."""
    return TypeAdapter(shape)


def _mended(document: Any, path: KeyPath, detail: ErrorDetails) -> bool:  # noqa: ANN401 - JSON
    """Put something that fits at one place, or nothing; False where nothing stands there."""
    if not path:
        return False
    *above, last = path
    for step in above:
        document = child(document, step)
    if not isinstance(document, dict) or last not in document:
        return False
    if detail["type"] == "literal_error":
        document[last] = _word(detail)
    elif isinstance(_cause(detail), MoneyError):
        document[last] = "1"
    else:
        del document[last]
    return True


def _cause(detail: ErrorDetails) -> BaseException | None:
    error = detail.get("ctx", {}).get("error")
    return error.__cause__ if isinstance(error, ValueError) else None


def _word(detail: ErrorDetails) -> str | int:
    expected = _words(detail["ctx"]["expected"])[0]
    return int(expected) if expected.isdigit() else expected


def _words(listed: str) -> list[str]:
    """Return the words of pydantic's ``'a', 'b' or 'c'``; a number stands there bare."""
    return re.findall(r"'([^']*)'", listed) or [listed]


def _places(error: ValidationError, document: dict[str, Any]) -> dict[KeyPath, list[ErrorDetails]]:
    """Return the errors by the place in the document that they are about."""
    places: dict[KeyPath, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        places.setdefault(_place(detail, document), []).append(detail)
    return {
        path: details for path, details in places.items() if not _is_echo(path, details, places)
    }


def _place(detail: ErrorDetails, document: object) -> KeyPath:
    """Return the keys of the document that an error is about, without pydantic's union tags."""
    path: KeyPath = ()
    for position, step in enumerate(detail["loc"]):
        if child(document, step) is not None or (isinstance(document, dict) and step in document):
            path, document = (*path, step), child(document, step)
        elif detail["type"] == "missing" and position == len(detail["loc"]) - 1:
            path = (*path, step)
    return path


def _is_echo(
    path: KeyPath, details: list[ErrorDetails], places: Mapping[KeyPath, list[ErrorDetails]]
) -> bool:
    """Return whether a place is only named because something inside it does not fit."""
    inside = any(other[: len(path)] == path and other != path for other in places)
    return inside and all(
        detail["type"] in {"too_short", "literal_error", "tuple_type"} for detail in details
    )


def _finding(
    path: KeyPath, details: list[ErrorDetails], document: object, shape: type[object]
) -> Finding:
    value: object = document
    for step in path:
        value = child(value, step)
    sentences = [_sentence(detail, path, value, shape) for detail in details]
    what = sentences[0][0]
    return Finding(path, what, ", or ".join(dict.fromkeys(remedy for _, remedy in sentences)))


def _sentence(
    detail: ErrorDetails, path: KeyPath, value: object, shape: type[object]
) -> tuple[str, str]:
    """Return what is wrong and the way out for one of pydantic's errors."""
    kind, given = detail["type"], shown(path, value)
    if kind == "missing":
        return "is missing", f"add {path[-1]}"
    if kind == "unexpected_keyword_argument":
        known = keys(shape, path[:-1])
        return f"unknown key with {given}", nearest(path[-1], known, "the keys here are")
    if kind in _KINDS:
        what, remedy = _KINDS[kind]
        return f"{given} is {what}", remedy
    context = detail.get("ctx", {})
    if kind == "value_error":
        what, _, remedy = str(context["error"]).partition("; ")
        return what, remedy
    return _choice(kind, context, value, given) or _bounds(detail, context, path, given)


def _choice(
    kind: str, context: Mapping[str, Any], value: object, given: str
) -> tuple[str, str] | None:
    if kind == "literal_error":
        return f"{given} is not known", nearest(value, _words(context["expected"]))
    if kind == "union_tag_invalid":
        known = _words(context["expected_tags"])
        return f"the kind {context['tag']!r} is not known", nearest(context["tag"], known)
    if kind == "union_tag_not_found":
        return "says no kind", f"add {context['discriminator'].strip(chr(39))}"
    return None


def _bounds(
    detail: ErrorDetails, context: Mapping[str, Any], path: KeyPath, given: str
) -> tuple[str, str]:
    match detail["type"]:
        case "string_pattern_mismatch":
            subject = f"the name {path[-1]!r}" if "[key]" in detail["loc"] else given
            what = f"{subject} does not fit"
            remedy = _PATTERNS.get(context["pattern"], "see docs/study.md")
        case "too_short" | "string_too_short":
            what, remedy = "holds too little", f"write at least {context['min_length']}"
        case "too_long":
            what = f"holds {context['actual_length']} entries, which is too many"
            remedy = f"write at most {context['max_length']}"
        case "string_too_long":
            what, remedy = (
                f"{given} is too long",
                f"write at most {context['max_length']} characters",
            )
        case "greater_than_equal":
            what, remedy = f"{given} is too small", f"write at least {context['ge']}"
        case "less_than_equal":
            what, remedy = f"{given} is too large", f"write at most {context['le']:,}"
        case _:
            what, remedy = f"{given}: {detail['msg']}", "see docs/study.md"
    return what, remedy


def keys(shape: object, path: KeyPath) -> tuple[str, ...]:
    """Return the keys that a table at this place may have, in the order of the dataclass."""
    shapes = [shape]
    for step in path:
        shapes = [inner for outer in shapes for inner in _inside(outer, step)]
    known = [field.name for each in alternatives(shapes) for field in _fields(each)]
    return tuple(dict.fromkeys(known))


def _inside(shape: object, step: str | int) -> Iterator[object]:
    for each in alternatives([shape]):
        origin, arguments = typing.get_origin(each), typing.get_args(each)
        if origin is Mapping:
            yield arguments[1]
        if origin is tuple:
            yield arguments[0]
        for field in _fields(each):
            if field.name == step:
                yield typing.get_type_hints(each)[field.name]


def alternatives(shapes: Iterable[object]) -> Iterator[object]:
    """Yield the shapes with unions taken apart."""
    for shape in shapes:
        origin = typing.get_origin(shape)
        if origin is typing.Union or type(shape).__name__ == "UnionType":
            yield from alternatives(typing.get_args(shape))
        else:
            yield shape


def _fields(shape: object) -> tuple[dataclasses.Field[Any], ...]:
    if isinstance(shape, type) and dataclasses.is_dataclass(shape):
        return dataclasses.fields(shape)
    return ()
