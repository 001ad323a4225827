"""The provider commands of a run: found, fitting and named before any attempt.

Rules:
    --providers belongs to the provider transport, and a paid run over it needs one
    the file fits, is the one that the study fixed, and maps every model in every arm
    each command is an executable
    no request is larger than its command or the study allows
A rehearsal starts none of them: a stand-in of ours answers in every arm.
"""

from __future__ import annotations

import difflib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.agents import provider_request
from agent_trials.agents.provider_checks import Check
from agent_trials.agents.provider_request import Resolved
from agent_trials.errors import Problem, ProvidersError
from agent_trials.study import asked, providers, schedule
from agent_trials.study.providers import Provider
from agent_trials.study.settings import OPERATOR, ProviderSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agent_trials.agents.provider_request import Job
    from agent_trials.records import PlannedAttempt
    from agent_trials.session.admission import RunPlan
    from agent_trials.session.options import Options
    from agent_trials.session.ways import Ways
    from agent_trials.study.manifest import Study
    from agent_trials.study.providers import Configuration

OPTION = "--providers"
STAND_IN = ("-I", "-m", "agent_trials.rehearsal.provider")


def find(
    options: Options, study: Study, phase: str, ways: Ways | None
) -> tuple[tuple[Resolved, ...], list[Problem]]:
    """Return the command of each arm and model, and what is wrong."""
    path = options.providers
    wanted = _wanted(ways)
    settings = next((each.settings for each in wanted), None)
    if settings is None:
        what = "it belongs to --transport provider, which this run does not use"
        wrong = [Problem(f"{OPTION} {path}", what, "leave it out")] if path and ways else []
        return (), wrong
    if path is None:
        if not options.approve_budget:
            return _stand_ins(wanted, None), []
        what = "the provider transport needs its commands, and none are given"
        return (), [Problem(OPTION, what, "give --providers FILE (see docs/providers.md)")]
    try:
        configuration = providers.load(path)
    except ProvidersError as error:
        return (), list(error.problems)
    found, problems = _resolve(configuration, path, wanted, options)
    problems += _check_problems(options, study, settings)
    problems += _fixed(configuration, path, settings)
    problems += _too_large(found, study, phase, settings)
    return (found if options.approve_budget else _stand_ins(wanted, configuration)), problems


def job(plan: RunPlan, planned: PlannedAttempt) -> Job | None:
    """Return what an attempt's command is started with; None over another transport."""
    way = plan.way(planned.cell)
    if not isinstance(way.settings, ProviderSettings):
        return None
    resolved = _of(plan.providers, planned.cell.arm, way.model)
    if resolved is None:
        raise RuntimeError(f"no command was resolved for {planned.cell.item}")
    checks = {planned.cell.task: _checks(plan.options, plan.study, way.settings, planned.cell.task)}
    return provider_request.job(resolved, way.settings, plan.study.manifest, planned, checks)


def _checks(
    options: Options, study: Study, settings: ProviderSettings, task: str
) -> tuple[Check, ...]:
    """Return the checks of a task as they are started; one that is not there as it is written."""
    table = settings.tasks.get(task)
    filled = {"{python}": sys.executable, "{study}": str(study.folder.resolve())}
    found = []
    for check in table.checks if table else ():
        words = [_filled(word, filled) for word in check.command]
        first = providers.locate(words[0], base=study.folder, search=options.environ.get("PATH"))
        found.append(Check(check.id, (str(first or words[0]), *words[1:]), check.timeout_seconds))
    return tuple(found)


def _filled(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(name, value)
    return word


def _check_problems(
    options: Options, study: Study, settings: ProviderSettings
) -> Iterator[Problem]:
    """Yield the checks whose program is not there."""
    for task in settings.tasks:
        for check in _checks(options, study, settings, task):
            if not Path(check.argv[0]).is_absolute():
                what = f"the check's program {check.argv[0]!r} is no executable"
                remedy = "name a program on PATH, or a path below {study}"
                yield Problem(f"transports.provider.tasks.{task}.checks.{check.id}", what, remedy)


def opening_fields(resolved: Iterable[Resolved]) -> dict[str, Any]:
    """Return what run-opened says of the commands: their configuration's digest, no path."""
    found = tuple(resolved)
    if not found:
        return {}
    return {
        "providersDigest": found[0].digest,
        "providerNetwork": {
            arm: any(each.provider.providerNetwork for each in found if each.arm == arm)
            for arm in dict.fromkeys(each.arm for each in found)
        },
        "providerPrices": [_rates(each) for each in found if each.provider.pricing],
    }


def _rates(resolved: Resolved) -> dict[str, str]:
    """Return the configured rates of one arm's command, USD per million tokens."""
    pricing = resolved.provider.pricing
    if pricing is None:
        raise RuntimeError("a command without rates has none to be stated")
    names = ("inputPerMillionUsd", "cachedInputPerMillionUsd", "outputPerMillionUsd")
    amounts = zip(names, pricing.rates(), strict=True)
    return {
        "arm": resolved.arm,
        "model": resolved.provider.modelId,
        **{name: money.text(amount) for name, amount in amounts},
    }


@dataclass(frozen=True)
class _Wanted:
    """For which arm, model and scenario a command is wanted."""

    arm: str
    model: str
    scenario: str
    settings: ProviderSettings


def _wanted(ways: Ways | None) -> list[_Wanted]:
    found = []
    for (arm, _), way in ways.by_arm.items() if ways else ():
        if isinstance(way.settings, ProviderSettings):
            table = way.settings.arms.get(arm)
            scenario = table.scenario if table and table.scenario else arm
            found.append(_Wanted(arm, way.model, scenario, way.settings))
    return found


def _of(resolved: Iterable[Resolved], arm: str, model: str) -> Resolved | None:
    return next((r for r in resolved if (r.arm, r.provider.modelId) == (arm, model)), None)


def _resolve(
    configuration: Configuration, path: Path, wanted: Iterable[_Wanted], options: Options
) -> tuple[tuple[Resolved, ...], list[Problem]]:
    found, problems = [], []
    for each in wanted:
        provider = configuration.of(each.model, each.scenario)
        if provider is None:
            near = _near(configuration, each)
            what = f"no provider answers for {each.model} in {each.scenario}{near}"
            remedy = "add one, with the arm (or its scenario) among its scenarioIds"
            problems.append(Problem(str(path), what, remedy))
            continue
        search = options.environ.get("PATH")
        program = providers.locate(provider.command, base=path.absolute().parent, search=search)
        if program is None:
            what = f"the command {provider.command!r} for {each.scenario} is no executable"
            remedy = "name a program on PATH, or a path (a relative one is taken from the file)"
            problems.append(Problem(str(path), what, remedy))
            continue
        found.append(Resolved(each.arm, provider, str(program), configuration.digest))
    return tuple(found), problems


def _near(configuration: Configuration, wanted: _Wanted) -> str:
    """Return what the file has that is written nearly so, in brackets."""
    mapped = [
        f"{each.modelId} in {arm}" for each in configuration.providers for arm in each.scenarioIds
    ]
    near = difflib.get_close_matches(f"{wanted.model} in {wanted.scenario}", mapped, n=1)
    return f" (the file has {near[0]})" if near else ""


def _fixed(
    configuration: Configuration, path: Path, settings: ProviderSettings
) -> Iterator[Problem]:
    if settings.providers not in {OPERATOR, configuration.digest}:
        what = f"its digest is {configuration.digest}, and the study fixes {settings.providers}"
        yield Problem(f"{OPTION} {path}", what, "give that file, or amend the study")


def _too_large(
    found: Iterable[Resolved], study: Study, phase: str, settings: ProviderSettings
) -> Iterator[Problem]:
    """Yield the requests above a bound, once where repetitions differ in nothing that is told."""
    resolved, told = tuple(found), set()
    for planned in schedule.plan(study.manifest, phase):
        cell = planned.cell
        command = _of(resolved, cell.arm, asked.model(study.manifest, cell))
        variant = asked.asked(study.manifest, cell.task, cell.repetition).variant
        same = (cell.task, cell.arm, command.provider.modelId if command else None, variant)
        if command is None or same in told:
            continue
        told.add(same)
        bound = provider_request.input_bound(command.provider, settings)
        made = provider_request.job(command, settings, study.manifest, planned)
        if len(made.request) > bound:
            what = f"the request has {len(made.request):,} bytes, and {bound:,} are allowed"
            yield Problem(cell.item, what, "shorten it, or raise the lower bound")


def _stand_ins(
    wanted: Iterable[_Wanted], configuration: Configuration | None
) -> tuple[Resolved, ...]:
    """Return the stand-ins, under the bounds of the real command where one is named."""
    digest = configuration.digest if configuration else "stand-in"
    return tuple(
        Resolved(
            each.arm,
            _stand_in(configuration.of(each.model, each.scenario) if configuration else None, each),
            sys.executable,
            digest,
            stand_in=True,
        )
        for each in wanted
    )


def _stand_in(real: Provider | None, wanted: _Wanted) -> Provider:
    return Provider(
        modelId=wanted.model,
        scenarioIds=(wanted.scenario,),
        command=sys.executable,
        args=STAND_IN,
        providerNetwork=False,
        maxInputBytes=real.maxInputBytes if real else 8_000_000,
        maxOutputBytes=real.maxOutputBytes if real else 256_000,
        pricing=real.pricing if real else None,
    )
