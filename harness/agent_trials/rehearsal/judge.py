"""A small deterministic adjudicator for rehearsals: it compares words, and knows nothing else.

A proposition is supported where the answer has most of its words and a citation that exists, and
missing otherwise. A figure of the answer that neither the question, a source, a proposition nor a
cited line has contradicts the files. It is no evidence about any answer.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from agent_trials.rehearsal import model
from agent_trials.rehearsal.replies import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_trials.rehearsal.replies import Reply

MARK = "\nPACKET\n"
ENOUGH = 0.4
"""The share of a proposition's words that an answer must have."""
STEM = 5

_WORD = re.compile(r"[A-Za-z0-9]+")
_FIGURE = re.compile(r"(?<![\w.])[0-9]+(?:\.[0-9]+)*(?![\w])")
_PLACE = re.compile(r"[\w./@+-]+\.\w+(?::|#L)[0-9]+(?:-L?[0-9]+)?")
_CHOICES = re.compile(r'one of ((?:"[^"]*"(?:, )?)+), or "undecided"')
_SMALL_WORDS = """
    a about after all also an and any are as at be because been before but by can could did do does
    each every for from had has have if in into is it its may more most must no not of on one only
    or other over so some such than that the their them then there these they this those to under
    until was were what when where which while who will with without would
"""
_SMALL = frozenset(_SMALL_WORDS.split())


def respond(body: Mapping[str, Any]) -> Reply:
    """Return the verdict on a packet, or a guess; anything else is for the scripted model."""
    text = "\n".join(_texts(body))
    asked, mark, written = text.partition(MARK)
    if not mark:
        return model.respond(body)
    packet, _ = json.JSONDecoder().raw_decode(written)
    return say(json.dumps(reply(asked, packet)))


def reply(instruction: str, packet: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an adjudicator says to an instruction and a packet."""
    if choices := _CHOICES.search(instruction):
        written = json.dumps(packet, ensure_ascii=False, sort_keys=True)
        return {"guess": _guess(written, choices[1])}
    return judge(packet)


def judge(packet: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reply to a packet, as an adjudicator writes it."""
    stated = packet.get("answer") or "\n".join(c["text"] for c in packet["citations"])
    existing = [each for each in packet["citations"] if each["finding"] == "exists"]
    invented = _invented(stated, packet)
    words = _words(stated)
    propositions = [
        _proposition(each, words, cited=bool(existing)) for each in packet["propositions"]
    ]
    supported = [each for each in propositions if each["verdict"] == "supported"]
    if invented:
        outcome, reason = "incorrect", f"the files do not hold {', '.join(sorted(invented))}"
    elif not supported and "answer" not in packet and packet["citations"]:
        outcome, reason = "incorrect", "what it cites supports none of what is expected"
    elif not supported:
        outcome, reason = "incomplete", "it states none of what is expected"
    elif len(supported) == len(propositions):
        outcome, reason = "correct", "it states all of what is expected"
    else:
        outcome, reason = "partial", "it states some of what is expected"
    return {
        "propositions": propositions,
        "citations": [{"number": each["number"], "verdict": "supports"} for each in existing],
        "reason": reason,
        "outcome": outcome,
    }


def _proposition(each: Mapping[str, Any], words: set[str], *, cited: bool) -> dict[str, Any]:
    wanted = _words(each["text"])
    share = len(wanted & words) / len(wanted) if wanted else 0
    verdict = "missing" if share < ENOUGH else "supported" if cited else "unsupported"
    reason = f"{len(wanted & words)} of {len(wanted)} words"
    return {"number": each["number"], "verdict": verdict, "reason": reason}


def _invented(stated: str, packet: Mapping[str, Any]) -> set[str]:
    """Return the figures of an answer that stand nowhere else in the packet."""
    known = [packet["question"]]
    known += [each["text"] for part in ("sources", "propositions") for each in packet[part]]
    known += [each["text"] for each in packet["citations"]]
    return _figures([_PLACE.sub(" ", stated)]) - _figures(known)


def _figures(texts: Iterable[str]) -> set[str]:
    return {figure for text in texts for figure in _FIGURE.findall(text)}


def _words(text: str) -> set[str]:
    found = (word.casefold() for word in _WORD.findall(text))
    return {word[:STEM] for word in found if word not in _SMALL}


def _guess(packet: str, choices: str) -> str:
    """Return an arm, drawn from the packet: right as often as chance is."""
    arms: list[str] = sorted(json.loads(f"[{choices}]"))
    drawn = hashlib.sha256(packet.encode("utf-8", "replace")).digest()[0]
    return arms[drawn % len(arms)]


def _texts(body: Mapping[str, Any]) -> Iterable[str]:
    for message in body.get("messages", []):
        content = message.get("content")
        if isinstance(content, str):
            yield content
        else:
            yield from (b["text"] for b in content or () if b.get("type") == "text")
