"""A machine that says no, a full disk or a missing program, gets one sentence and no traceback.

The limit on a file's size stands for the full disk: the write that would pass it fails.
"""

from __future__ import annotations

import compileall
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import agent_trials
import fake_cli
import grading

if TYPE_CHECKING:
    from lab import Lab, Outcome

LIMITED = """\
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execv(sys.executable, [sys.executable, "-m", "pytest", *sys.argv[2:]])
"""


@pytest.fixture(autouse=True, scope="module")
def compiled() -> None:
    """Have our byte code written before: where a file may not grow, Python leaves half of one."""
    compileall.compile_dir(Path(agent_trials.__file__).parent, quiet=1)


@pytest.fixture
def http(lab: Lab) -> Lab:
    """A study over the scripted API."""
    lab.study(transport="http")
    return lab


def other_run(number: int) -> str:
    """Return a line that names a paid run of another series."""
    return (
        f'{{"at":"t","capUsd":"1","event":"opened","phase":"full","runId":"{number:032x}",'
        '"scored":true,"seriesId":"sha256:other"}\n'
    )


def arguments(lab: Lab, ledger: Path) -> list[str]:
    """Return what a rehearsal into a ledger takes."""
    root = f"handbook={lab.checkout}"
    return ["evals", "-m", "pilot", "--root", root, "--ledger", str(ledger)]


def on_a_small_disk(lab: Lab, size: int, ledger: Path) -> Outcome:
    """Rehearse where no file can grow beyond the size, bytes."""
    return lab.command(sys.executable, "-c", LIMITED, str(size), *arguments(lab, ledger))


def test_a_ledger_that_cannot_be_opened_is_a_refusal(http: Lab) -> None:
    outcome = on_a_small_disk(http, 1000, http.ledger)

    assert outcome.code == 4, outcome.text
    assert "File too large; make room" in " ".join(outcome.text.split()).replace("[Errno 27] ", "")
    assert "INTERNALERROR" not in outcome.text
    assert "Traceback" not in outcome.text
    assert list(http.outside.iterdir()) == []


@pytest.mark.parametrize("resumed", [False, True], ids=["new", "resumed"])
def test_a_run_that_cannot_be_named_beside_the_lock_is_none(lab: Lab, *, resumed: bool) -> None:
    """A paid run that no record names could be left out of the next one's cap."""
    lab.study(resume="skip-recorded")
    lab.freeze()
    fake = fake_cli.install(lab.root / "bin")
    asked = [*lab.paid_arguments(), "--claude-bin", str(fake.path), "--resume"]
    if resumed:
        fake.behave(exit_code=3)
        first = lab.pytest(*asked[:-1], **lab.paid_environment)
        assert first.code == 1, first.text
    record = lab.folder / "study.ledgers.jsonl"
    others = (record.read_text("utf-8") if resumed else "") + "".join(map(other_run, range(1000)))
    record.write_text(others, encoding="utf-8")

    outcome = lab.command(
        sys.executable, "-c", LIMITED, str(len(others)), *asked[: None if resumed else -1],
        environment=lab.paid_environment,
    )  # fmt: skip

    assert outcome.code == 4, outcome.text
    assert "make room" in outcome.text, outcome.text
    assert record.read_text("utf-8") == others
    if resumed:
        assert lab.show()["runs"][1]["stopped"]["reason"] == "not-begun"
        assert lab.show()["runs"][1]["closedAt"] is not None
    else:
        assert list(lab.outside.iterdir()) == []
    assert len(fake.starts) == (1 if resumed else 0)


def test_a_disk_that_fills_up_is_told_in_a_sentence(http: Lab) -> None:
    """What is not on disk may not look like it: a reservation, a settlement, the end of the run."""
    whole = http.outside / "whole.jsonl"
    assert http.pytest(*arguments(http, whole)).code == 0
    sizes = [len(line) for line in whole.read_bytes().splitlines(keepends=True)]

    for lines, sentence, reserved in (
        (2, "not started, for no money could be reserved", "0"),
        (4, "not settled, its reservation stays", "0.1"),
        (7, "2 passed", "0"),
    ):
        ledger = http.outside / f"{lines}.jsonl"
        outcome = on_a_small_disk(http, sum(sizes[:lines]) + 100, ledger)

        assert outcome.code == 1, outcome.text
        assert sentence in outcome.text
        assert "sample/pilot is not closed" in outcome.text
        assert "Traceback" not in outcome.text
        assert http.show(ledger)["budget"]["reservedUsd"] == reserved


def test_a_disk_that_fills_up_while_grading_is_told_in_a_sentence(http: Lab) -> None:
    grading.register(http)
    answered = grading.answer(http)
    whole = grading.copy(answered, http.outside / "whole.jsonl")
    assert grading.adjudicate(http, whole).code == 0
    sizes = [len(line) for line in whole.read_bytes().splitlines(keepends=True)]
    before = len(answered.read_bytes().splitlines())
    ledger = grading.copy(answered, http.outside / "small.jsonl")

    outcome = http.command(
        sys.executable, "-c", LIMITED, str(sum(sizes[: before + 2]) + 100),
        "evals/sample", "-m", "adjudicate", "--ledger", str(ledger),
        "--root", f"handbook={http.checkout}",
    )  # fmt: skip

    assert outcome.code == 1, outcome.text
    assert "adjudicate sample/pilot is not closed" in outcome.text
    assert "Traceback" not in outcome.text
    assert "INTERNALERROR" not in outcome.text
    assert http.command("agent-trials", "verify", str(ledger)).code == 0


def test_temporary_files_inside_a_checkout_are_a_refusal(http: Lab) -> None:
    """An agent would find the checkout above its export."""
    inside = http.checkout / ".git" / "tmp"
    inside.mkdir()

    outcome = http.command("python", "-m", "pytest", *arguments(http, http.ledger),
                           environment={"TMPDIR": str(inside)})  # fmt: skip

    assert outcome.code == 4, outcome.text
    assert "set TMPDIR to a folder outside any checkout" in " ".join(outcome.text.split())
    assert "INTERNALERROR" not in outcome.text
    assert not http.ledger.exists()


def test_processes_are_counted_however_they_are_asked_for(http: Lab) -> None:
    outcome = http.pytest(*arguments(http, http.ledger), "--dist", "load", "--tx", "2*popen")

    assert outcome.code == 4, outcome.text
    assert "study sample allows 1 process" in outcome.text
    assert not http.ledger.exists()
