"""Asks an adjudicator: a fresh session in a fresh context, with a packet and no tool.

An agent of the attempts' own transports is asked, or a command; it gets an empty folder and, over
the CLI, an array in which the packet comes on standard input.
"""

from __future__ import annotations

import dataclasses
import tempfile
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials import canonical, money
from agent_trials.errors import AgentError
from agent_trials.graders import command as commands
from agent_trials.graders import prompt
from agent_trials.records import AttemptRequest, AttemptResult, Observation, SealedCorpus, Status
from agent_trials.study.settings import CliSettings, HttpSettings, ProviderSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_trials.agents.base import InterruptibleAgent
    from agent_trials.agents.provider_request import Job
    from agent_trials.graders.command import Command
    from agent_trials.graders.prompt import Prompt
    from agent_trials.records import Secret
    from agent_trials.study.settings import GraderSettings

FIRST = "adjudicator"
SECOND = "second-adjudicator"
GUESS = "arm-guess"
"""The graders' names in a ledger."""
COMMAND = "command"
_OF_A_COMMAND = (
    "charge", "providers", "max_input_bytes", "max_output_bytes", "max_tokens", "timeout_seconds",
)  # fmt: skip

ARGUMENTS = (
    "-p",
    "--model", "{model}",
    "--input-format", "stream-json",
    "--output-format", "stream-json", "--verbose",
    "--no-session-persistence",
    "--max-budget-usd", "{limit}",
    "--restricted",
    "--disable-slash-commands",
    "--permission-mode", "dontAsk",
    "--permission-prompts", "none",
    "--tools", "{tools}",
    "--disallowedTools", "{denied}",
    "--mcp-config", "{mcp_config}",
    "--strict-mcp-config",
)  # fmt: skip
"""The argument array of a grading over the Claude CLI; ``{tools}`` is empty."""


class GradingInterruptedError(BaseException):
    """A grading that something outside it ended.

    Attributes:
        result: what is known of it, to be settled.
        cause: what ended it, to be raised again afterwards.
    """

    def __init__(self, result: AttemptResult, cause: BaseException) -> None:
        self.result = result
        self.cause = cause
        super().__init__(str(cause))


@dataclass(frozen=True)
class Adjudicator:
    """One registered grader, with everything filled in that it is asked through.

    ``name`` is its name in the ledger; ``base_url`` is None for the provider's own. ``command`` is
    that of the transport of that name.
    """

    name: str
    transport: str
    model: str
    limit_usd: Decimal
    settings: HttpSettings | CliSettings | ProviderSettings
    executable: str | None = None
    executable_version: str | None = None
    base_url: str | None = None
    rehearsal: bool = False
    secrets: Mapping[str, Secret] = field(default_factory=dict, repr=False)
    command: Command | None = None

    @property
    def configuration(self) -> dict[str, Any]:
        """Return what decides how it grades, as the ledger has it: no secret and no path."""
        settings = dataclasses.asdict(self.settings)
        if self.command is not None:
            settings = {name: settings[name] for name in _OF_A_COMMAND}
        facts = {
            "transport": self.transport,
            "model": self.model,
            "limitUsd": money.text(self.limit_usd),
            "settings": _plain(settings),
            "instructions": canonical.digest((prompt.GRADING + prompt.GUESSING).encode("utf-8")),
        }
        return facts if self.command is None else facts | {"command": self.command.facts}

    @property
    def digest(self) -> str:
        """Return the digest of the configuration."""
        return canonical.digest_of(self.configuration)

    def ask(self, asked: Prompt) -> AttemptResult:
        """Return what the adjudicator said to one prompt, whatever happened to it.

        Raises:
            GradingInterruptedError: something outside ended it.
        """
        job = self._job(asked)
        if job is not None and self._is_too_large(job):
            return _unasked(self.transport, commands.TOO_LARGE, f"{len(job.request):,} bytes")
        agent = _agent(self.transport)
        with tempfile.TemporaryDirectory(prefix="workspace-") as folder:
            try:
                result = agent.ask(self._request(asked, Path(folder), job), Path(folder))
            except AgentError as error:
                return _unasked(self.transport, "agent-not-started", str(error))
            except BaseException as cause:
                raise GradingInterruptedError(agent.interrupted(), cause) from cause
        return result if job is None else _as_text(result)

    def _job(self, asked: Prompt) -> Job | None:
        if self.command is None or not isinstance(self.settings, ProviderSettings):
            return None
        return commands.job(self.command, self.settings, asked)

    def _is_too_large(self, job: Job) -> bool:
        if self.command is None or not isinstance(self.settings, ProviderSettings):
            return False
        return commands.is_too_large(job, self.command, self.settings)

    def _request(self, asked: Prompt, folder: Path, job: Job | None) -> AttemptRequest:
        nothing = SealedCorpus("none", "", folder, canonical.digest_of([]), ())
        return AttemptRequest(
            transport=self.transport,
            transport_settings=self.settings,
            model=self.model,
            prompt=asked.text,
            limit_usd=self.limit_usd,
            corpus=nothing,
            mcp_servers=(),
            executable=self.executable,
            executable_version=self.executable_version,
            base_url=self.base_url,
            rehearsal=self.rehearsal,
            secrets=self.secrets,
            local_tools=False,
            provider=job,
        )


def transport_settings(grader: GraderSettings) -> HttpSettings | CliSettings | ProviderSettings:
    """Return a grader's block as the agent of its transport reads it: one request, no tool."""
    if grader.transport == "http" and grader.http is not None:
        http = grader.http
        return HttpSettings(
            input_usd_per_million=http.input_usd_per_million,
            output_usd_per_million=http.output_usd_per_million,
            max_turns=1,
            max_tokens=http.max_tokens,
            temperature=http.temperature,
            request_timeout_seconds=http.timeout_seconds,
            timeout_seconds=http.timeout_seconds,
        )
    if grader.transport == "cli" and grader.cli is not None:
        cli = grader.cli
        return CliSettings(
            version=cli.version,
            prices=cli.prices,
            arguments=ARGUMENTS,
            credential=cli.credential,
            environment=cli.environment,
            tools=(),
            accepted_denials=(),
            permission_mode=cli.permission_mode,
            timeout_seconds=cli.timeout_seconds,
            stdout_bytes=cli.stdout_bytes,
            tier_rule=cli.tier_rule,
        )
    if grader.transport == COMMAND and grader.command is not None:
        return commands.transport_settings(grader.command)
    raise RuntimeError(f"no block for transport {grader.transport!r}; the study was not checked")


def _agent(transport: str) -> InterruptibleAgent:
    """Return a fresh agent; its module is loaded when a batch first needs it (an SDK takes 1 s)."""
    if transport == "http":
        from agent_trials.agents.messages_api import MessagesApi  # noqa: PLC0415 - as said

        return MessagesApi()
    if transport == COMMAND:
        from agent_trials.agents.provider_cli import ProviderCli  # noqa: PLC0415 - as said

        return ProviderCli()
    from agent_trials.agents.claude_cli import ClaudeCli  # noqa: PLC0415 - as said

    return ClaudeCli()


def _unasked(transport: str, problem: str, detail: str) -> AttemptResult:
    observation = Observation(
        status=Status.FAILED, transport=transport, problems=(problem,), charged_usd=money.ZERO
    )
    return AttemptResult(observation, {"infrastructure": detail})


def _as_text(result: AttemptResult) -> AttemptResult:
    """Return a command's result with its one object as what the adjudicator said."""
    if result.observation.status is not Status.COMPLETED:
        return result
    text = commands.reply_text(result.artifacts["transcript"])
    return dataclasses.replace(result, private={**result.private, "answer": text})


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value of a settings block
    if isinstance(value, Decimal):
        return money.text(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
