"""A supervisor that has started and waits to be told its program, and the one kept in reserve.

Starting a Python interpreter takes 20 ms, which an attempt need not wait for: while one program
runs, the supervisor of the next is started. It has an empty environment, the folder ``/`` and no
program; it ends with the harness like any other.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

_BOOT = "import sys; sys.path.append(sys.argv[4]); from agent_trials.supervisor import main; main()"
_SOURCE_ROOT = Path(__file__).parent.parent
# Where python itself is linked against a library outside the loader's own folders.
_LOADER_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class Standby:
    """A supervisor's process and the harness's ends of its pipes.

    ``control`` and ``stdin`` (None without input) are to be written to, ``status``, ``stdout`` and
    ``stderr`` to be read, none of the last four blocking.
    """

    def __init__(self, *, has_input: bool) -> None:
        self.has_input = has_input
        self.process: subprocess.Popen[bytes] | None = None
        self.stdin: int | None = None
        self._open: set[int] = set()
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        control_end, self.control = self._pipe()
        self.status, status_end = self._pipe()
        self.stdout, stdout_end = self._pipe()
        self.stderr, stderr_end = self._pipe()
        stdin_end = subprocess.DEVNULL
        if self.has_input:
            stdin_end, self.stdin = self._pipe()
            os.set_blocking(self.stdin, False)
        for pipe in (self.status, self.stdout, self.stderr):
            os.set_blocking(pipe, False)
        self.process = subprocess.Popen(
            (
                *(sys.executable, "-I", "-S", "-c", _BOOT),
                *map(str, (control_end, status_end, os.getpid(), _SOURCE_ROOT)),
            ),
            stdin=stdin_end,
            stdout=stdout_end,
            stderr=stderr_end,
            pass_fds=(control_end, status_end),
            env={name: os.environ[name] for name in _LOADER_VARIABLES if name in os.environ},
            cwd="/",
            start_new_session=True,
        )
        for pipe in {control_end, status_end, stdout_end, stderr_end, stdin_end} & self._open:
            self._close(pipe)

    def _pipe(self) -> tuple[int, int]:
        ends = os.pipe()
        self._open.update(ends)
        return ends

    def _close(self, pipe: int) -> None:
        self._open.discard(pipe)
        os.close(pipe)

    @property
    def lives(self) -> bool:
        """Return whether nobody has ended it from outside."""
        return self.process is not None and self.process.poll() is None

    def close_stdin(self) -> None:
        """Let the program read the end of its input."""
        if self.stdin is not None:
            self._close(self.stdin)
            self.stdin = None

    def let_go(self) -> None:
        """Close every pipe but ``status``, which is how a supervisor learns that it is to end."""
        for pipe in self._open - {self.status}:
            self._close(pipe)

    def close(self) -> None:
        """End the supervisor itself and close every pipe; safe to call again."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        for pipe in set(self._open):
            self._close(pipe)


class Spare:
    """At most one supervisor kept in reserve, until the context is left.

    May be used from any thread.
    """

    def __init__(self) -> None:
        self._one: Standby | None = None
        self._closed = False
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Begin with none."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the one that was not needed, and keep none from now on."""
        with self._lock:
            self._closed = True
            self._drop()

    def make_ready(self, *, has_input: bool) -> None:
        """Start one where there is none; if it cannot be, whoever needs one starts it."""
        with self._lock, suppress(OSError):
            if self._one is None and not self._closed:
                self._one = Standby(has_input=has_input)

    def take(self, *, has_input: bool) -> Standby:
        """Return the one in reserve if it is fit for use, else a new one."""
        with self._lock:
            one = self._one
            if one is not None and one.has_input is has_input and one.lives:
                self._one = None
                return one
            self._drop()
        return Standby(has_input=has_input)

    def _drop(self) -> None:
        if self._one is not None:
            self._one.close()
            self._one = None
