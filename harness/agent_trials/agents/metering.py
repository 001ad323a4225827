"""What an attempt's requests may cost and did cost: pure arithmetic, kept request by request.

Rules:
    1. A request is opened before it is sent, at its ceiling:
       ((2 x UTF-8 bytes of the body + 8192) x input rate + max_tokens x output rate) / 1e6.
    2. It is opened only if the charge so far and its ceiling fit in the attempt's limit.
    3. Valid usage settles it at its price. Usage is valid when input and output are whole counts
       that are not negative and not above the ceiling's, and no token was cached.
    4. A request that is never settled, whatever became of it, is charged its ceiling.
    5. The charge is settled prices + open ceilings, rounded up once; so it never passes the limit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Context
from typing import TYPE_CHECKING, Any

from agent_trials import money

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

BYTES_FACTOR = 2
PROTOCOL_TOKENS = 8192

USAGE_LOST = "usage-lost"
USAGE_INVALID = "usage-invalid"
USAGE_ABOVE_CEILING = "usage-above-ceiling"
USAGE_CACHED = "usage-cached"

# The process's own decimal context belongs to whoever runs pytest; it may round to four digits.
_EXACT = Context(prec=60)


@dataclass(frozen=True)
class Rates:
    """Upper prices, USD per million tokens."""

    input: Decimal
    output: Decimal

    def price(self, input_tokens: int, output_tokens: int) -> Decimal:
        """Return the exact price in USD."""
        millionths = money.total(
            money.times(self.input, input_tokens), money.times(self.output, output_tokens)
        )
        return _EXACT.divide(millionths, money.MILLION)


@dataclass(frozen=True)
class Usage:
    """The provider's counts for one answer; the cache fields are None where it gave none."""

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


@dataclass(frozen=True)
class Ceiling:
    """The most that one request can be: whole tokens, and their price in USD."""

    input_tokens: int
    output_tokens: int
    usd: Decimal

    @classmethod
    def of(cls, body_bytes: int, max_tokens: int, rates: Rates) -> Ceiling:
        """Return the ceiling of a request whose body has so many bytes."""
        tokens = BYTES_FACTOR * body_bytes + PROTOCOL_TOKENS
        return cls(tokens, max_tokens, rates.price(tokens, max_tokens))


class DoesNotFitError(Exception):
    """A request whose ceiling does not fit in what is left of the attempt's limit.

    Attributes:
        ceiling: what it needs, USD.
        left: what is left, USD.
    """

    def __init__(self, ceiling: Decimal, left: Decimal) -> None:
        self.ceiling = ceiling
        self.left = left
        super().__init__(f"a request needs {ceiling} USD and {left} USD is left; it was not sent")


class UsageError(Exception):
    """Usage that settles nothing.

    Attributes:
        code: the problem's code.
    """

    def __init__(self, code: str, detail: str) -> None:
        self.code = code
        super().__init__(detail)


def read_usage(body: Mapping[str, Any], ceiling: Ceiling) -> Usage:
    """Return the usage that an answer states.

    Raises:
        UsageError: it is missing, no whole counts, above the ceiling, or anything was cached.
    """
    stated = body.get("usage")
    if not isinstance(stated, dict):
        raise UsageError(USAGE_LOST, "the answer states no usage")
    usage = Usage(
        _count(stated, "input_tokens"),
        _count(stated, "output_tokens"),
        _optional_count(stated, "cache_creation_input_tokens"),
        _optional_count(stated, "cache_read_input_tokens"),
    )
    if usage.cache_creation_input_tokens or usage.cache_read_input_tokens:
        raise UsageError(USAGE_CACHED, f"tokens were cached, which was not asked for: {usage}")
    if usage.input_tokens > ceiling.input_tokens or usage.output_tokens > ceiling.output_tokens:
        raise UsageError(USAGE_ABOVE_CEILING, f"{usage} is above {ceiling}")
    return usage


def _count(stated: Mapping[str, Any], name: str) -> int:
    value = _optional_count(stated, name)
    if value is None:
        raise UsageError(USAGE_LOST, f"the usage has no {name}")
    return value


def _optional_count(stated: Mapping[str, Any], name: str) -> int | None:
    value = stated.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError(USAGE_INVALID, f"{name} is {value!r:.100}, no whole count")
    return value


@dataclass
class Meter:
    """The requests of one attempt in the order opened; whoever holds it can read the charge.

    ``limit`` is the attempt's reservation in USD; it is rounded down as limits are.
    """

    limit: Decimal
    rates: Rates
    max_tokens: int
    _open: dict[int, Ceiling] = field(default_factory=dict, init=False)
    _settled: dict[int, Usage] = field(default_factory=dict, init=False)

    def open(self, body_bytes: int) -> int:
        """Return the number, from 1, of a request that may now be sent.

        Raises:
            DoesNotFitError: its ceiling does not fit; nothing was opened.
        """
        ceiling = Ceiling.of(body_bytes, self.max_tokens, self.rates)
        left = money.minus(money.limit(self.limit), self.upper)
        if ceiling.usd > left:
            raise DoesNotFitError(ceiling.usd, left)
        number = self.requests + 1
        self._open[number] = ceiling
        return number

    def settle(self, number: int, body: Mapping[str, Any]) -> Usage:
        """Replace the ceiling of a request by the price of the usage that its answer states.

        Raises:
            UsageError: as ``read_usage``; the ceiling stays.
        """
        usage = read_usage(body, self._open[number])
        del self._open[number]
        self._settled[number] = usage
        return usage

    @property
    def requests(self) -> int:
        """Return how many requests were opened."""
        return len(self._open) + len(self._settled)

    @property
    def lower(self) -> Decimal:
        """Return the exact price of what was settled, USD: the attempt cost no less."""
        used = self._settled.values()
        return money.total(*(self.rates.price(u.input_tokens, u.output_tokens) for u in used))

    @property
    def upper(self) -> Decimal:
        """Return the exact price of what was settled and the ceilings of the rest, USD."""
        return money.total(self.lower, *(ceiling.usd for ceiling in self._open.values()))

    @property
    def charged(self) -> Decimal:
        """Return what counts against the cap, USD."""
        return money.charge(self.upper)

    @property
    def complete(self) -> bool:
        """Return whether every request's usage is known, and there was one."""
        return bool(self._settled) and not self._open

    def total(self, name: str) -> int | None:
        """Return the sum of one field of ``Usage``, or None where no answer stated it."""
        stated = [getattr(usage, name) for usage in self._settled.values()]
        known = [count for count in stated if count is not None]
        return sum(known) if known else None
