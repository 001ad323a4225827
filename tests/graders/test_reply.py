"""A reply is valid as a whole or decides nothing."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.graders import reply
from agent_trials.graders.base import BlindCase
from agent_trials.graders.citations import Checked, Citation, Finding
from agent_trials.graders.reply import InvalidReplyError
from agent_trials.ledger.outcomes import Outcome

CASE = BlindCase(
    question="How?",
    propositions=("One.", "Two."),
    answer="So.",
    citations=(
        Checked(Citation("a.md", 1, 1), Finding.EXISTS, "1: x"),
        Checked(Citation("b.md", 1, 1), Finding.NO_FILE),
    ),
    sources=(),
)


def written(**changed: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    good = {
        "propositions": [
            {"number": 1, "verdict": "supported", "reason": "r"},
            {"number": 2, "verdict": "supported", "reason": "r"},
        ],
        "citations": [{"number": 1, "verdict": "supports"}],
        "outcome": "correct",
    }
    return good | changed


def verdicts(first: str, second: str) -> list[dict[str, Any]]:
    return [
        {"number": 1, "verdict": first, "reason": "r"},
        {"number": 2, "verdict": second, "reason": "r"},
    ]


def code_of(text: str) -> str:
    with pytest.raises(InvalidReplyError) as caught:
        reply.read(text, CASE)
    return caught.value.code


@pytest.mark.parametrize("word", ["correct", "success"], ids=["ours", "alias of 003"])
def test_reads_a_verdict(word: str) -> None:
    verdict = reply.read(json.dumps(written(outcome=word)), CASE)

    assert verdict.outcome is Outcome.CORRECT
    assert [each.verdict for each in verdict.propositions] == ["supported", "supported"]


def test_one_code_fence_around_everything_is_allowed() -> None:
    assert reply.read(f"```json\n{json.dumps(written())}\n```\n", CASE).outcome is Outcome.CORRECT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It is correct.",
        "[]",
        json.dumps(written()) + json.dumps(written()),
        "Here: " + json.dumps(written()),
        '{"outcome": "correct", "outcome": "incorrect"}',
        '{"outcome": "correct", "score": NaN}',
    ],
    ids=["empty", "prose", "list", "two objects", "text before", "key twice", "NaN"],
)
def test_refuses_what_is_not_one_object(text: str) -> None:
    assert code_of(text) == reply.NOT_ONE_OBJECT


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"outcome": "excellent"}, reply.UNKNOWN_OUTCOME),
        ({"outcome": None}, reply.UNKNOWN_OUTCOME),
        ({"outcome": "blocked"}, reply.UNKNOWN_OUTCOME),
        ({"propositions": verdicts("supported", "supported")[:1]}, reply.PROPOSITIONS),
        ({"propositions": verdicts("supported", "good")}, reply.PROPOSITIONS),
        ({"propositions": [verdicts("supported", "supported")[0]] * 2}, reply.PROPOSITIONS),
        ({"propositions": [{"number": True, "verdict": "supported"}]}, reply.PROPOSITIONS),
        (
            {"propositions": [{"number": n, "verdict": "supported"} for n in (1, 2)]},
            reply.PROPOSITIONS,
        ),
        ({"citations": []}, reply.CITATIONS),
        ({"citations": [{"number": 2, "verdict": "supports"}]}, reply.CITATIONS),
        ({"propositions": verdicts("supported", "missing")}, reply.INCONSISTENT),
        ({"citations": [{"number": 1, "verdict": "does-not-support"}]}, reply.INCONSISTENT),
        ({"citations": [{"number": 1, "verdict": "contradicts"}]}, reply.INCONSISTENT),
        (
            {"outcome": "partial", "propositions": verdicts("supported", "contradicted")},
            reply.INCONSISTENT,
        ),
        (
            {"outcome": "partial", "propositions": verdicts("missing", "missing")},
            reply.INCONSISTENT,
        ),
    ],
)
def test_one_thing_wrong_makes_all_of_it_invalid(changed: dict[str, Any], code: str) -> None:
    """A grade that is half guessed would count like one that was given."""
    assert code_of(json.dumps(written(**changed))) == code


def test_partial_says_what_is_missing() -> None:
    """The rubric's partial answer lacks a proposition or a citation; one that is no file counts."""
    whole = dataclasses.replace(CASE, citations=CASE.citations[:1])
    text = json.dumps(written(outcome="partial"))

    assert reply.read(text, CASE).outcome is Outcome.PARTIAL
    with pytest.raises(InvalidReplyError) as caught:
        reply.read(text, whole)
    assert caught.value.code == reply.INCONSISTENT


def test_a_reason_can_be_written_down_whatever_it_holds() -> None:
    odd = [{"number": n, "verdict": "supported", "reason": "\ud83d"} for n in (1, 2)]
    verdict = reply.read(json.dumps(written(propositions=odd)), CASE)

    assert [each.reason for each in verdict.propositions] == ["?", "?"]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_no_reply_breaks_the_reader(value: object) -> None:
    for text in (json.dumps(value), json.dumps({"outcome": value, "propositions": value})):
        with pytest.raises(InvalidReplyError):
            reply.read(text, CASE)


def test_a_guess_names_an_arm_or_none() -> None:
    assert reply.read_guess('{"guess": "a"}', ["a", "b"]) == "a"
    assert reply.read_guess('{"guess": "undecided"}', ["a", "b"]) == "undecided"
    with pytest.raises(InvalidReplyError):
        reply.read_guess('{"guess": "c"}', ["a", "b"])
