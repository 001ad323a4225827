"""The rules over arms that differ in model or transport, over several models and several wordings.

Each function is one rule:
    an arm has a model or a transport of its own only where the study compares that -> _undeclared
    no variable of one arm alone chooses its model                                  -> _hidden
    what the study compares, every arm names, and not all the same                  -> _compared
    several models are several, and answer in every arm                             -> _models
    a phase asks models that are there                                              -> _phase_models
    rates of an arm's or a model's own are those that its transport reads           -> _rates
    a task has one wording, or at least two that differ                             -> _variants
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent_trials.study.findings import Finding, KeyPath, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_trials.study.settings import LaunchSettings, Manifest, OwnRates

_CHOOSES_MODEL = re.compile(
    r"ANTHROPIC_(\w*_)?(MODEL|BASE_URL)|CLAUDE_CODE_(SUBAGENT_MODEL|USE_\w+)|MAX_THINKING_TOKENS"
)
"""Variables of Claude Code itself; a product under study may have a model of its own."""
COMPARABLE = ("model", "transport")
RATES = {
    "http": ("input_usd_per_million", "output_usd_per_million"),
    "cli": ("prices",),
    "provider": (),
}
"""Which rates a transport reads; those of provider commands stand in the providers file."""


def comparison_findings(manifest: Manifest) -> Iterator[Finding]:
    """Yield every place of arms, models and wordings that breaks a rule."""
    yield from _undeclared(manifest)
    yield from _hidden(manifest)
    yield from _compared(manifest)
    yield from _models(manifest)
    yield from _phase_models(manifest)
    yield from _rates(manifest)
    yield from _variants(manifest)


def _undeclared(manifest: Manifest) -> Iterator[Finding]:
    compares = manifest.agent.compares
    for index, arm in enumerate(manifest.arms):
        for key in COMPARABLE:
            if getattr(arm, key) is not None and key not in compares:
                what = f"the arm has a {key} of its own, so {key} and arm are confounded"
                remedy = f'remove it; or write compares = ["{key}"] under [agent], if the {key} is'
                yield Finding(("arms", index, key), what, f"{remedy} what the study compares")
        if not compares and _own(arm):
            what = "the arm has rates of its own, and the same model as the others"
            yield Finding(("arms", index, _own(arm)[0]), what, "write them for all arms alike")


def _hidden(manifest: Manifest) -> Iterator[Finding]:
    for index, arm in enumerate(manifest.arms):
        launches: list[tuple[KeyPath, LaunchSettings]] = [(("arms", index), arm)]
        if arm.follow_up is not None:
            launches.append((("arms", index, "follow_up"), arm.follow_up))
        for path, launch in launches:
            for name in launch.environment:
                if _CHOOSES_MODEL.fullmatch(name):
                    what = (
                        "it may choose a model for this arm alone, so model and arm are confounded"
                    )
                    yield Finding((*path, "environment", name), what, "set it in every arm")


def _compared(manifest: Manifest) -> Iterator[Finding]:
    for key in dict.fromkeys(manifest.agent.compares):
        named = [getattr(arm, key) for arm in manifest.arms]
        for index, value in enumerate(named):
            if value is None:
                what = f"the study compares the {key}, and this arm names none"
                yield Finding(("arms", index), what, f"write {key} for every arm")
            elif key == "transport" and value not in manifest.transports.described:
                what = f"the study has no table [transports.{value}]"
                yield Finding(("arms", index, key), what, "add that table, or name another")
        if None not in named and len(set(named)) == 1:
            what = f"the study compares the {key}, and every arm has {named[0]}"
            yield Finding(("agent", "compares"), what, "let the arms differ in it, or remove it")
        if None not in named and getattr(manifest.agent, key) not in named:
            what = f"no arm has the {key} {getattr(manifest.agent, key)!r}"
            yield Finding(("agent", key), what, f"write that of an arm, such as {named[0]!r}")


def _models(manifest: Manifest) -> Iterator[Finding]:
    slots = manifest.models
    if not slots:
        return
    if len(slots) == 1:
        yield Finding(("models",), "one model is what [agent] names", "add another, or remove it")
    for key in ("id", "model"):
        values = [getattr(slot, key) for slot in slots]
        for index, value in enumerate(values):
            if value in values[:index]:
                yield Finding(("models", index, key), f"{value!r} stands twice", "name each once")
    if manifest.agent.model != slots[0].model:
        what = f"{manifest.agent.model!r} is not the first of [[models]]"
        yield Finding(("agent", "model"), what, f"write {slots[0].model!r}")
    if "model" in manifest.agent.compares:
        what = "an arm has one model, and [[models]] has several for every arm"
        yield Finding(("agent", "compares"), what, 'remove "model" from it, or remove [[models]]')


def _phase_models(manifest: Manifest) -> Iterator[Finding]:
    known = [each.id for each in manifest.models]
    for name, phase in manifest.phases.items():
        path: KeyPath = ("phases", name, "models")
        if phase.models is None:
            continue
        if not phase.models:
            yield Finding(path, "the phase asks no model", "name one, or leave models out for all")
        for index, model in enumerate(phase.models):
            if model not in known:
                what = f"{model!r} is no model of the study"
                remedy = nearest(model, known, "the models are")
                yield Finding((*path, index), what, remedy)
            elif model in phase.models[:index]:
                yield Finding((*path, index), f"{model!r} stands twice", "name each once")


def _rates(manifest: Manifest) -> Iterator[Finding]:
    transports = list(manifest.transports.described)
    for index, arm in enumerate(manifest.arms):
        used = [arm.transport] if arm.transport else transports
        yield from _unread(("arms", index), arm, used)
    for index, model in enumerate(manifest.models):
        yield from _unread(("models", index), model, transports)


def _unread(path: KeyPath, own: OwnRates, transports: Iterable[str]) -> Iterator[Finding]:
    named = list(transports)
    known = {key for transport in named for key in RATES[transport]}
    for key in _own(own):
        if key not in known:
            what = f"no attempt over {' or '.join(named)} reads it"
            yield Finding((*path, key), what, "remove it")


def _own(rates: OwnRates) -> list[str]:
    keys = ("input_usd_per_million", "output_usd_per_million", "prices")
    return [key for key in keys if getattr(rates, key) is not None]


def _variants(manifest: Manifest) -> Iterator[Finding]:
    for index, task in enumerate(manifest.tasks):
        path: KeyPath = ("tasks", index, "variants")
        texts = list(task.variants.values())
        if len(texts) == 1:
            yield Finding(path, "one variant is no choice", "add another, or ask the question")
        for place, (name, text) in enumerate(task.variants.items()):
            if text in texts[:place]:
                yield Finding((*path, name), "it is the same as another", "word it differently")
