"""Looks for the answer key where an agent could read it: in prompts and in the exported corpus.

A proposition is looked for as a whole, case and white space folded, so that neither a line break
nor a capital hides it. Messages name the place and never the text.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from typing import TYPE_CHECKING

from agent_trials import canonical
from agent_trials.errors import Problem
from agent_trials.study import asked
from agent_trials.study.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agent_trials.study.key import AnswerKey
    from agent_trials.study.settings import Manifest


def folded(text: str) -> str:
    """Return the text in one case, with every run of white space as one space."""
    return " ".join(_words(text))


def _words(text: str) -> list[str]:
    return unicodedata.normalize("NFC", text).casefold().split()


def _sign(text: str) -> str | None:
    """Return a word that stands whole wherever the folded text stands; None if there is none.

    The first and the last word of the text may be part of a longer one.
    """
    return max(text.split(" ")[1:-1], key=len, default=None)


def in_prompts(key: AnswerKey, manifest: Manifest) -> Iterator[Finding]:
    """Yield every task whose prompt holds a proposition of the key, whichever task's it is."""
    # Only those whose sign the prompt holds are compared: with many tasks that is hardly any.
    signs: dict[str | None, list[tuple[int, str, str]]] = {}
    for number, (name, text, _) in enumerate(_propositions(key)):
        signs.setdefault(_sign(folded(text)), []).append((number, name, folded(text)))
    for index, task in enumerate(manifest.tasks):
        for keys, wording in asked.wordings(task):
            prompt = folded(manifest.worded(wording))
            likely = [signs[sign] for sign in signs.keys() & {None, *prompt.split(" ")}]
            for _, name, text in sorted(one for each in likely for one in each):
                if text in prompt:
                    what = f"the prompt holds {name} of the answer key"
                    remedy = "ask without giving the answer away"
                    yield Finding(("tasks", index, *keys), what, remedy)


def in_corpus(key: AnswerKey, files: Iterable[tuple[str, bytes]]) -> list[Problem]:
    """Return every file and line of an exported corpus that holds a proposition not marked quoted.

    Args:
        key: the study's answer key.
        files: path with forward slashes and bytes of every exported file.
    """
    propositions = [(name, folded(text)) for name, text, quoted in _propositions(key) if not quoted]
    return [
        Problem(
            f"{path}:{line}",
            f"the corpus holds {name} of the answer key",
            "word it differently, or mark it quoted = true if the corpus really says so",
        )
        for path, content in files
        for name, line in _held(propositions, content)
    ]


def study_files(study: Mapping[str, str], files: Iterable[tuple[str, bytes]]) -> list[Problem]:
    """Return every file of an exported corpus that is, byte for byte, a file of the study.

    Args:
        study: digest of each file of the study's folder, by path.
        files: path and bytes of every exported file.
    """
    names = {digest: name for name, digest in study.items() if digest != canonical.digest(b"")}
    problems = []
    for path, content in files:
        name = names.get(canonical.digest(content))
        if name is not None:
            what = f"the corpus holds the study's own file {name}"
            problems.append(Problem(path, what, "take it out of the corpus, and pin that commit"))
    return problems


def _propositions(key: AnswerKey) -> Iterator[tuple[str, str, bool]]:
    for task, entry in key.tasks.items():
        for index, proposition in enumerate(entry.propositions):
            yield f"tasks.{task}.propositions[{index}]", proposition.text, proposition.quoted


def _held(propositions: list[tuple[str, str]], content: bytes) -> Iterator[tuple[str, int]]:
    """Yield name and line, counted from 1, of every proposition that the content holds."""
    text = content.decode("utf-8", errors="replace")
    whole = folded(text)
    held = [(name, whole.index(wanted)) for name, wanted in propositions if wanted in whole]
    if held:
        starts, lines = _word_starts(text)
        for name, position in held:
            yield name, lines[bisect_right(starts, position) - 1]


def _word_starts(text: str) -> tuple[list[int], list[int]]:
    """Return where each word begins in the folded text, and the line that it stands on."""
    starts, lines, position = [], [], 0
    for number, line in enumerate(text.split("\n"), start=1):
        for word in _words(line):
            starts.append(position)
            lines.append(number)
            position += len(word) + 1
    return starts, lines
