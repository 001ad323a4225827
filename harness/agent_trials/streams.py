"""What is kept of a program's output, and what is still to be written to its input."""

from __future__ import annotations

import os
import selectors
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Head:
    """The first ``bound`` bytes of a stream, its lines as they come, and when it came.

    ``arrivals`` holds, for every millisecond in which something came, how many bytes were there
    after it.
    """

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.data = bytearray()
        self.over_bound = False
        self.arrivals: list[tuple[int, int]] = []
        self._line_start = 0
        self._searched = 0

    def add(self, chunk: bytes, milliseconds: int) -> None:
        """Keep what fits of the next chunk."""
        room = self.bound - len(self.data)
        self.over_bound = self.over_bound or len(chunk) > room
        if not chunk or not room:
            return
        self.data += chunk[:room]
        if self.arrivals and self.arrivals[-1][1] == milliseconds:
            self.arrivals.pop()
        self.arrivals.append((len(self.data), milliseconds))

    def new_lines(self) -> Iterator[bytes]:
        """Yield each complete line once, without its newline."""
        while (end := self.data.find(b"\n", self._searched)) >= 0:
            line = bytes(self.data[self._line_start : end])
            self._line_start = self._searched = end + 1
            yield line
        self._searched = len(self.data)


class HeadAndTail:
    """The beginning and the end of a stream, together at most ``bound`` bytes with the note."""

    _NOTE = b"\n[... %d bytes left out ...]\n"
    _NOTE_ROOM = 64

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._total = 0

    def add(self, chunk: bytes) -> None:
        """Take the next chunk and drop the oldest that no longer fits between the two ends."""
        self._total += len(chunk)
        room = self.bound - len(self._head)
        self._head += chunk[:room]
        if rest := chunk[room:]:
            self._tail.append(rest)
            self._tail_bytes += len(rest)
        while self._tail and self._tail_bytes - len(self._tail[0]) >= self.bound:
            self._tail_bytes -= len(self._tail.popleft())

    def data(self) -> bytes:
        """Return all of a short stream, or both ends of a long one."""
        if self._total <= self.bound:
            return bytes(self._head)
        kept = (self.bound - self._NOTE_ROOM) // 2
        if kept <= 0:
            return bytes(self._head)
        seen = bytes(self._head) + b"".join(self._tail)
        return seen[:kept] + self._NOTE % (self._total - 2 * kept) + seen[-kept:]


class Outgoing:
    """Bytes on their way into a pipe that must not block the harness.

    ``closing`` is true once nothing more can be written: the last bytes are on their way, the
    reader has gone, or there never was a pipe.
    """

    def __init__(self, pipe: int | None, close: Callable[[], None]) -> None:
        self._pipe = pipe
        self._close = close
        self._pending = memoryview(b"")
        self._watched = False
        self.closing = pipe is None

    def write(self, data: bytes, *, last: bool = False) -> None:
        """Queue bytes; after the ``last`` ones the pipe is closed."""
        if not self.closing:
            self._pending = memoryview(bytes(self._pending) + data)
            self.closing = last

    def flush(self, selector: selectors.BaseSelector) -> None:
        """Write what the pipe takes now, and have the selector tell when it takes more."""
        if self._pipe is None:
            return
        try:
            while self._pending:
                self._pending = self._pending[os.write(self._pipe, self._pending) :]
        except BlockingIOError:
            self._watch(selector, self._pipe)
            return
        except BrokenPipeError:
            self.closing = True
        if self._watched:
            selector.unregister(self._pipe)
            self._watched = False
        if self.closing:
            self._pipe = None
            self._close()

    def _watch(self, selector: selectors.BaseSelector, pipe: int) -> None:
        if not self._watched:
            selector.register(pipe, selectors.EVENT_WRITE, lambda: None)
            self._watched = True
