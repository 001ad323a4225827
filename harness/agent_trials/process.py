"""Runs one program under a deadline and bounds, and lets nothing of it outlive the call.

What holds for every call of ``run``:
    the program gets the arguments and the environment that are given, and nothing else
    it and all that it starts, in whatever group or session, has ended when the call is over,
    also by an exception, and also when the harness itself is killed (see ``supervisor``)
    stdout beyond its bound ends the whole tree at once; stderr beyond its bound is read and dropped
    at the deadline: the interrupt request (``Dialogue`` only), SIGINT, SIGTERM, SIGKILL of all,
    each after the grace that the one before was given
"""

from __future__ import annotations

import os
import selectors
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_trials.errors import AgentError
from agent_trials.streams import Head, HeadAndTail, Outgoing
from agent_trials.supervised import AgentEnded, AgentStarted, Supervised

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from agent_trials.standby import Spare

INTERRUPT = "interrupt"
_CHUNK = 65_536
_MILLISECOND_NS = 1_000_000
_SECOND_NS = 1_000_000_000
_START_SECONDS = 60.0


@dataclass(frozen=True)
class Command:
    """What to start: argument array (no shell), working folder, and the whole environment.

    The first argument is an absolute path, or a name to be found on the environment's PATH.
    """

    argv: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Silent:
    """Standard input is /dev/null."""


@dataclass(frozen=True)
class Text:
    """Standard input is these bytes, then its end."""

    data: bytes


@dataclass(frozen=True)
class Dialogue:
    """Standard input stays open until the program has said that it is finished.

    ``first`` is written at the start. ``finished`` sees each line of stdout, without its newline;
    once it is true, standard input is closed. ``interrupt`` is written at the deadline if that
    has not happened.
    """

    first: bytes
    interrupt: bytes
    finished: Callable[[bytes], bool]


@dataclass(frozen=True)
class Limits:
    """The deadline from the program's start, what is kept of its output, and the ladder's grace."""

    deadline_seconds: float
    stdout_bytes: int = 4 * 1024 * 1024
    stderr_bytes: int = 64 * 1024
    grace_seconds: float = 2.0


@dataclass(frozen=True)
class ProcessResult:
    """What is known of a program that has ended.

    Attributes:
        stdout: all of it, or the first ``stdout_bytes`` of it if ``truncated``.
        stderr: all of it, or its beginning and its end with a note of what is left out.
        exit_code: negative for a signal; None if the supervisor itself was killed from outside.
        timed_out: it was still running at the deadline.
        truncated: it wrote more than ``stdout_bytes`` and was killed for it.
        wall_time_ms: from its start to its end, by the monotonic clock.
        arrivals: how many bytes of stdout were there, at how many ms since the start.
        ladder: the steps that were taken to end it, of interrupt, SIGINT, SIGTERM and SIGKILL.
        survivors: the names of processes, sorted, that were left of it and had to be killed.
    """

    stdout: bytes
    stderr: bytes
    exit_code: int | None
    timed_out: bool
    truncated: bool
    wall_time_ms: int
    arrivals: tuple[tuple[int, int], ...] = ()
    ladder: tuple[str, ...] = ()
    survivors: tuple[str, ...] = ()


def run(
    command: Command,
    given: Silent | Text | Dialogue,
    limits: Limits,
    *,
    on_started: Callable[[int], None] | None = None,
    spare: Spare | None = None,
) -> ProcessResult:
    """Run a program to its end and return what is known of it.

    ``on_started`` is called with its process id. Its supervisor is the ``spare`` one if there is
    one, and the next spare one is started when the program has begun to write. May be called from
    any thread.

    Raises:
        AgentError: it could not be started.
        BaseException: whatever is raised in this thread meanwhile (Ctrl-C, an outer time-out) goes
            on after everything has been ended.
    """
    has_input = not isinstance(given, Silent)
    with Supervised(
        command.argv, command.folder, command.environment, has_input, spare=spare
    ) as child:
        return _Conversation(child, given, limits, on_started).hold()


class Ladder:
    """The steps that end a program: which is due when. Times are seconds of the monotonic clock.

    Before ``strike_at`` has told the deadline, nothing is due.
    """

    def __init__(self, grace_seconds: float, *, can_interrupt: bool) -> None:
        self._grace = grace_seconds
        first = (INTERRUPT,) if can_interrupt else ()
        self._steps: deque[str] = deque((*first, "SIGINT", "SIGTERM", "SIGKILL"))
        self._at: float | None = None
        self.taken: tuple[str, ...] = ()

    def strike_at(self, deadline: float) -> None:
        """Fix the time of the first step."""
        self._at = deadline

    def stop(self) -> None:
        """Take no further step: the program has ended."""
        self._steps.clear()

    def jump_to_the_end(self) -> bool:
        """Take the last step out of turn; False if it was taken before or is of no use any more."""
        if not self._steps:
            return False
        self.stop()
        self.taken += ("SIGKILL",)
        return True

    def due(self, now: float, *, can_write: bool) -> str | None:
        """Return the step to take now, if any; an interrupt that cannot be written is left out."""
        if self._at is None or not self._steps or now < self._at:
            return None
        if self._steps[0] == INTERRUPT and not can_write:
            self._steps.popleft()
        self._at = now + self._grace
        step = self._steps.popleft()
        self.taken += (step,)
        return step

    def patience(self, now: float) -> float | None:
        """Return for how many seconds nothing is due, None for ever."""
        if self._at is None:
            return _START_SECONDS
        return max(0.0, self._at - now) if self._steps else None


class _Conversation:
    """One program's way from start to end, as seen from the harness."""

    def __init__(
        self,
        child: Supervised,
        given: Silent | Text | Dialogue,
        limits: Limits,
        on_started: Callable[[int], None] | None,
    ) -> None:
        self.child = child
        self.limits = limits
        self.on_started = on_started
        self.dialogue = given if isinstance(given, Dialogue) else None
        self.stdin = Outgoing(child.stdin, child.close_stdin)
        self.stdout = Head(limits.stdout_bytes)
        self.stderr = HeadAndTail(limits.stderr_bytes)
        self.ladder = Ladder(limits.grace_seconds, can_interrupt=self.dialogue is not None)
        self.began: AgentStarted | None = None
        self.ended: AgentEnded | None = None
        if isinstance(given, Text):
            self.stdin.write(given.data, last=True)
        elif isinstance(given, Dialogue):
            self.stdin.write(given.first)

    def hold(self) -> ProcessResult:
        """Read, write and climb until the supervisor says that all has ended."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.child.status, selectors.EVENT_READ, self._hear)
            selector.register(self.child.stdout, selectors.EVENT_READ, self._read_stdout)
            selector.register(self.child.stderr, selectors.EVENT_READ, self._read_stderr)
            while not self.child.over:
                self.stdin.flush(selector)
                ready = selector.select(self.ladder.patience(time.monotonic()))
                for key, _ in ready:
                    if key.data() is False:
                        selector.unregister(key.fd)
                if self.began is None and not ready:
                    raise AgentError(f"{self.child.program} was not started in {_START_SECONDS} s")
                self._climb()
        self._drain()
        return self._result()

    def _hear(self) -> None:
        for event in self.child.listen():
            if isinstance(event, AgentStarted):
                self.began = event
                self.ladder.strike_at(event.at_ns / _SECOND_NS + self.limits.deadline_seconds)
                if self.on_started is not None:
                    self.on_started(event.pid)
            else:
                self.ended = event
                self.ladder.stop()

    def _read_stdout(self) -> bool:
        """Take what has come on stdout; False at its end."""
        if (chunk := _read(self.child.stdout)) is None:
            return True
        if chunk and not self.stdout.arrivals:
            self.child.make_spare()
        self.stdout.add(chunk, time.monotonic_ns() // _MILLISECOND_NS)
        if self.stdout.over_bound and self.ladder.jump_to_the_end():
            self.child.command("SIGKILL")
        if self.dialogue is not None and any(map(self.dialogue.finished, self.stdout.new_lines())):
            self.stdin.write(b"", last=True)
        return bool(chunk)

    def _read_stderr(self) -> bool:
        """Take what has come on stderr; False at its end."""
        if (chunk := _read(self.child.stderr)) is None:
            return True
        self.stderr.add(chunk)
        return bool(chunk)

    def _climb(self) -> None:
        step = self.ladder.due(time.monotonic(), can_write=not self.stdin.closing)
        if step == INTERRUPT and self.dialogue is not None:
            self.stdin.write(self.dialogue.interrupt, last=True)
        elif step is not None:
            self.child.command(step)

    def _drain(self) -> None:
        """Read what still lies in the pipes; whoever else holds them open is not waited for."""
        now = time.monotonic_ns() // _MILLISECOND_NS
        while chunk := _read(self.child.stdout):
            self.stdout.add(chunk, now)
        while chunk := _read(self.child.stderr):
            self.stderr.add(chunk)

    def _result(self) -> ProcessResult:
        if self.began is None:
            raise AgentError(
                f"{self.child.program} cannot be started: the supervisor ended before it:"
                f" {self.stderr.data().decode(errors='replace').strip() or 'without a word'}"
            )
        start = self.began.at_ns
        end = self.ended.at_ns if self.ended is not None else time.monotonic_ns()
        began = start // _MILLISECOND_NS
        return ProcessResult(
            stdout=bytes(self.stdout.data),
            stderr=self.stderr.data(),
            exit_code=self.ended.exit_code if self.ended is not None else None,
            timed_out=end - start >= self.limits.deadline_seconds * _SECOND_NS,
            truncated=self.stdout.over_bound,
            wall_time_ms=(end - start) // _MILLISECOND_NS,
            arrivals=tuple((size, max(0, at - began)) for size, at in self.stdout.arrivals),
            ladder=self.ladder.taken,
            survivors=self.child.survivors,
        )


def _read(pipe: int) -> bytes | None:
    """Return the next bytes of a pipe, none at its end, None where nothing has come yet."""
    try:
        return os.read(pipe, _CHUNK)
    except BlockingIOError:
        return None
