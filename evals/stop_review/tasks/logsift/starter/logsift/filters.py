"""Which records are looked at: small predicates, and the words of a command line that name them."""

import fnmatch
from datetime import datetime, timezone


class FilterError(ValueError):
    """A filter that cannot be understood."""


def by_status(text):
    """Return a predicate for a status (``404``), a class (``4xx``) or several (``404,5xx``)."""
    wanted = [part.strip().lower() for part in text.split(",") if part.strip()]
    if not wanted:
        raise FilterError("no status in " + repr(text))
    for part in wanted:
        exact = len(part) == 3 and part.isdigit()
        of_class = len(part) == 3 and part[0] in "12345" and part[1:] == "xx"
        if not exact and not of_class:
            raise FilterError("a status is like 404 or 4xx, not " + repr(part))
    return lambda record: str(record.status) in wanted or record.status_class in wanted


def by_method(text):
    """Return a predicate for methods, several with commas."""
    wanted = {part.strip().upper() for part in text.split(",")}
    return lambda record: record.method in wanted


def by_path(pattern):
    """Return a predicate for paths without their query; ``*`` stands for anything."""
    return lambda record: fnmatch.fnmatchcase(record.bare_path, pattern)


def by_client(text):
    """Return a predicate for one client."""
    return lambda record: record.client == text


def since(text):
    """Return a predicate for what came at a moment or after it."""
    moment = parse_moment(text)
    return lambda record: record.time >= moment


def until(text):
    """Return a predicate for what came before a moment."""
    moment = parse_moment(text)
    return lambda record: record.time < moment


def parse_moment(text):
    """Return the moment that an ISO date or date and time names; without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise FilterError("a moment is like 2026-03-05 or 2026-03-05T10:00, not " + repr(text)) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def select(records, predicates):
    """Return the records that every predicate lets through."""
    predicates = list(predicates)
    return [record for record in records if all(test(record) for test in predicates)]
