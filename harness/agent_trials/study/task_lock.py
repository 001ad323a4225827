"""The lock of a benchmark's selected tasks: made once, never again.

The file holds three objects. ``lock`` is what was selected. ``digests`` are two digests of its one
canonical text (keys sorted, no spaces, not escaped to ASCII, UTF-8), by name, because published
locks are quoted by either: with the newline that ends the text in a file, and without it. ``pins``
say what belongs together when the tasks are evaluated: the source of the rows, the version of the
evaluation harness, and the set of images.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials import canonical
from agent_trials.errors import Problem, StudyError
from agent_trials.study import disk, document
from agent_trials.study.selection import RULE, Instance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

WITH_NEWLINE = "sha256-of-text-with-newline"
WITHOUT_NEWLINE = "sha256-of-text-without-newline"
_KEYS = {"lock", "digests", "pins"}
_LOCK_KEYS = {"dataset", "split", "selection_rule", "n", "instances"}
_INSTANCE_KEYS = {field.name for field in dataclasses.fields(Instance)}
_REMEDY = "restore the file as it was made; a lock is never made again"


@dataclass(frozen=True)
class Pins:
    """What belongs together when the tasks are evaluated; None where nobody has said it yet."""

    row_source: str
    rows_digest: str
    harness_version: str | None = None
    image_set: str | None = None


@dataclass(frozen=True)
class TaskLock:
    """The selected instances in their order, with where they come from."""

    dataset: str
    split: str
    instances: tuple[Instance, ...]
    pins: Pins
    selection_rule: str = RULE

    @property
    def text(self) -> bytes:
        """Return the canonical text of what was selected, ended by a newline."""
        lock = {
            "dataset": self.dataset,
            "split": self.split,
            "selection_rule": self.selection_rule,
            "n": len(self.instances),
            "instances": [dataclasses.asdict(each) for each in self.instances],
        }
        line = json.dumps(lock, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return line.encode("utf-8") + b"\n"

    @property
    def digests(self) -> dict[str, str]:
        """Return the digests of the text, by their names."""
        return {
            WITH_NEWLINE: canonical.digest(self.text),
            WITHOUT_NEWLINE: canonical.digest(self.text.removesuffix(b"\n")),
        }

    def to_bytes(self) -> bytes:
        """Return the file."""
        content = {
            "digests": self.digests,
            "lock": json.loads(self.text),
            "pins": dataclasses.asdict(self.pins),
        }
        return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"


def write(path: Path, lock: TaskLock) -> bool:
    """Write a lock that is not there yet; return whether it was written.

    One that is there and says the same stays as it is.

    Raises:
        StudyError: another one is there, and stays as it is.
    """
    if path.exists():
        if load(path) == lock:
            return False
        what = "is there, and selects other tasks or has other pins"
        raise StudyError([Problem(str(path), what, "a lock is never made again: name a new file")])
    disk.replace(path, lock.to_bytes())
    return True


def load(path: Path) -> TaskLock:
    """Read a lock.

    Raises:
        StudyError: it cannot be read, has another shape, or is not what its digests say.
    """
    raw, problems = document.read(path)
    if raw is None:
        raise StudyError(problems)
    return parse(raw, str(path))


def parse(raw: Mapping[str, Any], name: str) -> TaskLock:
    """Return the lock that a document holds; ``name`` is the document's, for the error.

    Raises:
        StudyError: it has another shape, or is not what its digests say.
    """
    problems = [Problem(name, what, _REMEDY) for what in _misshapen(raw)]
    if problems:
        raise StudyError(problems)
    lock = raw["lock"]
    instances = tuple(Instance(**each) for each in lock["instances"])
    made = TaskLock(
        lock["dataset"], lock["split"], instances, Pins(**raw["pins"]), lock["selection_rule"]
    )
    for each, digest in made.digests.items():
        if raw["digests"].get(each) != digest:
            what = f"its {each} is {digest}, and it says {raw['digests'].get(each)}"
            problems.append(Problem(name, what, _REMEDY))
    if problems:
        raise StudyError(problems)
    return made


def _misshapen(raw: Mapping[str, Any]) -> Iterator[str]:
    if raw.keys() != _KEYS or not all(isinstance(each, dict) for each in raw.values()):
        yield f"is no lock of tasks: it needs the objects {', '.join(sorted(_KEYS))}"
        return
    lock, pins = raw["lock"], raw["pins"]
    if lock.keys() != _LOCK_KEYS:
        yield f"lock needs exactly the keys {', '.join(sorted(_LOCK_KEYS))}"
    elif not isinstance(lock["instances"], list) or lock["n"] != len(lock["instances"]):
        yield "lock.instances is no list of n instances"
    else:
        yield from _misshapen_instances(lock["instances"])
    if pins.keys() != {field.name for field in dataclasses.fields(Pins)}:
        yield "pins needs exactly the keys row_source, rows_digest, harness_version, image_set"


def _misshapen_instances(instances: list[Any]) -> Iterator[str]:
    for index, each in enumerate(instances):
        if not isinstance(each, dict) or each.keys() != _INSTANCE_KEYS:
            keys = ", ".join(sorted(_INSTANCE_KEYS))
            yield f"lock.instances[{index}] needs exactly the keys {keys}"
    named = [each.get("instance_id") for each in instances if isinstance(each, dict)]
    for name in sorted({str(each) for each in named if named.count(each) > 1}):
        yield f"lock.instances holds {name} twice"
