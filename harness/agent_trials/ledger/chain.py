"""The ledger's lines: canonical JSON, each holding the digest of the line before.

Rules for the written part of a file, one check each in ``parse_line``:
    a line ends with a newline and has at most 64 KiB with it
    it is the canonical JSON of an object, byte for byte
    ``seq`` counts from 1; ``run`` counts from 1; ``event`` is words joined by -; ``at`` is UTC
    ``private``, where it stands, is an object of commitments
    ``prev`` is the digest of the line before, newline included; the first line's is the series id
Bytes after the last newline were never written: a crash tore them off. They are counted, not read.
Everything here is a pure function of bytes, or reads a file once from front to back.
"""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from agent_trials import canonical
from agent_trials.errors import LedgerBrokenError, LedgerError, LineTooLongError
from agent_trials.ledger.locks import written_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

LINE_BYTES = 64 * 1024
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_EVENT = re.compile(r"[a-z]+(-[a-z]+)*")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
_HEAD = re.compile(r"(0|[1-9][0-9]{0,17}):(sha256:[0-9a-f]{64})")
_BLOCK = 1 << 16


@dataclass(frozen=True)
class Line:
    """One event as it stands in the file; ``fields`` is the whole object, ``digest`` its bytes'."""

    seq: int
    run: int
    at: str
    event: str
    fields: Mapping[str, Any]
    digest: str


@dataclass(frozen=True)
class Position:
    """Where the written part of a ledger ends.

    ``digest`` is what the next line names as ``prev``: the last line's, or the series id of a
    ledger that holds none yet; empty where nothing is known. ``start`` and ``end`` are the offsets
    of the last line.
    """

    seq: int = 0
    digest: str = ""
    start: int = 0
    end: int = 0

    @property
    def head(self) -> str:
        """Return count and digest of the last line: what is published as evidence."""
        return f"{self.seq}:{self.digest}"

    def after(self, raw: bytes) -> Position:
        """Return the position behind one more line."""
        return Position(self.seq + 1, canonical.digest(raw), self.end, self.end + len(raw))


def encode(fields: Mapping[str, Any]) -> bytes:
    """Return the bytes of a line.

    Raises:
        LineTooLongError: it would have more than 64 KiB.
        TypeError: a field has no canonical text (a float, say).
    """
    raw = canonical.dumps(fields) + b"\n"
    if len(raw) > LINE_BYTES:
        field, _ = largest(fields)
        raise LineTooLongError(fields["event"], field, size=len(raw), limit=LINE_BYTES)
    return raw


def largest(fields: Mapping[str, Any]) -> tuple[str, int]:
    """Return the path and size of the largest field; an object is looked into."""
    name, size = max(
        ((key, len(canonical.dumps(value))) for key, value in fields.items()),
        key=lambda pair: pair[1],
    )
    inside = fields[name]
    if isinstance(inside, dict) and inside:
        below, size = largest(inside)
        return f"{name}.{below}", size
    return name, size


def timestamp(moment: datetime) -> str:
    """Return RFC 3339 in UTC with milliseconds."""
    from_utc = moment.utcoffset()
    if from_utc is None or from_utc.total_seconds() != 0:
        raise RuntimeError(f"a time that is not UTC: {moment!r}")
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def parse_head(text: str) -> tuple[int, str]:
    """Return count and digest of a head as it is published, ``14:sha256:…``.

    A count of 0 is that of a ledger without lines: the digest is the series id.

    Raises:
        LedgerError: the text is no head.
    """
    match = _HEAD.fullmatch(text.strip())
    if not match:
        raise LedgerError(
            f"{text!r} is no head; write it as it was printed, <count>:sha256:<64 hex digits>"
        )
    return int(match[1]), match[2]


def parse_line(raw: bytes, before: Position) -> Line:
    """Return the line that follows at this position.

    Raises:
        LedgerBrokenError: the bytes do not follow; ``seq`` is the place where the line stands.
    """
    seq = before.seq + 1
    if len(raw) > LINE_BYTES:
        raise LedgerBrokenError(seq, f"it is longer than {LINE_BYTES} bytes")
    fields = _object(raw, seq)
    if type(fields.get("seq")) is not int or fields["seq"] != seq:
        raise LedgerBrokenError(seq, f"it is numbered {fields.get('seq')!r}")
    if type(fields.get("run")) is not int or fields["run"] < 1:
        raise LedgerBrokenError(seq, "its run is no number from 1")
    for name, shape in (("event", _EVENT), ("at", _TIME), ("prev", DIGEST)):
        if not isinstance(fields.get(name), str) or not shape.fullmatch(fields[name]):
            raise LedgerBrokenError(seq, f"its {name} is missing or misshapen")
    if not _is_commitments(fields.get("private", {})):
        raise LedgerBrokenError(seq, "its private part is no object of commitments")
    if before.digest and fields["prev"] != before.digest:
        raise PrevMismatchError(seq)
    return Line(seq, fields["run"], fields["at"], fields["event"], fields, canonical.digest(raw))


class PrevMismatchError(LedgerBrokenError):
    """The line was not written after the one that stands before it."""

    def __init__(self, seq: int) -> None:
        super().__init__(seq, f"it was not written after line {seq - 1} as that stands here")


class Scan:
    """The lines of an open file from a position on, each checked against the one before.

    Attributes:
        position: behind the last line given so far.
        torn: bytes behind the last newline, once the lines have run out.
    """

    def __init__(self, stream: BinaryIO, position: Position, end: int) -> None:
        self._stream = stream
        self._end = end
        self.position = position
        self.torn = 0

    def __iter__(self) -> Iterator[Line]:
        self._stream.seek(self.position.end)
        while raw := self._next():
            try:
                line = parse_line(raw, self.position)
            except PrevMismatchError:
                self._blame(raw)
            self.position = self.position.after(raw)
            yield line

    def _next(self) -> bytes:
        """Return the next whole line; nothing at the end or before a torn tail."""
        left = self._end - self._stream.tell()
        raw = self._stream.readline(min(left, LINE_BYTES + 1)) if left > 0 else b""
        if raw.endswith(b"\n"):
            return raw
        if raw and self._line_goes_on():
            raise LedgerBrokenError(self.position.seq + 1, f"it is longer than {LINE_BYTES} bytes")
        self.torn = self._end - self.position.end
        return b""

    def _line_goes_on(self) -> bool:
        while (left := self._end - self._stream.tell()) > 0:
            block = self._stream.read(min(left, _BLOCK))
            if not block or b"\n" in block:
                return bool(block)
        return False

    def _blame(self, raw: bytes) -> NoReturn:
        """Say which of two neighbours was changed, as far as the line behind them tells."""
        seq = self.position.seq + 1
        follower = self._next()
        if not follower or f'"prev":"{canonical.digest(raw)}"'.encode() in follower:
            raise LedgerBrokenError(
                seq - 1, f"it is not the line that line {seq} was written after"
            )
        raise PrevMismatchError(seq)


class Reading:
    """The lines of a ledger file, up to where it was written when the reading began.

    An append under way is not seen, so that a ledger can be read while a run is open on it.

    Attributes:
        position: the end of the written part, once the lines have run out.
        torn: bytes behind it that count as never written.

    Raises:
        LedgerError: there is no such file.
        LedgerBrokenError: a line does not follow from the one before.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.position = Position()
        self.torn = 0

    def __iter__(self) -> Iterator[Line]:
        with _open(self._path) as stream:
            scan = Scan(stream, Position(), written_size(stream.fileno()))
            yield from scan
            self.position, self.torn = scan.position, scan.torn


def read(path: Path) -> Iterator[Line]:
    """Return the lines of a ledger one by one, each verified against the one before.

    Raises:
        LedgerError: there is no such file.
        LedgerBrokenError: a line does not follow from the one before.
    """
    return iter(Reading(path))


def _open(path: Path) -> BinaryIO:
    try:
        # Without O_NONBLOCK a pipe would be waited for, maybe for ever.
        stream = os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb")
    except OSError as error:
        raise LedgerError(
            f"the ledger {path} cannot be read ({error.strerror}); give one that exists"
        ) from error
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise LedgerError(f"{path} is no regular file; give the file of a ledger")
    return stream


def _object(raw: bytes, seq: int) -> dict[str, Any]:
    try:
        fields = parsed(raw)
        same = isinstance(fields, dict) and canonical.dumps_parsed(fields) + b"\n" == raw
    except (ValueError, RecursionError) as error:
        raise LedgerBrokenError(seq, "it is no canonical JSON") from error
    if not same:
        raise LedgerBrokenError(seq, "it is no canonical JSON object")
    return dict(fields)


def _is_commitments(private: object) -> bool:
    return isinstance(private, dict) and all(
        isinstance(value, str) and DIGEST.fullmatch(value) for value in private.values()
    )


def parsed(raw: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Return the JSON value of the bytes.

    Raises:
        ValueError: they are none, or hold a float or a constant such as NaN.
        RecursionError: they are too deep.
    """
    return _DECODER.decode(str(raw, "utf-8"))


def no_number(text: str) -> NoReturn:
    """Refuse a float or constant; for ``json.loads``.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{text} is no whole number")


_DECODER = json.JSONDecoder(parse_float=no_number, parse_constant=no_number)
