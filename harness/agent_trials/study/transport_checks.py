"""The rules over agent, transports and MCP servers of a manifest.

Each function is one rule:
    the default transport is described                          -> _described
    price tiers ascend from 0                                   -> _tiers
    the argument array ends with the prompt, nothing takes it   -> _prompt_last
    placeholders are known, those that guard money are there    -> _placeholders
    tools are not allowed and denied at once                    -> _tools
    no credential stands in a study or reaches a server         -> _environment, _servers
    a server's command names what can be filled in              -> _servers
    a provider's tables are about arms and tasks that are there -> _provider
    an arm that is given hand-offs gets one for every task      -> _handoffs
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from agent_trials.study.findings import Finding, KeyPath, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_trials.study.settings import (
        CliSettings,
        Manifest,
        McpServerSettings,
        PriceTier,
        ProviderSettings,
    )

CLI_PLACEHOLDERS: tuple[str, ...] = (
    "model", "limit", "tools", "allowed", "denied", "mcp_config", "prompt", "session",
)  # fmt: skip
COMMAND_PLACEHOLDERS: tuple[str, ...] = ("python", "checkout", "config")
INDEX_PLACEHOLDERS: tuple[str, ...] = (*COMMAND_PLACEHOLDERS, "scratch")
BOOLEAN_FLAGS: tuple[str, ...] = (
    "--strict-mcp-config", "--restricted", "--disable-slash-commands", "--no-session-persistence",
    "--verbose", "-p", "--print", "--include-partial-messages", "--include-hook-events",
    "--fork-session", "--no-chrome", "--bare", "--safe-mode",
    "--exclude-dynamic-system-prompt-sections", "--",
)  # fmt: skip
"""Options of the Claude Code CLI without a value: a prompt after one of them stays a prompt."""

CHECK_PLACEHOLDERS: tuple[str, ...] = ("python", "study")

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_CREDENTIAL = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)


def transport_findings(manifest: Manifest) -> Iterator[Finding]:
    """Yield every place of agent, transports, parameters and servers that breaks a rule."""
    yield from _described(manifest)
    yield from _parameters(manifest)
    yield from _unheard(manifest)
    for index, arm in enumerate(manifest.arms):
        for name, server in arm.mcp_servers.items():
            yield from _server(("arms", index, "mcp_servers", name), server, manifest.parameters)
        yield from _tiers(("arms", index), arm.prices or ())
    for index, model in enumerate(manifest.models):
        yield from _tiers(("models", index), model.prices or ())
    if manifest.transports.cli is not None:
        with_servers = any(arm.mcp_servers for arm in manifest.arms)
        yield from _cli(manifest.transports.cli, with_servers=with_servers)
    if manifest.transports.provider is not None:
        yield from _provider(manifest, manifest.transports.provider)


def placeholders(text: str) -> tuple[str, ...]:
    """Return the names in braces of an argument; braces of JSON text are none."""
    return tuple(_PLACEHOLDER.findall(text))


def is_credential(name: str) -> bool:
    """Return whether a variable's name looks like that of a credential."""
    return _CREDENTIAL.search(name) is not None


def _described(manifest: Manifest) -> Iterator[Finding]:
    name = manifest.agent.transport
    if name not in manifest.transports.described:
        what = f"the study has no table [transports.{name}]"
        yield Finding(("agent", "transport"), what, "add that table, or name another transport")


def _unheard(manifest: Manifest) -> Iterator[Finding]:
    """Yield arms that differ only in how Claude Code is started, in a study that has http too."""
    if manifest.transports.http is None or manifest.agent.compares:
        return
    for index, arm in enumerate(manifest.arms):
        first = next(each for each in manifest.arms if each.mcp_servers == arm.mcp_servers)
        if dataclasses.replace(arm, id=first.id) != first:
            what = f"over http the arm is the same as {first.id!r}: the rest is Claude Code's alone"
            yield Finding(("arms", index), what, "take [transports.http] out, or give it a server")


def _parameters(manifest: Manifest) -> Iterator[Finding]:
    for name in manifest.parameters:
        if name in INDEX_PLACEHOLDERS:
            what = "the name is already a placeholder of server commands"
            yield Finding(("parameters", name), what, "give the parameter another name")


def _server(
    path: KeyPath, server: McpServerSettings, parameters: Iterable[str]
) -> Iterator[Finding]:
    commands = [("command", server.command, COMMAND_PLACEHOLDERS)]
    if server.freshness is not None and server.freshness.kind == "index":
        commands.append(("freshness", server.freshness.command, INDEX_PLACEHOLDERS))
    for key, command, known in commands:
        place = (*path, key) if key == "command" else (*path, key, "command")
        yield from _unknown(place, command, (*known, *parameters))
        config = any("config" in placeholders(part) for part in command)
        if config and not server.config_candidates and server.config_key is None:
            what = "{config} is used, and nothing says where the configuration is"
            yield Finding(place, what, "add config_candidates or config_key")
    for index, name in enumerate(server.environment):
        if is_credential(name):
            what = f"{name} looks like a credential, which no server is given"
            yield Finding((*path, "environment", index), what, "remove it")
    for index, tool in enumerate(server.allow):
        if tool in server.allow[:index]:
            yield Finding((*path, "allow", index), f"{tool!r} stands twice", "name each tool once")


def _unknown(path: KeyPath, command: Iterable[str], known: tuple[str, ...]) -> Iterator[Finding]:
    for index, part in enumerate(command):
        for name in placeholders(part):
            if name not in known:
                what = f"{{{name}}} is no placeholder here"
                yield Finding((*path, index), what, nearest(name, known, "known are"))


def _cli(cli: CliSettings, *, with_servers: bool) -> Iterator[Finding]:
    path: KeyPath = ("transports", "cli")
    yield from _tiers(path, cli.prices)
    yield from _prompt_last((*path, "arguments"), cli.arguments)
    yield from _placeholders((*path, "arguments"), cli.arguments, with_servers=with_servers)
    for index, tool in enumerate(cli.tools):
        if tool in cli.deny:
            what = f"{tool!r} is in deny as well"
            yield Finding((*path, "tools", index), what, "leave it in one of them")
    for name in cli.environment:
        if is_credential(name):
            what = "it looks like a credential, and what stands here is published"
            yield Finding((*path, "environment", name), what, 'remove it and use credential = "…"')


def _provider(manifest: Manifest, provider: ProviderSettings) -> Iterator[Finding]:
    path: KeyPath = ("transports", "provider")
    known = {
        "arms": (provider.arms, [arm.id for arm in manifest.arms]),
        "tasks": (provider.tasks, [task.id for task in manifest.tasks]),
    }
    for key, (tables, ids) in known.items():
        for name in tables:
            if name not in ids:
                what = f"{name!r} is none of the study's {key}"
                yield Finding((*path, key, name), what, nearest(name, ids, f"the {key} are"))
    for index, name in enumerate(provider.request):
        if name in provider.request[:index]:
            yield Finding((*path, "request", index), f"{name!r} stands twice", "name it once")
    yield from _handoffs(path, manifest, provider)
    for name, task in provider.tasks.items():
        place: KeyPath = (*path, "tasks", name, "checks")
        ids = [check.id for check in task.checks]
        for index, check in enumerate(task.checks):
            yield from _unknown((*place, index, "command"), check.command, CHECK_PLACEHOLDERS)
            if check.id in ids[:index]:
                yield Finding((*place, index, "id"), f"{check.id!r} stands twice", "name it once")


def _handoffs(path: KeyPath, manifest: Manifest, provider: ProviderSettings) -> Iterator[Finding]:
    given = [name for name, arm in provider.arms.items() if arm.handoff]
    tables = provider.tasks
    have = [task.id for task in manifest.tasks if task.id in tables and tables[task.id].handoff]
    for name in given:
        place: KeyPath = (*path, "arms", name, "handoff")
        if "initial_context" not in provider.request:
            what = "hand-offs stand in initial_context, which the request does not name"
            yield Finding(place, what, "name initial_context in it")
        for task in manifest.tasks:
            if task.id not in have:
                what = f"the task {task.id} has no hand-off, so the arm would have no treatment"
                yield Finding(place, what, f"write [transports.provider.tasks.{task.id}.handoff]")
    if have and not given:
        what = "tasks have hand-offs, and no arm is given them"
        yield Finding((*path, "tasks", have[0]), what, "write handoff = true in the arm's table")


def _tiers(where: KeyPath, prices: Iterable[PriceTier]) -> Iterator[Finding]:
    bounds = [tier.above_prompt_tokens for tier in prices]
    for index, bound in enumerate(bounds):
        path: KeyPath = (*where, "prices", index, "above_prompt_tokens")
        if index == 0 and bound != 0:
            yield Finding(path, f"the first tier begins at {bound}", "begin with 0")
        elif index and bound <= bounds[index - 1]:
            what = f"{bound} is not above the tier before it ({bounds[index - 1]})"
            yield Finding(path, what, "order the tiers by rising bounds")


def _prompt_last(path: KeyPath, arguments: tuple[str, ...]) -> Iterator[Finding]:
    before = arguments[-2] if len(arguments) > 1 else ""
    if arguments[-1] != "{prompt}":
        yield Finding(path, "the prompt is not the last argument", 'end with "{prompt}"')
    elif any("{prompt}" in argument for argument in arguments[:-1]):
        yield Finding(path, "the prompt stands twice", "keep the last one")
    elif before not in BOOLEAN_FLAGS:
        what = f"the prompt stands after {before!r}, which may take it as its value"
        yield Finding(path, what, f"put one of {', '.join(BOOLEAN_FLAGS[:5])} before it")


def _placeholders(
    path: KeyPath, arguments: tuple[str, ...], *, with_servers: bool
) -> Iterator[Finding]:
    yield from _unknown(path, arguments, CLI_PLACEHOLDERS)
    used = {name for argument in arguments for name in placeholders(argument)}
    needed = ["model", "limit", *(["mcp_config"] if with_servers else [])]
    for name in needed:
        if name not in used:
            reason = "no spending limit" if name == "limit" else f"no {name}"
            what = f"{{{name}}} is missing, so the CLI would be given {reason}"
            yield Finding(path, what, "add it after its option")
