"""What secrets look like: known ones in every form, others by how their providers write them."""

from __future__ import annotations

import base64
import html
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SHORTEST = 8
"""A value of fewer bytes cannot be told from other text."""
_SHORTEST_LINE = 20
_LEAST_VARIETY = 8


@dataclass(frozen=True)
class Pattern:
    """What something looks like; ``hint`` (lower case) is in every match, and quick to look for."""

    what: str
    hint: bytes
    shape: re.Pattern[bytes]
    varied: bool = False


def _patterns() -> tuple[Pattern, ...]:
    start = rb"(?<![A-Za-z0-9_-])"
    neutral = rb"(?!(?:user|username|you|someone|nobody|runner|operator|example)(?![\w-]))"
    # Looked behind, and never with a run of any length in front: that would be quadratic.
    before = rb"(?:(?<![\w.~/%-])|(?<=//)|(?<=-[A-Za-z]))"
    shapes: tuple[tuple[str, bytes, bytes], ...] = (
        ("a key of Anthropic", b"sk-ant-", start + rb"sk-ant-[A-Za-z0-9_-]{16,}"),
        ("a key that begins with sk-", b"sk-", start + rb"sk-(?!ant-)[A-Za-z0-9_-]{20,}"),
        ("a token of GitHub", b"gh", start + rb"gh[pousr]_[A-Za-z0-9]{30,}"),
        ("a token of GitHub", b"github_pat_", start + rb"github_pat_[A-Za-z0-9_]{22,}"),
        ("a token of GitLab", b"glpat-", start + rb"glpat-[A-Za-z0-9_-]{20,}"),
        ("a token of Slack", b"xox", start + rb"xox[abeprs]-[A-Za-z0-9-]{10,}"),
        ("a key of AWS", b"akia", start + rb"AKIA[0-9A-Z]{16}(?![A-Za-z0-9])"),
        ("a key of AWS", b"asia", start + rb"ASIA[0-9A-Z]{16}(?![A-Za-z0-9])"),
        ("a key of Google", b"aiza", start + rb"AIza[A-Za-z0-9_-]{35}"),
        ("a token of Google", b"ya29.", start + rb"ya29\.[A-Za-z0-9_-]{20,}"),
        ("a token of npm", b"npm_", start + rb"npm_[A-Za-z0-9]{36}"),
        ("a token of PyPI", b"pypi-", start + rb"pypi-[A-Za-z0-9_-]{50,}"),
        ("a token of Hugging Face", b"hf_", start + rb"hf_[A-Za-z0-9]{30,}"),
        ("a key of Stripe", b"k_live_", start + rb"[rs]k_live_[A-Za-z0-9]{16,}"),
        (
            "a signed token (JWT)",
            b"eyj",
            start + rb"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
        ),
        (
            "a private key (PEM)",
            b"private key",
            rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
        ),
        (
            "an authorization header",
            b"authorization",
            rb"(?i:authorization)[\\\"']*\s*[:=]\s*[\\\"']*(?i:bearer|basic)\s+[\w.~+/=-]{8,}",
        ),
        (
            "an address with a password",
            b"://",
            rb"(?<=[A-Za-z])://[^\s/:@\"'<>{}]{1,200}:[^\s/@\"'<>{}$]{3,200}@[A-Za-z0-9\[]",
        ),
        ("a home folder", b"/home/", before + rb"/home/" + neutral + rb"[A-Za-z0-9_][\w.-]*"),
        ("a home folder", b"/users/", before + rb"/Users/" + neutral + rb"[A-Za-z0-9_][\w.-]*"),
        ("a home folder", b"root/", before + rb"/(?:root)/[\w.]"),
        ("a home folder", b"users", rb"[A-Za-z]:\\+Users\\+(?!Public\b)" + neutral + rb"[\w.-]+"),
    )
    plain = [Pattern(what, hint, re.compile(s, re.MULTILINE)) for what, hint, s in shapes]
    word = rb"(?i:api[_-]?key|secret|token|passwd|password|credential)(?i:s|_?key)?"
    assigned = re.compile(word + rb"[\\\"']*\s*[:=]\s*[\\\"']*(?P<value>[A-Za-z0-9+/_=.~-]{16,})")
    return (*plain, Pattern("a credential that is assigned", b"", assigned, varied=True))


PATTERNS = _patterns()


class Known:
    """The secrets of this machine that no bundle may hold, ready to be looked for.

    Args:
        values: by the name under which a hit is reported; those shorter than ``SHORTEST`` are left
            out.
        homes: folders whose names tell who ran it.
    """

    def __init__(self, values: Mapping[str, str], homes: tuple[str, ...] = ()) -> None:
        self.names = tuple(name for name, value in values.items() if len(_raw(value)) >= SHORTEST)
        self.needles: tuple[tuple[str, bytes, bool], ...] = tuple(
            (f"the value of {name}{form}", needle, folded)
            for name in self.names
            for part in _parts(values[name])
            for form, needle, folded in _forms(part)
        )
        self.homes = tuple(
            re.compile(re.escape(home.rstrip("/").encode()) + rb"(?![\w-])")
            for home in homes
            if home.rstrip("/").count("/") > 1
        )


def _raw(value: str) -> bytes:
    """Return the bytes of a value as it stood in the environment."""
    return value.encode("utf-8", "surrogateescape")


def _parts(value: str) -> set[str]:
    """Return the value and, where it has several, its longer lines."""
    lines = [line.strip() for line in value.splitlines()]
    return {value, value.strip(), *(line for line in lines if len(line) >= _SHORTEST_LINE)}


def _forms(secret: str) -> Iterator[tuple[str, bytes, bool]]:
    """Yield how a secret may be written: name of the form, bytes, whether case makes no odds."""
    raw = _raw(secret)
    once = json.dumps(secret)[1:-1]
    yield "", raw, False
    if once != secret:
        yield "", once.encode(), False
        yield "", json.dumps(once)[1:-1].encode(), False
        yield "", _raw(html.escape(secret)), False
    yield ", in hex", raw.hex().encode(), True
    for shift in range(3):
        whole = base64.b64encode(bytes(shift) + raw)
        # Only the digits that no neighbour's bits are in.
        digits = whole[-(-8 * shift // 6) : 8 * (shift + len(raw)) // 6]
        yield ", in base64", digits, False
        if digits.translate(_TO_URL_SAFE) != digits:
            yield ", in base64", digits.translate(_TO_URL_SAFE), False


_TO_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def is_varied(value: bytes) -> bool:
    """Return whether a value could be a drawn one: letters, digits, and no few of them."""
    letters, digits = re.search(rb"[A-Za-z]", value), re.search(rb"[0-9]", value)
    return bool(letters and digits) and len(set(value)) >= _LEAST_VARIETY
