"""The Claude Code CLI as an agent: one fresh headless process per attempt.

What an attempt is started with comes from ``cli_arguments`` and ``cli_environment``, what its
output means from ``transcript``; this is the shell around them.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import tempfile
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials import canonical, money, process
from agent_trials.agents import (
    cli_arguments,
    cli_environment,
    cli_observation,
    config_dir,
    side_costs,
    transcript,
)
from agent_trials.agents.cli_rules import Expected, ProcessFacts, expected_tools
from agent_trials.agents.cli_stream import parse_line, text
from agent_trials.agents.cli_usage import SessionTotals
from agent_trials.errors import AgentError
from agent_trials.money import ZERO
from agent_trials.records import AttemptResult, Kept, Observation, SealedTree, Status
from agent_trials.study.settings import OPERATOR, CliSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal

    from agent_trials.agents.side_costs import Mark
    from agent_trials.errors import Problem
    from agent_trials.process import ProcessResult
    from agent_trials.records import AttemptRequest, Secret, SideFile
    from agent_trials.standby import Spare

OTHER_PRODUCT = "product-of-another-arm"
_STDERR_BYTES = 1024 * 1024
_PROBE_SECONDS = 60
_PROBE_BYTES = 4096
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*")
_INTERRUPT = {
    "type": "control_request",
    "request_id": "deadline",
    "request": {"subtype": "interrupt"},
}


class ClaudeCli:
    """One attempt through the Claude Code CLI.

    Args:
        operator: the environment that the allowlist picks from; the harness's own by default.
        prior: what the session had cost before, where the attempt resumes one.
        spare: the supervisor kept in reserve, if any.
    """

    def __init__(
        self,
        operator: Mapping[str, str] | None = None,
        *,
        prior: SessionTotals | None = None,
        spare: Spare | None = None,
    ) -> None:
        self._operator = dict(os.environ if operator is None else operator)
        self._prior = prior
        self._spare = spare
        self._at_risk: Decimal = ZERO
        self._known: AttemptResult | None = None
        self._side: tuple[SideFile | None, Mark | None] = (None, None)

    def ask(self, request: AttemptRequest, folder: Path) -> AttemptResult:
        """Return what the attempt showed, whatever happened to it.

        Raises:
            AgentError: the CLI cannot be started; nothing was spent.
        """
        settings = _settings(request)
        streamed = cli_arguments.is_streamed(settings)
        session = str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))
        prior = self._prior if request.kept is None else _spent(request.kept)
        if request.config_dir is not None and request.kept is None:
            config_dir.clean(request.config_dir)
        self._side = (request.side, side_costs.mark(request, folder))
        with tempfile.TemporaryDirectory(prefix="t-", ignore_cleanup_errors=True) as scratch:
            environment = cli_environment.environment(
                settings, request, self._operator, Path(scratch)
            )
            made = cli_arguments.arguments(settings, request, Path(scratch), session=session)
            argv = (*(request.launch.command or (_executable(request),)), *made)
            ended = self._run(
                process.Command(argv, folder, environment),
                _conversation(request.prompt) if streamed else process.Silent(),
                settings,
                request.reservation_usd,
            )
        judged = _judged(request, settings, environment, ended, prior)
        result = judged.result
        if request.surroundings is not None:
            spent = judged.spent(result.observation.charged_usd)
            going_on = request.kept.session if request.kept else None
            named = judged.session or going_on or session
            result = replace(result, kept=Kept(folder, request.surroundings, named, spent))
        self._known = self._with_side(result)
        return self._known

    def interrupted(self) -> AttemptResult:
        """Return what is known of an attempt that something outside ended.

        What a started process may have cost is charged: its reservation, or what it showed.
        """
        code = "interrupted"
        if self._known is None:
            observation = Observation(
                status=Status.INTERRUPTED,
                transport=cli_observation.TRANSPORT,
                problems=(code,) if self._at_risk else (),
                charged_usd=money.charge(self._at_risk),
                attempt_budget_usd=self._at_risk or None,
            )
            return self._with_side(AttemptResult(observation), reserved=True)
        known = self._known.observation
        observation = replace(
            known,
            status=Status.INTERRUPTED,
            problems=(code, *known.problems),
            charged_usd=money.charge(max(self._at_risk, known.charged_usd)),
        )
        return replace(self._known, observation=observation)

    def _with_side(self, result: AttemptResult, *, reserved: bool = False) -> AttemptResult:
        """Return the result with what the arm's product spent, ``reserved`` already charged."""
        side, mark = self._side
        if side is None or mark is None:
            return result
        found, observation = side_costs.read(side, mark), result.observation
        before = ZERO if not reserved else side.reserved_usd
        charged = money.total(observation.charged_usd, max(ZERO, found.charged - before))
        if not side.max_calls and found.calls:
            observation = _of_another_arm(observation)
        if observation.status is not Status.COMPLETED:
            charged = max(charged, money.charge(self._at_risk))
        return replace(
            result,
            observation=replace(observation, charged_usd=charged, side_costs=found.to_json()),
            artifacts={**result.artifacts, "sideEvents": found.raw},
        )

    def _run(
        self,
        command: process.Command,
        given: process.Silent | process.Dialogue,
        settings: CliSettings,
        reservation: Decimal,
    ) -> ProcessResult:
        """Run the process; from before its start until it is judged, its reservation is at risk."""
        self._at_risk = reservation
        started: list[int] = []
        try:
            return process.run(
                command,
                given,
                process.Limits(
                    deadline_seconds=settings.timeout_seconds,
                    stdout_bytes=settings.stdout_bytes,
                    stderr_bytes=_STDERR_BYTES,
                ),
                on_started=started.append,
                spare=self._spare,
            )
        except AgentError:
            if not started:
                self._at_risk = ZERO
            raise


def probe_version(executable: str) -> str:
    """Return the first word that ``claude --version`` prints, such as ``2.1.296``.

    The process gets an empty home and no credential.

    Raises:
        AgentError: it cannot be started, fails, or prints no version.
    """
    with tempfile.TemporaryDirectory(prefix="t-", ignore_cleanup_errors=True) as scratch:
        environment = {"HOME": scratch, "TMPDIR": scratch, "PATH": os.environ.get("PATH", "")}
        ended = process.run(
            process.Command((executable, "--version"), Path(scratch), environment),
            process.Silent(),
            process.Limits(
                deadline_seconds=_PROBE_SECONDS,
                stdout_bytes=_PROBE_BYTES,
                stderr_bytes=_PROBE_BYTES,
            ),
        )
    words = ended.stdout.decode(errors="replace").split()
    if ended.exit_code == 0 and words and _VERSION.fullmatch(words[0]):
        return words[0]
    raise AgentError(
        f"{executable} --version printed no version (exit code {ended.exit_code}); name a Claude"
        " Code CLI with --claude-bin PATH"
    )


def problems(settings: CliSettings) -> list[Problem]:
    """Return what can be said against a study's block for this transport before it is used."""
    return [
        *cli_arguments.argument_problems(settings.arguments),
        *cli_environment.environment_problems(settings.environment),
    ]


def _settings(request: AttemptRequest) -> CliSettings:
    if not isinstance(request.transport_settings, CliSettings):
        raise TypeError("a Claude CLI attempt needs the settings of its transport")
    return request.transport_settings


def _executable(request: AttemptRequest) -> str:
    if request.executable is None:
        raise RuntimeError("a Claude CLI attempt needs the executable that the preflight found")
    return request.executable


def _conversation(prompt: str) -> process.Dialogue:
    """Return the prompt as a message on standard input, which is closed after the result."""
    message = {"type": "user", "message": {"role": "user", "content": prompt}}
    return process.Dialogue(first=_line(message), interrupt=_line(_INTERRUPT), finished=_is_result)


def _line(message: Mapping[str, object]) -> bytes:
    return json.dumps(message).encode("ascii") + b"\n"


def _is_result(line: bytes) -> bool:
    return b'"result"' in line and (parse_line(line) or {}).get("type") == "result"


@dataclass(frozen=True)
class _Judged:
    """An ended process: the result, and what the next process of the session starts from."""

    result: AttemptResult
    session: str | None
    totals: SessionTotals | None

    def spent(self, charged: Decimal) -> SessionTotals:
        """Return what the session had cost, as far as the process told it."""
        return self.totals or SessionTotals(None, charged_usd=charged)


def _of_another_arm(observation: Observation) -> Observation:
    """Return the observation of an attempt in which the product of another arm was at work."""
    kept = observation.status in {Status.INTERRUPTED, Status.TIMED_OUT, Status.FAILED}
    return replace(
        observation,
        status=observation.status if kept else Status.INVALID_SETUP,
        problems=(*observation.problems, OTHER_PRODUCT),
        setup_problem=observation.setup_problem or OTHER_PRODUCT,
    )


def _spent(kept: Kept) -> SessionTotals:
    """Return what a kept session had cost.

    Raises:
        TypeError: it is not the value that this agent left.
    """
    if not isinstance(kept.spent, SessionTotals):
        raise TypeError("a kept session of the Claude CLI says what it had cost")
    return kept.spent


def _judged(
    request: AttemptRequest,
    settings: CliSettings,
    environment: Mapping[str, str],
    ended: ProcessResult,
    prior: SessionTotals | None,
) -> _Judged:
    """Judge an ended process: observation, private values, artifacts."""
    facts = ProcessFacts(
        exit_code=ended.exit_code,
        timed_out=ended.timed_out,
        truncated=ended.truncated,
        wall_time_ms=ended.wall_time_ms,
        arrivals=ended.arrivals,
    )
    expected = _expected(request, settings, prior)
    stdout = _without(ended.stdout, request.secrets.values())
    reading = transcript.read(stdout, facts, expected)
    shown = cli_environment.shown(environment, settings, request)
    observation = cli_observation.observation(
        reading,
        facts,
        expected,
        environment_digest=canonical.digest_of(shown),
        expected_version=_wanted_version(settings, request),
        survivors=len(ended.survivors),
    )
    private = {
        **cli_observation.private(reading),
        "environment": shown,
        "ladder": list(ended.ladder),
        "survivors": list(ended.survivors),
    }
    stderr = _without(ended.stderr, request.secrets.values())
    result = AttemptResult(observation, private, {"transcript": stdout, "stderr": stderr})
    init = reading.init.data if reading.init else {}
    return _Judged(result, text(init.get("session_id")), reading.costs.session)


def _expected(
    request: AttemptRequest, settings: CliSettings, prior: SessionTotals | None
) -> Expected:
    tools, by_server = expected_tools(
        settings.tools, {server.name: server.allow for server in request.mcp_servers}
    )
    return Expected(
        model=request.model,
        tools=tools,
        mcp_tools=by_server,
        reservation_usd=request.limit_usd,
        prices=settings.prices,
        web_search_usd=settings.web_search_usd,
        tier_rule=settings.tier_rule,
        permission_mode=settings.permission_mode,
        accepted_denials=settings.accepted_denials,
        denied=(*settings.deny, *request.denied_mcp_tools),
        version=request.executable_version,
        hooks=_hooks(request),
        prior=prior,
    )


def _hooks(request: AttemptRequest) -> tuple[str, ...]:
    """Return the events at which a hook must have answered: the harness's own."""
    corpus = request.corpus
    return ("Stop",) if isinstance(corpus, SealedTree) and corpus.stop_snapshots else ()


def _wanted_version(settings: CliSettings, request: AttemptRequest) -> str | None:
    return request.executable_version if settings.version == OPERATOR else settings.version


def _without(data: bytes, secrets: Iterable[Secret]) -> bytes:
    """Return the bytes with every secret blotted out, byte for byte, so that offsets hold."""
    for secret in secrets:
        key = secret.reveal().encode()
        if key:
            data = data.replace(key, b"*" * len(key))
    return data
