"""What an adjudicator gets to see of an attempt: a packet built by allow-list.

``BlindCase`` has no field for arm, order, tools, tokens, cost, time or path. An attempt comes in as
``Answered``, into which ``answered`` lets its text and the fields that a study declares neutral.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_trials import canonical
from agent_trials.graders import citations
from agent_trials.graders.words import ArmWords, neutral

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_trials.graders.citations import Checked, Corpora
    from agent_trials.study.key import TaskKey
    from agent_trials.study.settings import AdjudicatorSettings

RECORD_FIELDS = {"execution_status": "status", "duration_ms": "wallTimeMs"}
"""Fields of an observation that a structured packet may hold where the study declares them."""
REPORTED_OUTCOMES = ("taskOutcome", "evidenceQuality", "safetyOutcome")
Record = Mapping[str, Any]


@dataclass(frozen=True)
class Answered:
    """What of an attempt a packet may be made of: its answer, and fields declared neutral."""

    answer: str
    record: Record = field(default_factory=dict)

    @property
    def is_usable(self) -> bool:
        """Return whether there is anything to grade."""
        return bool(self.answer.strip())


@dataclass(frozen=True)
class Source:
    """A file that settles the task, whole, as it is at the pin."""

    path: str
    text: str


@dataclass(frozen=True)
class BlindCase:
    """All that an adjudicator knows. ``answer`` is None in a structured packet."""

    question: str
    propositions: tuple[str, ...]
    answer: str | None
    citations: tuple[Checked, ...]
    sources: tuple[Source, ...]
    record: Record = field(default_factory=dict)

    def packet(self) -> bytes:
        """Return the packet's canonical bytes."""
        return canonical.dumps(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the packet as the adjudicator reads it; numbers count from 1."""
        shown: dict[str, Any] = {
            "question": self.question,
            "propositions": [
                {"number": number, "text": text} for number, text in enumerate(self.propositions, 1)
            ],
            "citations": [_citation(number, c) for number, c in enumerate(self.citations, 1)],
            "sources": [{"path": each.path, "text": each.text} for each in self.sources],
        }
        if self.answer is not None:
            return {**shown, "answer": self.answer}
        return {**shown, "record": dict(self.record)}


@dataclass(frozen=True)
class Blinded:
    """A case, and how many words of the answer were replaced in it."""

    case: BlindCase
    replacements: int


def answered(
    observation: Mapping[str, Any],
    answer: str | None,
    settings: AdjudicatorSettings,
    requirements: Sequence[str] = (),
) -> Answered:
    """Return what of a settled attempt a packet may be made of; no lone surrogate is in it.

    Args:
        observation: as its line has it.
        answer: its text.
        settings: what the study declares neutral.
        requirements: the evidence that the study requires of the task.
    """
    text = (answer or "").encode("utf-8", "replace").decode("utf-8")
    declared = dict(_record(observation, text, settings, requirements))
    return Answered(text, {name: each for name, each in declared.items() if each is not None})


def _record(
    observation: Mapping[str, Any],
    text: str,
    settings: AdjudicatorSettings,
    requirements: Sequence[str],
) -> Iterator[tuple[str, Any]]:
    told = observation.get("provider") or {}
    reported, measurements = told.get("selfReported", {}), told.get("measurements", {})
    ids = reported.get("evidenceIds")
    for name in settings.neutral:
        if name in RECORD_FIELDS:
            yield name, observation.get(RECORD_FIELDS[name])
        elif name == "response_bytes":
            yield name, len(text.encode("utf-8"))
        elif name == "outcomes":
            yield name, {each: reported[each] for each in REPORTED_OUTCOMES if each in reported}
        elif name == "evidence_ids":
            yield name, ids
        elif name == "acceptance":
            yield name, _acceptance(observation.get("acceptance"))
        elif name == "evidence_presence":
            yield name, [{"requirement": r, "present": r in (ids or ())} for r in requirements]
    if settings.neutral_measurements:
        named = {m: measurements[m] for m in settings.neutral_measurements if m in measurements}
        yield "measurements", named


def _acceptance(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what the harness's own checks came to, without how long they took."""
    if found is None:
        return None
    checks = [{"check": each["check"], "passed": each["passed"]} for each in found["checks"]]
    return {"passed": found["passed"], "total": found["total"], "checks": checks}


def blind(
    attempt: Answered,
    question: str,
    key: TaskKey,
    corpus: Corpora,
    *,
    settings: AdjudicatorSettings,
    words: ArmWords,
) -> Blinded:
    """Return the case that an adjudicator is given.

    Raises:
        RuntimeError: a source of the key is not in the corpus.
    """
    text, replacements = neutral(attempt.answer, words, corpus)
    checked = citations.check(citations.find(text, corpus), corpus)
    is_structured = settings.is_structured
    case = BlindCase(
        question=question,
        propositions=tuple(each.text for each in key.propositions),
        answer=None if is_structured else text,
        citations=checked,
        sources=tuple(Source(path, _whole(path, corpus)) for path in key.sources),
        record=_without_words(attempt.record, words, corpus) if is_structured else {},
    )
    return Blinded(case, replacements)


def _without_words(value: Any, words: ArmWords, corpus: Corpora) -> Any:  # noqa: ANN401 - JSON
    """Return a record whose texts tell no arm: a provider may name its tool in an evidence id."""
    if isinstance(value, str):
        return neutral(value, words, corpus)[0]
    if isinstance(value, Mapping):
        return {name: _without_words(each, words, corpus) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_words(each, words, corpus) for each in value]
    return value


def _whole(path: str, corpus: Corpora) -> str:
    text = corpus.text(path)
    if text is None:
        raise RuntimeError(f"the source {path} is not in the corpus")
    return text


def _citation(number: int, checked: Checked) -> dict[str, Any]:
    citation = checked.citation
    return {
        "number": number,
        "path": citation.path,
        "lines": f"{citation.first}-{citation.last}",
        "quoted": citation.quote,
        "finding": checked.finding.value,
        "text": checked.text,
    }
