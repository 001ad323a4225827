"""The transport against a fake CLI: what it is started with, and that nothing of it outlives it."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_trials.agents.claude_cli import ClaudeCli, probe_version
from agent_trials.errors import AgentError
from agent_trials.records import AttemptRequest, McpServer, SealedCorpus, Secret, Status
from agent_trials.study.settings import DEFAULT_ARGUMENTS, CliSettings
from fake_cli import FakeCli, install
from recordings import FOLDER, PRICES

if TYPE_CHECKING:
    from agent_trials.records import AttemptResult

KEY = "sk-dummy-0123456789"
STREAMED = (*DEFAULT_ARGUMENTS[:-1], "--input-format", "stream-json")
SETTINGS = CliSettings(version="2.1.296", prices=PRICES, timeout_seconds=30)
DOCS = McpServer("docs", ("/opt/docs",), ("docs.get", "docs.search"), ("docs.get", "docs.search"))
OPERATOR = {"HOME": "/home/operator", "PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": KEY}


@pytest.fixture
def fake(tmp_path: Path) -> FakeCli:
    return install(tmp_path / "bin")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "export"
    path.mkdir()
    return path


def _request(fake: FakeCli, settings: CliSettings = SETTINGS) -> AttemptRequest:
    return AttemptRequest(
        transport="cli",
        transport_settings=settings,
        model="claude-haiku-5-5",
        prompt="Where does it stand?",
        limit_usd=Decimal("0.10"),
        corpus=SealedCorpus("handbook", "0" * 40, Path("/srv/corpus"), "sha256:0", ()),
        mcp_servers=(),
        executable=str(fake.path),
        executable_version="2.1.296",
    )


def _ask(request: AttemptRequest, folder: Path) -> AttemptResult:
    return ClaudeCli(OPERATOR).ask(request, folder)


@pytest.mark.parametrize("array", [DEFAULT_ARGUMENTS, STREAMED], ids=["argument", "streamed"])
@pytest.mark.parametrize("servers", [(), (DOCS,)], ids=["control", "treatment"])
def test_both_arms_complete_by_either_way_of_the_prompt(
    fake: FakeCli, folder: Path, array: tuple[str, ...], servers: tuple[McpServer, ...]
) -> None:
    request = replace(_request(fake, replace(SETTINGS, arguments=array)), mcp_servers=servers)

    result = _ask(request, folder)

    assert result.observation.status is Status.COMPLETED, result.private["problems"]
    assert result.observation.charged_usd == Decimal("0.000432")
    assert result.private["answer"] == "It stands in README.md:1"
    assert [start["prompt"] for start in fake.starts] == [request.prompt]


def test_an_observation_holds_all_that_the_stream_tells(fake: FakeCli, folder: Path) -> None:
    fake.behave(
        tool_calls=[
            {"name": "Grep"},
            {"name": "mcp__docs__docs_search", "is_error": True},
            {"name": "mcp__docs__docs_get"},
        ]
    )

    seen = _ask(replace(_request(fake), mcp_servers=(DOCS,)), folder).observation

    assert seen.status is Status.COMPLETED
    assert seen.transport == "cli"
    assert (seen.cli_version, seen.expected_cli_version) == ("2.1.296", "2.1.296")
    assert (seen.model, seen.resolved_model) == ("claude-haiku-5-5", "claude-haiku-5-5")
    assert seen.tools is not None
    assert {"Glob", "Grep", "Read", "mcp__docs__docs_get"} <= set(seen.tools)
    assert seen.mcp_servers == ({"name": "docs", "status": "connected"},)
    assert (seen.tool_calls, seen.mcp_tool_calls, seen.turns) == (3, 2, 4)
    assert seen.tool_errors_by_name == {"mcp__docs__docs_search": 1}
    assert seen.permission_mode == "dontAsk"
    assert (seen.input_tokens, seen.output_tokens) == (480, 120)
    assert (seen.cache_creation_input_tokens, seen.cache_read_input_tokens) == (8000, 2000)
    assert seen.usage_complete
    assert seen.cli_reported_cost_usd == seen.computed_cost_usd == seen.cost_usd
    assert seen.attempt_budget_usd == Decimal("0.10")
    assert seen.exit_code == 0
    assert seen.survivors == 0
    assert seen.environment_digest is not None
    assert seen.wall_time_ms is not None
    assert seen.time_to_init_ms is not None
    assert 0 < seen.time_to_init_ms <= seen.wall_time_ms


def test_the_process_runs_in_the_export_with_an_allowlisted_environment(
    fake: FakeCli, folder: Path
) -> None:
    result = _ask(_request(fake), folder)

    [start] = fake.starts
    assert start["cwd"] == str(folder.resolve())
    assert start["stdin"] == "null"
    assert not start["hasKey"]
    assert start["home"] == "/home/operator"
    assert set(start["environment"]) - {"LC_CTYPE"} == set(result.private["environment"])


def test_both_arms_have_one_environment(fake: FakeCli, folder: Path) -> None:
    control = _ask(_request(fake), folder).observation
    treatment = _ask(replace(_request(fake), mcp_servers=(DOCS,)), folder).observation

    assert control.environment_digest == treatment.environment_digest
    assert fake.starts[0]["environment"] == fake.starts[1]["environment"]


def test_a_fresh_home_is_removed_after_the_attempt(fake: FakeCli, folder: Path) -> None:
    settings = replace(SETTINGS, credential="api-key")
    request = replace(_request(fake, settings), secrets={"ANTHROPIC_API_KEY": Secret(KEY)})

    _ask(request, folder)

    [start] = fake.starts
    assert start["hasKey"]
    assert start["home"] != "/home/operator"
    assert not Path(start["home"]).parent.exists()


def test_a_key_that_the_cli_prints_is_kept_nowhere(fake: FakeCli, folder: Path) -> None:
    fake.behave(answer=f"the key is {KEY}", stderr=f"key {KEY}")
    settings = replace(SETTINGS, credential="api-key")
    request = replace(_request(fake, settings), secrets={"ANTHROPIC_API_KEY": Secret(KEY)})

    result = _ask(request, folder)

    assert result.observation.status is Status.COMPLETED
    assert KEY not in repr(result)
    assert KEY.encode() not in b"".join(result.artifacts.values())


def test_the_transcript_and_stderr_are_kept_as_artifacts(fake: FakeCli, folder: Path) -> None:
    fake.behave(play=str(FOLDER / "claude-2.1.296" / "success-repo.jsonl"), stderr="a notice\n")

    result = _ask(_request(fake), folder)

    recorded = (FOLDER / "claude-2.1.296" / "success-repo.jsonl").read_bytes()
    assert result.artifacts == {"transcript": recorded, "stderr": b"a notice\n"}


def test_an_answer_over_the_limit_is_charged_in_full(fake: FakeCli, folder: Path) -> None:
    fake.behave(spend_usd="0.25")

    result = _ask(_request(fake), folder)

    assert result.observation.status is Status.BUDGET_EXCEEDED
    assert result.observation.charged_usd == fake.took_usd == Decimal("0.25")
    assert result.private["answer"] == "It stands in README.md:1"


def test_a_cli_that_goes_on_above_its_limit_is_charged_in_full(fake: FakeCli, folder: Path) -> None:
    fake.behave(spend_usd="0.25", obey_limit=False)

    result = _ask(_request(fake), folder)

    assert result.observation.status is Status.BUDGET_EXCEEDED
    assert result.observation.charged_usd == Decimal("0.25")


@pytest.mark.parametrize(
    ("behaviour", "status"),
    [
        ({"exit_code": 3}, Status.FAILED),
        ({"before": ["oops"]}, Status.INVALID_SETUP),
        ({"between": ["{"]}, Status.INVALID_SETUP),
        ({"after": ['{"type":"system"}']}, Status.INVALID_SETUP),
        ({"init": {"tools": ["Bash"]}}, Status.INVALID_SETUP),
        ({"result": {"total_cost_usd": 1}}, Status.INVALID_COST),
        ({"play": "/dev/null"}, Status.FAILED),
    ],
    ids=["exit code", "malformed first", "malformed inside", "after the result", "tools", "cost",
         "silence"],
)  # fmt: skip
def test_what_a_cli_does_wrong_is_not_completed(
    fake: FakeCli, folder: Path, behaviour: dict[str, object], status: Status
) -> None:
    fake.behave(**behaviour)

    assert _ask(_request(fake), folder).observation.status is status


@pytest.mark.parametrize("array", [DEFAULT_ARGUMENTS, STREAMED], ids=["argument", "streamed"])
def test_at_the_deadline_the_cost_of_what_is_finished_is_recovered(
    fake: FakeCli, folder: Path, array: tuple[str, ...]
) -> None:
    """By SIGINT, or by the interrupt request where standard input is a conversation."""
    fake.behave(tool_calls=[{"name": "Grep"}], hang="before-result")
    settings = replace(SETTINGS, arguments=array, timeout_seconds=1)

    result = _ask(_request(fake, settings), folder)

    assert result.observation.status is Status.TIMED_OUT
    assert result.observation.cli_reported_cost_usd == Decimal("0.000864")
    assert result.observation.charged_usd == Decimal("0.10")
    assert result.observation.cost_usd is None
    assert result.observation.cost_lower_usd == Decimal("0.000864")
    first = "interrupt" if array is STREAMED else "SIGINT"
    assert fake.recorded("signal")[0]["signal"] == first
    assert result.private["ladder"] == [first]


def test_a_conversation_that_is_not_closed_would_never_end(fake: FakeCli, folder: Path) -> None:
    """The real CLI waits for the next message after its result."""
    settings = replace(SETTINGS, arguments=STREAMED, timeout_seconds=20)

    seen = _ask(_request(fake, settings), folder).observation

    assert seen.status is Status.COMPLETED
    assert seen.wall_time_ms is not None
    assert seen.wall_time_ms < 10_000


def test_nothing_of_an_attempt_outlives_it(fake: FakeCli, folder: Path) -> None:
    """Children in sessions of their own and deaf to SIGINT and SIGTERM, as shells make them."""
    fake.behave(children=2)

    result = _ask(_request(fake), folder)

    assert len(fake.recorded("child")) == 2
    assert fake.alive == []
    assert result.observation.survivors == len(result.private["survivors"]) > 0


def test_output_over_its_bound_is_failed_and_the_process_dead(fake: FakeCli, folder: Path) -> None:
    fake.behave(flood_bytes=400_000)
    settings = replace(SETTINGS, stdout_bytes=100_000)

    result = _ask(_request(fake, settings), folder)

    assert result.observation.status is Status.FAILED
    assert result.observation.problems[0] == "stdout-over-bound"
    assert len(result.artifacts["transcript"]) == 100_000
    assert fake.alive == []


def test_a_cli_that_cannot_be_started_has_spent_nothing(fake: FakeCli, folder: Path) -> None:
    agent = ClaudeCli(OPERATOR)
    request = replace(_request(fake), executable=str(folder / "absent"))

    with pytest.raises(AgentError, match="absent"):
        agent.ask(request, folder)

    assert agent.interrupted().observation.charged_usd == 0
    assert agent.interrupted().observation.problems == ()


class _Stop(BaseException):
    """What an outer time-out raises in the thread that waits."""


def test_an_attempt_ended_from_outside_is_charged_its_reservation(
    fake: FakeCli, folder: Path
) -> None:
    """And the process is dead by the time that the exception goes on."""
    fake.behave(hang="before-result")
    agent = ClaudeCli(OPERATOR)
    waiting = threading.get_ident()

    def strike() -> None:
        while not fake.recorded("took"):
            threading.Event().wait(0.02)
        signal.pthread_kill(waiting, signal.SIGUSR2)

    def stop(*_: object) -> None:
        raise _Stop

    previous = signal.signal(signal.SIGUSR2, stop)
    striker = threading.Thread(target=strike)
    striker.start()
    try:
        with pytest.raises(_Stop):
            agent.ask(_request(fake), folder)
    finally:
        striker.join()
        signal.signal(signal.SIGUSR2, previous)

    seen = agent.interrupted().observation
    assert seen.status is Status.INTERRUPTED
    assert seen.charged_usd == Decimal("0.10")
    assert fake.alive == []


def test_an_attempt_that_had_ended_keeps_what_it_showed_when_it_is_interrupted(
    fake: FakeCli, folder: Path
) -> None:
    agent = ClaudeCli(OPERATOR)
    agent.ask(_request(fake), folder)

    seen = agent.interrupted().observation

    assert seen.status is Status.INTERRUPTED
    assert seen.charged_usd == Decimal("0.10")
    assert seen.cli_reported_cost_usd == Decimal("0.000432")


def test_a_version_is_the_first_word_that_is_printed(fake: FakeCli) -> None:
    assert probe_version(str(fake.path)) == "2.1.296"
    assert fake.starts == []


@pytest.mark.parametrize(
    "behaviour",
    [{"version": ""}, {"version": "claude"}, {"version_exit": 1}, {"version": "v2.1.296"}],
    ids=["nothing", "a word", "an error", "a prefix"],
)
def test_what_prints_no_version_is_refused(fake: FakeCli, behaviour: dict[str, object]) -> None:
    fake.behave(**behaviour)

    with pytest.raises(AgentError, match="--claude-bin"):
        probe_version(str(fake.path))


def test_what_cannot_be_started_has_no_version(tmp_path: Path) -> None:
    with pytest.raises(AgentError):
        probe_version(str(tmp_path / "absent"))
