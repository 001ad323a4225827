"""The rules over checkouts, in which agents write code, and over what their arms set up.

Each function is one rule:
    only the CLI works in a checkout, alone, with registered servers only  -> _ways
    its own HOME and a key, so that nothing of the operator's is near      -> _credential
    the version is pinned, the turns are bounded, the servers are explicit -> _arguments
    no server of the CLI's is given its environment, key included          -> _servers
    the network is no tool                                                 -> _network
    what is set up is set up in a checkout, and can be found again         -> _set_ups
    a rules file that the CLI would not read is no treatment               -> _rules
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from agent_trials.study.findings import Finding, KeyPath, nearest
from agent_trials.study.settings import OPERATOR

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from agent_trials.study.settings import ArmSettings, CliSettings, Manifest

ARGUMENTS: KeyPath = ("transports", "cli", "arguments")
TURNS = "--max-turns"
ALLOWLIST = "CLAUDE_CODE_MCP_ALLOWLIST_ENV"
NETWORK_TOOLS = ("WebFetch", "WebSearch")
PLACES = ("{workspace}", "{home}")
SETUP_PLACEHOLDERS = ("python", "workspace", "home")
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NEEDED = (
    ("--strict-mcp-config", "without it the CLI takes servers from wherever it finds them"),
    ("{mcp_config}", "without it the CLI is given no server"),
    ("{denied}", "without it no tool is denied by name"),
)


def checkout_findings(manifest: Manifest) -> Iterator[Finding]:
    """Yield every place that breaks a rule over checkouts and what is set up in them."""
    yield from _set_ups(manifest)
    if manifest.checkout is None:
        return
    yield from _ways(manifest)
    if manifest.transports.cli is not None:
        yield from _credential(manifest.transports.cli)
        yield from _arguments(manifest.transports.cli)
        yield from _servers(manifest, manifest.transports.cli)
        yield from _network(manifest.transports.cli)


def _ways(manifest: Manifest) -> Iterator[Finding]:
    for name in manifest.transports.described:
        if name != "cli":
            what = "only the CLI works in a checkout"
            yield Finding(("transports", name), what, "take the table out")
    for index, arm in enumerate(manifest.arms):
        if arm.mcp_servers:
            what = "a checkout's arm has the server that its set-up registers"
            remedy = "write arms.setup and arms.registration instead"
            yield Finding(("arms", index, "mcp_servers"), what, remedy)
        if arm.side_costs is not None or arm.follow_up is not None:
            what = "an attempt in a checkout is one turn of the agent alone"
            key = "side_costs" if arm.side_costs is not None else "follow_up"
            yield Finding(("arms", index, key), what, "take it out")
    if manifest.schedule.concurrency != 1:
        what = "an agent could find the checkout of another attempt that runs beside it"
        yield Finding(("schedule", "concurrency"), what, "write 1")
    if manifest.follow_up is not None:
        what = "a checkout is gone after its turn, and its patch evaluated later"
        yield Finding(("follow_up",), what, "take the table out")
    if manifest.adjudicator is not None:
        what = "patches are graded by the benchmark's evaluation"
        yield Finding(("adjudicator",), what, "take the table out")


def _credential(cli: CliSettings) -> Iterator[Finding]:
    if cli.credential != "api-key":
        what = f"with {cli.credential!r} the operator's own folder is the agent's"
        yield Finding(("transports", "cli", "credential"), what, 'write "api-key"')


def _arguments(cli: CliSettings) -> Iterator[Finding]:
    if cli.version == OPERATOR:
        what = "the version of an agent that writes code is pinned"
        yield Finding(("transports", "cli", "version"), what, "write the version")
    turns = [value for option, value in pairwise(cli.arguments) if option == TURNS]
    if len(turns) != 1 or not turns[0].isdecimal() or int(turns[0]) < 1:
        what = f"{TURNS} does not stand there once, with a number"
        yield Finding(ARGUMENTS, what, f'add "{TURNS}", "40"')
    for word, what in _NEEDED:
        if word not in cli.arguments:
            yield Finding(ARGUMENTS, f"{word} is missing: {what}", "add it")


def _servers(manifest: Manifest, cli: CliSettings) -> Iterator[Finding]:
    tables: list[tuple[KeyPath, Container[str]]] = [
        (("transports", "cli", "environment", ALLOWLIST), cli.environment)
    ]
    for index, arm in enumerate(manifest.arms):
        tables.append((("arms", index, "environment", ALLOWLIST), arm.environment))
        tables.append((("arms", index, "unset"), arm.unset))
    for path, names in tables:
        if ALLOWLIST in names:
            what = "without it the CLI hands its key to MCP servers"
            yield Finding(path, what, f"leave {ALLOWLIST} to the harness")


def _network(cli: CliSettings) -> Iterator[Finding]:
    for index, name in enumerate(cli.tools):
        if name in NETWORK_TOOLS:
            what = f"{name!r} lets the agent look the mend up"
            yield Finding(("transports", "cli", "tools", index), what, "move it to deny")
    if missing := [name for name in NETWORK_TOOLS if name not in (*cli.deny, *cli.tools)]:
        what = f"{', '.join(missing)} may not be left open"
        yield Finding(("transports", "cli", "deny"), what, "deny it")


def _set_ups(manifest: Manifest) -> Iterator[Finding]:
    for index, arm in enumerate(manifest.arms):
        path: KeyPath = ("arms", index)
        for key in ("setup", "registration", "rules"):
            if getattr(arm, key) and manifest.checkout is None:
                what = f"it is done in a checkout, and the kind is {manifest.workspace.kind!r}"
                remedy = 'write workspace.kind = "checkout"'
                yield Finding((*path, key), what, remedy)
        known = (*SETUP_PLACEHOLDERS, *manifest.parameters)
        for number, command in enumerate(arm.setup):
            for position, word in enumerate(command):
                yield from _unknown((*path, "setup", number, position), word, known)
        yield from _registration(path, arm, known)
        yield from _rules(path, arm, known, manifest)


def _registration(path: KeyPath, arm: ArmSettings, known: tuple[str, ...]) -> Iterator[Finding]:
    if arm.registration is None:
        return
    place: KeyPath = (*path, "registration")
    yield from _unknown((*place, "server"), arm.registration.server, known)
    yield from _unknown((*place, "file"), arm.registration.file, known)
    if not arm.setup:
        what = "nothing is set up in this arm that would register a server"
        yield Finding(place, what, "add arms.setup, or take it out")


def _rules(
    path: KeyPath, arm: ArmSettings, known: tuple[str, ...], manifest: Manifest
) -> Iterator[Finding]:
    if arm.rules is None:
        return
    yield from _unknown((*path, "rules", "file"), arm.rules.file, known)
    cli = manifest.transports.cli
    if arm.rules.deliver == "project-file" and cli and "--restricted" in cli.arguments:
        what = "with --restricted the CLI reads no file of rules"
        remedy = 'write "appended-system-prompt", or take --restricted out of the array'
        yield Finding((*path, "rules", "deliver"), what, remedy)


def _unknown(path: KeyPath, word: str, known: tuple[str, ...]) -> Iterator[Finding]:
    for name in _PLACEHOLDER.findall(word):
        if name not in known:
            what = f"{{{name}}} is no placeholder here"
            yield Finding(path, what, nearest(name, known, "known are"))
