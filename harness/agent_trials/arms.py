"""Lays each arm's checkout out once before money, and looks at what its agent would be given.

In order, for each arm: the set-up runs, the server that it registered answers, and the real CLI
sends its first request to a server on loopback. From that:
    the key      whether what the CLI starts can be kept from reading it; then it is, in every arm
    the rules    whether the arm's rules file is in its request, and in no other arm's
"""

from __future__ import annotations

import dataclasses
import os
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials.agents import cli_foreseen
from agent_trials.errors import AgentError, Problem, ProblemsError, WorkspaceError
from agent_trials.records import ArmSetup, AttemptRequest, Launch
from agent_trials.workspace import arm_setup, checkout, site

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_trials.agents.cli_foreseen import Foreseen
    from agent_trials.records import SealedCheckout
    from agent_trials.study.manifest import Study
    from agent_trials.study.settings import ArmSettings, CheckoutSettings, CliSettings
    from agent_trials.workspace.checkout import Checkout

_PROMPT = "Answer with one word."
_LIMIT = Decimal(1)
KEY_SENTENCE = "what the agent starts, such as a command of its shell, can read its key"


@dataclass(frozen=True)
class Ground:
    """What the arms are looked at on: a study, one sealed checkout, the CLI, its settings."""

    study: Study
    sealed: SealedCheckout
    settings: CliSettings
    model: str
    executable: str
    values: Mapping[str, str]
    launches: Mapping[str, tuple[Launch, Launch]]
    rehearsal: bool


@dataclass(frozen=True)
class Arms:
    """What was found: each arm's set-up, its denied tools, and what is public of both.

    ``shielded`` tells whether the CLI keeps the key from what it starts.
    """

    set_ups: Mapping[str, ArmSetup] = field(default_factory=dict)
    denied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shielded: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)


def look(ground: Ground, problems: list[Problem]) -> Arms:
    """Return how each arm begins, adding what is wrong to the problems."""
    settings = ground.study.manifest.checkout
    if settings is None:
        return Arms()
    found: dict[str, ArmSetup] = {}
    seen: dict[str, Foreseen] = {}
    texts: dict[str, str] = {}
    digests: dict[str, str | None] = {}
    shielded = _can_shield(ground)
    for arm in ground.study.manifest.arms:
        try:
            set_up = arm_setup.resolved(arm, settings, ground.values, ground.study.folder)
            with _laid_out(ground, set_up) as made:
                found[arm.id] = _as_found(arm, set_up, made)
                digests[arm.id] = made.registration_digest
                shown = _foreseen(ground, arm.id, found[arm.id], made, shielded=shielded)
                seen[arm.id] = shown
                texts[arm.id] = made.rules.text if made.rules else ""
        except (WorkspaceError, AgentError) as error:
            problems.append(Problem(f"arm {arm.id}", str(error), "then start again"))
        except ProblemsError as error:
            problems += error.problems
    problems += _unlike(seen)
    problems += _undelivered(seen, texts)
    if not ground.rehearsal:
        problems += _exposed(settings, seen)
    denied = {arm: _denied(each) for arm, each in found.items()}
    facts = {
        "shielded": shielded,
        "keyReachesShell": any(shown.key_seen for shown in seen.values()),
        "arms": [_arm_facts(arm, each, digests[arm]) for arm, each in found.items()],
    }
    return Arms(found, denied, shielded, facts)


def _laid_out(ground: Ground, set_up: ArmSetup) -> Any:  # noqa: ANN401 - a context manager of a checkout
    home = os.environ.get("HOME")
    return checkout.checkout(
        ground.sealed,
        set_up,
        home=Path(home) if home else None,
        programs={site.CLAUDE: ground.executable},
    )


def _as_found(arm: ArmSettings, set_up: ArmSetup, made: Checkout) -> ArmSetup:
    """Return an arm's set-up with what every attempt of it must come to again."""
    registered, rules = set_up.registration, set_up.rules
    if registered is not None and arm.registration is not None:
        from agent_trials.workspace import registration_probe  # noqa: PLC0415 - loads the mcp SDK

        registered = registration_probe.probed(arm.id, registered, arm.registration.probe, made)
    if rules is not None and made.rules is not None:
        rules = dataclasses.replace(rules, digest=made.rules.digest)
    return dataclasses.replace(set_up, registration=registered, rules=rules)


def _can_shield(ground: Ground) -> bool:
    """Tell whether the CLI can keep the key from what it starts, and does nothing else by it.

    Its shell must work, and the checkout stay as it was: a sandbox that leaves files there, as that
    of Claude Code 2.1.296 does, would leave them in every patch.
    """
    arm, bare = ground.study.manifest.arms[0].id, ArmSetup()
    with suppress(AgentError, WorkspaceError), _laid_out(ground, bare) as made:
        shown = _foreseen(ground, arm, bare, made, shielded=True)
        works = not shown.problems and shown.ran is not False
        return works and not shown.key_seen and made.patch().content == b""
    return False


def _foreseen(
    ground: Ground, arm: str, set_up: ArmSetup, made: Checkout, *, shielded: bool
) -> Foreseen:
    request = AttemptRequest(
        transport="cli",
        transport_settings=ground.settings,
        model=ground.model,
        prompt=_PROMPT,
        limit_usd=_LIMIT,
        corpus=ground.sealed,
        mcp_servers=(),
        denied_mcp_tools=_denied(set_up),
        executable=ground.executable,
        executable_version=ground.settings.version,
        launch=ground.launches[arm][0],
        set_up=set_up,
        shielded=shielded,
    )
    place = site.of_checkout(_with_tools(made, set_up))
    return cli_foreseen.look(place.told(request), made.folder)


def _with_tools(made: Checkout, set_up: ArmSetup) -> Checkout:
    """Return the checkout with its server as every attempt will know it."""
    registered = set_up.registration
    if made.server is None or registered is None:
        return made
    server = dataclasses.replace(made.server, allow=registered.allow, tools=registered.tools)
    return dataclasses.replace(made, server=server)


def _denied(set_up: ArmSetup) -> tuple[str, ...]:
    if set_up.registration is None:
        return ()
    from agent_trials.workspace import registration_probe  # noqa: PLC0415 - loads the mcp SDK

    return registration_probe.denied(set_up.registration)


def _unlike(seen: Mapping[str, Foreseen]) -> Iterator[Problem]:
    """Find arms in which the CLI does not begin as the study says."""
    for arm, shown in seen.items():
        if shown.problems or shown.sent is None:
            what = f"the CLI does not begin as the study says ({', '.join(shown.problems)})"
            said = f"; it printed: {shown.said[-300:]}" if shown.said else ""
            yield Problem(f"arm {arm}", what + said, "correct the arm, or transports.cli")
        elif shown.ran is False:
            what = "a command of the shell tool does not run"
            yield Problem(f"arm {arm}", what, "correct transports.cli.arguments")


def _undelivered(seen: Mapping[str, Foreseen], texts: Mapping[str, str]) -> Iterator[Problem]:
    """Find rules files that their arm is not told, or another one is told as well."""
    for arm, text in texts.items():
        if not text:
            continue
        if not cli_foreseen.lines(text):
            yield Problem(f"arm {arm}: rules", "no line of it is told to an agent", "write rules")
            continue
        for other, shown in seen.items():
            if other == arm and shown.sent is not None and not shown.holds(text):
                what = "the rules file is not in what the CLI sends"
                yield Problem(f"arm {arm}: rules", what, "correct arms.rules, or the arguments")
            if other != arm and shown.holds(text):
                what = f"the arm {other} is told the rules file too"
                yield Problem(f"arm {arm}: rules", what, "deliver it to one arm alone")


def _exposed(settings: CheckoutSettings, seen: Mapping[str, Foreseen]) -> Iterator[Problem]:
    """Refuse a paid run in which the key can be read, where the study does not accept that."""
    if settings.key_reaches_shell or not any(shown.key_seen for shown in seen.values()):
        return
    yield Problem(
        "workspace.checkout.key_reaches_shell",
        f"{KEY_SENTENCE}, and the CLI cannot keep it from that here",
        "give a key that is worth no more than the run, and write key_reaches_shell = true",
    )


def _arm_facts(arm: str, set_up: ArmSetup, digest: str | None) -> dict[str, Any]:
    """Return what is public of an arm's set-up."""
    registered, rules = set_up.registration, set_up.rules
    return {
        "arm": arm,
        "setupCommands": len(set_up.commands),
        "registration": None
        if registered is None
        else {
            "server": registered.server,
            "digest": digest,
            "allow": list(registered.allow),
            "tools": list(registered.tools),
        },
        "rules": None if rules is None else {"deliver": rules.deliver, "digest": rules.digest},
    }
