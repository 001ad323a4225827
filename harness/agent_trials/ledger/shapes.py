"""The shapes of values in lines, read strictly: two verifiers must not differ about a space."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.records import Cell

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def text(fields: Mapping[str, Any], name: str) -> str:
    """Return a field that is text.

    Raises:
        KeyError, TypeError: it is missing, or something else.
    """
    value = fields[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is no text")
    return value


def digest(fields: Mapping[str, Any], name: str) -> str:
    """Return a field that is a digest.

    Raises:
        KeyError, TypeError, ValueError: it is missing, something else, or of another shape.
    """
    value = text(fields, name)
    if not _DIGEST.fullmatch(value):
        raise ValueError(f"{name} is no digest")
    return value


def number(fields: Mapping[str, Any], name: str, *, least: int = 0) -> int:
    """Return a field that is a whole number; true is none.

    Raises:
        KeyError, TypeError, ValueError: it is missing, something else, or below ``least``.
    """
    value = fields[name]
    if type(value) is not int:
        raise TypeError(f"{name} is no whole number")
    if value < least:
        raise ValueError(f"{name} is below {least}")
    return value


def amount(fields: Mapping[str, Any], name: str) -> Decimal:
    """Return a field that is an amount, USD.

    Raises:
        KeyError, ValueError, MoneyError: it is missing, or no amount.
    """
    written = fields[name]
    value = money.parse(written)
    if written != written.strip():
        raise ValueError(f"{name} has white space around it")
    return value


def positive(fields: Mapping[str, Any], name: str) -> Decimal:
    """Return a field that is an amount above zero, USD; errors as ``amount``."""
    return money.parse_positive(amount(fields, name))


def cell(fields: Mapping[str, Any]) -> Cell:
    """Return the cell that the fields name.

    Raises:
        KeyError, TypeError, ValueError: a part of it is missing or of another shape.
    """
    return Cell(
        text(fields, "phase"),
        text(fields, "task"),
        text(fields, "arm"),
        number(fields, "repetition", least=1),
        number(fields, "turn", least=1),
    )
