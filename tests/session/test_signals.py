"""What is being written is written whole, whoever presses what."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from agent_trials.session.signals import HELD, Interruptions, held


def interrupted(number: int, written: list[str], error: Exception | None = None) -> None:
    """Be interrupted in the middle of writing, and fail where an error is given."""
    with held():
        os.kill(os.getpid(), number)
        written += ["one", "two"]
        if error is not None:
            raise error


@pytest.fixture(autouse=True)
def _as_before() -> object:
    """Give every signal its handler back."""
    before = {number: signal.getsignal(number) for number in HELD}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", HELD)
def test_an_interruption_waits_until_all_is_written(number: signal.Signals) -> None:
    """Also where another thread takes the signal, which no mask of this one keeps from it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    interruptions = Interruptions()
    interruptions.install()
    other = threading.Event()
    thread = threading.Thread(target=other.wait)
    thread.start()
    written: list[str] = []
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted(number, written)
    finally:
        other.set()
        thread.join()
        interruptions.restore()

    assert written == ["one", "two"]


def test_what_was_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with held():
        os.kill(os.getpid(), signal.SIGINT)

    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_an_interruption_comes_after_an_error_too() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt) as caught:
        interrupted(signal.SIGINT, [], ValueError("the disk is full"))

    assert isinstance(caught.value.__context__, ValueError)


def test_another_thread_holds_nothing() -> None:
    """Only the main thread is interrupted, and only it may set handlers."""
    handler = signal.getsignal(signal.SIGINT)
    seen = []

    def work() -> None:
        with held():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert seen == [handler]
