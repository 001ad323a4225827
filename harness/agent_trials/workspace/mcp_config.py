"""Turns a study's MCP server into a command that can be started anywhere, and says what it is.

Rules:
    1. ``{python}``, ``{checkout}``, ``{config}`` and the study's parameters are filled in
       (``mcp_command``). ``{config}`` is the first of the candidates that is a file of the
       checkout, then ``package.json`` if it has the named key.
    2. Every word of the command that is a file is digested (also ``--option=FILE``).
    3. The environment is the named variables and nothing else; a missing one is a problem, and one
       that holds a credential of the agent's is never passed on.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials.canonical import ALGORITHM
from agent_trials.errors import Problem, ProblemsError
from agent_trials.records import McpServer
from agent_trials.study.settings import AnswerFreshness, IndexFreshness
from agent_trials.workspace.mcp_command import SCRATCH, Place, absolute_value, fill, ready

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_trials.study.settings import McpServerSettings

PACKAGE = "package.json"
FORBIDDEN_NAMES = frozenset(
    {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "PYTEST_CURRENT_TEST"}
)
"""What reaches no server, whatever a study says."""


@dataclass(frozen=True, order=True)
class ProgramFile:
    """A file that the command names: which word of it, counted from 0, and the bytes' digest."""

    word: int
    digest: str


@dataclass(frozen=True)
class ResolvedServer:
    """A server that can be started, not yet probed.

    ``server`` has no tools yet. ``words`` are the values of the placeholders, ``config`` is the
    configuration file relative to the checkout, ``index_program`` the absolute path of what makes
    the index again (None if it is part of the checkout, or there is none); all are private.
    """

    place: Place
    settings: McpServerSettings
    server: McpServer
    checkout: Path = field(repr=False)
    words: Mapping[str, str] = field(repr=False)
    config: str | None
    files: tuple[ProgramFile, ...]
    index_program: str | None = field(default=None, repr=False)


def resolve(
    settings: McpServerSettings,
    *,
    place: Place,
    checkout: Path,
    parameters: Mapping[str, str],
    environ: Mapping[str, str],
    python: str = sys.executable,
) -> ResolvedServer:
    """Return the server as it can be started for one checkout.

    Args:
        settings: the server as the study declares it.
        place: what problems name.
        checkout: the repository at its pin.
        parameters: the study's parameters by name.
        environ: the operator's environment, for PATH and the named variables.
        python: what ``{python}`` stands for.

    Raises:
        ProblemsError: all that is wrong with it.
    """
    checkout = checkout.resolve()
    config, problems = _config(settings, place, checkout)
    words = {"python": python, "checkout": str(checkout)}
    words |= {name: absolute_value(value) for name, value in parameters.items() if value}
    # Where there is no configuration file, that is said once, not once more by the placeholder.
    inner = words | {"config": str(checkout / config) if config else ""}
    command, unready = ready(settings.command, inner, environ, place)
    index_program, unfresh = _freshness(settings, inner, environ, place)
    environment, unset = _environment(settings.environment, environ, place)
    problems += unready + unfresh + unset
    if problems:
        raise ProblemsError(problems)
    server = McpServer(
        place.server, command, tuple(sorted(set(settings.allow))), (), environment=environment
    )
    return ResolvedServer(
        place, settings, server, checkout, words, config, _files(command), index_program
    )


def file_digest(path: Path) -> str:
    """Return the digest of a file's bytes."""
    with path.open("rb") as file:
        return f"{ALGORITHM}:{hashlib.file_digest(file, ALGORITHM).hexdigest()}"


def _config(
    settings: McpServerSettings, place: Place, checkout: Path
) -> tuple[str | None, list[Problem]]:
    freshness = settings.freshness
    index_command = freshness.command if isinstance(freshness, IndexFreshness) else ()
    if not any("{config}" in word for word in (*settings.command, *index_command)):
        return None, []
    for name in settings.config_candidates:
        if file_inside(checkout, name):
            return name, []
    key = settings.config_key
    if key is not None and _has_key(checkout, key):
        return PACKAGE, []
    looked = [*settings.config_candidates]
    if key is not None:
        looked.append(f"{PACKAGE} with the key {key!r}")
    problem = Problem(
        str(place),
        f"the checkout has no configuration file (looked for: {', '.join(looked) or 'nothing'})",
        "check the pin, or name the file in `config_candidates`",
    )
    return None, [problem]


def file_inside(checkout: Path, name: str) -> bool:
    """Return whether a relative path is a file of the checkout, also behind a link, not outside."""
    path = (checkout / name).resolve()
    return path.is_file() and path.is_relative_to(checkout.resolve())


def _has_key(checkout: Path, key: str) -> bool:
    if not file_inside(checkout, PACKAGE):
        return False
    try:
        package: Any = json.loads((checkout / PACKAGE).read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return False
    return isinstance(package, dict) and key in package


def _freshness(
    settings: McpServerSettings, words: Mapping[str, str], environ: Mapping[str, str], place: Place
) -> tuple[str | None, list[Problem]]:
    """Return the program that makes the index again, and what is wrong with the rule."""
    rule = settings.freshness
    if isinstance(rule, AnswerFreshness):
        return None, _pattern_problems(rule.matches, place)
    if rule is None:
        return None, []
    # Made in the checkout itself, the index would be compared with itself.
    within = {name: value for name, value in words.items() if name != "checkout"}
    if f"{{{SCRATCH}}}" in rule.command[0]:
        return None, fill(rule.command, {**within, SCRATCH: ""}, place)[1]
    command, problems = ready(rule.command, {**within, SCRATCH: ""}, environ, place)
    return command[0], problems


def _pattern_problems(pattern: str, place: Place) -> list[Problem]:
    try:
        re.compile(pattern)
    except re.error as error:
        what = f"`matches` is no regular expression: {pattern!r} ({error})"
        return [Problem(str(place), what, "correct it; it is looked for with Python's `re.search`")]
    return []


def _environment(
    names: tuple[str, ...], environ: Mapping[str, str], place: Place
) -> tuple[dict[str, str], list[Problem]]:
    problems = []
    for name in names:
        if name in FORBIDDEN_NAMES:
            remedy = "take it out of `environment`; a server never gets it"
            problems.append(Problem(str(place), f"{name} is not for a server", remedy))
        elif name not in environ:
            remedy = "set it, or take it out of `environment`"
            problems.append(Problem(str(place), f"the variable {name} is not set", remedy))
    return {name: environ[name] for name in names if name in environ}, problems


def _files(command: tuple[str, ...]) -> tuple[ProgramFile, ...]:
    return tuple(
        ProgramFile(number, file_digest(path))
        for number, word in enumerate(command)
        for path in _paths(word)
        if path.is_file()
    )


def _paths(word: str) -> Iterator[Path]:
    for part in (word, word.partition("=")[2]):
        if part.startswith("/"):
            yield Path(part)
