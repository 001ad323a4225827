"""However a run of the real Codex CLI ends, it has its class, one request, and leaves nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from codex_bench import docs_server, last, misbehaving, search
from fake_codex import answer
from responses_server import Cut, Failure, Held, Turn, call, say, shell

if TYPE_CHECKING:
    from codex_bench import Bench
    from responses_server import Answer

WORD = Turn((say("It is in install.md."),))
PLAN = Turn((call("update_plan", {"plan": []}),))
ENDS: dict[str, tuple[list[Answer], str, str, int]] = {
    "HTTP 400": ([Failure(400)], "failed", "turn-failed", 1),
    "HTTP 401": ([Failure(401)], "failed", "turn-failed", 1),
    "HTTP 429": ([Failure(429)], "failed", "turn-failed", 1),
    "HTTP 500": ([Failure(500)], "failed", "turn-failed", 1),
    "cut": ([Cut()], "failed", "turn-failed", 1),
    "error after a tool": (
        [Turn((shell("cat install.md"),)), Failure(503)], "failed", "turn-failed", 2,
    ),
    "no JSON": ([WORD], "failed", "answer-not-json", 1),
    "missing field": ([last('{"taskOutcome":"success"}')], "failed", "answer-breaks-schema", 1),
    "empty": ([last("")], "failed", "no-answer", 1),
    "silence": ([Turn(())], "failed", "no-answer", 1),
    "no usage": ([Turn((say(answer()),), has_usage=False)], "invalid-cost", "counts-invalid", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_an_end_has_its_class_and_nothing_is_asked_twice(bench: Bench, name: str) -> None:
    answers, status, code, requests = ENDS[name]
    outcome = bench.run(answers)

    assert outcome.reply["execution"]["status"] == status, outcome
    assert code in outcome.reply["execution"]["problems"]
    assert len(bench.asked) == requests
    if code == "turn-failed":
        assert "inputTokens" not in outcome.reply


def test_a_provider_that_is_not_there_is_not_waited_for(bench: Bench) -> None:
    """By default the CLI waits for the network without end."""
    outcome = bench.run([], base_url="http://127.0.0.1:9/v1", timeout_seconds=40)

    assert outcome.reply["execution"]["status"] == "failed", outcome


def test_a_run_beyond_its_deadline_is_ended_with_all_it_started(bench: Bench) -> None:
    outcome = bench.run([Held()], servers=(docs_server(),), timeout_seconds=6)

    assert outcome.reply["execution"]["status"] == "timed-out", outcome
    assert list((bench.tmp / "homes").iterdir()) == []
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert str(bench.tmp) not in listed.stdout


SERVERS: dict[str, tuple[Any, list[Answer], str]] = {
    "does not start": (misbehaving("exits-at-start"), [], "required-server-failed"),
    "dies at a call": (misbehaving("dies-in-a-call"), [search(), last(answer())], "treatment-lost"),
}


@pytest.mark.parametrize("name", SERVERS)
def test_a_lost_treatment_is_never_counted_as_one(bench: Bench, name: str) -> None:
    server, answers, code = SERVERS[name]
    outcome = bench.run(answers, servers=(server,))

    assert outcome.reply["execution"]["status"] == "invalid-setup", outcome
    assert code in outcome.reply["execution"]["problems"]
    assert len(bench.asked) == len(answers)


def test_another_version_is_refused_before_anything_is_asked(bench: Bench) -> None:
    outcome = bench.run([], version="0.171.1")

    assert outcome.reply["execution"]["problems"] == ["preflight-failed"]
    assert "reports codex-cli 0.171.0, and 0.171.1 is pinned" in outcome.logs[0]


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can give up its rights"
)
def test_a_sandbox_that_cannot_work_is_said_before_anything_is_asked(bench: Bench) -> None:
    """As in a container that forbids namespaces: the CLI would go on, and no command work."""
    none = "--bounding-set=-all --inh-caps=-all --ambient-caps=-all"
    program = bench.tmp / "programs" / "weak-codex"
    program.write_text(f'#!/bin/sh\nexec setpriv {none} {bench.codex} "$@"\n', "utf-8")
    program.chmod(0o755)
    outcome = bench.run([], codex="weak-codex")

    assert outcome.reply["execution"]["problems"] == ["preflight-failed"]
    assert outcome.logs[0].startswith("sandbox: no command can run in the sandbox (workspace)")
    assert "bwrap: " in outcome.logs[0]
    assert "unprivileged user namespaces" in outcome.logs[0]


def test_a_plan_is_not_among_the_tools(bench: Bench) -> None:
    outcome = bench.run([PLAN, last(answer())])

    assert outcome.completed, outcome
    assert outcome.reply["toolCalls"] == 0


def test_a_machine_without_a_sandbox_is_told_so(refusal: str | None) -> None:
    """Where the sandbox cannot work, that is the one thing that may be wrong, with a way out."""
    if refusal is not None:
        assert refusal.startswith("sandbox: no command can run in the sandbox (workspace)")
        assert "unprivileged user namespaces" in refusal
