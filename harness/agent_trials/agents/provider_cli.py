"""A provider command as an agent: one process per attempt, one JSON request in, one object out.

The command is started without a shell, in the attempt's own export, with PATH, HOME, TMPDIR and the
variables that its configuration names. The first that applies is the status:
    the deadline struck                                           timed-out: timeout
    it was not started, wrote too much, ended with another code than 0, or wrote no valid reply
                                            failed: unavailable, output-limit, non-zero-exit, ...
    its reply says that the attempt is not completed    what it says: declared-<status>
    the programs that show the arm did not run, or another arm's did
                                                     invalid-setup, by the study's evidence_rule
    it used more tokens or money than an attempt may             budget-exceeded
What it says of its own success changes no status.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials import canonical, money, process
from agent_trials.agents import provider_checks, provider_costs, provider_reply
from agent_trials.agents.provider_reply import InvalidReplyError, Reply
from agent_trials.agents.provider_request import Job
from agent_trials.agents.provider_witness import Witness
from agent_trials.errors import AgentError
from agent_trials.money import ZERO
from agent_trials.records import AttemptResult, Observation, Status
from agent_trials.study.settings import ProviderSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal

    from agent_trials.agents.provider_witness import Evidence
    from agent_trials.process import ProcessResult
    from agent_trials.records import AttemptRequest

TRANSPORT = "provider"
BASIS = "configured-rates"
_STDERR_BYTES = 64 * 1024
_SHORTEST_SECRET = 8
_BYTES_PER_TOKEN = 4
_NON_ZERO = ((Status.FAILED, "non-zero-exit"),)


@dataclass(frozen=True)
class _Ended:
    """How a command ended: None for a process that was never there."""

    process: ProcessResult | None
    stdout: bytes
    stderr: bytes
    reply: Reply
    evidence: Evidence
    problems: tuple[tuple[Status, str], ...]
    detail: str


class ProviderCli:
    """One attempt through a provider command.

    Args:
        operator: the environment that the allowlist picks from; the harness's own by default.
    """

    def __init__(self, operator: Mapping[str, str] | None = None) -> None:
        self._operator = dict(os.environ if operator is None else operator)
        self._at_risk: Decimal = ZERO

    def ask(self, request: AttemptRequest, folder: Path) -> AttemptResult:
        """Return what the attempt showed, whatever happened to it."""
        settings, job = _parts(request)
        self._at_risk = request.limit_usd
        with tempfile.TemporaryDirectory(prefix="t-", ignore_cleanup_errors=True) as made:
            scratch = Path(made)
            witness = Witness(
                job.expected,
                job.watched,
                scratch,
                search=self._operator.get("PATH", ""),
                rehearsal=request.rehearsal,
            )
            found = self._environment(request, job, scratch, witness.folder)
            ended = self._run(process.Command(job.argv, folder, found), job, settings, witness)
            result = _result(request, settings, job, ended, found)
            if not job.checks:
                return result
            return self._checked(result, job, ended, folder)

    def _checked(
        self, result: AttemptResult, job: Job, ended: _Ended, folder: Path
    ) -> AttemptResult:
        """Return the result with what the task's checks showed, if there was anything to check."""
        seen = result.observation
        if seen.status is not Status.COMPLETED:
            acceptance = provider_checks.acceptance((), len(job.checks))
            return replace(result, observation=replace(seen, acceptance=acceptance))
        found = provider_checks.run(
            job.checks, folder, ended.stdout, search=self._operator.get("PATH", os.defpath)
        )
        acceptance = provider_checks.acceptance(found, len(job.checks))
        artifacts = {**result.artifacts, "checks": provider_checks.outputs(found)}
        observation = replace(seen, acceptance=acceptance)
        return replace(result, observation=observation, artifacts=artifacts)

    def interrupted(self) -> AttemptResult:
        """Return what is known of an attempt that something outside ended: its reservation."""
        observation = Observation(
            status=Status.INTERRUPTED,
            transport=TRANSPORT,
            problems=("interrupted",) if self._at_risk else (),
            charged_usd=money.charge(self._at_risk),
            attempt_budget_usd=self._at_risk or None,
        )
        return AttemptResult(observation)

    def _environment(
        self, request: AttemptRequest, job: Job, scratch: Path, programs: Path
    ) -> dict[str, str]:
        """Return all that the process gets; in a rehearsal nothing of the operator's but PATH."""
        temporary = scratch / "tmp"
        temporary.mkdir()
        path = os.pathsep.join([str(programs), self._operator.get("PATH", os.defpath)])
        found = {"PATH": path, "TMPDIR": str(temporary), "HOME": self._operator.get("HOME", "/")}
        if request.rehearsal:
            home = scratch / "home"
            home.mkdir()
            return found | {"HOME": str(home)}
        named = {name: self._operator[name] for name in job.allowlist if name in self._operator}
        return named | found

    def _run(
        self, command: process.Command, job: Job, settings: ProviderSettings, witness: Witness
    ) -> _Ended:
        limits = process.Limits(
            deadline_seconds=settings.timeout_seconds,
            stdout_bytes=job.output_bytes,
            stderr_bytes=_STDERR_BYTES,
        )
        try:
            ended = process.run(command, process.Text(job.request), limits)
        except AgentError as error:
            missing = ((Status.FAILED, "unavailable"),)
            return _Ended(None, b"", b"", Reply(), witness.evidence(), missing, str(error))
        secrets = [
            command.environment[name] for name in job.allowlist if name in command.environment
        ]
        stdout, stderr = _without(ended.stdout, secrets), _without(ended.stderr, secrets)
        problems, detail, reply = _process_problems(ended), "", Reply()
        if not problems or problems == _NON_ZERO:
            try:
                reply = provider_reply.read(stdout)
            except InvalidReplyError as error:
                problems, detail = problems or ((Status.FAILED, error.code),), str(error)
            if reply.declared is not None:
                problems = ((reply.declared.status, f"declared-{reply.declared.status.value}"),)
            elif problems:
                reply = Reply()  # a command that failed without saying how says nothing else
        serving = any(each["ready"] for each in reply.servers.values())
        evidence = replace(witness.evidence(), serving=serving)
        return _Ended(ended, stdout, stderr, reply, evidence, problems, detail)


def _parts(request: AttemptRequest) -> tuple[ProviderSettings, Job]:
    settings, job = request.transport_settings, request.provider
    if not isinstance(settings, ProviderSettings) or not isinstance(job, Job):
        raise TypeError("a provider's attempt needs its transport's settings and its job")
    return settings, job


def _process_problems(ended: ProcessResult) -> tuple[tuple[Status, str], ...]:
    found = []
    if ended.timed_out:
        found.append((Status.TIMED_OUT, "timeout"))
    if ended.truncated:
        found.append((Status.FAILED, "output-limit"))
    return tuple(found) or (_NON_ZERO if ended.exit_code != 0 else ())


def _result(
    request: AttemptRequest,
    settings: ProviderSettings,
    job: Job,
    ended: _Ended,
    environment: Mapping[str, str],
) -> AttemptResult:
    derived = provider_costs.cost(ended.reply, job.rates)
    problems = list(ended.problems)
    if settings.evidence_rule == "invalid-setup":
        problems += [(Status.INVALID_SETUP, code) for code in ended.evidence.problems]
    units = provider_costs.units(ended.reply)
    if settings.max_tokens is not None and (units or 0) > settings.max_tokens:
        problems.append((Status.BUDGET_EXCEEDED, "token-budget"))
    if derived is not None and derived > request.limit_usd:
        problems.append((Status.BUDGET_EXCEEDED, "over-reservation"))
    status = problems[0][0] if problems else Status.COMPLETED
    setup = next((code for at, code in problems if at is Status.INVALID_SETUP), None)
    charged = provider_costs.charge(
        status, derived, request.limit_usd, priced=settings.charge == "priced"
    )
    reply, ran = ended.reply, ended.process
    by_provider = reply.counted_by == provider_costs.BY_PROVIDER
    observation = Observation(
        status=status,
        transport=TRANSPORT,
        problems=tuple(dict.fromkeys(code for _, code in problems)),
        setup_problem=setup,
        charged_usd=charged,
        cost_usd=derived,
        attempt_budget_usd=request.limit_usd,
        computed_cost_usd=derived,
        cost_basis=BASIS if derived is not None else None,
        usage_complete=units is not None,
        input_tokens=_uncached(reply) if by_provider else None,
        total_input_tokens=reply.input_tokens if by_provider else None,
        output_tokens=reply.output_tokens if by_provider else None,
        cache_read_input_tokens=_cached(reply) if by_provider else None,
        tool_calls_by_name=dict(ended.evidence.started),
        model=request.model,
        exit_code=ran.exit_code if ran else None,
        wall_time_ms=ran.wall_time_ms if ran else None,
        survivors=len(ran.survivors) if ran else None,
        environment_digest=canonical.digest_of(sorted(environment)),
        provider=_told(job, ended, units),
        treatment_evidence=ended.evidence.to_json() | _given(job) | _servers(reply),
    )
    private: dict[str, Any] = {
        "problems": [{"code": code, "detail": ended.detail} for _, code in problems],
        "survivors": list(ran.survivors) if ran else [],
        "ladder": list(ran.ladder) if ran else [],
    }
    if reply.answer is not None:
        private["answer"] = reply.answer
    artifacts = {"request": job.request, "transcript": ended.stdout, "stderr": ended.stderr}
    return AttemptResult(observation, private, artifacts)


def _given(job: Job) -> dict[str, Any]:
    """Return how much of a hand-off the harness itself gave; nothing where no arm is given one."""
    return {} if job.handoff_bytes is None else {"handoffBytes": job.handoff_bytes}


def _told(job: Job, ended: _Ended, units: int | None) -> dict[str, Any]:
    """Return what the command says of itself, each figure under a name that says whose it is."""
    reply = ended.reply
    estimates: dict[str, Any] = {
        "contextTokens": -(-len(job.request) // _BYTES_PER_TOKEN),
        "contextTokenMethod": "estimate",
    }
    if reply.counted_by == "estimate":
        estimates |= {"inputTokens": reply.input_tokens, "outputTokens": reply.output_tokens}
    return {
        "configuration": job.digest,
        "network": job.network,
        "requestBytes": len(job.request),
        "responseBytes": len(ended.stdout),
        "stderrBytes": len(ended.stderr),
        "tokenMethod": reply.counted_by,
        "providerTokenCostUnits": units,
        "selfReported": dict(reply.reported),
        **({"declared": reply.declared.to_json()} if reply.declared else {}),
        "measurements": dict(reply.measurements),
        "estimates": estimates,
    }


def _servers(reply: Reply) -> dict[str, Any]:
    """Return what the command saw of MCP servers, under a name that says whose word it is."""
    return {"reportedServers": dict(reply.servers)} if reply.servers else {}


def _cached(reply: Reply) -> int | None:
    """Return cached input tokens, of which there are never more than input tokens."""
    if reply.cached_input_tokens is None or reply.input_tokens is None:
        return reply.cached_input_tokens
    return min(reply.cached_input_tokens, reply.input_tokens)


def _uncached(reply: Reply) -> int | None:
    if reply.input_tokens is None:
        return None
    return reply.input_tokens - (_cached(reply) or 0)


def _without(data: bytes, secrets: Iterable[str]) -> bytes:
    """Return the bytes with the values of allowlisted variables blotted out, if they are long."""
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            for form in sorted(_forms(secret), key=len, reverse=True):
                data = data.replace(form, b"*" * len(form))
    return data


def _forms(secret: str) -> set[bytes]:
    """Return a value as it is, and as text of JSON: with a quote, say, behind a backslash."""
    plain = secret.encode("utf-8", "surrogateescape")
    texts = (json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))
    escaped = {each.encode("utf-8", "surrogateescape") for each in texts}
    return {plain} | escaped | {each.replace(b"/", b"\\/") for each in escaped}
