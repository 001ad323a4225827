"""Visits: what one client asked for without a long pause."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta

GAP = timedelta(minutes=30)


@dataclass
class Session:
    """One visit; its records are in order of time."""

    client: str
    records: list = field(default_factory=list)

    @property
    def start(self):
        """Return when it began."""
        return self.records[0].time

    @property
    def length(self):
        """Return the time from its first request to its last."""
        return self.records[-1].time - self.records[0].time

    @property
    def landing(self):
        """Return the path that was asked for first."""
        return self.records[0].bare_path

    @property
    def bounced(self):
        """Return whether nothing came after the first request."""
        return len(self.records) == 1


def sessions(records, gap=GAP):
    """Return the visits in order of their start; a pause longer than the gap begins a new one."""
    by_client = defaultdict(list)
    for record in records:
        by_client[record.client].append(record)
    found = []
    for client, own in by_client.items():
        found += _split(client, sorted(own, key=lambda record: record.time), gap)
    return sorted(found, key=lambda session: (session.start, session.client))


def bounce_rate(found):
    """Return the share of visits with one request, in percent; None of none."""
    found = list(found)
    if not found:
        return None
    return round(100 * sum(session.bounced for session in found) / len(found), 1)


def _split(client, ordered, gap):
    found = []
    for record in ordered:
        if not found or record.time - found[-1].records[-1].time > gap:
            found.append(Session(client))
        found[-1].records.append(record)
    return found
