"""What ``process.run`` promises, tried with programs that keep no promise."""

from __future__ import annotations

import os
import selectors
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given as any_of
from hypothesis import strategies as st

from agent_trials import process
from agent_trials.errors import AgentError
from agent_trials.process import Command, Dialogue, Ladder, Limits, Silent, Text
from agent_trials.streams import Head, HeadAndTail
from agent_trials.supervised import Supervised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FIXTURES = Path(__file__).parents[1] / "fixtures"
SOON = Limits(deadline_seconds=0.5, grace_seconds=0.15)
LATE = Limits(deadline_seconds=30)
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}

TREES = (
    "child-in-its-own-group",
    "child-in-its-own-session",
    "child-in-the-same-group",
    "daemon",
    "grandchildren",
)


def python(script: str, *arguments: str, environment: dict[str, str] | None = None) -> Command:
    """Return the command that runs a script of fixtures/."""
    argv = (sys.executable, "-I", "-S", str(FIXTURES / script), *arguments)
    return Command(argv, Path("/"), ENVIRONMENT if environment is None else environment)


def shell(text: str) -> Command:
    return Command(("/bin/sh", "-c", text), Path("/"), ENVIRONMENT)


class Witness:
    """A named pipe that tells whether any process that opened it is still there."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "witness")
        os.mkfifo(self.path)
        self.reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        self.seen = b""

    def await_(self, condition: Callable[[bytes], bool], seconds: float = 10) -> None:
        """Read until the condition holds for what one read returned."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.reader, selectors.EVENT_READ)
            while time.monotonic() < deadline:
                selector.select(0.02)
                try:
                    data = os.read(self.reader, 4096)
                except BlockingIOError:
                    continue
                self.seen += data
                if condition(data):
                    return
        pytest.fail(f"waited for {seconds} s; seen: {self.seen!r}")

    def await_ready(self) -> None:
        """Wait until the whole tree stands."""
        self.await_(lambda data: b"ready" in data)

    def await_the_last(self) -> None:
        """Wait until the last process of the tree is gone."""
        self.await_(lambda data: not data)

    def is_alone(self) -> bool:
        """Tell, without waiting, that the tree stood once and that nothing of it is left."""
        try:
            while data := os.read(self.reader, 4096):
                self.seen += data
        except BlockingIOError:
            return False
        return b"ready" in self.seen


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[Witness]:
    one = Witness(tmp_path)
    yield one
    os.close(one.reader)


def test_gives_the_arguments_folder_and_environment_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PYTEST_CURRENT_TEST would tell the agent which arm it is in; a key would tell more."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "dummy")
    arguments = ("a b", "", "$HOME", "*", "line\nbreak", "ü\udce4", "'\"")
    script = 'pwd -P; printf "%s|" "$@"; /usr/bin/env -0'
    result = process.run(
        Command(("/bin/sh", "-c", script, "sh", *arguments), tmp_path, {"A": "1 ü", "PWD": "x"}),
        Silent(),
        LATE,
    )
    folder, _, rest = result.stdout.partition(b"\n")
    *given, variables = rest.split(b"|")

    assert Path(os.fsdecode(folder)) == tmp_path.resolve()
    assert tuple(map(os.fsdecode, given)) == arguments
    names = {line.partition(b"=")[0] for line in variables.split(b"\0") if line}
    assert names <= {b"A", b"PWD", b"OLDPWD", b"_", b"SHLVL"}  # the last four are the shell's own
    assert "A=1 ü".encode() in variables.split(b"\0")


def test_gives_an_empty_environment_where_none_is_given() -> None:
    """Python in a C locale adds LC_CTYPE to its own environment; it must not reach the child."""
    result = process.run(Command(("/usr/bin/env",), Path("/"), {}), Silent(), LATE)

    assert result.stdout == b""


@pytest.mark.parametrize(("ending", "code"), [("exit 7", 7), ("kill -TERM $$", -15)])
def test_returns_output_and_exit_code(ending: str, code: int) -> None:
    result = process.run(shell(f"echo out; echo err >&2; {ending}"), Silent(), LATE)

    assert (result.stdout, result.stderr, result.exit_code) == (b"out\n", b"err\n", code)
    assert (result.timed_out, result.truncated, result.ladder, result.survivors) == (
        False, False, (), (),
    )  # fmt: skip


def test_tells_when_output_arrived() -> None:
    """The time of the init event is read from this."""
    result = process.run(shell("sleep 0.1; echo one; sleep 0.2; echo two"), Silent(), LATE)
    (first, first_ms), (last, last_ms) = result.arrivals

    assert (first, last) == (4, 8)
    assert 100 <= first_ms < last_ms
    assert last_ms >= 300
    assert result.wall_time_ms >= 300


def test_the_agent_ignores_and_blocks_no_signal_that_the_harness_does(tmp_path: Path) -> None:
    """A run in the background of a script ignores SIGINT; so would the agent at its deadline."""
    program = (
        "import signal, sys; from pathlib import Path;"
        "from agent_trials.process import *;"
        "signal.signal(signal.SIGINT, signal.SIG_IGN);"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN);"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT});"
        f"c = Command(('/bin/sh', '-c', 'kill -INT $$; exit 5'), Path({str(tmp_path)!r}), {{}});"
        "r = run(c, Silent(), Limits(10)); print(r.exit_code);"
        "c = Command(('/bin/sh', '-c', 'kill -TERM $$; exit 5'), c.folder, {});"
        "r = run(c, Silent(), Limits(10)); print(r.exit_code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, timeout=20
    )

    assert done.stdout == b"-2\n-15\n", done.stderr


def test_silent_input_is_at_its_end() -> None:
    assert process.run(shell("cat; echo end"), Silent(), LATE).stdout == b"end\n"


def test_writes_a_text_that_no_pipe_holds_at_once() -> None:
    text = bytes(range(256)) * 4096

    assert process.run(shell("cat"), Text(text), LATE).stdout == text


def test_goes_on_when_nobody_reads_the_text() -> None:
    result = process.run(shell("exec 0<&-; echo on"), Text(b"x" * 1_000_000), LATE)

    assert (result.stdout, result.exit_code) == (b"on\n", 0)


def finished(line: bytes) -> bool:
    return line == b"result"


def test_closes_the_input_of_a_dialogue_after_its_result() -> None:
    """An agent with streamed input waits for more after its result, until the deadline."""
    talk = Dialogue(b"hello\nquestion\n", b"interrupt\n", finished)
    result = process.run(python("talking.py"), talk, LATE)

    assert result.stdout == b"heard hello\nheard question\nresult\nend\n"
    assert (result.exit_code, result.ladder) == (0, ())


def test_writes_the_interrupt_of_a_dialogue_at_the_deadline() -> None:
    """It makes both arms print what they have cost; no signal does that in both."""
    talk = Dialogue(b"hello\n", b"interrupt\n", finished)
    result = process.run(python("talking.py"), talk, Limits(0.4, grace_seconds=5))

    assert result.stdout == b"heard hello\nheard interrupt\ninterrupted\n"
    assert (result.exit_code, result.timed_out, result.ladder) == (1, True, ("interrupt",))


def test_climbs_on_when_the_interrupt_is_not_read() -> None:
    """The first bytes fill the pipe, so that the interrupt cannot even be written."""
    talk = Dialogue(b"x" * 300_000, b"interrupt\n", finished)
    result = process.run(python("talking.py", "deaf"), talk, SOON)

    assert result.ladder == ("interrupt", "SIGINT")
    assert result.timed_out


def test_sends_no_interrupt_into_an_input_that_was_closed() -> None:
    talk = Dialogue(b"question\n", b"interrupt\n", finished)
    stubborn = shell("echo result; trap '' INT; cat; sleep 30")
    result = process.run(stubborn, talk, SOON)

    assert result.stdout == b"result\nquestion\n"
    assert result.ladder == ("SIGINT", "SIGTERM")


@pytest.mark.parametrize(
    ("end", "ladder", "code"),
    [
        ("answers-sigint", ("SIGINT",), 0),
        ("dies-of-sigterm", ("SIGINT", "SIGTERM"), -15),
        ("ignores", ("SIGINT", "SIGTERM", "SIGKILL"), -9),
    ],
)
def test_climbs_the_ladder_only_as_far_as_needed(
    witness: Witness, end: str, ladder: tuple[str, ...], code: int
) -> None:
    result = process.run(python("misbehaving.py", f"alone/{end}", witness.path), Silent(), SOON)

    assert (result.ladder, result.exit_code, result.timed_out) == (ladder, code, True)
    assert result.survivors == ()
    assert result.wall_time_ms >= 500 + 150 * (len(ladder) - 1)
    assert witness.is_alone()


def test_keeps_what_is_said_after_the_deadline(witness: Witness) -> None:
    """The result event of an interrupted agent holds its cost."""
    command = python("misbehaving.py", "alone/answers-sigint", witness.path)

    assert process.run(command, Silent(), SOON).stdout == b"standing\ninterrupted\n"


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("end", ["ends", "ignores"])
def test_leaves_nothing_behind(witness: Witness, tree: str, end: str) -> None:
    """Each child holds stdout open as well, so a reader that waits for its end hangs for ever."""
    command = python("misbehaving.py", f"{tree}/{end}", witness.path)
    result = process.run(command, Silent(), SOON)

    assert witness.is_alone()
    assert result.stdout == b"standing\n"
    died_with_the_group = end == "ignores" and tree == "child-in-the-same-group"
    assert bool(result.survivors) is not died_with_the_group


@pytest.mark.parametrize(
    ("tree", "end"),
    [
        ("child-in-its-own-group", "stays"),
        ("child-in-its-own-session", "stays"),
        ("child-in-the-same-group", "stays"),
        ("child-in-the-same-group", "ends"),
    ],
)
def test_leaves_nothing_behind_where_processes_can_only_be_listed(
    witness: Witness, tree: str, end: str
) -> None:
    """This is how it works where the system has no subreaper; tried here on every system.

    What daemonises between two looks is not found there (see the supervisor's docstring).
    """
    command = python("misbehaving.py", f"{tree}/{end}", witness.path)
    limits = Limits(1.5, grace_seconds=0.2)
    child = Supervised(
        command.argv, command.folder, command.environment, has_input=False, follow_by_listing=True
    )
    with child:
        result = process._Conversation(child, Silent(), limits, None).hold()

    assert result.timed_out is (end == "stays")
    assert witness.is_alone()


def test_names_the_survivors() -> None:
    left = "for n in 1 2; do setsid sleep 30 & done; setsid cat /dev/zero >/dev/null & sleep 0.1"
    result = process.run(shell(left), Silent(), LATE)

    assert result.survivors == ("cat", "sleep")


def test_names_no_survivor_that_was_about_to_end() -> None:
    """A server that ends when its client does has survived nothing."""
    result = process.run(shell("(sleep 0.1) & exit 0"), Silent(), LATE)

    assert result.survivors == ()


def test_output_up_to_its_bound_is_whole() -> None:
    result = process.run(shell("printf 12345678"), Silent(), Limits(30, stdout_bytes=8))

    assert (result.stdout, result.truncated, result.exit_code) == (b"12345678", False, 0)


@pytest.mark.parametrize("tree", TREES)
def test_output_over_its_bound_ends_the_whole_tree(witness: Witness, tree: str) -> None:
    """A reader that only stops reading lets the agent go on and spend."""
    command = python("misbehaving.py", f"{tree}/ignores", witness.path)
    result = process.run(command, Silent(), Limits(30, stdout_bytes=8, grace_seconds=10))

    assert (result.stdout, result.truncated, result.timed_out) == (b"standing", True, False)
    assert (result.exit_code, result.ladder) == (-9, ("SIGKILL",))
    assert result.wall_time_ms < 5000
    assert witness.is_alone() or not witness.seen  # killed even before it was ready


def test_output_without_end_stays_in_its_bound() -> None:
    result = process.run(shell("cat /dev/zero"), Silent(), Limits(30))

    assert len(result.stdout) == 4 * 1024 * 1024
    assert result.arrivals[-1][0] == len(result.stdout)


def test_errors_over_their_bound_are_read_and_shortened() -> None:
    """A child that logs much must neither block on a full pipe nor be killed for it."""
    text = "echo first >&2; head -c 3000000 /dev/zero >&2; echo last >&2; echo done"
    result = process.run(shell(text), Silent(), Limits(30, stderr_bytes=2000))

    assert (result.stdout, result.exit_code, result.truncated) == (b"done\n", 0, False)
    assert len(result.stderr) <= 2000
    assert result.stderr.startswith(b"first\n")
    assert result.stderr.endswith(b"last\n")


class Interruption(BaseException):
    """What a time-out plugin raises from its signal handler."""


def interrupt(*_: object) -> None:
    raise Interruption


@pytest.mark.parametrize("tree", TREES)
def test_an_exception_from_a_signal_ends_the_tree_and_goes_on(witness: Witness, tree: str) -> None:
    """Ctrl-C and pytest-timeout look like this."""

    def strike() -> None:
        witness.await_ready()
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupt)
    thread = threading.Thread(target=strike)
    thread.start()
    try:
        with pytest.raises(Interruption):
            process.run(python("misbehaving.py", f"{tree}/ignores", witness.path), Silent(), LATE)
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)

    assert witness.is_alone()


def test_a_second_exception_does_not_cut_the_wait_short(witness: Witness) -> None:
    """Who presses Ctrl-C twice still leaves nothing behind."""
    started: list[int] = []

    def strike_twice(pid: int) -> None:
        started.append(pid)
        witness.await_ready()
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        raise Interruption

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(Interruption):
            process.run(
                python("misbehaving.py", "daemon/ignores", witness.path),
                Silent(),
                LATE,
                on_started=strike_twice,
            )
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert started
    assert witness.is_alone()


def test_an_exception_while_waiting_for_the_end_is_not_lost(witness: Witness) -> None:
    """A Ctrl-C in the last milliseconds of an attempt still stops the run."""
    command = python("misbehaving.py", "daemon/ignores", witness.path)
    child = Supervised(command.argv, command.folder, command.environment, has_input=False)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        child.__enter__()
        witness.await_ready()
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        with pytest.raises(Interruption):
            child.__exit__(None, None, None)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert witness.is_alone()


def test_an_exception_from_a_dialogue_ends_the_tree(witness: Witness) -> None:
    def broken(line: bytes) -> bool:
        raise ZeroDivisionError(line)

    with pytest.raises(ZeroDivisionError):
        process.run(
            python("misbehaving.py", "alone/ignores", witness.path),
            Dialogue(b"", b"", broken),
            LATE,
        )

    witness.seen = b"ready"  # it may not have come that far
    assert witness.is_alone()


HARNESS = """
import sys
from pathlib import Path
from agent_trials.process import Command, Limits, Silent, run
run(Command(tuple(sys.argv[1:]), Path("/"), {}), Silent(), Limits(60))
"""


@pytest.mark.parametrize("tree", TREES)
def test_the_tree_dies_when_the_harness_is_killed(witness: Witness, tree: str) -> None:
    """An agent that outlives its harness goes on spending, and nobody counts it."""
    argv = python("misbehaving.py", f"{tree}/ignores", witness.path).argv
    with subprocess.Popen([sys.executable, "-c", HARNESS, *argv]) as harness:
        witness.await_ready()
        harness.kill()
        harness.wait()
        witness.await_the_last()

    assert witness.is_alone()


def test_the_tree_dies_though_a_fork_of_the_harness_lives_on(witness: Witness) -> None:
    """A forked sibling keeps the control pipe open, so its end alone is not to be relied on."""
    fork_later = """
import os, sys, signal
from pathlib import Path
from agent_trials.process import Command, Limits, Silent, run
def fork(_):
    pid = os.fork()
    if pid == 0:
        signal.pause()
    print(pid, flush=True)
run(Command(tuple(sys.argv[1:]), Path("/"), {}), Silent(), Limits(60), on_started=fork)
"""
    argv = python("misbehaving.py", "daemon/ignores", witness.path).argv
    with subprocess.Popen(
        [sys.executable, "-c", fork_later, *argv], stdout=subprocess.PIPE
    ) as harness:
        assert harness.stdout is not None
        sibling = int(harness.stdout.readline())
        witness.await_ready()
        harness.kill()
        harness.wait()
        try:
            witness.await_the_last()
        finally:
            os.kill(sibling, signal.SIGKILL)

    assert witness.is_alone()


def parent_of(pid: int) -> int:
    """Return the supervisor of an agent."""
    done = subprocess.run(["ps", "-o", "ppid=", "-p", str(pid)], check=True, capture_output=True)
    return int(done.stdout)


def test_the_agent_dies_when_its_supervisor_is_killed(witness: Witness) -> None:
    """What an out-of-memory killer may choose; the harness must neither hang nor invent a code."""
    parents: list[int] = []

    def kill_the_parent(pid: int) -> None:
        witness.await_ready()
        parents.append(parent_of(pid))
        os.kill(parents[0], signal.SIGKILL)

    result = process.run(
        python("misbehaving.py", "child-in-the-same-group/ignores", witness.path),
        Silent(),
        LATE,
        on_started=kill_the_parent,
    )
    witness.await_the_last()

    assert parents != [os.getpid()]
    assert (result.exit_code, result.stdout) == (None, b"standing\n")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a parent-death signal")
def test_the_agent_dies_with_its_supervisor_though_the_harness_hangs(witness: Witness) -> None:
    """The harness cannot help here: it is stopped."""
    argv = python("misbehaving.py", "alone/ignores", witness.path).argv
    program = HARNESS.replace(
        "Limits(60)", "Limits(60), on_started=lambda pid: print(pid, flush=True)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, *argv], stdout=subprocess.PIPE
    ) as harness:
        assert harness.stdout is not None
        agent = int(harness.stdout.readline())
        witness.await_ready()
        harness.send_signal(signal.SIGSTOP)
        os.kill(parent_of(agent), signal.SIGKILL)
        try:
            witness.await_the_last()
        finally:
            harness.kill()


def test_works_in_a_thread_and_for_several_at_once(tmp_path: Path) -> None:
    results: dict[int, bytes] = {}

    def one(number: int) -> None:
        command = Command(("/bin/sh", "-c", f"sleep 0.1; echo {number}"), tmp_path, ENVIRONMENT)
        results[number] = process.run(command, Silent(), LATE).stdout

    threads = [threading.Thread(target=one, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == {n: b"%d\n" % n for n in range(6)}


def test_leaves_no_descriptor_open(tmp_path: Path) -> None:
    def count() -> int:
        return len(os.listdir("/dev/fd"))  # noqa: PTH208 - no path, a count

    before = count()
    process.run(shell("echo"), Text(b"x"), LATE)
    with pytest.raises(AgentError):
        process.run(Command((str(tmp_path / "no"),), tmp_path, {}), Text(b"x"), LATE)

    assert count() == before


def script(path: Path, text: str, mode: int = 0o755) -> str:
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: str(folder / "absent"), "no such file"),
        (lambda folder: script(folder / "plain", "#!/bin/sh\n", 0o644), "chmod +x"),
        (lambda folder: script(folder / "text", "words\n"), "begins with #!"),
        (lambda folder: script(folder / "orphan", "#!/absent/python\n"), "the interpreter"),
        (str, "may not execute"),
    ],
    ids=["missing", "not-executable", "no-program", "no-interpreter", "a-folder"],
)
def test_says_why_a_program_cannot_be_started(
    tmp_path: Path, make: Callable[[Path], str], says: str
) -> None:
    program = make(tmp_path)
    with pytest.raises(AgentError) as refused:
        process.run(Command((program,), tmp_path, ENVIRONMENT), Silent(), LATE)

    assert str(refused.value).startswith(f"{program} cannot be started: ")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (Command(("no-such-program",), Path("/"), ENVIRONMENT), "it is not on PATH"),
        (Command(("/bin/echo",), Path("/absent"), {}), "give a folder that exists"),
        (Command(("/bin/echo", "a\0b"), Path("/"), {}), "NUL"),
        (Command(("/bin/echo", "x" * 4_000_000), Path("/"), {}), "shorten"),
        (Command(("/bin/echo", "\ud83d"), Path("/"), {}), "remove it"),
    ],
    ids=["not-on-path", "no-folder", "nul", "too-long", "lone-surrogate"],
)
def test_says_why_a_command_cannot_be_run(command: Command, says: str) -> None:
    with pytest.raises(AgentError, match=says):
        process.run(command, Silent(), LATE)


@pytest.mark.parametrize(
    "command",
    [
        Command(("bin/echo",), Path("/"), {}),
        Command((), Path("/"), {}),
        Command(("/bin/echo",), Path("/"), {"A=B": ""}),
        Command(("/bin/echo",), Path("/"), {"": ""}),
    ],
    ids=["relative-program", "no-program", "equals-in-a-name", "empty-name"],
)
def test_a_malformed_command_is_its_callers_bug(command: Command) -> None:
    """A relative program would be looked for in the folder that the attempt works in."""
    with pytest.raises(RuntimeError):
        process.run(command, Silent(), LATE)


def test_finds_a_bare_name_on_the_path_it_gives(tmp_path: Path) -> None:
    """Not on the harness's own path, and never in the folder that the attempt works in."""
    program = script(tmp_path / "frobnicate", "#!/bin/sh\necho found\n")
    command = Command(("frobnicate",), Path("/"), {"PATH": str(Path(program).parent)})

    assert process.run(command, Silent(), LATE).stdout == b"found\n"


@any_of(
    st.lists(st.binary(max_size=40), max_size=30),
    st.integers(min_value=0, max_value=300),
)
def test_a_bounded_stream_keeps_its_beginning(chunks: list[bytes], bound: int) -> None:
    head = Head(bound)
    lines: list[bytes] = []
    for number, chunk in enumerate(chunks):
        head.add(chunk, number // 3)
        lines += head.new_lines()
    whole = b"".join(chunks)

    assert bytes(head.data) == whole[:bound]
    assert head.over_bound is (len(whole) > bound)
    assert lines == whole[:bound].split(b"\n")[:-1]
    sizes, times = zip(*head.arrivals, strict=True) if head.arrivals else ((), ())
    assert list(sizes) == sorted(set(sizes))
    assert list(times) == sorted(set(times))


@any_of(
    st.lists(st.binary(max_size=90), max_size=40),
    st.integers(min_value=0, max_value=400),
)
def test_a_shortened_stream_stays_in_its_bound(chunks: list[bytes], bound: int) -> None:
    ends = HeadAndTail(bound)
    for chunk in chunks:
        ends.add(chunk)
    whole = b"".join(chunks)
    data = ends.data()

    assert len(data) <= bound
    if len(whole) <= bound:
        assert data == whole
    elif bound >= 80:
        before, _, after = data.partition(b"\n[... ")
        assert whole.startswith(before)
        assert whole.endswith(after.partition(b" ...]\n")[2])


def test_the_ladder_waits_for_its_deadline_and_gives_each_step_its_grace() -> None:
    ladder = Ladder(2.0, can_interrupt=True)

    assert ladder.due(1e9, can_write=True) is None  # nothing has started
    ladder.strike_at(100.0)
    assert ladder.due(99.9, can_write=True) is None
    assert ladder.due(100.0, can_write=True) == "interrupt"
    assert ladder.due(101.9, can_write=True) is None
    assert ladder.patience(101.5) == pytest.approx(0.5)
    assert [ladder.due(at, can_write=False) for at in (102, 104, 106, 108)] == [
        "SIGINT", "SIGTERM", "SIGKILL", None,
    ]  # fmt: skip
    assert ladder.patience(109) is None


def test_the_supervisor_imports_little() -> None:
    """It starts once per attempt; the signal module alone costs as much as the interpreter."""
    program = (
        "import sys; sys.path.append(sys.argv[1]); import agent_trials.supervisor;"
        "print(*{'signal', 'enum', 'typing', 'json', 'subprocess', 'pathlib'} & set(sys.modules))"
    )
    root = str(Path(process.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, root], check=True, capture_output=True
    )

    assert done.stdout.strip() == b""


def test_a_witness_is_what_it_should_be(witness: Witness) -> None:
    assert stat.S_ISFIFO(Path(witness.path).stat().st_mode)
    assert not witness.is_alone()
