"""The commands of ``agent-trials``, one module each; ``cli`` imports the one that is called."""

from __future__ import annotations

UNWRAPPED = "\b\n"
"""What tells click to leave the lines of a paragraph as they are."""


def examples(*lines: str) -> str:
    """Return the end of a command's help: what one types."""
    heading = "Examples:" if len(lines) > 1 else "Example:"
    return UNWRAPPED + "\n  ".join([heading, *lines])
