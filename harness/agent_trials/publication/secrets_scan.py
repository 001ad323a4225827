"""Looks for secrets in bytes that are about to be published; says where, never what.

What is looked for:
    the values of known secrets    plain, in base64 at all three alignments, in hex, URL-quoted
    keys and tokens                as the providers write them that agents and their tools talk to
    credentials                    private keys (PEM), authorization headers, assignments, addresses
    home folders                   whose names tell who ran it
Where it is looked for: in the bytes as they are, without white space, and percent-decoded; in every
text of a JSON value, decoded; in what is embedded as base64 (``{"base64": …}``, ``data:``
addresses).
"""

from __future__ import annotations

import base64
import binascii
import bisect
import html
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from agent_trials.publication.secret_shapes import PATTERNS, is_varied

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_trials.publication.secret_shapes import Known

HTML = "html"
_WHITE = b" \t\r\n"
_BETWEEN = b"\n\x00\n"
"""Stands between two texts: a line ends, and what goes on over white space ends as well."""


@dataclass(frozen=True, order=True)
class Hit:
    """Something that looks like a secret.

    ``place`` is ``FILE:LINE:COLUMN``, or ``FILE:LINE:FIELD:OFFSET`` inside a JSON value (lines and
    columns from 1, offsets from 0). ``known`` is set where it is the value of a known secret.
    """

    place: str
    what: str
    known: bool = False

    def __str__(self) -> str:
        """Return place and kind; nothing of the secret."""
        return f"{self.place}: {self.what}"


def scan(name: str, data: bytes, known: Known) -> list[Hit]:
    """Return everything in the bytes of a file that looks like a secret, in order."""
    hits: dict[object, Hit] = {}
    for line, place, found in _all(data, known):
        hit = Hit(f"{name}:{line}:{place}", found.what, found.known)
        # Of a known secret one place in a line says enough; what only looks like one is told apart.
        hits.setdefault((line, found.what) if found.known else hit.place, hit)
    return sorted(hits.values())


@dataclass(frozen=True)
class _Found:
    """A hit at an offset of some bytes; ``text`` is never shown."""

    at: int
    what: str
    known: bool
    text: bytes


def _all(data: bytes, known: Known) -> Iterator[tuple[int, str, _Found]]:
    """Yield line, place in it, and what was found there."""
    inside, outside = _json(data)
    seen = set()
    for found in [*_looks_like(outside, known), *_values_in_any_form(data, known)]:
        seen.add((found.what, found.text))
        line = data.count(b"\n", 0, found.at) + 1
        yield line, str(found.at - data.rfind(b"\n", 0, found.at)), found
    pieces = list(_embedded(data, inside))
    starts, decoded = _joined(pieces)
    for found in [*_looks_like(decoded, known), *_values_in_any_form(decoded, known)]:
        piece = bisect.bisect_right(starts, found.at) - 1
        line, field, _ = pieces[piece]
        if field != HTML or (found.what, found.text) not in seen:
            yield line, f"{_harmless(field, known)}:{found.at - starts[piece]}", found


def _joined(pieces: list[tuple[int, str, bytes]]) -> tuple[list[int], bytes]:
    """Return where each piece starts, and all of them as one: many small searches are slow."""
    starts, at = [], 0
    for _, _, inner in pieces:
        starts.append(at)
        at += len(inner) + len(_BETWEEN)
    return starts, _BETWEEN.join(inner for _, _, inner in pieces)


def _harmless(field: str, known: Known) -> str:
    """Return the name of a field, unless it is itself a secret."""
    name = field.encode("utf-8", "surrogatepass")
    is_one = any(True for _ in (*_looks_like(name, known), *_values(name, known)))
    return "(a field whose name looks like a secret)" if is_one else field


def _values_in_any_form(data: bytes, known: Known) -> Iterator[_Found]:
    yield from _values(data, known)
    if b"%" in data:
        for quoted in (data, data.replace(b"+", b" ")):
            for found in _values(unquote_to_bytes(quoted), known):
                at = _undecoded(data, found.at)
                yield _Found(at, f"{found.what}, URL-quoted", known=True, text=found.text)
    packed = data.translate(None, _WHITE)
    if len(packed) < len(data):
        for found in _values(packed, known):
            yield _Found(_spread(data, found.at), found.what, known=True, text=found.text)


def _looks_like(data: bytes, known: Known) -> Iterator[_Found]:
    folded = data.lower()
    for pattern in PATTERNS:
        if pattern.hint in folded:
            for match in pattern.shape.finditer(data):
                if not pattern.varied or is_varied(match["value"]):
                    yield _Found(match.start(), pattern.what, known=False, text=match[0])
    for home in known.homes:
        for match in home.finditer(data):
            yield _Found(match.start(), "a home folder", known=False, text=match[0])


def _values(data: bytes, known: Known) -> Iterator[_Found]:
    folded = data.lower() if known.needles else b""
    for what, needle, is_folded in known.needles:
        at = (folded if is_folded else data).find(needle)
        if at >= 0:
            yield _Found(at, what, known=True, text=needle)


def _undecoded(data: bytes, at: int) -> int:
    """Return where the byte stood before percent-decoding."""
    for match in re.finditer(rb"%[0-9A-Fa-f]{2}", data):
        if match.start() >= at:
            break
        at += 2
    return at


def _spread(data: bytes, at: int) -> int:
    """Return where the byte stood before white space was taken out."""
    for offset, byte in enumerate(data):
        if byte not in _WHITE:
            if at == 0:
                return offset
            at -= 1
    return len(data)


def _embedded(data: bytes, values: list[tuple[int, Any]]) -> Iterator[tuple[int, str, bytes]]:
    """Yield line, field and bytes of every text and every embedded file."""
    for match in re.finditer(rb";base64,([A-Za-z0-9+/=]+)", data):
        line = data.count(b"\n", 0, match.start()) + 1
        yield from ((line, "data", decoded) for decoded in _decoded(match[1]))
    if (plain := html.unescape(data.decode("utf-8", "replace")).encode()) != data:
        yield 1, HTML, plain
    for line, value in values:
        yield from ((line, field, inner) for field, inner in _texts(value, ""))


def _json(data: bytes) -> tuple[list[tuple[int, Any]], bytes]:
    """Return the JSON values in a file by line, and the file with their lines blanked."""
    try:
        return [(1, json.loads(data))], b""
    except (ValueError, RecursionError):
        lines = data.split(b"\n")
    values = []
    for at, line in enumerate(lines):
        if line[:1] in (b"{", b"[", b'"'):
            try:
                values.append((at + 1, json.loads(line)))
            except (ValueError, RecursionError):
                continue
            lines[at] = b" " * len(line)
    return values, b"\n".join(lines)


def _texts(value: Any, field: str) -> Iterator[tuple[str, bytes]]:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        yield field, value.encode("utf-8", "surrogatepass")
        if field.endswith(".base64"):
            yield from ((field, decoded) for decoded in _decoded(value.encode("utf-8", "replace")))
    elif isinstance(value, dict):
        for key, each in value.items():
            yield f"{field} (a name)".strip(), key.encode("utf-8", "surrogatepass")
            yield from _texts(each, f"{field}.{key}".lstrip("."))
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from _texts(each, f"{field}.{at}".lstrip("."))


def _decoded(written: bytes) -> Iterator[bytes]:
    try:
        yield base64.b64decode(written, validate=True)
    except (binascii.Error, ValueError):
        return
