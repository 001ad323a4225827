"""What a server's tools are and answer, apart from the protocol that carries them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

MINIMAL_PATH = os.defpath
"""The PATH of a server whose study does not pass on the operator's."""


@dataclass(frozen=True)
class ConnectionLimits:
    """How long a server may take, seconds, and how long one message of it may be, bytes.

    ``grace_seconds`` lies between the end of its input and its being killed.
    """

    start_seconds: float = 30.0
    list_seconds: float = 30.0
    grace_seconds: float = 2.0
    line_bytes: int = 64 * 1024 * 1024


@dataclass(frozen=True)
class Tool:
    """A tool as its server declares it, under the server's own name."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True)
class ToolAnswer:
    """What a call came to.

    ``text`` is whole, however long. ``died`` says that the server is gone; every later call will
    say so again.
    """

    text: str
    is_error: bool = False
    died: bool = False
