"""From lines to records.

Two formats are understood, the common and the combined one; a whole number at the very end of either
is the time that the request took, in milliseconds.

    192.0.2.7 - ann [05/Mar/2026:10:00:01 +0000] "GET /a?b=1 HTTP/1.1" 200 512 "-" "curl/8" 17
"""

import re
from dataclasses import dataclass, field
from datetime import datetime

from logsift.record import Record

TIME = "%d/%b/%Y:%H:%M:%S %z"

_LINE = re.compile(
    r"^(?P<client>\S+) \S+ (?P<user>\S+) \[(?P<time>[^\]]+)\] "
    r'"(?P<method>[A-Z]+) (?P<path>\S+)(?: HTTP/[0-9.]+)?" '
    r"(?P<status>\d{3}) (?P<size>\d+|-)"
    r'(?: "(?P<referrer>[^"]*)" "(?P<agent>[^"]*)")?'
    r"(?: (?P<duration>\d+))?\s*$"
)


class LineError(ValueError):
    """A line that is no request."""


@dataclass
class Reading:
    """What a log held: its records in order, and the lines that were none, by number."""

    records: list = field(default_factory=list)
    skipped: list = field(default_factory=list)


def parse_line(line):
    """Return the record of a line, or raise ``LineError``."""
    found = _LINE.match(line)
    if not found:
        raise LineError("this is no line of an access log: " + line.strip()[:80])
    try:
        time = datetime.strptime(found["time"], TIME)
    except ValueError as error:
        raise LineError("this is no time: " + found["time"]) from error
    return Record(
        client=found["client"],
        time=time,
        method=found["method"],
        path=found["path"],
        status=int(found["status"]),
        size=_number(found["size"]),
        duration=_number(found["duration"]),
        user=_word(found["user"]),
        agent=_word(found["agent"]),
        referrer=_word(found["referrer"]),
    )


def read(lines):
    """Return what lines hold; blank ones are passed over, bad ones are counted."""
    reading = Reading()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            reading.records.append(parse_line(line))
        except LineError:
            reading.skipped.append(number)
    return reading


def _number(text):
    return None if text in (None, "-") else int(text)


def _word(text):
    return None if text in (None, "-", "") else text
