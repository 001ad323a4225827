"""Reads what a provider command wrote on standard output: exactly one JSON object, or a reason.

Rules (each has its code):
    the bytes are UTF-8                                          invalid-utf-8
    there is something, it is JSON, an object, and nothing else  no-output, invalid-json,
                                                                 not-an-object, two-objects,
                                                                 trailing-text
    no key stands twice                                          repeated-key
    a number is finite, not negative, and of a size that means something
                                                                 non-finite-number,
                                                                 negative-number, number-too-large
    a field that the contract knows has its shape                invalid-metrics
    tokens say who counted them                                  no-token-method
    a command may say that its attempt is not completed (``execution``), and never that it is
Other fields of the object are ignored. Measurements are kept under any name, if they are numbers.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, NoReturn

from agent_trials import money
from agent_trials.agents import provider_claims
from agent_trials.agents.provider_claims import ClaimError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_trials.agents.provider_claims import Declared

WORDS = {
    "taskOutcome": ("success", "correct", "partial", "incorrect", "incomplete", "blocked"),
    "evidenceQuality": ("high", "medium", "low"),
    "safetyOutcome": ("safe", "unsafe", "not-applicable"),
}
COUNTS = ("clarificationRequests", "reworkCount", "toolCalls")
TOKENS = ("inputTokens", "cachedInputTokens", "outputTokens")
METHODS = ("provider", "estimate")
WHOLE = frozenset({"acceptanceChecksPassed", "acceptanceChecksTotal", "documentationFindingCount"})
_RATE = re.compile(r"searchHitRate|errorRate|documentation[A-Za-z0-9]*Rate")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_REFERENCE = re.compile(r"[a-z0-9._:-]{1,256}")
_SPACE = " \t\r\n"
"""What JSON allows around a value; Python's own strip takes more."""
MOST_MEASUREMENTS = 128
MOST_EVIDENCE = 128
MOST_DIGITS = 40
"""More than any figure has; with them a reply could outgrow a ledger's line."""
LARGEST = Decimal(10) ** 15
SMALLEST = Decimal(10) ** -15


class InvalidReplyError(ValueError):
    """A reply that is none; ``code`` is its reason in the ledger, the text is private."""

    def __init__(self, code: str, detail: str) -> None:
        self.code = code
        super().__init__(detail)


@dataclass(frozen=True)
class Reply:
    """What a provider says of its own work; every figure of it is a self-report.

    Token counts are None where they were not reported. ``counted_by`` is ``provider`` or
    ``estimate``. ``reported`` has the words and counts of the contract that were given,
    ``measurements`` numbers as decimal text. ``answer`` is text for a grader, if there is any.
    ``servers`` are the MCP servers that the command saw: whether each was ready before the model
    was asked, how often it was called, and how often it answered.
    """

    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    output_tokens: int | None = None
    counted_by: str | None = None
    answer: str | None = None
    reported: Mapping[str, Any] = field(default_factory=dict)
    measurements: Mapping[str, str] = field(default_factory=dict)
    declared: Declared | None = None
    servers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def read(stdout: bytes) -> Reply:
    """Return the reply.

    Raises:
        InvalidReplyError: it breaks a rule.
    """
    found = _object(_text(stdout))
    tokens = {name: _count(found, name) for name in TOKENS}
    method = _word(found, "tokenMethod", METHODS)
    if method is None and any(count is not None for count in tokens.values()):
        raise InvalidReplyError("no-token-method", "tokens without tokenMethod")
    answer = found.get("answer")
    if answer is not None and not isinstance(answer, str):
        raise InvalidReplyError("invalid-metrics", "answer is no text")
    return Reply(
        tokens["inputTokens"],
        tokens["cachedInputTokens"],
        tokens["outputTokens"],
        method,
        answer,
        _reported(found),
        _measurements(found.get("measurements")),
        *_claims(found),
    )


def _text(stdout: bytes) -> str:
    try:
        text = stdout.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidReplyError("invalid-utf-8", f"byte {error.start}") from error
    if not text.strip(_SPACE):
        raise InvalidReplyError("no-output", "nothing on standard output")
    return text


def _object(text: str) -> dict[str, Any]:
    decoder = json.JSONDecoder(
        object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_decimal, parse_int=_integer
    )
    begin = len(text) - len(text.lstrip(_SPACE))
    try:
        found, end = decoder.raw_decode(text, begin)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidReplyError("invalid-json", str(error)) from error
    if not isinstance(found, dict):
        raise InvalidReplyError("not-an-object", type(found).__name__)
    rest = text[end:].strip(_SPACE)
    if rest:
        code = "two-objects" if rest.startswith("{") else "trailing-text"
        raise InvalidReplyError(code, f"{len(rest)} characters behind the object")
    return found


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidReplyError("repeated-key", "a key stands twice in one object")
    return found


def _constant(word: str) -> NoReturn:
    raise InvalidReplyError("non-finite-number", word)


def _decimal(written: str) -> Decimal:
    """Return the number; one whose exponent no Decimal holds as what is judged as it would be."""
    try:
        return Decimal(written)
    except InvalidOperation:
        sign = "-" if written.startswith("-") else ""
        exponent = written.lower().partition("e")[2]
        return Decimal(f"{sign}1e-9999" if exponent.startswith("-") else f"{sign}Infinity")


def _integer(digits: str) -> int | Decimal:
    # int() refuses thousands of digits; a Decimal of them is judged like any other number.
    return int(digits) if len(digits) < 20 else Decimal(digits)  # noqa: PLR2004 - above LARGEST


def _number(name: str, value: object) -> Decimal:
    """Return a figure that is at least 0."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise InvalidReplyError("invalid-metrics", f"{name} is no number")
    number = Decimal(value)
    if number < 0:
        raise InvalidReplyError("negative-number", name)
    if not number.is_finite() or (number and number.adjusted() > 308):  # noqa: PLR2004 - no double
        raise InvalidReplyError("non-finite-number", name)
    if len(number.as_tuple().digits) > MOST_DIGITS:
        raise InvalidReplyError("number-too-large", f"{name} has more than {MOST_DIGITS} digits")
    if number > LARGEST or (0 < number < SMALLEST):
        raise InvalidReplyError("number-too-large", f"{name} is beyond all measure")
    return number


def _count(found: Mapping[str, Any], name: str) -> int | None:
    value = found.get(name)
    if value is None:
        return None
    number = _number(name, value)
    if number != number.to_integral_value():
        raise InvalidReplyError("invalid-metrics", f"{name} is no whole number")
    return int(number)


def _word(found: Mapping[str, Any], name: str, known: tuple[str, ...]) -> str | None:
    value = found.get(name)
    if value is None:
        return None
    if value not in known:
        raise InvalidReplyError("invalid-metrics", f"{name} is none of {', '.join(known)}")
    return str(value)


def _reported(found: Mapping[str, Any]) -> dict[str, Any]:
    reported: dict[str, Any] = {
        name: _word(found, name, known) for name, known in WORDS.items() if name in found
    }
    reported |= {name: _count(found, name) for name in COUNTS if name in found}
    if found.get("firstEvidenceLatencyMs") is not None:
        latency = _number("firstEvidenceLatencyMs", found["firstEvidenceLatencyMs"])
        reported["firstEvidenceLatencyMs"] = _written(latency)
    if "evidenceIds" in found:
        reported["evidenceIds"] = _evidence(found["evidenceIds"])
    return reported


def _evidence(value: object) -> list[str]:
    if not isinstance(value, list) or len(value) > MOST_EVIDENCE:
        raise InvalidReplyError("invalid-metrics", f"evidenceIds is no list of {MOST_EVIDENCE}")
    for each in value:
        if not isinstance(each, str) or not _REFERENCE.fullmatch(each):
            raise InvalidReplyError("invalid-metrics", "an evidence id is no reference")
    return [str(each) for each in value]


def _claims(found: Mapping[str, Any]) -> tuple[Declared | None, dict[str, dict[str, Any]]]:
    try:
        return (
            provider_claims.declared(found.get("execution")),
            provider_claims.servers(found.get("servers")),
        )
    except ClaimError as error:
        raise InvalidReplyError("invalid-metrics", str(error)) from error


def _measurements(value: object) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > MOST_MEASUREMENTS:
        raise InvalidReplyError("invalid-metrics", "measurements is no object of 128 numbers")
    kept: dict[str, Decimal] = {}
    for name, figure in value.items():
        if not _NAME.fullmatch(name):
            raise InvalidReplyError("invalid-metrics", "a measurement's name is no word")
        kept[name] = _number(name, figure)
    _canonical(kept)
    return {name: _written(number) for name, number in sorted(kept.items())}


def _canonical(kept: Mapping[str, Decimal]) -> None:
    """Hold the names that the contract defines to their meaning."""
    rules: list[tuple[str, Callable[[str, Decimal], bool]]] = [
        ("a rate is at most 1", lambda name, n: bool(_RATE.fullmatch(name)) and n > 1),
        ("a count is whole", lambda name, n: name in WHOLE and n != n.to_integral_value()),
    ]
    for name, number in kept.items():
        for rule, broken in rules:
            if broken(name, number):
                raise InvalidReplyError("invalid-metrics", f"{name}: {rule}")
    passed, total = kept.get("acceptanceChecksPassed"), kept.get("acceptanceChecksTotal")
    if passed is not None and total is not None and passed > total:
        raise InvalidReplyError("invalid-metrics", "more checks passed than there are")


def _written(number: Decimal) -> str:
    return money.text(number) if number else "0"  # of zero there is no negative one
