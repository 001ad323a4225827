"""Canonical JSON and digests: one value has one text, one text has one digest.

Canonical JSON here is ASCII, keys sorted by code point, no white space. Numbers are integers only:
money and temperatures are text, so that two programs never disagree about a float.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

ALGORITHM = "sha256"
_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)


def dumps(value: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """Return the canonical bytes of a JSON value.

    Raises:
        TypeError: the value holds a float or something that JSON has no word for.
    """
    _refuse_floats(value)
    return dumps_parsed(value)


def dumps_parsed(value: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """Return the canonical bytes of what was parsed from JSON with floats refused.

    It holds text keys and no float, so that nothing is looked for.
    """
    return _ENCODER.encode(value).encode("ascii")


def digest(data: bytes) -> str:
    """Return ``sha256:<64 hex digits>`` of the bytes."""
    return f"{ALGORITHM}:{hashlib.sha256(data).hexdigest()}"


def digest_of(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the digest of a value's canonical bytes."""
    return digest(dumps(value))


def _refuse_floats(value: object) -> None:
    if isinstance(value, float):
        raise TypeError(f"a float has no canonical text: {value!r}; write money and rates as text")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"a key that is no text: {key!r}")
            _refuse_floats(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _refuse_floats(item)
