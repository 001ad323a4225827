"""Runs one attempt, in order: lay out its workspace, ask the agent, clean up.

Plain data in and out; no ledger, no pytest, nothing of the answer key. It may run in this process,
in a worker or on another machine.
"""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from typing import TYPE_CHECKING

from agent_trials import money
from agent_trials.errors import (
    AgentError,
    McpServerError,
    TrialsError,
    UnequalError,
    WorkspaceError,
)
from agent_trials.ledger.charges import METERED
from agent_trials.records import AttemptResult, Observation, SealedTree, Status
from agent_trials.workspace import site, tree

if TYPE_CHECKING:
    from decimal import Decimal

    from agent_trials.agents.base import InterruptibleAgent
    from agent_trials.records import AttemptRequest, Kept
    from agent_trials.standby import Spare
    from agent_trials.workspace.site import Collected

UNEQUAL = "equal-files-differ"
"""The problem of an attempt whose project is not the other arms': no repetition mends it."""
INTERRUPTED = Status.INTERRUPTED.value  # also the code with which an agent says so
PROBLEM_OF = {
    WorkspaceError: (Status.INVALID_SETUP, "workspace"),
    UnequalError: (Status.INVALID_SETUP, UNEQUAL),
    McpServerError: (Status.INVALID_SETUP, "mcp-server"),
    AgentError: (Status.FAILED, "agent-not-started"),
}


class AttemptInterrupted(BaseException):
    """An attempt that something outside it ended: Ctrl-C, a signal, an outer time-out.

    Attributes:
        result: what is known of the attempt, to be settled as interrupted.
        cause: what ended it, to be raised again afterwards.
    """

    def __init__(self, result: AttemptResult, cause: BaseException) -> None:
        self.result = result
        self.cause = cause
        super().__init__(str(cause))


def run_attempt(request: AttemptRequest, spare: Spare | None = None) -> AttemptResult:
    """Return what one turn of an attempt showed, whatever happened to it.

    Where the request says ``keep``, the result may name what was kept: whoever has it makes another
    request with it, on this machine, or calls ``release``.
    ``spare`` saves the start of a supervisor where several attempts follow each other here.

    Raises:
        AttemptInterrupted: something outside ended it; everything that it started has ended too.
    """
    agent = _agent(request.transport, spare)
    try:
        with site.laid_out(request) as place:
            result = _asked(agent, place, request)
            if request.keep and result.kept is not None:
                place.stay()
    except AttemptInterrupted:
        raise
    except (WorkspaceError, McpServerError, AgentError) as error:
        return _infrastructure(agent, error, request)
    except BaseException as cause:
        raise AttemptInterrupted(agent.interrupted(), cause) from cause
    observation = dataclasses.replace(result.observation, export_digest=request.corpus.digest)
    kept = result.kept if request.keep else None
    return dataclasses.replace(result, observation=observation, kept=kept)


def _asked(agent: InterruptibleAgent, place: site.Site, request: AttemptRequest) -> AttemptResult:
    """Return what the agent showed, with what is kept of its workspace, also where it was ended.

    Raises:
        AttemptInterrupted: something outside ended the agent.
    """
    try:
        result = agent.ask(place.told(request), place.folder)
    except TrialsError:
        raise
    except BaseException as cause:
        known = agent.interrupted()
        with suppress(WorkspaceError):
            known = _with(known, place.collect(), request)
        raise AttemptInterrupted(known, cause) from cause
    return _with(result, place.collect(), request)


def release(kept: Kept) -> None:
    """Remove what an attempt left for another turn.

    Raises:
        WorkspaceError: something in it cannot be removed.
    """
    tree.release(kept)


def _with(result: AttemptResult, collected: Collected, request: AttemptRequest) -> AttemptResult:
    """Return the result with what was collected of its workspace.

    What could not be collected makes it the ground's failure, charged as one; what the agent
    showed stays beside it.
    """
    observation = dataclasses.replace(result.observation, **collected.fields)
    problem = collected.problem or _missing(observation, request)
    if problem is not None:
        observation = _without_ground(observation, problem, request)
    return dataclasses.replace(
        result,
        observation=observation,
        private={**result.private, **collected.private},
        artifacts={**result.artifacts, **collected.artifacts},
    )


def _missing(observation: Observation, request: AttemptRequest) -> str | None:
    """Return the problem of a turn that came to its end and left no copy of any stop."""
    corpus = request.corpus
    wanted = isinstance(corpus, SealedTree) and corpus.stop_snapshots
    if wanted and observation.status is Status.COMPLETED and not observation.stops:
        return "snapshot-missing"
    return None


def _without_ground(observation: Observation, problem: str, request: AttemptRequest) -> Observation:
    interrupted = observation.status is Status.INTERRUPTED
    charged = observation.charged_usd
    if request.transport not in METERED:
        charged = max(charged, money.charge(request.reservation_usd))
    return dataclasses.replace(
        observation,
        status=observation.status if interrupted else Status.INVALID_SETUP,
        problems=(*observation.problems, problem),
        setup_problem=observation.setup_problem or problem,
        charged_usd=charged,
    )


def _agent(transport: str, spare: Spare | None) -> InterruptibleAgent:
    """Return a fresh agent; its module is loaded when a study first needs it (an SDK takes 1 s)."""
    if transport == "http":
        from agent_trials.agents.messages_api import MessagesApi  # noqa: PLC0415 - as said

        return MessagesApi()
    if transport == "cli":
        from agent_trials.agents.claude_cli import ClaudeCli  # noqa: PLC0415 - as said

        return ClaudeCli(spare=spare)
    if transport == "provider":
        from agent_trials.agents.provider_cli import ProviderCli  # noqa: PLC0415 - as said

        return ProviderCli()
    raise RuntimeError(f"no agent for transport {transport!r}")


def unfinished(charged: Decimal, transport: str, problem: str) -> AttemptResult:
    """Return the result of an attempt of which nothing is known but what it may have cost, USD."""
    observation = Observation(
        status=Status.INTERRUPTED,
        transport=transport,
        problems=(problem,),
        charged_usd=money.charge(charged),
        attempt_budget_usd=charged,
    )
    return AttemptResult(observation)


def _infrastructure(
    agent: InterruptibleAgent, error: TrialsError, request: AttemptRequest
) -> AttemptResult:
    """Return the result where the ground under the attempt failed; never a wrong answer.

    What the agent may have spent until then stays charged: where requests are not metered, the
    whole reservation, as for whatever else did not complete. Nothing outside interrupted it.
    """
    known = agent.interrupted()
    status, problem = PROBLEM_OF[type(error)]
    charged = known.observation.charged_usd
    if request.transport not in METERED:
        charged = max(charged, money.charge(request.reservation_usd))
    observation = dataclasses.replace(
        known.observation,
        status=status,
        problems=(*(code for code in known.observation.problems if code != INTERRUPTED), problem),
        setup_problem=problem if status is Status.INVALID_SETUP else None,
        charged_usd=charged,
    )
    private = {**known.private, "infrastructure": str(error)}
    return AttemptResult(observation, private, known.artifacts)
