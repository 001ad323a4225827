"""The environment of a Claude CLI process: an allowlist, the same in every arm.

Rules:
    1. Nothing is inherited but the names in ``SYSTEM``, and for a login those in ``LOGIN``.
    2. A key is passed only where the study's credential is one, and then alone. A login's CLI
       finds its own credential under the operator's HOME; a rehearsal has a dummy one.
    3. Everything but a login has a fresh HOME. Temporary files go to a folder of the attempt's own.
       A login in a configuration folder of its own (``config-dir``) is used there, never copied.
    4. ``SWITCHES`` make "no retries" and "no side traffic" true, and keep the environment, key
       included, from MCP servers. The study may set further variables, or these, for every arm,
       and an arm its own.
    5. The digest covers every name. It leaves out the values of secrets, of the attempt's own
       folders, of the loopback address and of what tells who the operator is.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent_trials.errors import AgentError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from agent_trials.records import AttemptRequest, McpServer
    from agent_trials.study.settings import CliSettings

SYSTEM = ("PATH", "LANG", "LC_ALL")
LOGIN = ("HOME", "USER", "LOGNAME")
SWITCHES = {
    "CLAUDE_CODE_MAX_RETRIES": "0",
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
    "CLAUDE_CODE_DISABLE_REFUSAL_RETRY": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MCP_ALLOWLIST_ENV": "1",
}
REHEARSAL_TOKEN = "rehearsal"  # noqa: S105 - a dummy, named for what it is
CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
ENDPOINTS = ("ANTHROPIC_BASE_URL",)
LOGIN_CREDENTIAL = "login"
CONFIG_DIR = "config-dir"
CONFIG_VARIABLE = "CLAUDE_CONFIG_DIR"
SHIELD = {"CLAUDE_CODE_SUBPROCESS_ENV_SCRUB": "1"}
"""Has the CLI keep credentials from what it starts; it needs a sandbox, and fails without one."""
SNAPSHOTS = "WORKSPACE_SNAPSHOTS"
_FOLDERS = ("TMPDIR", "CLAUDE_CODE_TMPDIR")
RESERVED = (*CREDENTIALS, *ENDPOINTS, *_FOLDERS, *SYSTEM, *LOGIN, CONFIG_VARIABLE, SNAPSHOTS)
"""Names that a study's ``environment`` may not set: the harness alone decides on them."""

_PERSONAL = ("PATH", *LOGIN)
_WITHHELD = "withheld"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def environment(
    settings: CliSettings, request: AttemptRequest, operator: Mapping[str, str], scratch: Path
) -> dict[str, str]:
    """Return all that the process gets.

    Args:
        settings: the study's block for this transport.
        request: the attempt.
        operator: the environment of the harness itself.
        scratch: an empty folder of the attempt's own; ``home`` and ``tmp`` are made in it.

    Raises:
        AgentError: a study or server variable would set or receive what it must not, or the key is
            missing.
        RuntimeError: a rehearsal that would leave this machine.
    """
    _refuse(settings.environment, request.mcp_servers, request.secrets)
    _check_way(settings, request)
    uses_login = settings.credential == LOGIN_CREDENTIAL and not request.rehearsal
    names = (*SYSTEM, *LOGIN) if uses_login else SYSTEM
    found = {name: operator[name] for name in names if name in operator}
    found |= SWITCHES | dict(settings.environment) | dict(request.launch.environment)
    if not uses_login:
        found["HOME"] = _made(scratch / "home")
    found |= dict.fromkeys(_FOLDERS, _made(scratch / "tmp"))
    found |= _around(settings, request, found)
    if request.rehearsal:
        found["ANTHROPIC_AUTH_TOKEN"] = REHEARSAL_TOKEN
    elif not uses_login:
        found |= {name: secret.reveal() for name, secret in request.secrets.items()}
    if request.base_url is not None:
        found["ANTHROPIC_BASE_URL"] = request.base_url
    for name in request.launch.unset:
        found.pop(name, None)
    if request.shielded:
        found |= SHIELD
    return dict(sorted(found.items()))


def _around(
    settings: CliSettings, request: AttemptRequest, found: Mapping[str, str]
) -> dict[str, str]:
    """Return what the surroundings of a writable workspace change."""
    around = request.surroundings
    if around is None:
        return {}
    changed = {
        "PATH": os.pathsep.join([str(around.programs), found.get("PATH", os.defpath)]),
        SNAPSHOTS: str(around.snapshots),
        **dict.fromkeys(_FOLDERS, str(around.temporary)),
    }
    if settings.credential != LOGIN_CREDENTIAL or request.rehearsal:
        changed["HOME"] = str(around.home)
    if settings.credential == CONFIG_DIR:
        own = None if request.rehearsal else request.config_dir
        changed[CONFIG_VARIABLE] = str(own or around.config)
    return changed


def shown(
    found: Mapping[str, str], settings: CliSettings, request: AttemptRequest
) -> dict[str, str]:
    """Return the environment without what differs per attempt or must not be told.

    A digest of a short text, such as a home folder, could be guessed: those values are left out.
    """
    kept = set(found) - {*CREDENTIALS, *ENDPOINTS, *_FOLDERS, *_PERSONAL, *request.secrets}
    kept -= {SNAPSHOTS, CONFIG_VARIABLE}
    kept |= set(settings.environment)
    return {name: value if name in kept else _WITHHELD for name, value in sorted(found.items())}


def _check_way(settings: CliSettings, request: AttemptRequest) -> None:
    if settings.credential == CONFIG_DIR and not request.rehearsal and request.config_dir is None:
        raise AgentError(
            'transports.cli.credential is "config-dir", and no folder was given; give --config-dir'
        )
    if request.rehearsal:
        if urlsplit(request.base_url or "").hostname not in _LOOPBACK:
            raise RuntimeError("a rehearsal talks to a loopback address only")
    elif settings.credential == "api-key" and not request.secrets:
        raise AgentError(
            'transports.cli.credential is "api-key", and no key was given; set its variable, or'
            ' use credential = "login"'
        )


def environment_problems(study: Mapping[str, str]) -> list[Problem]:
    """Return what is wrong with the variables that a study sets."""
    return [
        Problem(
            f"transports.cli.environment.{name}",
            "the harness alone decides on this variable",
            "take it out (transports.cli.credential chooses the credential)",
        )
        for name in sorted({*study} & {*RESERVED})
    ]


def _refuse(study: Mapping[str, str], servers: Iterable[McpServer], secrets: Iterable[str]) -> None:
    for problem in environment_problems(study):
        raise AgentError(str(problem))
    keys = {*CREDENTIALS, *secrets}
    for server in servers:
        named = sorted(keys & {*server.environment})
        if named:
            raise AgentError(
                f"MCP server {server.name} asks for {', '.join(named)}, and no credential of the"
                " agent's reaches a server; take it out of the server's environment"
            )


def _made(folder: Path) -> str:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return str(folder)
