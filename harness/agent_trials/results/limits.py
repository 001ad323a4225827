"""What a report must say against itself: isolation, limits of the evidence, threats.

What is said of the Claude Code CLI was observed with the versions named here and the arguments of
the study; of any other version nothing is claimed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_trials.results import ways
from agent_trials.study import estimable, phases

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agent_trials.results.record import Record

OBSERVED_CLI = frozenset({"2.1.296", "2.1.332"})

_EVERYWHERE = (
    "Each attempt had a fresh read-only export of the pinned files, without version control.",
    "The agent's environment was an allowlist; credentials of other programs were not passed on.",
)
_CHECKOUT = (
    "Each attempt had a repository of its own with the pin's tree as its only commit: no remote, no"
    " reflog, no object of a later commit. HOME and TMPDIR were fresh, and removed with it."
)
_CHECKOUT_NOT = (
    "A command of the agent's ran as the operator's user: it could read the cache of repositories,"
    " the sealed commits of other tasks and what else that user can, and use the network."
)
_SHIELDED = "The CLI kept the API key from the commands and hooks that it started."
_KEY_REACHES = "What the agent started, such as a command of its shell, could read its API key."
_RESTRICTED = (
    "Memory files (CLAUDE.md, AGENTS.md, automatic memory) were not loaded.",
    "Settings files of the user and of the project were not obeyed, and their hooks did not run.",
    "File tools refused paths outside the working directory.",
)
_STRICT = ("Only the MCP servers of the study's own configuration were started.",)
_HTTP = (
    "The harness offered its own three file tools and the arm's MCP tools, and nothing else.",
    "No configuration of the operator's was read; the only credential was the API key.",
)
_PROVIDER = (
    "A provider command got PATH, HOME, a fresh TMPDIR and the variables that its file names.",
)
_PROVIDER_NOT = (
    (
        "A provider command ran with the operator's home folder: what configuration, memory or"
        " login it read there, and which tools it used, is its own affair. Which programs of an arm"
        " ran stands under treatmentEvidence."
    ),
    "Whether its model is the one that its file names is its own word.",
)
_WRITABLE = "Commands could write in their export; each had one of its own."
_NEVER = (
    "There was no sandbox: agent and MCP servers ran as the operator's user, with its network.",
    "What the provider keeps between requests (caches, routing, aliases) was not controlled.",
)
_CLI_NOT = (
    "A prompt that holds @path makes the CLI read that file inside the working directory.",
    "Large tool results are kept by the CLI in files outside the working directory.",
)
_LOGIN = "The CLI ran with the operator's login and home folder, whose managed policy would apply."

_BY_HAND = (
    "The tasks were chosen by hand; they are no random sample, and results about them do not"
    " carry over to other tasks by themselves."
)
_BY_RULE = (
    "The tasks were chosen from a benchmark's list by the rule that their lock names; they are no"
    " random sample, and results about them do not carry over to other tasks by themselves."
)
_GENERAL = (
    (
        "Training contamination, expectations selected by the author, differences in documentation"
        " coverage, drift of pinned versions, provider nondeterminism, latency, tool limits and"
        " warm caches can affect every figure."
    ),
    "Conversations with one model are no independent samples of models.",
    "Small-sample intervals describe; no claim about a general population is made.",
    "A reduction of tokens or of time says nothing about correctness by itself.",
)
_ADJUDICATED = (
    (
        "Correctness is agent-adjudicated. There was no human review, and an adjudicating model may"
        " share biases with the model that answered."
    ),
    "Blinding is imperfect: citations or wording of an answer may reveal its arm.",
)
_SAME_MODEL = "The adjudicator was the same model as the one that answered; another is preferred."
_ALIAS = "The model id is an alias that its provider may move; it does not name one fixed model."
_REHEARSAL = (
    "This is a REHEARSAL: the model was a script on this machine. It shows that the machinery"
    " works and is no evidence about a model, a tool or the question."
)


def isolation(record: Record) -> dict[str, Any]:
    """Return what kept attempts apart from their surroundings, and what did not."""
    opening, achieved, missing = record.opening, [*_EVERYWHERE], [*_NEVER]
    if "checkouts" in opening:
        achieved[0] = _CHECKOUT
        missing.insert(0, _CHECKOUT_NOT)
        reached = opening.get("keyReachesShell")
        (missing if reached else achieved).append(_KEY_REACHES if reached else _SHIELDED)
    used, version = ways.transports(opening), None
    several = len(used) > 1
    for transport, settings in used.items():
        had: list[str] = [*_HTTP]
        had_not: list[str] = []
        if transport == "cli":
            version = opening.get("cliVersion") or settings.get("version")
            had, had_not = _cli(version, settings)
        elif transport == "provider":
            had, had_not = [*_PROVIDER], [*_PROVIDER_NOT]
            if settings.get("writable"):
                had_not.append(_WRITABLE)
                achieved[0] = achieved[0].replace("fresh read-only export", "fresh export")
        prefix = f"Over {transport}: " if several else ""
        achieved += [prefix + claim for claim in had]
        missing[:0] = [prefix + claim for claim in had_not]
    return {
        "transport": opening["transport"],
        "cliVersion": version,
        "achieved": achieved,
        "notAchieved": missing,
    }


def limits(record: Record) -> list[str]:
    """Return what limits the evidence, the general and what follows from the ledger."""
    return [*_limits(record)]


def _limits(record: Record) -> Iterator[str]:
    if record.is_rehearsal:
        yield _REHEARSAL
    yield from _sampled(record)
    manifest = record.frozen.manifest
    yield _BY_RULE if manifest and manifest.task_source else _BY_HAND
    yield from _GENERAL
    if manifest and "correctness" in {*manifest.endpoints.primary, *manifest.endpoints.secondary}:
        yield from _ADJUDICATED
    rules = record.grades.rules
    if rules and any(each.get("model") in ways.models(record.opening) for each in rules["graders"]):
        yield _SAME_MODEL
    if not record.opening.get("immutableModel"):
        yield _ALIAS


def _sampled(record: Record) -> Iterator[str]:
    """Yield what a sample leaves out, and what its design cannot tell."""
    manifest, phase = record.frozen.manifest, record.opening["phase"]
    if manifest is None:
        return
    found = phases.sampled(manifest, phase)
    yield from (f"{line[0].upper()}{line[1:]}." for line in found)
    if found:
        yield from (f"By design, {line}." for line in estimable.told(manifest, phase))


def _cli(version: str | None, settings: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    arguments = settings.get("arguments", ())
    achieved: list[str] = []
    missing: list[str] = []
    for known, claims in (("--restricted", _RESTRICTED), ("--strict-mcp-config", _STRICT)):
        if known in arguments and version in OBSERVED_CLI:
            achieved += claims
        else:
            missing += _not_shown(claims, known, version, is_given=known in arguments)
    if settings.get("credential") == "login":
        missing.append(_LOGIN)
    return achieved, [*missing, *_CLI_NOT]


def _not_shown(
    claims: Iterable[str], argument: str, version: str | None, *, is_given: bool
) -> list[str]:
    why = f"not observed with version {version}" if is_given else f"{argument} was not given"
    return [f"Not established ({why}): {claim}" for claim in claims]
