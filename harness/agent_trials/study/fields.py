"""The fields of a study's documents one by one, so that an amendment can name what it changes.

A field is written as its keys with points between, elements of a list of tables by their id:
``tasks.install-command.question``. The order of such a list is a field of its own: ``tasks``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from agent_trials import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FREE: str | None = None
TOUCHES: tuple[tuple[str, str | None], ...] = (
    ("tasks", "question"),
    ("tasks.*.category", FREE),
    ("tasks.**", "question"),
    ("instructions", "question"),
    ("follow_up", "question"),
    ("follow_up.*", "question"),
    ("task_source", "question"),
    ("task_source.*", "question"),
    ("evaluation.max_workers", FREE),
    ("evaluation.*_seconds", FREE),
    ("evaluation.environment", FREE),
    ("evaluation.**", "key"),
    ("repositories.**", "pin"),
    ("models.*.prices.**", "price"),
    ("models.*.*_usd_per_million", "price"),
    ("models.*.attempt_usd", FREE),
    ("models", "model"),
    ("models.**", "model"),
    ("arms", "arm"),
    ("arms.**", "arm"),
    ("agent.immutable_model", FREE),
    ("agent.*", "model"),
    ("adjudicator.limit_usd", FREE),
    ("adjudicator.second.limit_usd", FREE),
    ("adjudicator.**", "key"),
    ("transports.*.prices.**", "price"),
    ("transports.*.*_usd_per_million", "price"),
    ("transports.*.*_usd", "price"),
    ("transports.*.tier_rule", "price"),
    ("transports.*.*timeout_seconds", FREE),
    ("transports.*.stdout_bytes", FREE),
    ("transports.*.stop_on", FREE),
    ("transports.**", "tool"),
    ("workspace.**", "tool"),
    ("parameters.*.description", FREE),
    ("parameters.**", "tool"),
    ("schema", FREE),
    ("id", FREE),
    ("title", FREE),
    ("declaration", FREE),
    ("schedule.*", FREE),
    ("phases.**", FREE),
    ("budget.*", FREE),
    ("endpoints.*", FREE),
    ("verdict.**", FREE),
)
"""What a field of the manifest belongs to; the first pattern that fits counts.

``*`` stands inside one key, ``**`` at the end for any keys at all. With a scored attempt on record,
changing a field that is not free begins a new series.
"""

FREE_FILES = ("*.py", "PROTOCOL.md", "README.md")
"""Files at the top of a study that are free to change; any other one is part of what is asked."""


@dataclass(frozen=True)
class Change:
    """One field or file that is not what it was; None where it was or is not there.

    ``old`` and ``new`` are JSON values for fields of the manifest, digests for all else.
    """

    file: str
    field: str | None
    old: Any
    new: Any

    @property
    def name(self) -> str:
        """Return ``study.toml: tasks.install.question`` or a file's name with what befell it."""
        if self.field is not None:
            return f"{self.file}: {self.field}"
        fate = " (new)" if self.old is None else " (removed)" if self.new is None else ""
        return self.file + fate

    def to_json(self) -> dict[str, Any]:
        """Return the change as it stands in the lock."""
        return {"file": self.file, "field": self.field, "old": self.old, "new": self.new}


def manifest_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return every field of a manifest with its value; what JSON may round stands as text."""
    return dict(_flat("", document))


def key_fields(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the digest of each task's entry of an answer key: the lock may be read by anyone."""
    tasks = document.get("tasks")
    entries = tasks.items() if isinstance(tasks, dict) else ()
    return {f"tasks.{task}": canonical.digest_of(_exact(entry)) for task, entry in entries}


def differences(file: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return the fields that are not equal, sorted by name."""
    return tuple(
        Change(file, field, old.get(field), new.get(field))
        for field in sorted({*old, *new})
        if old.get(field) != new.get(field)
    )


def touched(
    changes: Iterable[Change], *, manifests: Iterable[str], keys: Iterable[str]
) -> set[str]:
    """Return which of question, key, pin, arm, model, price and tool the changes touch."""
    words: set[str | None] = set()
    for change in changes:
        if change.file in manifests:
            words.add(FREE if change.field is None else belongs_to(change.field))
        elif change.file in keys:
            words.add(FREE if change.field is None else "key")
        elif not _is_free(change.file):
            words.add("question")
    return {word for word in words if word is not None}


def _is_free(file: str) -> bool:
    """Return whether a file is prose or code of the study, and nothing that an attempt is given."""
    return any(fnmatchcase(file, pattern) for pattern in FREE_FILES) and "/" not in file


def belongs_to(field: str) -> str | None:
    """Return what a field of the manifest belongs to, None if it is free to change.

    A field that the table does not know belongs to ``other``, which is not free.
    """
    for pattern, word in TOUCHES:
        if _fits(field.split("."), pattern.split(".")):
            return word
    return "other"


def shown(value: object) -> str:
    """Return a field's value for the protocol, shortened."""
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:199]}…"  # noqa: PLR2004 - about two lines


def _fits(keys: list[str], pattern: list[str]) -> bool:
    if pattern[-1] == "**":
        pattern = pattern[:-1]
        keys = keys[: len(pattern)]
    return len(keys) == len(pattern) and all(map(fnmatchcase, keys, pattern))


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else key, item)
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        ids = [item.get("id") for item in value]
        if all(isinstance(each, str) for each in ids):
            yield prefix, ids
        for index, item in enumerate(value):
            name = ids[index] if isinstance(ids[index], str) else str(index)
            yield from _flat(f"{prefix}.{name}", item)
    else:
        yield prefix, _exact(value)


def _exact(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value with floats as text, since canonical JSON holds none."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_exact(item) for item in value]
    return value
