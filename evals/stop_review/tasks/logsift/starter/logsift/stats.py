"""Counting: how often, how much, how long."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Summary:
    """The whole log in a few numbers; sizes in bytes, times in milliseconds."""

    requests: int
    errors: int
    clients: int
    bytes: int
    first: Optional[str]
    last: Optional[str]
    median: Optional[int]
    slowest: Optional[int]

    @property
    def error_share(self):
        """Return the share of errors in percent, None of nothing."""
        return None if not self.requests else round(100 * self.errors / self.requests, 1)


def percentile(values, percent):
    """Return the nearest-rank percentile of numbers, None of none.

    It is the smallest value that at least ``percent`` percent of the values are not above.
    """
    if not 0 < percent <= 100:
        raise ValueError("a percentile lies above 0 and up to 100")
    ordered = sorted(values)
    if not ordered:
        return None
    rank = -(-percent * len(ordered) // 100)
    return ordered[int(rank) - 1]


def summarise(records):
    """Return the summary of records."""
    records = list(records)
    times = sorted(record.time for record in records)
    durations = [record.duration for record in records if record.duration is not None]
    return Summary(
        requests=len(records),
        errors=sum(record.is_error for record in records),
        clients=len({record.client for record in records}),
        bytes=sum(record.size or 0 for record in records),
        first=times[0].isoformat() if times else None,
        last=times[-1].isoformat() if times else None,
        median=percentile(durations, 50),
        slowest=max(durations, default=None),
    )


def top(records, field, limit=10):
    """Return the most frequent values of a field with their counts, ties by value."""
    counts = Counter(_value(record, field) for record in records)
    ordered = sorted(counts.items(), key=lambda one: (-one[1], str(one[0])))
    return ordered[:limit]


def by_hour(records):
    """Return how many requests and errors each hour had, hours in order."""
    requests, errors = Counter(), Counter()
    for record in records:
        hour = record.time.strftime("%Y-%m-%d %H:00")
        requests[hour] += 1
        errors[hour] += record.is_error
    return [(hour, requests[hour], errors[hour]) for hour in sorted(requests)]


def traffic(records):
    """Return the bytes of each client, the greediest first."""
    sizes = defaultdict(int)
    for record in records:
        sizes[record.client] += record.size or 0
    return sorted(sizes.items(), key=lambda one: (-one[1], one[0]))


FIELDS = {
    "client": lambda record: record.client,
    "path": lambda record: record.bare_path,
    "status": lambda record: record.status,
    "method": lambda record: record.method,
    "agent": lambda record: record.agent or "-",
    "user": lambda record: record.user or "-",
    "referrer": lambda record: record.referrer or "-",
}


def _value(record, field):
    try:
        return FIELDS[field](record)
    except KeyError:
        raise ValueError("no field " + repr(field) + "; there are " + ", ".join(FIELDS)) from None
