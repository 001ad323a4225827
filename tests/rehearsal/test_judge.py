"""The scripted adjudicator compares: it tells a good answer from a bad one, the same every time."""

from __future__ import annotations

from typing import Any

import pytest

from agent_trials.graders import prompt
from agent_trials.graders.base import BlindCase
from agent_trials.rehearsal import judge

PACKET: dict[str, Any] = {
    "question": "How is it installed?",
    "propositions": [
        {"number": 1, "text": "The bundle is installed with Node 22."},
        {"number": 2, "text": "Doctor must say ready."},
    ],
    "citations": [
        {"number": 1, "finding": "exists", "text": "3: Needs Node 22."},
        {"number": 2, "finding": "no-such-file", "text": ""},
    ],
    "sources": [{"path": "a.md", "text": "Needs Node 22. Doctor: ready."}],
}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("The bundle is installed with Node 22 (a.md:99); doctor must say ready.", "correct"),
        ("The bundle is installed with Node 22.", "partial"),
        ("The bundle is installed with Node 14.", "incorrect"),
        ("I do not know.", "incomplete"),
    ],
)
def test_tells_answers_apart(answer: str, outcome: str) -> None:
    assert judge.judge({**PACKET, "answer": answer})["outcome"] == outcome


def test_gives_a_verdict_on_citations_that_exist_alone() -> None:
    assert [each["number"] for each in judge.judge(PACKET | {"answer": "x"})["citations"]] == [1]


def test_guesses_one_of_the_arms_that_it_is_told() -> None:
    asked = prompt.guessing(BlindCase("How?", (), "So.", (), ()), ["docs-mcp", "plain"])

    assert judge.reply(asked.instruction, asked.packet)["guess"] in {"docs-mcp", "plain"}


def test_without_a_citation_nothing_is_supported() -> None:
    packet = {**PACKET, "citations": [], "answer": "The bundle is installed with Node 22."}

    assert judge.judge(packet)["propositions"][0]["verdict"] == "unsupported"


def test_a_record_without_an_answer_is_judged_by_what_it_cites() -> None:
    """The controls of a structured packet differ in their citations alone."""
    cites = {"number": 1, "finding": "exists", "text": "3: Unrelated words."}

    assert judge.judge({**PACKET, "record": {}, "citations": [cites]})["outcome"] == "incorrect"
    assert judge.judge({**PACKET, "record": {}, "citations": []})["outcome"] == "incomplete"
