"""One request, as a line of an access log tells it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Optional


@dataclass(frozen=True)
class Record:
    """One request.

    ``size`` is in bytes and ``duration`` in milliseconds; both are None where the log does not say.
    ``path`` is as the client sent it, with its query.
    """

    client: str
    time: datetime
    method: str
    path: str
    status: int
    size: Optional[int] = None
    duration: Optional[int] = None
    user: Optional[str] = None
    agent: Optional[str] = None
    referrer: Optional[str] = None

    @property
    def bare_path(self):
        """Return the path without its query."""
        return self.path.split("?", 1)[0]

    @property
    def status_class(self):
        """Return the first digit of the status with two x: ``4xx``."""
        return str(self.status)[0] + "xx"

    @property
    def is_error(self):
        """Return whether the server or the client was at fault."""
        return self.status >= 400
