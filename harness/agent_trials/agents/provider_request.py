"""What a provider command is given: one JSON request of the study provider CLI contract v1.

Which fields it has is the study's (``transports.provider.request``). No path, pin or answer key is
ever among them; what a study writes under ``expected_outcome`` is sent only where it says so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials.study import asked
from agent_trials.study.settings import ProviderArm, ProviderTask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_trials.agents.provider_checks import Check
    from agent_trials.agents.provider_costs import Rates
    from agent_trials.records import PlannedAttempt
    from agent_trials.study.providers import Provider
    from agent_trials.study.settings import Manifest, ProviderSettings

PROTOCOL = "doc-bridge.study-provider.v1"
RESPONSE = (
    "Write exactly one JSON object to standard output and nothing else; logs go to standard error."
    " All fields are optional: taskOutcome (success, partial, incorrect, incomplete, blocked),"
    " answer (text), evidenceQuality (high, medium, low), safetyOutcome (safe, unsafe,"
    " not-applicable), evidenceIds, clarificationRequests, reworkCount, toolCalls,"
    " firstEvidenceLatencyMs, measurements (an object of numbers), inputTokens,"
    " cachedInputTokens, outputTokens with tokenMethod (provider, estimate)."
)


@dataclass(frozen=True)
class Resolved:
    """A provider's command as it was found, for one arm and the provider's model.

    ``digest`` is its configuration's.
    """

    arm: str
    provider: Provider
    executable: str
    digest: str
    stand_in: bool = False


@dataclass(frozen=True)
class Job:
    """One attempt of a provider command.

    ``watched`` are the programs whose starts are recorded in every arm, ``expected`` those that
    this arm's tool is made of. ``output_bytes`` bounds standard output. ``handoff_bytes`` of the
    request are the arm's hand-off; None where no arm of the study is given any.
    """

    argv: tuple[str, ...]
    allowlist: tuple[str, ...]
    request: bytes
    output_bytes: int
    rates: Rates | None
    expected: tuple[str, ...]
    watched: tuple[str, ...]
    digest: str
    network: bool
    handoff_bytes: int | None = None
    checks: tuple[Check, ...] = ()


def job(
    resolved: Resolved,
    settings: ProviderSettings,
    manifest: Manifest,
    planned: PlannedAttempt,
    checks: Mapping[str, tuple[Check, ...]] | None = None,
) -> Job:
    """Return what an attempt's command is started with, ``checks`` of it by task."""
    provider = resolved.provider
    expected = _arm(settings, planned.cell.arm).evidence
    watched = {name for arm in settings.arms.values() for name in arm.evidence}
    return Job(
        argv=(resolved.executable, *provider.args, *(expected if resolved.stand_in else ())),
        allowlist=provider.envAllowlist,
        request=encoded(request(settings, manifest, planned)),
        output_bytes=min(provider.maxOutputBytes, settings.max_output_bytes),
        rates=provider.pricing.rates() if provider.pricing else None,
        expected=expected,
        watched=tuple(sorted(watched)),
        digest=resolved.digest,
        network=provider.providerNetwork,
        handoff_bytes=_handoff_bytes(settings, planned),
        checks=(checks or {}).get(planned.cell.task, ()),
    )


def request(
    settings: ProviderSettings, manifest: Manifest, planned: PlannedAttempt
) -> dict[str, Any]:
    """Return the request: protocol and response always, of the rest what the study names."""
    cell = planned.cell
    task = next(each for each in manifest.tasks if each.id == cell.task)
    pair = asked.asked(manifest, cell.task, cell.repetition)
    told, arm = settings.tasks.get(task.id, ProviderTask()), _arm(settings, cell.arm)
    fields: dict[str, tuple[str, Any]] = {
        "task": (
            "task",
            {
                "taskId": task.id,
                "repositoryId": task.repository,
                "category": task.category,
                "scenarioId": arm.scenario or cell.arm,
                "modelId": asked.model(manifest, cell),
                "replicate": pair.replicate,
                "variantId": pair.variant,
                "difficulty": told.difficulty,
            },
        ),
        "objective": ("objective", manifest.worded(pair.question)),
        "initial_context": (
            "initialContext",
            "\n".join(filter(None, (told.initial_context, _handoff(settings, planned)))),
        ),
        "expected_outcome": ("expectedOutcome", told.expected_outcome),
        "evidence_requirements": ("evidenceRequirements", list(told.evidence_requirements)),
        "acceptance_checks": ("acceptanceChecks", list(told.acceptance_checks)),
        "allowed_tools": ("allowedTools", list(arm.allowed_tools)),
        "forbidden_actions": ("forbiddenActions", list(arm.forbidden_actions)),
    }
    named = dict(fields[name] for name in settings.request)
    return {"protocol": PROTOCOL, "response": RESPONSE, **named}


def _handoff(settings: ProviderSettings, planned: PlannedAttempt) -> str:
    """Return the hand-off of an attempt in one line; nothing where its arm has none."""
    told = settings.tasks.get(planned.cell.task, ProviderTask())
    if told.handoff is None or not _arm(settings, planned.cell.arm).handoff:
        return ""
    of = told.handoff
    named = {
        "target": of.target,
        "startHere": of.start_here,
        "readBeforeEditing": list(of.read_before_editing),
        "editRoots": list(of.edit_roots),
        "checks": list(of.checks),
    }
    return encoded(named).decode("utf-8")


def _handoff_bytes(settings: ProviderSettings, planned: PlannedAttempt) -> int | None:
    if not any(arm.handoff for arm in settings.arms.values()):
        return None
    return len(_handoff(settings, planned).encode("utf-8"))


def encoded(value: dict[str, Any]) -> bytes:
    """Return the bytes that are written to standard input."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8")


def input_bound(provider: Provider, settings: ProviderSettings) -> int:
    """Return how many bytes a request may have: the lower bound wins."""
    return min(provider.maxInputBytes, settings.max_input_bytes)


def _arm(settings: ProviderSettings, arm: str) -> ProviderArm:
    return settings.arms.get(arm, ProviderArm())
