"""The conversation over a scripted client: what depends on the clock is decided here."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.agents import messages_outcome as outcome
from agent_trials.agents.messages_loop import Answered, Conversation, RequestFailedError
from agent_trials.agents.messages_outcome import Course
from agent_trials.agents.metering import Meter, Rates
from agent_trials.agents.repo_tools import DEFINITIONS, RepoTools
from agent_trials.agents.toolbox import Toolbox
from agent_trials.records import Secret, Status
from agent_trials.rehearsal import replies
from agent_trials.rehearsal.replies import Reply, call, say
from asking import KEY, Clock, request, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from agent_trials.records import Observation


@dataclass
class Scripted:
    """A client that answers from a list and lets time pass."""

    course: Course
    answers: Sequence[Reply | Exception]
    on_post: Callable[[], None] = lambda: None
    seconds: list[float] = field(default_factory=list)

    def post(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        seconds: float,
    ) -> Answered:
        """Return the next answer."""
        del messages, tools
        answer = self.answers[len(self.seconds)]
        self.seconds.append(seconds)
        number = self.course.meter.open(100)
        self.course.first_request_at = self.course.first_request_at or 0.0
        self.on_post()
        if isinstance(answer, Exception):
            raise answer
        body = {"model": self.course.request.model, "max_tokens": 1024}
        finished = replies.message(answer, body, number)
        return Answered(number, json.dumps(finished).encode("ascii"))


def talk(
    folder: Path, clock: Clock, *answers: Reply | Exception, passing: float = 0, **changes: object
) -> tuple[Observation, Scripted]:
    """Run a conversation whose every request takes ``passing`` seconds."""

    def pass_time() -> None:
        clock.now += passing

    meter = Meter(Decimal("0.10"), Rates(Decimal("0.50"), Decimal("2.50")), 1024)
    course = Course(request("http://127.0.0.1:1"), meter, Secret(KEY))
    client = Scripted(course, answers, on_post=pass_time)
    tools = Toolbox(DEFINITIONS, RepoTools(folder, clock=clock), {})
    Conversation(course, settings(**changes), tools, client, clock).run()
    return outcome.result(course).observation, client


@pytest.mark.parametrize("answer", [say("an answer"), call(("repo_list", {}))])
def test_what_arrives_after_the_deadline_is_timed_out_but_its_usage_counts(
    tmp_path: Path, answer: Reply
) -> None:
    """The deadline struck, whatever the answer shows; what it cost is known all the same."""
    seen, client = talk(tmp_path, Clock(), answer, passing=300)

    assert (seen.status, seen.problems) == (Status.TIMED_OUT, (outcome.DEADLINE,))
    assert (seen.usage_complete, seen.turns) == (True, 1)
    assert seen.cost_lower_usd == seen.charged_usd
    assert len(client.seconds) == 1


def test_an_answer_just_before_the_deadline_completes(tmp_path: Path) -> None:
    seen, _ = talk(tmp_path, Clock(), say("an answer"), passing=299.9)

    assert seen.status is Status.COMPLETED


def test_a_request_gets_its_own_time_or_what_is_left_of_the_attempts(tmp_path: Path) -> None:
    """Guard: at most 60 s for one, and 300 s for all."""
    asking = [call(("repo_list", {}))] * 7
    _, client = talk(tmp_path, Clock(), *asking, passing=59)

    assert client.seconds == [60, 60, 60, 60, 60, 5]


@pytest.mark.parametrize(
    ("timeout", "problem"), [(300, outcome.REQUEST_TIMEOUT), (60, outcome.DEADLINE)]
)
def test_a_time_out_is_the_deadlines_where_nothing_of_the_attempts_time_was_left(
    tmp_path: Path, timeout: int, problem: str
) -> None:
    lost = RequestFailedError(outcome.REQUEST_TIMEOUT)
    seen, _ = talk(tmp_path, Clock(), lost, timeout_seconds=timeout)

    assert seen.status is Status.TIMED_OUT
    assert seen.problems == (problem, "usage-lost")


def test_another_failure_of_a_request_keeps_its_name_at_the_deadline(tmp_path: Path) -> None:
    lost = RequestFailedError(outcome.CONNECTION_LOST)
    seen, _ = talk(tmp_path, Clock(), lost, timeout_seconds=60)

    assert seen.problems == (outcome.CONNECTION_LOST, "usage-lost")
