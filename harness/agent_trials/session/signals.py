"""Turns SIGTERM and SIGHUP into what Ctrl-C is, so that what is in flight settles."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)
HELD = (signal.SIGINT, *ENDING)


class Interruptions:
    """Handlers for the signals that end a session, in force between install and restore."""

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}

    def install(self) -> None:
        """Take over the signals; does nothing outside the main thread, where none can be."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in ENDING:
            self._before[number] = signal.signal(number, _interrupt)

    def restore(self) -> None:
        """Give the signals back to whoever had them."""
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()


@contextmanager
def held() -> Iterator[None]:
    """Keep interruptions waiting while something is written; they come when it stands.

    A signal mask would not do: it is one thread's, and where another thread takes the signal,
    Python raises in the main thread all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _frame: waiting.append(number))
        for number in HELD
        if signal.getsignal(number) not in {None, signal.SIG_IGN}
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for arrived in waiting[:1]:
            signal.raise_signal(arrived)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)
