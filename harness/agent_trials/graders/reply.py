"""Reads an adjudicator's reply: valid as a whole, or not at all.

Rules, each with the code that a pending grade gets:
    the text is one JSON object, at most in one code fence; no key twice, no NaN  -> not-one-object
    the outcome is one of the rubric's for an answer, or an alias of it           -> unknown-outcome
    each proposition has one verdict of the known ones, with a reason             -> propositions
    each citation that exists has one verdict of the known ones, and no other has -> citations
    the outcome is the rubric's for these verdicts                                -> inconsistent
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from agent_trials.graders.citations import Finding
from agent_trials.ledger import outcomes
from agent_trials.ledger.outcomes import Outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from agent_trials.graders.base import BlindCase

NOT_ONE_OBJECT = "not-one-object"
UNKNOWN_OUTCOME = "unknown-outcome"
PROPOSITIONS = "propositions"
CITATIONS = "citations"
INCONSISTENT = "inconsistent"
UNKNOWN_GUESS = "unknown-guess"
UNDECIDED = "undecided"

SUPPORTED, CONTRADICTED = "supported", "contradicted"
PROPOSITION_VERDICTS = (SUPPORTED, "unsupported", "missing", CONTRADICTED)
SUPPORTS, CONTRADICTS = "supports", "contradicts"
CITATION_VERDICTS = (SUPPORTS, "does-not-support", CONTRADICTS)

_FENCED = re.compile(r"```(?:json)?\n(.*)\n```", re.DOTALL)
_LONGEST_REASON = 4000


class InvalidReplyError(Exception):
    """A reply that decides nothing.

    Attributes:
        code: why, for the ledger. The sentence is private.
    """

    def __init__(self, code: str, detail: str) -> None:
        self.code = code
        super().__init__(detail)


@dataclass(frozen=True)
class Judged:
    """One verdict on a proposition or a citation; numbers count from 1."""

    number: int
    verdict: str
    reason: str | None


@dataclass(frozen=True)
class Verdict:
    """A valid reply."""

    outcome: Outcome
    propositions: tuple[Judged, ...]
    citations: tuple[Judged, ...]
    reason: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as it is kept beside the ledger."""
        return {
            "outcome": self.outcome.value,
            "propositions": [vars(each) for each in self.propositions],
            "citations": [vars(each) for each in self.citations],
            "reason": self.reason,
        }


def read(text: str, case: BlindCase) -> Verdict:
    """Return the verdict of a reply.

    Raises:
        InvalidReplyError: it is none; nothing of it counts.
    """
    reply = _object(text)
    outcome = outcomes.parse(reply.get("outcome"))
    if outcome is None or outcome is Outcome.BLOCKED:
        _invalid(
            UNKNOWN_OUTCOME, f"the outcome {reply.get('outcome')!r:.80} is none of an answer's"
        )
    propositions = _judged(
        reply.get("propositions"),
        range(1, len(case.propositions) + 1),
        PROPOSITION_VERDICTS,
        PROPOSITIONS,
    )
    if any(each.reason is None for each in propositions):
        _invalid(PROPOSITIONS, "a verdict on a proposition has no reason")
    existing = [n for n, c in enumerate(case.citations, 1) if c.finding is Finding.EXISTS]
    cited = _judged(reply.get("citations"), existing, CITATION_VERDICTS, CITATIONS)
    verdict = Verdict(outcome, propositions, cited, _reason(reply.get("reason")))
    if wrong := _inconsistency(verdict, is_whole=len(existing) == len(case.citations)):
        _invalid(INCONSISTENT, wrong)
    return verdict


def read_guess(text: str, arms: Collection[str]) -> str:
    """Return the arm that a reply guesses, or ``undecided``.

    Raises:
        InvalidReplyError: it names neither.
    """
    guess = _object(text).get("guess")
    if not isinstance(guess, str) or guess not in {*arms, UNDECIDED}:
        _invalid(UNKNOWN_GUESS, f"the guess {guess!r:.80} names no arm")
    return guess


def _object(text: str) -> dict[str, Any]:
    stripped = text.strip()
    fenced = _FENCED.fullmatch(stripped)
    try:
        value = json.loads(
            fenced[1] if fenced else stripped,
            object_pairs_hook=_without_repetition,
            parse_constant=_no_constant,
        )
    except (ValueError, RecursionError) as error:
        _invalid(NOT_ONE_OBJECT, f"the reply is not one JSON object ({error})")
    if not isinstance(value, dict):
        _invalid(NOT_ONE_OBJECT, f"the reply is a JSON {type(value).__name__}, and no object")
    return value


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _judged(
    listed: object, numbers: Sequence[int], verdicts: Collection[str], code: str
) -> tuple[Judged, ...]:
    """Return one verdict for each number, in order."""
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        _invalid(code, f"{code} is no list of objects")
    found: dict[int, Judged] = {}
    for each in listed:
        number, verdict = each.get("number"), each.get("verdict")
        if type(number) is not int or number not in numbers or number in found:
            _invalid(code, f"{number!r:.40} is no number that needs a verdict, or has one already")
        if verdict not in verdicts:
            _invalid(code, f"the verdict {verdict!r:.80} on number {number} is not known")
        found[number] = Judged(number, verdict, _reason(each.get("reason")))
    if missing := [number for number in numbers if number not in found]:
        _invalid(code, f"number {missing[0]} has no verdict")
    return tuple(found[number] for number in numbers)


def _reason(written: object) -> str | None:
    if not isinstance(written, str) or not written.strip():
        return None
    return written.encode("utf-8", "replace").decode("utf-8").strip()[:_LONGEST_REASON]


def _inconsistency(verdict: Verdict, *, is_whole: bool) -> str | None:
    """Return how an outcome contradicts the verdicts beside it, None if it does not.

    Args:
        verdict: what was said.
        is_whole: whether every citation of the answer exists.
    """
    stated = [each.verdict for each in verdict.propositions]
    cited = [each.verdict for each in verdict.citations]
    contradicted = CONTRADICTED in stated or CONTRADICTS in cited
    if verdict.outcome in (Outcome.CORRECT, Outcome.PARTIAL) and contradicted:
        return f"{verdict.outcome.value}, and something is contradicted"
    if verdict.outcome is Outcome.CORRECT and set(stated) != {SUPPORTED}:
        return "correct, and a proposition is not supported"
    if verdict.outcome is Outcome.CORRECT and SUPPORTS not in cited:
        return "correct, and no citation supports it"
    if verdict.outcome is Outcome.PARTIAL and SUPPORTED not in stated:
        return "partial, and no proposition is supported"
    nothing_missing = is_whole and set(stated) == {SUPPORTED} and set(cited) == {SUPPORTS}
    if verdict.outcome is Outcome.PARTIAL and nothing_missing:
        return "partial, and neither a proposition nor a citation is missing"
    return None


def _invalid(code: str, detail: str) -> NoReturn:
    raise InvalidReplyError(code, detail)
