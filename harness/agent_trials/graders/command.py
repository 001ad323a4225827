"""What an adjudicator command is asked: the provider contract's process, with a packet in it.

One JSON object goes to standard input and says what an adjudicator of any transport is told; one
comes back on standard output. The process is that of ``agents.provider_cli``: no shell, a bounded
environment, a deadline, bounds on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.agents.provider_request import Job, encoded
from agent_trials.study.settings import ProviderSettings

if TYPE_CHECKING:
    from agent_trials.graders.prompt import Prompt
    from agent_trials.records import Observation
    from agent_trials.study.providers import AdjudicatorCommand
    from agent_trials.study.settings import AdjudicatorCommandSettings

PROTOCOL = "doc-bridge.study-adjudicator.v1"
RESPONSE = (
    "Write exactly one JSON object to standard output and nothing else; logs go to standard error."
    " Beside what the instruction asks for it may hold inputTokens, cachedInputTokens,"
    " outputTokens with tokenMethod (provider, estimate), and measurements (an object of numbers)."
)
TOO_LARGE = "input-limit"


@dataclass(frozen=True)
class Command:
    """An adjudicator's command as it was found; ``digest`` is its file's, with the algorithm."""

    entry: AdjudicatorCommand
    executable: str
    digest: str

    @property
    def facts(self) -> dict[str, Any]:
        """Return what a ledger says of it: no path and no argument."""
        rates = self.entry.pricing.rates() if self.entry.pricing else None
        return {
            "id": self.entry.id,
            "providersDigest": self.digest,
            "network": self.entry.providerNetwork,
            "usdPerMillion": [money.text(rate) for rate in rates] if rates else None,
        }


def transport_settings(settings: AdjudicatorCommandSettings) -> ProviderSettings:
    """Return a study's block as the agent for provider commands reads it."""
    return ProviderSettings(
        charge=settings.charge,
        providers=settings.providers,
        max_input_bytes=settings.max_input_bytes,
        max_output_bytes=settings.max_output_bytes,
        max_tokens=settings.max_tokens,
        timeout_seconds=settings.timeout_seconds,
    )


def job(command: Command, settings: ProviderSettings, asked: Prompt) -> Job:
    """Return what one grading's process is started with."""
    entry = command.entry
    return Job(
        argv=(command.executable, *entry.args),
        allowlist=entry.envAllowlist,
        request=encoded(
            {
                "protocol": PROTOCOL,
                "response": RESPONSE,
                "instruction": asked.instruction,
                "packet": asked.packet,
            }
        ),
        output_bytes=min(entry.maxOutputBytes, settings.max_output_bytes),
        rates=entry.pricing.rates() if entry.pricing else None,
        expected=(),
        watched=(),
        digest=command.digest,
        network=entry.providerNetwork,
    )


def is_too_large(job: Job, command: Command, settings: ProviderSettings) -> bool:
    """Return whether a request passes a bound: the lower one wins."""
    return len(job.request) > min(command.entry.maxInputBytes, settings.max_input_bytes)


def reply_text(stdout: bytes) -> str:
    """Return what a command that completed wrote: one object, as was found before."""
    return stdout.decode("utf-8")


def measured(observation: Observation) -> dict[str, Any] | None:
    """Return what the command said of its own work, for a namespace of its own."""
    if observation.provider is None:
        return None
    told = {name: each for name, each in observation.provider.items() if name != "selfReported"}
    cost = observation.computed_cost_usd
    return told | {
        "wallTimeMs": observation.wall_time_ms,
        "computedCostUsd": None if cost is None else money.text(cost),
        "costBasis": observation.cost_basis,
    }
