"""The endpoints that a study may register: one place for their names.

An endpoint is a figure that every completed attempt has, and that two arms of a pair can differ in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_trials.study.settings import Manifest

ENDPOINTS: tuple[str, ...] = (
    "correctness",
    "cost_usd",
    "total_input_tokens",
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "tool_calls",
    "wall_time_ms",
    "turns",
)
"""``total_input_tokens`` is input and both caches; ``input_tokens`` is without them."""

RESOLVED = "resolved"
"""What only the official evaluation of a patch tells: 1 or 0. Of a study that has one."""

GRADED: frozenset[str] = frozenset({"correctness"})
"""Endpoints that need an answer key."""

UNCACHED: frozenset[str] = frozenset({"cache_read_input_tokens", "cache_creation_input_tokens"})
"""Endpoints that no attempt over http has: it asks for no caching and refuses an answer with it."""


def endpoints_of(manifest: Manifest | None) -> tuple[str, ...]:
    """Return the endpoints of a study: ``resolved`` is the grade where patches are evaluated."""
    if manifest is None or manifest.evaluation is None:
        return ENDPOINTS
    return (RESOLVED, *(name for name in ENDPOINTS if name not in GRADED))
