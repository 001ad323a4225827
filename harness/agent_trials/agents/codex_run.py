"""One run of the Codex adapter, from a request to a reply; its HOME does not outlive it."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_trials import process
from agent_trials.agents import (
    codex_command,
    codex_preflight,
    codex_prompt,
    codex_reading,
    codex_reply,
)
from agent_trials.agents.cli_rules import ProcessFacts
from agent_trials.agents.codex_prompt import RequestError
from agent_trials.agents.codex_schema import OUTPUT
from agent_trials.errors import AgentError, Problem
from agent_trials.records import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_trials.agents.codex_options import Options

_STDOUT_BYTES = 32 * 1024 * 1024
_LEAST_SECONDS = 1.0


@dataclass(frozen=True)
class Outcome:
    """The reply, and what there is to say on standard error."""

    reply: Mapping[str, Any]
    logs: tuple[str, ...] = ()
    details: tuple[str, ...] = ()

    @property
    def completed(self) -> bool:
        """Tell whether the run completed."""
        return "execution" not in self.reply


@dataclass(frozen=True)
class _Place:
    """Where a run happens: its export, its HOME, and the environment of all that it starts."""

    folder: Path
    home: Path
    environment: Mapping[str, str]


def run(
    request: Mapping[str, Any], options: Options, given: Mapping[str, str], folder: Path
) -> Outcome:
    """Return what a run came to; what is wrong with its setting is found before it is asked.

    Args:
        request: the provider contract's.
        options: the run.
        given: the adapter's own environment.
        folder: the attempt's export.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        try:
            place = stack.enter_context(_place(options, given, folder))
        except OSError as error:
            return _refused("preflight-failed", [_no_home(options, error)])
        found, problems = _look(options, given, place)
        if found is None or problems:
            return _refused("preflight-failed", problems)
        try:
            handoff = _handoff(request, options, given, folder)
        except RequestError as error:
            return _refused("handoff-failed", [Problem("--handoff", str(error), "run it by hand")])
        text = codex_prompt.prompt(request, handoff).encode("utf-8", "replace")
        left = options.timeout_seconds - (time.monotonic() - began)
        filled = _filled(options, request, folder)
        return _asked(found, filled, place, text, max(left, _LEAST_SECONDS))


def check(options: Options, given: Mapping[str, str], folder: Path) -> list[Problem]:
    """Return all that speaks against a run, MCP servers included; no model is asked."""
    try:
        with _place(options, given, folder) as place:
            _, problems = _look(options, given, place)
            if options.servers:
                # The protocol's package is heavy, and a run leaves the servers to the CLI.
                from agent_trials.agents import codex_servers  # noqa: PLC0415

                filled = _filled(options, {"objective": ""}, folder)
                problems += codex_servers.server_problems(filled.servers, place.environment, folder)
            return problems
    except OSError as error:
        return [_no_home(options, error)]


def _look(
    options: Options, given: Mapping[str, str], place: _Place
) -> tuple[Path | None, list[Problem]]:
    """Return the program, and all that speaks against a run."""
    wrong_place = list(codex_preflight.folder_problems(options, _temporary(given)))
    problems = [*wrong_place, *codex_preflight.key_problems(options, given)]
    found = codex_preflight.program(options, given.get("PATH", os.defpath))
    if found is None:
        remedy = f"install it: {codex_preflight.install(options.version)}, or give --codex PATH"
        return None, [*problems, Problem("--codex", f"{options.codex} is no executable", remedy)]
    if not wrong_place:  # there no sandbox works, and the reason is known
        problems += codex_preflight.program_problems(
            found, options, place.environment, place.folder
        )
    return found, problems


def _temporary(given: Mapping[str, str]) -> Path:
    """Return the folder for temporary files, which the CLI gets as well."""
    return Path(given.get("TMPDIR") or tempfile.gettempdir())


def _no_home(options: Options, error: OSError) -> Problem:
    what = f"{options.homes} cannot hold a HOME: {error.strerror}"
    return Problem("--homes", what, "give --homes DIR that can be written")


@contextmanager
def _place(options: Options, given: Mapping[str, str], folder: Path) -> Iterator[_Place]:
    """Yield a place with a HOME of its own; its name tells neither arm nor task."""
    own = options.homes / f"h-{secrets.token_hex(8)}"
    home = own / "home"
    (home / ".codex").mkdir(mode=0o700, parents=True)
    environment = codex_command.environment(options, given, home=home, temporary=_temporary(given))
    try:
        yield _Place(folder, home, environment)
    finally:
        # What cannot be removed must not cost the reply that was paid for.
        shutil.rmtree(own, ignore_errors=True)


def _asked(found: Path, options: Options, place: _Place, prompt: bytes, seconds: float) -> Outcome:
    schema = json.dumps(OUTPUT).encode()
    file = place.home.parent / "schema.json"
    file.write_bytes(schema)
    reads = codex_preflight.reads(found, place.home / ".codex")
    argv = codex_command.argv(str(found), options, schema=file, reads=reads)
    limits = process.Limits(deadline_seconds=seconds, stdout_bytes=_STDOUT_BYTES)
    command = process.Command(argv, place.folder, place.environment)
    try:
        ended = process.run(command, process.Text(prompt), limits)
    except AgentError as error:
        reply = {"execution": codex_reply.execution(Status.FAILED, ["not-startable"])}
        return Outcome(reply, (str(error),))
    facts = ProcessFacts(
        exit_code=ended.exit_code,
        timed_out=ended.timed_out,
        truncated=ended.truncated,
        wall_time_ms=ended.wall_time_ms,
        arrivals=ended.arrivals,
    )
    reading = codex_reading.read(
        ended.stdout,
        facts,
        options.expected,
        stderr=ended.stderr.decode("utf-8", "replace"),
        provider_input_bytes=len(prompt) + len(schema),
    )
    logs = (f"codex exec: {reading.status.value} {' '.join(reading.codes)}".rstrip(),)
    details = [f"{each.code}: {each.detail}" for each in reading.findings]
    return Outcome(codex_reply.of_reading(reading), logs, (*details, *reading.notes))


def _handoff(
    request: Mapping[str, Any], options: Options, given: Mapping[str, str], folder: Path
) -> str | None:
    """Return the deterministic handoff, None in an arm without one.

    Raises:
        RequestError: it did not end well, or is none.
    """
    if not options.handoff:
        return None
    environment = {name: given[name] for name in ("PATH", "HOME", "TMPDIR") if name in given}
    limits = process.Limits(options.handoff_seconds, options.handoff_bytes)
    argv = tuple(_fill(word, request, folder) for word in options.handoff)
    try:
        ended = process.run(process.Command(argv, folder, environment), process.Silent(), limits)
    except AgentError as error:
        raise RequestError(str(error)) from error
    if ended.timed_out or ended.truncated or ended.exit_code != 0:
        how = "took too long" if ended.timed_out else f"ended with code {ended.exit_code}"
        raise RequestError("it printed too much" if ended.truncated else f"it {how}")
    return codex_prompt.compact(ended.stdout)


def _filled(options: Options, request: Mapping[str, Any], folder: Path) -> Options:
    servers = tuple(
        replace(each, command=tuple(_fill(word, request, folder) for word in each.command))
        for each in options.servers
    )
    return replace(options, servers=servers)


def _fill(word: str, request: Mapping[str, Any], folder: Path) -> str:
    """Return a word of a command with its placeholders filled in, each value as it is."""
    task = request.get("task")
    about: Mapping[str, Any] = task if isinstance(task, dict) else {}
    values = {
        "{checkout}": str(folder),
        "{objective}": str(request["objective"]),
        "{task}": str(about.get("taskId", "")),
        "{repository}": str(about.get("repositoryId", "")),
    }
    return values.get(word, word.replace("{checkout}", str(folder)))


def _refused(code: str, problems: list[Problem]) -> Outcome:
    reply = {"execution": codex_reply.execution(Status.INVALID_SETUP, [code])}
    return Outcome(reply, tuple(map(str, problems)))
