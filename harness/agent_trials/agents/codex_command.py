"""The command line and the environment of a `codex exec` process; pure.

What is off, in every arm alike: retries, user and project configuration, rules, instructions,
skills, memories, hooks, plugins, apps, web search, plans, sub-agents, images, the browser, side
traffic, login shells, and sessions on disk. What a server's arm adds is its tools, sent in full and
approved beforehand, and a start that the CLI waits for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agent_trials.agents.codex_options import WORKSPACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from agent_trials.agents.codex_options import Options, Server

DISABLED = (
    "multi_agent", "goals", "plugins", "apps", "remote_plugin", "hooks", "view_image",
    "image_generation", "skill_search", "tool_suggest", "memories", "browser_use", "computer_use",
    "in_app_browser", "shell_snapshot", "unbounded_connection_retries",
)  # fmt: skip
SWITCHES: tuple[tuple[str, Any], ...] = (
    ("web_search", "disabled"),
    ("agents.enabled", False),
    ("tools.update_plan.enabled", False),
    ("tools.experimental_request_user_input.enabled", False),
    ("skills.include_instructions", False),
    ("skills.bundled.enabled", False),
    ("project_doc_max_bytes", 0),
    ("allow_login_shell", False),
    ("analytics.enabled", False),
    ("check_for_update_on_startup", False),
    ("history.persistence", "none"),
)
PROVIDER = "custom"
PROFILE = "attempt"
_IDLE_MS = 60_000
_START_SECONDS = 20
_CALL_SECONDS = 30
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SECRET_NAMES = ("*KEY*", "*TOKEN*", "*SECRET*")


def argv(program: str, options: Options, *, schema: Path, reads: Iterable[str]) -> tuple[str, ...]:
    """Return the argument array; the prompt comes on standard input.

    Args:
        program: the CLI.
        options: the run.
        schema: the file of the output schema.
        reads: what commands must be able to read for the CLI's sandbox to work.
    """
    flags = ("--ephemeral", "--ignore-user-config", "--ignore-rules", "--strict-config")
    settings = [*_provider(options), *SWITCHES, *_shell(options), *_servers(options)]
    if options.sandbox == WORKSPACE:
        sandbox: tuple[str, ...] = ()
        settings += profile(options, reads)
    else:
        sandbox = ("--sandbox", options.sandbox)
    return (
        *(program, "exec", "--json", "--skip-git-repo-check", *sandbox),
        *("--model", options.model, *flags, "--color", "never"),
        *(word for name in DISABLED for word in ("--disable", name)),
        *_overrides(settings),
        *("--output-schema", str(schema), "-"),
    )


def sandbox_argv(program: str, options: Options, *, reads: Iterable[str]) -> tuple[str, ...]:
    """Return the argument array that does nothing in the sandbox that commands will run in."""
    mode: list[tuple[str, Any]] = [("sandbox_mode", options.sandbox)]
    settings = profile(options, reads) if options.sandbox == WORKSPACE else mode
    return (program, "sandbox", *_overrides(settings), "--", "/bin/sh", "-c", ":")


def profile(options: Options, reads: Iterable[str]) -> list[tuple[str, Any]]:
    """Return the permissions under which commands read the workspace and the system, no more."""
    places = [*reads, *map(str, options.readable)]
    filesystem: dict[str, Any] = {
        ":minimal": "read",
        ":workspace_roots": {".": "read"},
        **dict.fromkeys(places, "read"),
    }
    return [("default_permissions", PROFILE), (f"permissions.{PROFILE}.filesystem", filesystem)]


def environment(
    options: Options, given: Mapping[str, str], *, home: Path, temporary: Path
) -> dict[str, str]:
    """Return all that the process gets: an allowlist, the same in every arm but for its servers'.

    Args:
        options: the run.
        given: the adapter's own environment.
        home: the run's own HOME.
        temporary: the folder for temporary files, which must not hold the HOME.
    """
    named = {name: given[name] for name in ("PATH", *options.passed) if name in given}
    own = {"HOME": str(home), "CODEX_HOME": str(home / ".codex"), "TMPDIR": str(temporary)}
    return dict(sorted((named | own).items()))


def toml(value: Any) -> str:  # noqa: ANN401 - text, truth, number, list or table
    """Return a value as inline TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return '"' + "".join(map(_escaped, value)) + '"'
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(toml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_key(name)}={toml(each)}" for name, each in value.items()) + "}"
    raise TypeError(f"no TOML for {type(value).__name__}")


def _provider(options: Options) -> list[tuple[str, Any]]:
    table = {
        "name": PROVIDER,
        "base_url": options.base_url,
        "env_key": options.key_variable,
        "wire_api": "responses",
        "request_max_retries": 0,
        "stream_max_retries": 0,
        "stream_idle_timeout_ms": _IDLE_MS,
    }
    return [
        ("model_provider", PROVIDER),
        (f"model_providers.{PROVIDER}", table),
        ("model_reasoning_effort", options.effort),
    ]


def _shell(options: Options) -> list[tuple[str, Any]]:
    policy = {"inherit": "core", "exclude": [*_SECRET_NAMES, *options.passed]}
    return [("shell_environment_policy", policy)]


def _servers(options: Options) -> list[tuple[str, Any]]:
    return [(f"mcp_servers.{_key(each.name)}", _server(each)) for each in options.servers]


def _server(server: Server) -> dict[str, Any]:
    return {
        "command": server.command[0],
        "args": list(server.command[1:]),
        "env_vars": list(server.environment),
        "required": True,
        "startup_timeout_sec": _START_SECONDS,
        "tool_timeout_sec": _CALL_SECONDS,
        "omit_tools_from": ["deferred"],
        "enabled_tools": list(server.tools),
        "default_tools_approval_mode": "approve",
    }


def _overrides(settings: Iterable[tuple[str, Any]]) -> list[str]:
    return [word for name, value in settings for word in ("-c", f"{name}={toml(value)}")]


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else toml(name)


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    code = ord(character)
    return f"\\u{code:04x}" if code < ord(" ") or code == 0x7F else character  # noqa: PLR2004 - DEL
