"""Stands between the harness and an agent, so that nothing of an attempt outlives it.

Runs as a program of its own (``python -I -S``, see ``process``), imports little because it starts
once per attempt, may be started before it is known what for, and speaks with the harness over two
pipes:

    control, from the harness   the program to start, then one letter per command:
                                i = SIGINT, t = SIGTERM to the agent; k = end the whole tree now.
                                Its end of file (the harness is gone or done) is a k.
    status, to the harness      lines: ``started PID NS``, ``failed ERRNO WORD``,
                                ``exited CODE NS``, ``done`` and the survivors' names.

Times are ``time.monotonic_ns()``, which processes of one machine share.

On Linux the supervisor is a child subreaper: whatever the agent started, in whatever group or
session, becomes its child when orphaned, so the tree is ended when ``waitpid`` knows no child.
Elsewhere the tree is followed by listing processes twice a second while the agent runs; what leaves
group and parent between two looks is not seen. A listing is no snapshot: numbers are read first,
the processes one by one afterwards, so one that was started and orphaned in between is not in it,
nor is its parent. It is in the next one; no group is forgotten and nothing is over before that.
"""

from __future__ import annotations

import ctypes
import os
import select
import sys
import time

# The signal module costs a third of the supervisor's start (it imports enum); these are POSIX's.
SIGINT, SIGKILL, SIGTERM = 2, 9, 15
ALL_SIGNALS = range(1, 32)
IGNORED = (1, SIGINT, 3, 13, SIGTERM)
DEFAULT, IGNORE = 0, 1
SET_MASK = 2 if sys.platform == "linux" else 3
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36

SETTLE_SECONDS = 0.25
"""How long what the agent left may take to end by itself, before it counts as a survivor."""

SWEEP_SECONDS = 10.0
"""How long the tree is hunted; what no signal ends (disk sleep, another user) is only named."""

LOOK_SECONDS = 0.5
ORDER_LOOK_MS = 500
COLUMNS = ("pid", "ppid", "pgid", "stat", "lstart", "comm")
# One -o each: elsewhere than on Linux an equals sign takes the rest of its argument for a heading.
LISTING = ("ps", "-A", *(part for name in COLUMNS for part in ("-o", f"{name}=")))

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

libc = ctypes.CDLL(None)
libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
libc.signal.restype = ctypes.c_void_p
if sys.platform == "linux":
    libc.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)


class Process:
    """One row of the process table; ``born`` tells two holders of a number apart."""

    def __init__(self, pid: int, parent: int, group: int, born: str, name: str) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.born = born
        self.name = name


def table_from_proc() -> Iterator[Process]:
    """Yield the living processes of Linux's /proc; zombies are dead."""
    for entry in os.listdir("/proc"):  # noqa: PTH208 - pathlib costs start time
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:  # noqa: PTH123 - as above
                    stat = file.read().decode("utf-8", "replace")
            except OSError:
                continue  # it ended meanwhile
            name, _, rest = stat.partition("(")[2].rpartition(")")
            fields = rest.split()
            if fields[0] not in "ZX":
                yield Process(int(entry), int(fields[1]), int(fields[2]), fields[19], name)


def table_from_ps() -> Iterator[Process]:
    """Yield the living processes that ``ps`` lists."""
    import subprocess  # noqa: PLC0415 - costs as much as all the rest, and Linux needs none of it

    environment = {"LC_ALL": "C", "PATH": "/bin:/usr/bin"}
    nowhere = subprocess.DEVNULL  # the supervisor's own are the agent's
    with subprocess.Popen(
        LISTING, stdin=nowhere, stdout=subprocess.PIPE, stderr=nowhere, env=environment
    ) as ps:
        listing = ps.communicate()[0].decode("utf-8", "replace")
    for line in listing.splitlines():
        pid, parent, group, state, *rest = line.split(None, 9)
        if not state.startswith("Z") and int(pid) != ps.pid:
            born, name = " ".join(rest[:5]), "".join(rest[5:])
            yield Process(int(pid), int(parent), int(group), born, name.rpartition("/")[2])


class Tree:
    """Everything below one process, as far as the system lets it be followed.

    ``table`` lists the living processes. With ``memory`` (no subreaper), a process belongs to the
    tree as well if it was seen there before, or if its group's leader was.
    """

    def __init__(self, root: int, table: Callable[[], Iterable[Process]], *, memory: bool) -> None:
        self.root = root
        self.table = table
        self.memory = memory
        self.known: dict[int, str] = {}
        self.groups: set[int] = set()
        self.inhabited: set[int] = set()

    def living(self) -> list[Process]:
        """Return the living processes of the tree without its root."""
        table = [process for process in self.table() if process.pid != self.root]
        found: dict[int, Process] = {}
        grown = True
        while grown:
            fresh = [p for p in table if p.pid not in found and self._belongs(p, found)]
            found.update((p.pid, p) for p in fresh)
            grown = bool(fresh)
        if self.memory:
            self._remember(found)
        return list(found.values())

    def _belongs(self, process: Process, found: dict[int, Process]) -> bool:
        if process.parent == self.root or process.parent in found:
            return True
        return self.known.get(process.pid) == process.born or process.group in self.groups

    def _remember(self, found: dict[int, Process]) -> None:
        self.known = {process.pid: process.born for process in found.values()}
        # A group keeps its number while it has members; a number without any in two listings (one
        # may miss a member, see the module) is forgotten, for it may be given to a stranger.
        led = {process.pid for process in found.values() if process.group == process.pid}
        before, self.inhabited = self.inhabited, {process.group for process in found.values()}
        self.groups = (self.groups | led) & (before | self.inhabited)

    def follow(self, group: int) -> None:
        """Take a group for the tree's from now on."""
        self.groups.add(group)
        self.inhabited.add(group)

    def is_empty(self) -> bool:
        """Tell whether two listings in a row show nobody; one may miss somebody."""
        return not self.living() and not self.living()


class Supervisor:
    """Starts the agent, obeys the harness, ends the tree."""

    def __init__(self, control: int, status: int, harness: int, *, subreaper: bool) -> None:
        self.control = control
        self.status = status
        self.subreaper = subreaper
        table = table_from_proc if subreaper else table_from_ps
        self.tree = Tree(os.getpid(), table, memory=not subreaper)
        self.harness = harness
        self.agent = 0
        self.exited = False
        self.killing = False
        self.childless = False
        self.survivors: set[str] = set()
        self.poll = select.poll()
        self.pidfd = -1

    def say(self, *words: object) -> None:
        """Write one line; a harness that is gone no longer listens."""
        try:
            os.write(self.status, " ".join(map(str, words)).encode() + b"\n")
        except BrokenPipeError:
            self.killing = True

    def start(self, folder: bytes, arguments: list[bytes], environment: dict[bytes, bytes]) -> bool:
        """Start the agent in a session of its own; say ``started`` or ``failed``."""
        reading, writing = os.pipe()
        started = time.monotonic_ns()
        self.agent = os.fork()
        if self.agent == 0:
            become(folder, arguments, environment, writing, self.tree.root)
        os.close(writing)
        with open(reading, "rb") as pipe:  # noqa: PTH123 - a descriptor, no path
            refusal = pipe.read().decode()
        if self.tree.memory:
            self.tree.follow(self.agent)
        if refusal:
            os.waitpid(self.agent, 0)
            self.say("failed", refusal)
            return False
        self.say("started", self.agent, started)
        return True

    def watch(self) -> None:
        """Return when the agent has ended, by itself or because the harness said so."""
        self.poll.register(self.control, select.POLLIN)
        wait = self._watch_the_agent()
        look = time.monotonic()
        while not self.exited:
            if not self.subreaper and time.monotonic() >= look:
                self.tree.living()
                look = time.monotonic() + LOOK_SECONDS
            self._listen(wait)
            self._reap()
            if self.killing or os.getppid() != self.harness:
                self.killing = True
                self._kill_all()

    def _watch_the_agent(self) -> int:
        """Return how many milliseconds a look at the children may be put off."""
        try:
            self.pidfd = os.pidfd_open(self.agent)
        except (AttributeError, OSError):
            return 10
        self.poll.register(self.pidfd, select.POLLIN)
        return 250

    def _listen(self, milliseconds: float) -> None:
        ready = [number for number, _ in self.poll.poll(milliseconds)]
        if self.control not in ready:
            return
        letters = os.read(self.control, 64)
        if not letters:
            self.poll.unregister(self.control)
        if not letters or b"k" in letters:
            self.killing = True
        for letter, number in ((b"i", SIGINT), (b"t", SIGTERM)):
            if letter in letters and not self.exited:
                os.kill(self.agent, number)

    def _reap(self) -> None:
        while not self.childless:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.childless = True
                return
            if pid == 0:
                return
            if pid == self.agent:
                self.exited = True
                self.say("exited", os.waitstatus_to_exitcode(status), time.monotonic_ns())

    def _kill_all(self) -> None:
        """Send SIGKILL to the agent's group and to all below, and note the names of survivors.

        Who dies together with the agent, in its group, has survived nothing.
        """
        living = self.tree.living()
        if not self.exited:
            send(-self.agent, SIGKILL)
        for process in living:
            send(process.pid, SIGKILL)
            if not self.killing or process.group != self.agent:
                self.survivors.add(process.name)

    def sweep(self) -> None:
        """End what the agent left and did not end by itself."""
        if self.pidfd >= 0:
            self.poll.unregister(self.pidfd)
        now = time.monotonic()
        settled, given_up = now + SETTLE_SECONDS, now + SWEEP_SECONDS
        while not self._over() and time.monotonic() < given_up:
            if self.killing or time.monotonic() >= settled:
                self._kill_all()
            self._listen(2)

    def _over(self) -> bool:
        self._reap()
        return self.childless and (self.subreaper or self.tree.is_empty())


def send(pid: int, number: int) -> None:
    """Send a signal to a process (or, negative, to a group) that may be gone or not ours."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def become(
    folder: bytes,
    arguments: list[bytes],
    environment: dict[bytes, bytes],
    refusal: int,
    supervisor: int,
) -> None:
    """Turn the forked child into the agent; what hinders it goes into the ``refusal`` pipe."""
    word = "folder"
    try:
        os.setsid()
        pristine_signals()
        if sys.platform == "linux":
            libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
        os.chdir(folder)
        word = "program"
        if os.getppid() == supervisor:  # else it died before the parent-death signal was set
            os.execve(arguments[0], arguments, environment)  # noqa: S606 - no shell on purpose
    except OSError as error:
        os.write(refusal, f"{error.errno} {word}".encode())
    finally:
        os._exit(127)


def pristine_signals() -> None:
    """Give the agent default actions and an empty mask, whatever the harness ignores or blocks."""
    for number in ALL_SIGNALS:
        libc.signal(number, DEFAULT)
    empty_set = ctypes.create_string_buffer(128)  # of all signals, on every system: no bit is set
    libc.sigprocmask(SET_MASK, empty_set, None)


def read_program(control: int) -> tuple[bool, bytes, list[bytes], dict[bytes, bytes]]:
    """Read what to start: a length line, then fields that end in NUL.

    The fields are: ``subreaper`` or ``ps``, the folder, the number of arguments, the arguments,
    and ``NAME=value`` of each variable.
    """
    length = b""
    while not length.endswith(b"\n"):
        length += _some(control, 1)
    text = b""
    while len(text) < int(length):
        text += _some(control, int(length) - len(text))
    way, folder, count, *rest = text.split(b"\0")[:-1]
    arguments, variables = rest[: int(count)], rest[int(count) :]
    pairs = (variable.partition(b"=") for variable in variables)
    return way == b"subreaper", folder, arguments, {name: value for name, _, value in pairs}


def await_order(control: int, harness: int) -> None:
    """Wait for what to start, which may be long in coming; not longer than the harness lives.

    A process that the harness forked may hold the control pipe open after the harness's end.
    """
    poll = select.poll()
    poll.register(control, select.POLLIN)
    while not poll.poll(ORDER_LOOK_MS):
        if os.getppid() != harness:
            os._exit(0)


def _some(control: int, most: int) -> bytes:
    data = os.read(control, most)
    if not data:
        os._exit(0)  # the harness went before it had said what to start
    return data


def main() -> None:
    """Run one agent; the arguments are the numbers of the control and status pipes and harness."""
    control, status, harness = map(int, sys.argv[1:4])
    for pipe in (control, status):
        os.set_inheritable(pipe, False)  # noqa: FBT003 - the system call's own signature
    for number in ALL_SIGNALS:
        libc.signal(number, IGNORE if number in IGNORED else DEFAULT)
    await_order(control, harness)
    subreaper, folder, arguments, environment = read_program(control)
    if subreaper and libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        subreaper = False
    supervisor = Supervisor(control, status, harness, subreaper=subreaper)
    if supervisor.start(folder, arguments, environment):
        supervisor.watch()
        supervisor.sweep()
        supervisor.say("done", "\0".join(sorted(map(printable, supervisor.survivors))))
    os._exit(0)


def printable(name: str) -> str:
    """Return a process's name, which the process itself may have chosen, as one plain word."""
    return "".join(letter if letter.isprintable() else "?" for letter in name) or "?"
