"""The provider commands of a run: found, fitting and named before any attempt.

Rules:
    --providers belongs to the provider transport, and a paid run over it needs one
    the file fits, is the one that the study fixed, and maps the study's model in every arm
    each command is an executable
    no request is larger than its command or the study allows
A rehearsal starts none of them: a stand-in of ours answers in every arm.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from agent_trials.agents import provider_request
from agent_trials.agents.provider_request import Resolved
from agent_trials.errors import Problem, ProvidersError
from agent_trials.study import providers, schedule
from agent_trials.study.providers import Provider
from agent_trials.study.settings import OPERATOR, ProviderSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from agent_trials.agents.provider_request import Job
    from agent_trials.records import PlannedAttempt
    from agent_trials.session.admission import RunPlan
    from agent_trials.session.options import Options
    from agent_trials.session.restated import Block
    from agent_trials.study.manifest import Study
    from agent_trials.study.providers import Configuration

OPTION = "--providers"
STAND_IN = ("-I", "-m", "agent_trials.rehearsal.provider")


def find(
    options: Options, study: Study, phase: str, settings: Block | None
) -> tuple[tuple[Resolved, ...], list[Problem]]:
    """Return the command of each arm, and what is wrong."""
    path = options.providers
    if not isinstance(settings, ProviderSettings):
        what = "it belongs to --transport provider, which this run does not use"
        wrong = [Problem(f"{OPTION} {path}", what, "leave it out")] if path and settings else []
        return (), wrong
    if path is None:
        if not options.approve_budget:
            return _stand_ins(study, None), []
        what = "the provider transport needs its commands, and none are given"
        return (), [Problem(OPTION, what, "give --providers FILE (see docs/providers.md)")]
    try:
        configuration = providers.load(path)
    except ProvidersError as error:
        return (), list(error.problems)
    found, problems = _resolve(configuration, path, study, options)
    problems += _fixed(configuration, path, settings)
    problems += _too_large(found, study, phase, settings)
    return (found if options.approve_budget else _stand_ins(study, configuration)), problems


def job(plan: RunPlan, planned: PlannedAttempt) -> Job | None:
    """Return what an attempt's command is started with; None over another transport."""
    if not isinstance(plan.settings, ProviderSettings):
        return None
    resolved = next(each for each in plan.providers if each.arm == planned.cell.arm)
    return provider_request.job(resolved, plan.settings, plan.study.manifest, planned)


def opening_fields(resolved: Iterable[Resolved]) -> dict[str, Any]:
    """Return what run-opened says of the commands: their configuration's digest, no path."""
    found = tuple(resolved)
    if not found:
        return {}
    return {
        "providersDigest": found[0].digest,
        "providerNetwork": {each.arm: each.provider.providerNetwork for each in found},
    }


def _resolve(
    configuration: Configuration, path: Path, study: Study, options: Options
) -> tuple[tuple[Resolved, ...], list[Problem]]:
    model = study.manifest.agent.model
    found, problems = [], []
    for arm in study.manifest.arms:
        provider = configuration.of(model, arm.id)
        if provider is None:
            what = f"no provider answers for {model} in {arm.id}"
            problems.append(Problem(str(path), what, "add one, with the arm among its scenarioIds"))
            continue
        search = options.environ.get("PATH")
        program = providers.locate(provider.command, base=path.absolute().parent, search=search)
        if program is None:
            what = f"the command {provider.command!r} for {arm.id} is no executable"
            remedy = "name a program on PATH, or a path (a relative one is taken from the file)"
            problems.append(Problem(str(path), what, remedy))
            continue
        found.append(Resolved(arm.id, provider, str(program), configuration.digest))
    return tuple(found), problems


def _fixed(
    configuration: Configuration, path: Path, settings: ProviderSettings
) -> Iterator[Problem]:
    if settings.providers not in {OPERATOR, configuration.digest}:
        what = f"its digest is {configuration.digest}, and the study fixes {settings.providers}"
        yield Problem(f"{OPTION} {path}", what, "give that file, or amend the study")


def _too_large(
    found: Iterable[Resolved], study: Study, phase: str, settings: ProviderSettings
) -> Iterator[Problem]:
    by_arm = {each.arm: each for each in found}
    for planned in schedule.plan(study.manifest, phase):
        resolved = by_arm.get(planned.cell.arm)
        if resolved is None or planned.cell.repetition > 1:
            continue
        bound = provider_request.input_bound(resolved.provider, settings)
        made = provider_request.job(resolved, settings, study.manifest, planned)
        if len(made.request) > bound:
            what = f"the request has {len(made.request):,} bytes, and {bound:,} are allowed"
            yield Problem(planned.cell.item, what, "shorten it, or raise the lower bound")


def _stand_ins(study: Study, configuration: Configuration | None) -> tuple[Resolved, ...]:
    """Return the stand-in for each arm, under the bounds of the real command where one is named."""
    digest = configuration.digest if configuration else "stand-in"
    model = study.manifest.agent.model
    return tuple(
        Resolved(
            arm.id,
            _stand_in(configuration.of(model, arm.id) if configuration else None, model, arm.id),
            sys.executable,
            digest,
            stand_in=True,
        )
        for arm in study.manifest.arms
    )


def _stand_in(real: Provider | None, model: str, arm: str) -> Provider:
    return Provider(
        modelId=model,
        scenarioIds=(arm,),
        command=sys.executable,
        args=STAND_IN,
        providerNetwork=False,
        maxInputBytes=real.maxInputBytes if real else 8_000_000,
        maxOutputBytes=real.maxOutputBytes if real else 256_000,
        pricing=real.pricing if real else None,
    )
