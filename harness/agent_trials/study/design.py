"""What a study's design can and cannot tell, read from its schedule alone.

Each function is one rule and yields a doubt per phase or endpoint; a doubt stops nothing:
    every task runs in every arm, every pair is whole            -> whole_pairs
    each arm comes first in as many pairs as any other           -> balanced
    the order of the arms goes with no category of tasks         -> unconfounded
    arm and model go with nothing else                           -> told_apart
    what is registered can be measured on some transport         -> measurable
    correctness has somebody who grades it                       -> graded
    p-values can become small with so many tasks                 -> significance
    an adjudicator sees no duration or size, which tell an arm,
    and no word of who answers on its own success                -> blinded
    a provider is not told the answer, and shows which arm it was -> told
    checks are run by the harness, and import nothing of what they check -> checked
    arms that compare model or transport differ in that alone    -> compared
    no file comes into a prompt without a tool call              -> inserted
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from agent_trials.errors import Problem
from agent_trials.study import asked, estimable, schedule
from agent_trials.study.endpoints import UNCACHED
from agent_trials.study.phases import phase_arms, phase_tasks
from agent_trials.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_trials.records import PlannedAttempt
    from agent_trials.study.settings import Manifest

SIGNIFICANT = Fraction(1, 20)
_MENTION = re.compile(r"(?<!\S)@[\w./~-]*\w")
TELLING = frozenset({"duration_ms", "response_bytes"})
"""Fields of a structured packet in which a treatment usually shows."""


@dataclass(frozen=True)
class Design:
    """A phase in numbers; ``whole`` are the pairs that have every arm of the phase.

    ``smallest_p`` is that of a two-sided sign-flip test over its tasks.
    """

    phase: str
    scored: bool
    tasks: int
    arms: int
    pairs: int
    whole: int
    attempts: int
    smallest_p: Fraction


def designs(manifest: Manifest) -> tuple[Design, ...]:
    """Return the phases of a study in numbers, in the manifest's order."""
    return tuple(_design(manifest, phase) for phase in manifest.phases)


def doubts(manifest: Manifest) -> list[Problem]:
    """Return everything about the design that a reader of its results would object to."""
    found = [*_measurable(manifest), *_scored(manifest), *_blinded(manifest)]
    found += _graded(manifest)
    found += [*_told(manifest), *_checked(manifest)]
    found += _compared(manifest)
    found += _inserted(manifest)
    for phase in manifest.phases:
        place = f"phases.{phase}"
        attempts = schedule.plan(manifest, phase)
        arms = [arm.id for arm in phase_arms(manifest, phase)]
        found += whole_pairs(place, attempts, arms)
        found += balanced(place, attempts, arms)
        found += _unconfounded(place, attempts, manifest)
        found += _told_apart(place, attempts, manifest)
        found += _significance(place, manifest, phase)
    return found


def smallest_p(tasks: int) -> Fraction:
    """Return the smallest p of a two-sided sign-flip test over so many tasks: 2 / 2^tasks."""
    return min(Fraction(1), Fraction(2, 2**tasks))


def whole_pairs(
    place: str, attempts: Sequence[PlannedAttempt], arms: Sequence[str]
) -> Iterator[Problem]:
    """Yield the tasks that no pair compares in all arms: what they show goes with the arm.

    Where every task has one arm alone it is said once: nothing at all is paired then.
    """
    if all(len(pair) == 1 for pair in schedule.pairs(attempts)) and len(arms) > 1:
        what = (
            f"there are no pairs: each of the {len(attempts)} attempts stands alone, so no endpoint"
            " is paired"
        )
        yield Problem(place, what, "score another phase, whose pairs have every arm")
        return
    for task in dict.fromkeys(planned.cell.task for planned in attempts):
        ran = {planned.cell.arm for planned in attempts if planned.cell.task == task}
        if len(ran) == 1:
            what = (
                f"the task {task} runs in the arm {min(ran)} alone, so task and arm are confounded"
            )
            yield Problem(place, what, "run it in every arm")
        elif ran != set(arms):
            what = f"the task {task} does not run in {', '.join(sorted(set(arms) - ran))}"
            yield Problem(place, what, "run it in every arm")
    for pair in schedule.pairs(attempts):
        if len(pair) < len(arms):
            what = (
                f"pair {pair[0].pair} has {len(pair)} of {len(arms)} arms, so no endpoint is paired"
            )
            yield Problem(place, what, "plan every arm of a pair")


def balanced(
    place: str, attempts: Sequence[PlannedAttempt], arms: Sequence[str]
) -> Iterator[Problem]:
    """Yield a doubt if one arm comes first in more pairs than another, but for one pair."""
    first = Counter(dict.fromkeys(arms, 0))
    first.update(pair[0].cell.arm for pair in schedule.pairs(attempts))
    if max(first.values()) - min(first.values()) > 1:
        counts = ", ".join(f"{arm} in {number}" for arm, number in first.items())
        what = f"the arms do not come first equally often ({counts} pairs), so time favours one"
        remedy = 'use arm_order "rotate" or "random"' if len(arms) > 2 else 'use "alternate"'  # noqa: PLR2004 - a pair
        yield Problem(place, what, remedy)


def _unconfounded(
    place: str, attempts: Sequence[PlannedAttempt], manifest: Manifest
) -> Iterator[Problem]:
    category = {task.id: task.category for task in manifest.tasks}
    first: dict[str, list[str]] = {}
    for pair in schedule.pairs(attempts):
        first.setdefault(category[pair[0].cell.task], []).append(pair[0].cell.arm)
    if len({arm for arms in first.values() for arm in arms}) == 1:
        return  # what holds for every category alike is what ``balanced`` says
    for name, arms in first.items():
        if len(arms) > 1 and len(set(arms)) == 1:
            what = f"every pair of the category {name} begins with {arms[0]}"
            remedy = "order the tasks otherwise, or repeat them an even number of times"
            yield Problem(place, what, remedy)


def _told_apart(
    place: str, attempts: Sequence[PlannedAttempt], manifest: Manifest
) -> Iterator[Problem]:
    """Yield what goes together; whole pairs tell arms from everything, so theirs are not looked at.

    Where attempts stand alone the arm goes with the task by necessity, as ``whole_pairs`` says.
    """
    for crossing in estimable.crossings(manifest, attempts):
        doubt = estimable.confounded(place, crossing)
        if doubt is not None and crossing.other != "task":
            yield doubt


def _measurable(manifest: Manifest) -> Iterator[Problem]:
    if set(manifest.transports.described) != {"http"}:
        return
    endpoints = manifest.endpoints
    for key, names in (("primary", endpoints.primary), ("secondary", endpoints.secondary)):
        for name in names:
            if name in UNCACHED:
                what = f"{name} is registered, and over http nothing is cached: no pair can differ"
                yield Problem(f"endpoints.{key}", what, "leave it out, or add [transports.cli]")


def _scored(manifest: Manifest) -> Iterator[Problem]:
    if not any(phase.scored for phase in manifest.phases.values()):
        yield Problem("phases", "no phase is scored, so no verdict follows", "score one of them")


def _graded(manifest: Manifest) -> Iterator[Problem]:
    """Yield a doubt where correctness is registered and nothing could ever measure it.

    Who grades is read from the ledger, so it cannot be made good after the attempts.
    """
    registered = (*manifest.endpoints.primary, *manifest.endpoints.secondary)
    elsewhere = manifest.tree is not None or manifest.task_source is not None
    if "correctness" in registered and manifest.adjudicator is None and not elsewhere:
        what = "correctness is registered and nobody grades it: attempts made so stay ungraded"
        yield Problem("endpoints", what, "add [adjudicator] before the first paid attempt")


def _blinded(manifest: Manifest) -> Iterator[Problem]:
    adjudicator = manifest.adjudicator
    for name in adjudicator.neutral if adjudicator else ():
        if name in TELLING:
            what = f"{name} is declared neutral, and arms often differ in it: grading is less blind"
            yield Problem("adjudicator.neutral", what, "leave it out, or say why in the protocol")
    if adjudicator and "outcomes" in adjudicator.neutral:
        what = "outcomes are declared neutral: who answered tells the adjudicator how well it did"
        yield Problem("adjudicator.neutral", what, "leave it out, or say why in the protocol")
    if adjudicator and adjudicator.neutral_measurements:
        what = "an adjudicator sees measurements that a provider reports of itself"
        remedy = "name none that the treatment alone has, or leave them out"
        yield Problem("adjudicator.neutral_measurements", what, remedy)
    if adjudicator and adjudicator.command and not adjudicator.is_structured:
        what = "a command is given the text of the answers, and may send its input elsewhere"
        yield Problem("adjudicator.packet", what, 'leave it out, or write "structured"')
    answering = {model for phase in manifest.phases for model in asked.models(manifest, phase)}
    if adjudicator and adjudicator.model in answering:
        what = "the model that answers also grades, and may share its own mistakes"
        yield Problem("adjudicator.model", what, "register another model")


def _told(manifest: Manifest) -> Iterator[Problem]:
    provider = manifest.transports.provider
    if provider is None:
        return
    place = "transports.provider"
    if "expected_outcome" in provider.request:
        what = "who answers is told the expected outcome, so a success may be an echo of it"
        yield Problem(f"{place}.request", what, "leave expected_outcome out")
    if not any(arm.evidence or arm.handoff for arm in provider.arms.values()):
        what = "nothing would show that an arm's tool ran: a scenario's label is no evidence"
        if manifest.agent.compares:
            what = "which agent or model answered is nothing but the command's own word"
        yield Problem(f"{place}.arms", what, "name the programs of the arm under evidence")
    elif provider.evidence_rule == "record":
        what = "an attempt whose arm's tool was not seen to run counts all the same"
        yield Problem(f"{place}.evidence_rule", what, 'write "invalid-setup"')
    for arm in manifest.arms:
        if arm.mcp_servers:
            what = f"the servers of the arm {arm.id} are not given to provider commands"
            yield Problem(f"arms.{arm.id}", what, "let the command bring what the arm has")


def _checked(manifest: Manifest) -> Iterator[Problem]:
    provider = manifest.transports.provider
    if provider is None:
        return
    place = "transports.provider.tasks"
    reports = [n for n, t in provider.tasks.items() if t.acceptance_checks and not t.checks]
    if reports and "acceptance_checks" in provider.request:
        what = f"of the checks of {', '.join(reports)} only the provider's own word is known"
        yield Problem(place, what, "write them as commands under checks")
    for name, task in provider.tasks.items():
        for check in task.checks:
            if check.command[0] == "{python}" and "-I" not in check.command:
                what = "its interpreter imports what the command left in the folder"
                yield Problem(f"{place}.{name}.checks.{check.id}", what, 'add "-I"')


def _compared(manifest: Manifest) -> Iterator[Problem]:
    compares = manifest.agent.compares
    if len(compares) > 1:
        what = f"arms differ in {' and '.join(compares)} at once, and no difference tells which"
        yield Problem("agent.compares", what, "compare one of them")
    if compares and len({tuple(sorted(arm.mcp_servers)) for arm in manifest.arms}) > 1:
        what = f"arms differ in {compares[0]} and in their servers: the two are confounded"
        yield Problem("arms", what, "give every arm the same servers, or study them apart")
    provider = manifest.transports.provider
    if compares and provider and len({arm.evidence for arm in provider.arms.values()}) > 1:
        what = f"arms differ in {compares[0]} and in the programs they are to run: confounded"
        yield Problem("transports.provider.arms", what, "expect the same programs in every arm")
    priced = [(each.prices, each.input_usd_per_million) for each in manifest.models]
    if "provider" not in manifest.transports.described and len({*map(repr, priced)}) == 1:
        what = "several models stand at the same prices"
        yield Problem("models", what, "write the rates of each, or say why in the protocol")


def _inserted(manifest: Manifest) -> Iterator[Problem]:
    if manifest.transports.cli is None:
        return
    for task in manifest.tasks:
        for keys, text in asked.wordings(task):
            for word in sorted(set(_MENTION.findall(manifest.worded(text)))):
                what = f"Claude Code puts the file that {word} names into the prompt: no tool call"
                place = ".".join(map(str, ("tasks", task.id, *keys)))
                yield Problem(place, what, "name the file without the @")


def _significance(place: str, manifest: Manifest, phase: str) -> Iterator[Problem]:
    tasks = len(phase_tasks(manifest, phase))
    if not manifest.phases[phase].scored or not manifest.endpoints.p_values:
        return
    if smallest_p(tasks) > SIGNIFICANT:
        what = (
            f"with {counted(tasks, 'task')} no p-value can be below"
            f" {float(smallest_p(tasks)):.4g}, however clear the difference"
        )
        yield Problem(place, what, "add tasks, or set endpoints.p_values = false")


def _design(manifest: Manifest, phase: str) -> Design:
    attempts = schedule.plan(manifest, phase)
    tasks = len(phase_tasks(manifest, phase))
    return Design(
        phase,
        manifest.phases[phase].scored,
        tasks,
        len(phase_arms(manifest, phase)),
        len(schedule.pairs(attempts)),
        estimable.whole(manifest, phase, attempts),
        len(attempts),
        smallest_p(tasks),
    )
