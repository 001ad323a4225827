"""The harness runs a task's checks itself; what a provider says of them is its own word."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.agents import provider_checks
from agent_trials.agents.provider_checks import Check, Checked
from agent_trials.records import Status

from .test_provider_cli import ask

if TYPE_CHECKING:
    from pathlib import Path


OPERATOR = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere"}


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """The attempt's folder, as the command left it."""
    made = tmp_path / "w-0123"
    made.mkdir()
    return made


def check(code: str, *, name: str = "a", seconds: int = 20) -> Check:
    return Check(name, (sys.executable, "-I", "-c", code), seconds)


def run(left: Path, *checks: Check, reply: bytes = b"{}") -> tuple[Checked, ...]:
    return provider_checks.run(checks, left, reply, search="/usr/bin:/bin")


ENDS = {
    "exit 0 passes": ("", True, None),
    "exit 1 fails": ("raise SystemExit(1)", False, None),
    "an exception fails": ("1/0", False, None),
    "a signal fails": ("import os; os.kill(os.getpid(), 9)", False, "signal"),
    "a flood fails": ("print('x' * 70_000)", False, "output-limit"),
}


@pytest.mark.parametrize(("code", "passed", "problem"), ENDS.values(), ids=ENDS.keys())
def test_an_end_is_what_it_shows(
    left: Path,
    code: str,
    passed: bool | None,  # noqa: FBT001 - what it shows
    problem: str | None,
) -> None:
    (found,) = run(left, check(code))

    assert (found.passed, found.problem) == (passed, problem)


def test_a_check_that_hangs_is_ended_and_fails(left: Path) -> None:
    (found,) = run(left, check("import time; time.sleep(60)", seconds=1))

    assert (found.passed, found.problem) == (False, "timeout")


def test_who_removes_its_folder_has_failed_its_checks(left: Path) -> None:
    """Else removing it would make a failure a figure that is only missing."""
    left.rmdir()

    (found,) = run(left, check(""))

    assert (found.passed, found.problem) == (False, "folder-gone")


def test_a_check_that_cannot_be_started_shows_nothing(left: Path) -> None:
    (found,) = run(left, Check("a", ("/nowhere/at-all",), 5))

    assert (found.passed, found.problem) == (None, "unavailable")


LOOKS = """
import json, os, pathlib, sys
reply = json.load(sys.stdin)
print(sorted(os.environ), pathlib.Path.cwd().name, reply["answer"])
raise SystemExit(0 if pathlib.Path("left.txt").is_file() else 3)
"""


def test_a_check_sees_what_was_left_and_the_reply_and_no_credential(
    left: Path,
) -> None:
    (left / "left.txt").write_text("done", encoding="utf-8")

    (found,) = run(left, check(LOOKS), reply=b'{"answer": "yes"}')

    assert found.passed
    seen = found.stdout.decode()
    assert "w-0123 yes" in seen
    names = set(json.loads(seen.partition("]")[0].replace("'", '"') + "]"))
    assert names - {"LC_CTYPE"} == {"HOME", "PATH", "TMPDIR"}


PASSED, FAILED, UNKNOWN = Checked("a", True), Checked("b", False), Checked("c", None, "unavailable")  # noqa: FBT003 - what it showed


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        ((PASSED, replace(PASSED, id="b")), "correct"),
        ((PASSED, FAILED), "partial"),
        ((FAILED, replace(FAILED, id="c")), "incomplete"),
        ((PASSED, UNKNOWN), None),
        ((), "blocked"),
    ],
    ids=["all passed", "some passed", "none passed", "one shows nothing", "nothing to check"],
)
def test_the_outcome_is_by_the_rubric_over_the_checks(
    found: tuple[Checked, ...], outcome: str | None
) -> None:
    came_to = provider_checks.acceptance(found, 2)

    assert came_to is not None
    assert came_to["outcome"] == outcome
    assert came_to["total"] == 2


def test_a_task_without_checks_has_no_acceptance() -> None:
    assert provider_checks.acceptance((), 0) is None


LIES = json.dumps(
    {
        "taskOutcome": "success",
        "measurements": {"acceptanceChecksPassed": 1, "acceptanceChecksTotal": 1},
    }
)


def test_a_providers_own_counts_are_no_check(left: Path) -> None:
    """A provider that says that all checks passed is believed in nothing."""
    failing = check("raise SystemExit(1)")

    result = ask(OPERATOR, left, {"write": LIES}, checks=(failing,))

    seen: Any = result.observation
    assert seen.status is Status.COMPLETED
    assert (seen.acceptance["outcome"], seen.acceptance["passed"]) == ("incomplete", 0)
    assert seen.provider["measurements"]["acceptanceChecksPassed"] == "1"


def test_a_command_that_removes_its_own_folders_is_checked_all_the_same(left: Path) -> None:
    """Whoever could keep its checks from starting would turn failures into missing figures."""
    wrecks = "import os, shutil; shutil.rmtree(os.path.dirname(os.environ['TMPDIR'])); print('{}')"

    result = ask(OPERATOR, left, {}, argv=(sys.executable, "-c", wrecks), checks=(check("1/0"),))

    seen: Any = result.observation
    assert seen.status is Status.COMPLETED, result.private
    assert seen.acceptance["outcome"] == "incomplete"


def test_what_a_check_wrote_stays_private(left: Path) -> None:
    result = ask(OPERATOR, left, {}, checks=(check("print('told')"),))

    assert json.loads(result.artifacts["checks"])["a"]["stdout"] == "told\n"
    assert "told" not in json.dumps(result.observation.to_json())


def test_a_command_that_failed_is_not_checked(left: Path) -> None:
    """Half-done work that happens to pass would count for an attempt that came to nothing."""
    result = ask(OPERATOR, left, {"exit": 1}, checks=(check(""),))

    seen: Any = result.observation
    assert seen.acceptance == {
        "outcome": "blocked", "passed": None, "failed": None, "total": 1, "checks": [],
    }  # fmt: skip
    assert "checks" not in result.artifacts
