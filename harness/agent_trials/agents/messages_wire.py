"""The connection to the Messages API: every wait ends in time, and nothing of it is logged."""

from __future__ import annotations

import logging
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpcore2
import httpx2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_LOUD = ("anthropic", "httpx2", "httpcore2")
_SILENT = logging.CRITICAL + 1
# A connection that lay idle for longer while tools worked may be gone, and nothing is tried twice.
_KEEP_ALIVE_SECONDS = 5.0


class Deadline:
    """A moment after which no wait goes on; it is set anew for every request.

    ``clock`` gives seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until = clock()

    def start(self, seconds: float) -> None:
        """Let it strike so many seconds from now."""
        self._until = self._clock() + seconds

    def cut(self, timeout: float | None) -> float:
        """Return the seconds that one wait may last: what is left, or less where less was asked."""
        left = self._until - self._clock()
        return left if timeout is None else min(timeout, left)


class DeadlineTransport(httpx2.HTTPTransport):
    """HTTP without proxies, redirects or retries, in which all waits of a request share a deadline.

    The library's own time-outs are for one read: an answer that trickles in never meets them.
    """

    def __init__(self, deadline: Deadline, *, encrypted: bool) -> None:
        # Reading the machine's certificates takes a tenth of a second, and loopback needs none.
        context: ssl.SSLContext | bool = (
            True if encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        )
        verify = httpx2.create_ssl_context(verify=context, trust_env=False)
        super().__init__(verify=verify, trust_env=False, retries=0)
        self._pool.close()
        self._pool = httpcore2.ConnectionPool(
            ssl_context=verify,
            keepalive_expiry=_KEEP_ALIVE_SECONDS,
            retries=0,
            network_backend=_Backend(deadline),
        )


class _Backend(httpcore2.SyncBackend):
    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        seconds = _left(self._deadline, timeout, httpcore2.ConnectTimeout)
        inner = super().connect_tcp(host, port, seconds, local_address, socket_options)
        return DeadlineStream(inner, self._deadline)


class DeadlineStream(httpcore2.NetworkStream):
    """A stream whose every wait ends at the deadline, however the time-outs were chosen."""

    def __init__(self, inner: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return what has come, within what is left."""
        return self._inner.read(max_bytes, _left(self._deadline, timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send the bytes, within what is left."""
        self._inner.write(buffer, _left(self._deadline, timeout, httpcore2.WriteTimeout))

    def close(self) -> None:
        """Close the stream."""
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        """Return the encrypted stream, under the same deadline."""
        seconds = _left(self._deadline, timeout, httpcore2.ConnectTimeout)
        return DeadlineStream(
            self._inner.start_tls(ssl_context, server_hostname, seconds), self._deadline
        )

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - the library's own signature
        """Return what the inner stream says."""
        return self._inner.get_extra_info(info)


def _left(
    deadline: Deadline, timeout: float | None, error: type[httpcore2.TimeoutException]
) -> float:
    seconds = deadline.cut(timeout)
    if seconds <= 0:
        raise error("the deadline struck")
    return seconds


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the SDK and its HTTP libraries: at DEBUG they log requests, prompts included.

    It holds whatever levels were set before, also by ``pytest --log-level`` or ``ANTHROPIC_LOG``,
    and puts them back.
    """
    known = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in _LOUD]
    loggers = [logging.getLogger(name) for name in {*known, *_LOUD}]
    before = [(logger, logger.level) for logger in loggers]
    for logger in loggers:  # one made later takes its parent's level
        logger.setLevel(_SILENT)
    try:
        yield
    finally:
        for logger, level in before:
            logger.setLevel(level)
