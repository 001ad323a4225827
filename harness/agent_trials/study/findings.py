"""What is wrong with a document, by the path of its keys; the file's name is added at the end."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from agent_trials.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys and, inside lists, positions counted from 0."""

LONGEST_VALUE = 60
PRIVATE_KEYS = frozenset(
    {"question", "variants", "instructions", "text", "propositions", "reference", "wrong"}
)
"""Keys whose values are prompts or answers, which no message shows."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong at one place of a document, and the way out."""

    path: KeyPath
    what: str
    remedy: str

    def within(self, file: str, document: object) -> Problem:
        """Return the problem as a user reads it: the file's name, then the keys."""
        place = written(self.path, document)
        return Problem(f"{file}: {place}" if place else file, self.what, self.remedy)

    def touches(self, other: Finding) -> bool:
        """Return whether one of the two places lies inside the other."""
        shorter = min(len(self.path), len(other.path))
        return self.path[:shorter] == other.path[:shorter]


def written(path: KeyPath, document: object) -> str:
    """Return the path as one writes it, list elements by their id: ``tasks.install.question``."""
    text = ""
    for step in path:
        name = _name(step, document)
        text += f"[{step}]" if name is None else f".{name}" if text else name
        document = child(document, step)
    return text


def child(document: object, step: str | int) -> Any:  # noqa: ANN401 - any JSON value
    """Return what stands at one step below, None where there is nothing."""
    if isinstance(document, dict):
        return document.get(step)
    if isinstance(document, list) and isinstance(step, int) and step < len(document):
        return document[step]
    return None


def shown(path: KeyPath, value: object) -> str:
    """Return a value for a message, shortened; of a prompt or an answer only what it is."""
    if PRIVATE_KEYS.intersection(map(str, path)):
        return f"this {_kind(value)}"
    text = repr(value) if not isinstance(value, dict | list) else f"this {_kind(value)}"
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def nearest(word: object, known: Iterable[str], otherwise: str = "use one of") -> str:
    """Return the way out for a word that is not known: the nearest one, or all there are."""
    words = list(known)
    close = difflib.get_close_matches(str(word), words, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    if len(words) == 1 and otherwise == "use one of":
        return f"write {words[0]}" if words[0].isdecimal() else f'write "{words[0]}"'
    return f"{otherwise} {', '.join(words)}" if words else "remove it"


def _name(step: str | int, document: object) -> str | None:
    if isinstance(step, str):
        return step if step.isprintable() else repr(step)
    identity = child(child(document, step), "id")
    others = [child(item, "id") for item in document] if isinstance(document, list) else []
    return identity if isinstance(identity, str) and others.count(identity) == 1 else None


def _kind(value: object) -> str:
    kinds = {str: "text", dict: "table", list: "list", bool: "truth value", int: "number"}
    return kinds.get(type(value), "value")
