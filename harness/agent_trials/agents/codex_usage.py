"""The token counts of a Codex process, whose figures are sums over the session.

``turn.completed`` reports the sum over all requests of the session so far: of several turns the
last one's stands for all, and in a resumed session what was there before is subtracted. Input
includes what was cached, output includes reasoning. A failed turn reports nothing; zeros mean that
the provider sent none.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEYS = {
    "input": "input_tokens",
    "cached": "cached_input_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_output_tokens",
}
_LARGEST = 10**15


class CountsError(ValueError):
    """Counts that cannot be believed; the text says why."""


@dataclass(frozen=True)
class Usage:
    """Tokens; cached and reasoning ones are part of the others, and None where not reported."""

    input: int
    output: int
    cached: int | None = None
    reasoning: int | None = None

    def since(self, prior: Usage) -> Usage:
        """Return what came after an earlier total of the same session.

        Raises:
            CountsError: the sum has become smaller.
        """
        left = Usage(
            self.input - prior.input,
            self.output - prior.output,
            _less(self.cached, prior.cached),
            _less(self.reasoning, prior.reasoning),
        )
        if any((getattr(left, each.name) or 0) < 0 for each in fields(left)):
            raise CountsError("less than an earlier total of the same session")
        return left


def read(value: Mapping[str, Any]) -> Usage:
    """Return the counts of a ``turn.completed``.

    Raises:
        CountsError: they are missing, no counts, of no input, or parts are larger than their whole.
    """
    found = {name: _count(value.get(key), key) for name, key in _KEYS.items()}
    if found["input"] is None or found["output"] is None:
        raise CountsError("input or output tokens are missing")
    usage = Usage(found["input"], found["output"], found["cached"], found["reasoning"])
    if not usage.input:
        what = "no input, and nothing is asked without any" if usage.output else "all zero"
        raise CountsError(f"{what}: the provider sent no usage")
    if (usage.cached or 0) > usage.input or (usage.reasoning or 0) > usage.output:
        raise CountsError("a part is larger than its whole")
    return usage


def _count(value: object, key: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST:
        raise CountsError(f"{key} is no count")
    return value


def _less(total: int | None, prior: int | None) -> int | None:
    return None if total is None else total - (prior or 0)
