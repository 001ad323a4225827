"""What a supervisor kept in reserve may and may not do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent_trials import process
from agent_trials.process import Command, Limits, Silent, Text
from agent_trials.standby import Spare, Standby

LIMITS = Limits(deadline_seconds=30)
SHOW = Command(("/bin/sh", "-c", "echo $PPID; /usr/bin/env; pwd"), Path("/tmp"), {"A": "1"})  # noqa: S108 - never written to


def parent(spare: Spare, command: Command = SHOW, given: Text | Silent | None = None) -> int:
    """Run a program and return its supervisor's number."""
    result = process.run(command, given or Silent(), LIMITS, spare=spare)
    return int(result.stdout.split()[0])


def kept(spare: Spare) -> subprocess.Popen[bytes]:
    """Return the process in reserve."""
    assert spare._one is not None
    assert spare._one.process is not None
    return spare._one.process


def test_the_next_program_gets_the_supervisor_that_was_started_while_this_one_ran() -> None:
    with Spare() as spare:
        first = parent(spare)
        waiting = kept(spare).pid

        assert waiting != first
        assert parent(spare) == waiting


def test_what_is_kept_knows_nothing_until_it_is_told() -> None:
    """No variable of the harness's or of an earlier attempt's reaches a later one."""
    with Spare() as spare:
        parent(spare, Command(SHOW.argv, Path("/usr"), {"SECRET": "x"}))
        waiting = kept(spare)
        if Path("/proc/self/environ").exists():
            names = Path(f"/proc/{waiting.pid}/environ").read_bytes().split(b"\0")
            assert {name.partition(b"=")[0] for name in names} <= {
                b"", b"LC_CTYPE", b"LD_LIBRARY_PATH",
            }  # fmt: skip
        result = process.run(SHOW, Silent(), LIMITS, spare=spare)
        _, *lines = result.stdout.decode().splitlines()

        assert "A=1" in lines
        assert not any("SECRET" in line for line in lines)
        assert lines[-1] == str(Path("/tmp").resolve())  # noqa: S108 - as above


def test_keeps_one_at_most_and_none_at_the_end() -> None:
    with Spare() as spare:
        spare.make_ready(has_input=False)
        waiting = kept(spare)
        spare.make_ready(has_input=False)

        assert kept(spare) is waiting
        assert waiting.poll() is None

    assert waiting.poll() is not None
    spare.make_ready(has_input=False)
    assert spare._one is None


def test_starts_nothing_before_the_first_program() -> None:
    """A dry run, and a study of another transport, never need one."""
    with Spare() as spare:
        assert spare._one is None


def test_one_without_input_is_not_given_to_a_program_with_input() -> None:
    with Spare() as spare:
        spare.make_ready(has_input=False)
        waiting = kept(spare)
        command = Command(("/bin/sh", "-c", "echo $PPID; cat"), Path("/"), {"PATH": "/bin"})
        own, word = process.run(command, Text(b"word"), LIMITS, spare=spare).stdout.split()

        assert word == b"word"
        assert int(own) != waiting.pid
        assert waiting.poll() is not None


def test_one_that_was_killed_is_not_handed_out() -> None:
    with Spare() as spare:
        spare.make_ready(has_input=False)
        waiting = kept(spare)
        waiting.kill()
        os.waitid(os.P_PID, waiting.pid, os.WEXITED | os.WNOWAIT)

        assert parent(spare) != waiting.pid


HARNESS = """
import os, signal, sys
from agent_trials.standby import Standby
one = Standby(has_input=True)
fork = os.fork() if sys.argv[1] == "forked" else 0
if fork == 0 and sys.argv[1] == "forked":
    signal.pause()
print(one.process.pid, fork, flush=True)
signal.pause()
"""


@pytest.mark.parametrize("how", ["alone", "forked"])
def test_does_not_outlive_the_harness(how: str) -> None:
    """Killed with SIGKILL, and also where a fork of the harness still holds its pipes."""
    with subprocess.Popen([sys.executable, "-c", HARNESS, how], stdout=subprocess.PIPE) as harness:
        assert harness.stdout is not None
        waiting, fork = map(int, harness.stdout.readline().split())
        try:
            harness.kill()
            harness.wait()
            assert ends(waiting)
        finally:
            if fork:
                os.kill(fork, signal.SIGKILL)


def ends(pid: int) -> bool:
    """Wait for the end of a process that is no child of this one."""
    listing = ["ps", "-o", "stat=", "-p", str(pid)]
    for _ in range(600):
        shown = subprocess.run(listing, check=False, capture_output=True).stdout.strip()
        if not shown or shown.startswith(b"Z"):
            return True
    return False


def test_leaves_no_descriptor_open() -> None:
    def count() -> int:
        return len(os.listdir("/dev/fd"))  # noqa: PTH208 - no path, a count

    before = count()
    with Spare() as spare:
        parent(spare)
        parent(spare)
    Standby(has_input=True).close()

    assert count() == before
