from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass, field
from typing import Any

import httpcore2
import pytest

from agent_trials.agents import messages_wire
from agent_trials.agents.messages_wire import Deadline, DeadlineStream
from asking import Clock

NAMES = ["anthropic", "anthropic._base_client", "httpx2", "httpcore2", "httpcore2.http11"]


@dataclass
class Recorder(httpcore2.NetworkStream):
    """A stream that keeps the time-outs it was given."""

    waits: list[float | None] = field(default_factory=list)
    closed: bool = False

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return at once."""
        self.waits.append(timeout)
        return b"x" * max_bytes

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Drop it."""
        del buffer
        self.waits.append(timeout)

    def close(self) -> None:
        """Note it."""
        self.closed = True

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        """Return itself."""
        del ssl_context, server_hostname
        self.waits.append(timeout)
        return self

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - the library's own signature
        """Return what was asked for."""
        return info


def test_every_wait_ends_with_the_deadline_however_often_one_waits() -> None:
    """Guard: the library's time-out is for one read; an answer in drops would never meet it."""
    clock, inner = Clock(), Recorder()
    deadline = Deadline(clock)
    deadline.start(60)
    stream = DeadlineStream(inner, deadline)
    stream.write(b"request", 60)
    clock.now += 50
    stream.read(1, 60)
    clock.now += 9
    stream.read(1, None)
    stream.read(1, 0.25)

    assert inner.waits == [60, 10, 1, 0.25]


def test_a_struck_deadline_lets_nothing_wait() -> None:
    clock, inner = Clock(), Recorder()
    deadline = Deadline(clock)
    deadline.start(1)
    stream = DeadlineStream(inner, deadline)
    clock.now += 1

    with pytest.raises(httpcore2.ReadTimeout):
        stream.read(1, 60)
    with pytest.raises(httpcore2.WriteTimeout):
        stream.write(b"x", 60)
    with pytest.raises(httpcore2.ConnectTimeout):
        stream.start_tls(ssl.create_default_context(), timeout=60)
    assert inner.waits == []


def test_the_encrypted_stream_has_the_same_deadline() -> None:
    clock, inner = Clock(), Recorder()
    deadline = Deadline(clock)
    deadline.start(60)
    encrypted = DeadlineStream(inner, deadline).start_tls(ssl.create_default_context(), "x", 90)
    clock.now += 40
    encrypted.read(1, 60)
    encrypted.close()

    assert inner.waits == [60, 20]
    assert inner.closed
    assert encrypted.get_extra_info("socket") == "socket"


def test_silence_covers_loggers_set_to_debug_and_those_made_meanwhile(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Attack: at DEBUG the SDK logs whole requests, and pytest puts captured logs into reports."""
    caplog.set_level(logging.DEBUG)
    for name in NAMES:
        caplog.set_level(logging.DEBUG, logger=name)
    with messages_wire.quiet():
        for name in [*NAMES, "anthropic.made.meanwhile"]:
            logging.getLogger(name).critical("a prompt")
        logging.getLogger("of.somebody.else").warning("heard")

    assert [record.message for record in caplog.records] == ["heard"]


def test_silence_ends_with_the_question_even_after_an_exception(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="httpx2")
    caplog.set_level(logging.DEBUG)
    with pytest.raises(KeyError), messages_wire.quiet():
        raise KeyError
    logging.getLogger("anthropic").debug("one")
    logging.getLogger("httpx2").info("two")
    logging.getLogger("httpx2").debug("below its level")

    assert [record.message for record in caplog.records] == ["one", "two"]
