"""Records which programs of an arm a provider command ran: a scenario's label proves nothing.

A watched program is found first on the command's PATH as a few lines of shell that note its start
and its end around the real one. In every arm the same programs are watched, so that arms differ in
nothing but what they do. A command that starts a program by its path is not seen; one that writes
into the log itself could deceive: this is evidence against mistakes, not against forgery.
"""

from __future__ import annotations

import shlex
import shutil
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_LOG_BYTES = 4 * 1024 * 1024
NOT_SEEN = "treatment-not-seen"
ELSEWHERE = "treatment-in-another-arm"
UNAVAILABLE = "treatment-unavailable"

_SHIM = """\
#!/bin/sh
printf 'start {name}\\n' >>{log}
{real} "$@"
code=$?
printf 'end {name} %s\\n' "$code" >>{log}
exit "$code"
"""
STAND_IN = "printf '{}\\n' && :"
"""What a watched program is in a rehearsal, where nothing of the operator's is started."""


@dataclass(frozen=True)
class Evidence:
    """What was seen of the watched programs: starts, ends, and ends with exit code 0, by name.

    An MCP server is ended by its client, without an end of its own. ``serving`` tells that the
    command saw one ready: then a program that was started and never ended counts as seen.
    """

    expected: tuple[str, ...]
    watched: tuple[str, ...]
    unavailable: tuple[str, ...]
    started: Counter[str]
    succeeded: Counter[str]
    ended: Counter[str] = field(default_factory=Counter)
    serving: bool = False

    def was_seen(self, name: str) -> bool:
        """Tell whether a program ran to a good end, or served until its client was done."""
        served = self.serving and self.started[name] > self.ended[name]
        return bool(self.succeeded[name]) or served

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the codes of what does not fit the arm."""
        missing = [name for name in self.expected if not self.was_seen(name)]
        others = [name for name in self.watched if name not in self.expected]
        codes = []
        if any(name in self.unavailable for name in missing):
            codes.append(UNAVAILABLE)
        if missing:
            codes.append(NOT_SEEN)
        if any(self.started[name] for name in others):
            codes.append(ELSEWHERE)
        return tuple(codes)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as they stand in a ledger line."""
        return {
            "kind": "witness" if self.watched else "none",
            "expected": list(self.expected),
            "watched": list(self.watched),
            "unavailable": list(self.unavailable),
            "started": {name: self.started[name] for name in self.watched},
            "succeeded": {name: self.succeeded[name] for name in self.watched},
            "problems": list(self.problems),
        }


class Witness:
    """Watches programs for one attempt.

    Args:
        expected: the programs of the attempt's arm.
        watched: the programs of all arms.
        scratch: an empty folder of the attempt's own.
        search: the PATH on which the real programs are.
        rehearsal: put stand-ins for them.
    """

    def __init__(
        self,
        expected: tuple[str, ...],
        watched: Iterable[str],
        scratch: Path,
        *,
        search: str,
        rehearsal: bool,
    ) -> None:
        self._expected = expected
        self._watched = tuple(watched)
        self._log = scratch / "seen"
        self.folder = scratch / "bin"
        self.folder.mkdir()
        self._unavailable = tuple(
            name for name in self._watched if not self._place(name, search, rehearsal=rehearsal)
        )

    def _place(self, name: str, search: str, *, rehearsal: bool) -> bool:
        found = None if rehearsal else shutil.which(name, path=search)
        if found is None and not rehearsal:
            return False
        real = STAND_IN if found is None else shlex.quote(found)
        shim = self.folder / name
        text = _SHIM.format(name=name, log=shlex.quote(str(self._log)), real=real)
        shim.write_text(text, encoding="utf-8")
        shim.chmod(0o755)
        return True

    def _lines(self) -> list[str]:
        """Return what was noted; of a log that was made unreadable or filled, what there is."""
        try:
            if not self._log.is_file():
                return []
            with self._log.open("rb") as log:
                return log.read(_LOG_BYTES).decode("utf-8", "replace").splitlines()
        except OSError:
            return []

    def evidence(self) -> Evidence:
        """Return what was seen; a line that is none of ours is passed over."""
        started: Counter[str] = Counter()
        succeeded: Counter[str] = Counter()
        ended: Counter[str] = Counter()
        for line in self._lines():
            words = line.split()
            if words[:1] == ["start"] and words[-1] in self._watched:
                started[words[-1]] += 1
            elif words[:1] == ["end"] and words[1:2] and words[1] in self._watched:
                ended[words[1]] += 1
                succeeded[words[1]] += words[-1] == "0"
        return Evidence(self._expected, self._watched, self._unavailable, started, succeeded, ended)
