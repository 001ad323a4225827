"""The events' names. Readers keep the ones that they do not know."""

from __future__ import annotations

from enum import StrEnum


class Event(StrEnum):
    """What a line may announce."""

    RUN_OPENED = "run-opened"
    PREFLIGHT_PASSED = "preflight-passed"
    PAIR_ADMITTED = "pair-admitted"
    PAIR_RELEASED = "pair-released"
    ATTEMPT_RESERVED = "attempt-reserved"
    ATTEMPT_SETTLED = "attempt-settled"
    ATTEMPT_REFUSED = "attempt-refused"
    GRADE_RESERVED = "grade-reserved"
    GRADE_SETTLED = "grade-settled"
    ADJUDICATED = "adjudicated"
    EVALUATED = "evaluated"
    RUN_STOPPED = "run-stopped"
    RUN_CLOSED = "run-closed"
    APPROVED = "approved"
