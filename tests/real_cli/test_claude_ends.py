"""How the real CLI's runs end when the provider, the model, the budget or the clock ends them."""

from __future__ import annotations

import os
import threading
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from agent_trials.records import Status
from agent_trials.rehearsal.replies import Cut, Held, HttpError, call, say
from agent_trials.study.settings import DEFAULT_ARGUMENTS
from claude_bench import ANNOTATE, STREAMED, docs_server

if TYPE_CHECKING:
    from pathlib import Path

    from agent_trials.rehearsal.replies import Answer
    from claude_bench import Bench


def open_to_the_shell(array: tuple[str, ...]) -> tuple[str, ...]:
    """Return an array without the switch that takes the shell away."""
    return tuple(one for one in array if one != "--restricted")


GREP = call(("Grep", {"pattern": "handbook"}))
DEAR = {"input_tokens": 90_000, "output_tokens": 9_000}
DEAR_USD = Decimal("0.0135")


@pytest.mark.parametrize("status", [400, 401, 429, 500, 529])
def test_a_providers_error_is_failed_and_not_retried(bench: Bench, status: int) -> None:
    """400 alone is sent again, with other headers; nothing is an api_retry."""
    answers = [HttpError(status)] * (2 if status == 400 else 1)

    seen = bench.ask(answers).observation

    assert seen.status is Status.FAILED
    assert seen.problems[0] == "provider-error"
    assert (seen.api_error_status, seen.retries) == (status, 0)
    assert len(bench.asked) == len(answers)
    assert seen.charged_usd == seen.attempt_budget_usd


def test_an_error_after_paid_requests_keeps_their_cost(bench: Bench) -> None:
    seen = bench.ask([GREP, HttpError(529)]).observation

    assert seen.status is Status.FAILED
    assert seen.cli_reported_cost_usd is not None
    assert seen.cli_reported_cost_usd > 0
    assert not seen.usage_complete
    assert seen.cost_usd is None
    assert seen.cost_lower_usd == seen.cli_reported_cost_usd


def test_a_cut_stream_is_not_asked_for_again(bench: Bench) -> None:
    """Without its switch the CLI repeats it as a second request; with it, it reports no cost.

    The provider has worked for it all the same: the reservation stays charged.
    """
    seen = bench.ask([Cut(say("half an answer"), events=3)]).observation

    assert seen.status is Status.FAILED
    assert len(bench.asked) == 1
    assert not seen.usage_complete
    assert seen.charged_usd == seen.attempt_budget_usd


def test_a_refusal_is_failed_and_not_asked_for_again(bench: Bench) -> None:
    seen = bench.ask([say("", "refusal")]).observation

    assert seen.status is Status.FAILED
    assert seen.stop_reason == "refusal"
    assert len(bench.asked) == 1


def test_replies_that_always_run_into_their_limit_are_failed(bench: Bench) -> None:
    """The CLI continues three times by itself; the record says so."""
    seen = bench.ask([say("half", "max_tokens")] * 4).observation

    assert seen.status is Status.FAILED
    assert seen.continuations == 3
    assert seen.turns == 4


def test_one_reply_that_ran_into_its_limit_is_continued(bench: Bench) -> None:
    seen = bench.ask([say("half", "max_tokens"), say("whole")]).observation

    assert seen.status is Status.COMPLETED
    assert seen.continuations == 1


@pytest.mark.parametrize(
    ("answers", "answered"),
    [
        ([call(("Grep", {"pattern": "x"}), usage=DEAR)], False),
        ([GREP, say("It stands in install.md:3", usage=DEAR)], True),
    ],
    ids=["in mid-run", "on the final answer"],
)
def test_a_response_over_the_limit_is_budget_exceeded_and_charged_in_full(
    bench: Bench, answers: list[Answer], *, answered: bool
) -> None:
    result = bench.ask(answers, limit_usd=Decimal("0.002"))
    seen = result.observation

    assert seen.status is Status.BUDGET_EXCEEDED
    assert seen.problems[0] == "limit-reached"
    assert seen.charged_usd == seen.cli_reported_cost_usd
    assert seen.charged_usd >= DEAR_USD
    assert ("answer" in result.private) is answered


@pytest.mark.parametrize("treated", [False, True], ids=["control", "treatment"])
def test_at_the_deadline_nothing_lives_on_and_the_reservation_is_charged(
    bench: Bench, array: tuple[str, ...], *, treated: bool
) -> None:
    """The request under way is held for ever; SIGINT or the interrupt request ends the wait."""
    servers = (docs_server(bench.folder),) if treated else ()

    seen = bench.ask(
        [GREP, Held(threading.Event(), say("too late"))],
        servers=servers,
        denied_mcp_tools=ANNOTATE,
        arguments=array,
        timeout_seconds=6,
    ).observation

    assert seen.status is Status.TIMED_OUT
    assert seen.charged_usd == seen.attempt_budget_usd
    assert seen.survivors == 0
    assert seen.wall_time_ms is not None
    assert 6_000 <= seen.wall_time_ms < 9_000
    if "{prompt}" not in array:
        # The way that is equal in both arms: the cost of what was finished is known.
        assert seen.cli_reported_cost_usd is not None
        assert seen.cost_lower_usd == seen.cli_reported_cost_usd


@pytest.mark.parametrize("streamed", [False, True], ids=["argument", "streamed"])
def test_a_command_in_a_group_of_its_own_does_not_outlive_the_deadline(
    bench: Bench, tmp_path: Path, *, streamed: bool
) -> None:
    """The CLI's shell tool starts commands so; a kill of the CLI or its group leaves them."""
    witness = tmp_path / "witness"
    os.mkfifo(witness)
    reader = os.open(witness, os.O_RDONLY | os.O_NONBLOCK)
    command = f"trap '' INT TERM; exec 9>{witness}; echo up >&9; while :; do sleep 1000; done"

    seen = bench.ask(
        [call(("Bash", {"command": command})), say("never")],
        arguments=open_to_the_shell(STREAMED if streamed else DEFAULT_ARGUMENTS),
        tools=("Bash", "Read"),
        deny=("WebFetch",),
        timeout_seconds=6,
    ).observation

    assert seen.status is Status.TIMED_OUT
    assert os.read(reader, 100) == b"up\n"
    assert os.read(reader, 100) == b""  # every writer is gone
    os.close(reader)


def test_a_stdout_over_its_bound_ends_the_spending(bench: Bench) -> None:
    """A reader that only stops reading lets the CLI go on asking, or blocks it for ever."""
    long = say("x" * 60_000, "max_tokens")

    result = bench.ask(lambda _body: long, stdout_bytes=50_000)

    assert result.observation.status is Status.FAILED
    assert result.observation.problems[:2] == ("stdout-over-bound", "no-result")
    assert len(result.artifacts["transcript"]) == 50_000
    assert len(bench.asked) <= 2
    assert result.observation.charged_usd == result.observation.attempt_budget_usd
