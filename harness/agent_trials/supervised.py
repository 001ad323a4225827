"""The harness's side of a supervised program: its pipes, its start, its certain end."""

from __future__ import annotations

import errno
import os
import select
import shutil
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from agent_trials.errors import AgentError
from agent_trials.standby import Standby

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from agent_trials.standby import Spare

_END_SECONDS = 20.0
_LAST_WORDS = (b"done", b"failed")
_COMMANDS = {"SIGINT": b"i", "SIGTERM": b"t", "SIGKILL": b"k"}

_REASONS = {
    errno.EACCES: "this user may not execute it; make it executable (chmod +x)",
    errno.EPERM: "this user may not execute it; make it executable (chmod +x)",
    errno.ENOEXEC: "it is neither a program for this machine nor a script that begins with #!",
    errno.E2BIG: "its arguments and environment are longer than the system allows; shorten them",
}


@dataclass(frozen=True)
class AgentStarted:
    """The program runs since ``at_ns`` of the monotonic clock."""

    pid: int
    at_ns: int


@dataclass(frozen=True)
class AgentEnded:
    """The program itself has ended; what it left is being ended."""

    exit_code: int
    at_ns: int


class Supervised:
    """A program that is started when the context is entered and over when it is left.

    ``status``, ``stdout`` and ``stderr`` are to be read, ``stdin`` (None without input) to be
    written to, none of them blocking. ``over`` is true when ``listen`` has heard the last word;
    ``survivors`` is complete then.
    """

    def __init__(
        self,
        argv: tuple[str, ...],
        folder: Path,
        environment: Mapping[str, str],
        has_input: bool,  # noqa: FBT001 - the one caller names it
        *,
        follow_by_listing: bool = sys.platform != "linux",
        spare: Spare | None = None,
    ) -> None:
        self.program = _program(argv, environment)
        self._folder = folder
        self._order = _order(
            "ps" if follow_by_listing else "subreaper",
            folder,
            (self.program, *argv[1:]),
            environment,
        )
        self._has_input = has_input
        self._spare = spare
        self._standby: Standby | None = None
        self._heard = b""
        self._silent = False
        self._orderly = False
        self._pid: int | None = None
        self.over = False
        self.survivors: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        """Tell a supervisor what to start."""
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Return when nothing of the program is left, and raise what came up while waiting."""
        self._end()

    def _start(self) -> None:
        take = Standby if self._spare is None else self._spare.take
        self._standby = standby = take(has_input=self._has_input)
        self.status, self.stdout, self.stderr = standby.status, standby.stdout, standby.stderr
        self.stdin = standby.stdin
        with suppress(BrokenPipeError):  # then the status pipe tells of it
            unsent = memoryview(self._order)
            while unsent:
                unsent = unsent[os.write(standby.control, unsent) :]

    def make_spare(self) -> None:
        """Have the next program's supervisor started, now that this one's program is at work."""
        if self._spare is not None:
            self._spare.make_ready(has_input=self._has_input)

    def command(self, step: str) -> None:
        """Have a step of the ladder taken."""
        if self._standby is not None:
            with suppress(BrokenPipeError):
                os.write(self._standby.control, _COMMANDS[step])

    def listen(self) -> list[AgentStarted | AgentEnded]:
        """Return what the supervisor has said since.

        Raises:
            AgentError: the program could not be started.
        """
        events = [self._understand(*line.decode().partition(" ")[::2]) for line in self._lines()]
        return [event for event in events if event is not None]

    def _lines(self) -> list[bytes]:
        try:
            data = os.read(self.status, 65_536)
        except BlockingIOError:
            return []
        self._silent = not data
        *lines, self._heard = (self._heard + data).split(b"\n")
        self._orderly = self._orderly or any(line.startswith(_LAST_WORDS) for line in lines)
        self.over = self._silent or self._orderly
        return lines

    def _understand(self, word: str, rest: str) -> AgentStarted | AgentEnded | None:
        if word == "failed":
            number, _, what = rest.partition(" ")
            raise AgentError(_refusal(self.program, self._folder, int(number), what))
        if word == "done":
            self.survivors = tuple(rest.split("\0")) if rest else ()
            return None
        first, second = map(int, rest.split())
        if word == "started":
            self._pid = first
            return AgentStarted(first, second)
        return AgentEnded(first, second)

    def close_stdin(self) -> None:
        """Let the program read the end of its input."""
        if self._standby is not None:
            self._standby.close_stdin()

    def _end(self) -> None:
        """End everything and wait for it; a second Ctrl-C does not shorten the wait."""
        interruption: BaseException | None = None
        deadline = time.monotonic() + _END_SECONDS
        while True:
            try:
                self._await_the_end(deadline)
                break
            except BaseException as error:  # noqa: BLE001 - raised again below, after the end
                interruption = error
        if interruption is not None:
            raise interruption

    def _await_the_end(self, deadline: float) -> None:
        if self._standby is None:
            return
        self._standby.let_go()
        self._await_silence(deadline)
        self._standby.close()
        if self._pid is not None and not self._orderly:
            _kill_group(self._pid)

    def _await_silence(self, deadline: float) -> None:
        """Wait for the end of the status pipe: the supervisor has ended, and the tree before it."""
        poll = select.poll()
        poll.register(self.status, select.POLLIN)
        while not self._silent and time.monotonic() < deadline:
            poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
            self._lines()


def _kill_group(pid: int) -> None:
    """End what can still be reached after the supervisor itself was killed from outside."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _program(argv: tuple[str, ...], environment: Mapping[str, str]) -> str:
    """Return the program's absolute path; a bare name is looked for on the child's own PATH."""
    if not argv:
        raise RuntimeError("a command without arguments")
    name = argv[0]
    if "/" not in name:
        found = shutil.which(name, path=environment.get("PATH", os.defpath))
        if found is None:
            raise AgentError(
                f"{name} cannot be started: it is not on PATH; install it or give its path"
            )
        return str(Path(found).absolute())
    if not name.startswith("/"):
        raise RuntimeError(f"a program by a relative path: {name}")
    return name


def _order(way: str, folder: Path, argv: tuple[str, ...], environment: Mapping[str, str]) -> bytes:
    """Return what ``supervisor.read_program`` reads."""
    variables = [f"{name}={value}" for name, value in environment.items()]
    if any(not name or "=" in name for name in environment):
        raise RuntimeError("an environment variable without a proper name")
    texts = [way, str(folder), str(len(argv)), *argv, *variables]
    try:
        fields = [os.fsencode(text) for text in texts]
    except UnicodeEncodeError as error:
        raise AgentError(_unfit(argv[0], f"{error.object[error.start]!a}")) from None
    if any(b"\0" in field for field in fields):
        raise AgentError(_unfit(argv[0], "a NUL character"))
    order = b"".join(field + b"\0" for field in fields)
    return b"%d\n%s" % (len(order), order)


def _unfit(program: str, what: str) -> str:
    where = f"{program} cannot be started: one of its arguments or variables holds {what}"
    return f"{where}, which no program can receive; remove it"


def _refusal(program: str, folder: Path, number: int, what: str) -> str:
    if what == "folder":
        where = f"{program} cannot be started in {folder}"
        return f"{where}: {os.strerror(number)}; give a folder that exists"
    reason = _REASONS.get(number, f"{os.strerror(number)}; give the path of a program")
    if number == errno.ENOENT:
        reason = "there is no such file; install it or give its path"
        if Path(program).exists():
            reason = "the interpreter that its first line names is missing; install it"
    return f"{program} cannot be started: {reason}"
