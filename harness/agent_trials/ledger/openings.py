"""Reading what a line only commits to: an opening is believed when its commitment is the line's."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials import canonical
from agent_trials.errors import LedgerError
from agent_trials.ledger.chain import parsed
from agent_trials.ledger.private import commitment, private_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from agent_trials.ledger.chain import Line

_SALT = re.compile(r"[0-9a-f]{64}")
_ARTIFACT = re.compile(r"[0-9a-f]{32}\.gz")


@dataclass(frozen=True)
class Opening:
    """Salt and private bytes behind a commitment."""

    seq: int
    field: str
    salt: bytes
    data: bytes

    def matches(self, committed: str) -> bool:
        """Return whether the commitment was made to exactly this."""
        return commitment(self.salt, self.field, self.data) == committed

    def value(self) -> Any:  # noqa: ANN401 - any JSON value
        """Return the JSON value that the bytes hold."""
        return json.loads(self.data)


class Openings:
    """Reads openings by line and field; keeps offsets in memory, not values."""

    def __init__(self, ledger: Path) -> None:
        self._folder = private_folder(ledger)
        self._offsets: dict[tuple[int, str], list[int]] | None = None

    @property
    def exist(self) -> bool:
        """Return whether there are openings beside this ledger at all."""
        return (self._folder / "openings.jsonl").is_file()

    def find(self, line: Line, field: str) -> Opening | None:
        """Return the opening that matches the line's commitment; None where it was not kept.

        Raises:
            LedgerError: openings of this line and field are there, and none of them matches.
        """
        committed = line.fields.get("private", {}).get(field)
        if committed is None:
            return None
        found = False
        for opening in self._of(line.seq, field):
            if opening.matches(committed):
                return opening
            found = True
        if found:
            raise LedgerError(
                f"the opening of {field} in line {line.seq} is not what it commits to"
            )
        return None

    def value(self, line: Line, field: str) -> Any:  # noqa: ANN401 - any JSON value
        """Return the private JSON value; None where its opening was not kept."""
        opening = self.find(line, field)
        return None if opening is None else opening.value()

    def _of(self, seq: int, field: str) -> Iterator[Opening]:
        if not self.exist:
            return
        if self._offsets is None:
            self._offsets = self._index()
        for offset in self._offsets.get((seq, field), ()):
            with (self._folder / "openings.jsonl").open("rb") as stream:
                stream.seek(offset)
                fields = _fields(stream.readline())
            opening = None if fields is None else self._opening(fields)
            if opening is not None:
                yield opening

    def _index(self) -> dict[tuple[int, str], list[int]]:
        offsets: dict[tuple[int, str], list[int]] = {}
        offset = 0
        with (self._folder / "openings.jsonl").open("rb") as stream:
            for raw in _whole_lines(stream):
                fields = _fields(raw)
                if fields is not None:
                    offsets.setdefault((fields["seq"], fields["field"]), []).append(offset)
                offset += len(raw)
        return offsets

    def _opening(self, fields: Mapping[str, Any]) -> Opening | None:
        if fields.get("artifact") is not None:
            try:
                packed = (self._folder / "artifacts" / fields["artifact"]).read_bytes()
            except FileNotFoundError:  # withheld, or the remains of a crash
                return None
            data = _unpacked(packed)
        else:
            data = canonical.dumps(fields["value"])
        return Opening(fields["seq"], fields["field"], bytes.fromhex(fields["salt"]), data)


def _unpacked(packed: bytes) -> bytes:
    """Return an artifact's bytes; a garbled file's own, which match no commitment."""
    try:
        return gzip.decompress(packed)
    except (OSError, EOFError, zlib.error):
        return packed


def _whole_lines(stream: Iterable[bytes]) -> Iterator[bytes]:
    return (raw for raw in stream if raw.endswith(b"\n"))


def _fields(raw: bytes) -> dict[str, Any] | None:
    """Return an opening's fields; None where the line is none (it then opens nothing)."""
    try:
        fields = parsed(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or not _is_opening(fields):
        return None
    return fields


def _is_opening(fields: Mapping[str, Any]) -> bool:
    artifact = fields.get("artifact")
    return (
        type(fields.get("seq")) is int
        and isinstance(fields.get("field"), str)
        and isinstance(fields.get("salt"), str)
        and _SALT.fullmatch(fields["salt"]) is not None
        and (
            "value" in fields
            if artifact is None
            else isinstance(artifact, str) and _ARTIFACT.fullmatch(artifact) is not None
        )
    )
