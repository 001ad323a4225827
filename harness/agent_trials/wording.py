"""A number with the word that it counts, as people write it: ``1 attempt``, ``2 attempts``."""

from __future__ import annotations


def counted(number: int, word: str) -> str:
    """Return the number and the word, in the plural unless the number is 1."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
