"""The Codex CLI as a provider command: one JSON request in, one JSON object out.

    python -I -m agent_trials.agents.codex --model MODEL [OPTIONS] < request.json

Without -I Python would import modules that lie in the current folder, which is the corpus. See
docs/codex.md. Exit codes: 0 the run completed; 1 it did not, and the object says why under
``execution``; 2 wrong command line or no request, and nothing is written to standard output.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from agent_trials.agents import codex_options, codex_prompt, codex_run
from agent_trials.agents.codex_options import OptionError, Options
from agent_trials.agents.codex_prompt import RequestError

DEFAULT_HOMES = Path("~", ".cache", "codex-homes")
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.command(
    context_settings=_CONTEXT,
    epilog="""\b
Examples:
  python -I -m agent_trials.agents.codex --model gpt-5.5 --check
  python -I -m agent_trials.agents.codex --model gpt-5.5 < request.json
  python -I -m agent_trials.agents.codex --model gpt-5.5 \\
    --handoff '["ak-docs","handoff","{objective}"]' < request.json
  python -I -m agent_trials.agents.codex --model gpt-5.5 \\
    --mcp '{"docs":{"command":["ak-docs","mcp"],"tools":["doc.search"]}}' < request.json""",
)
@click.option("--model", required=True, metavar="NAME", help="The model, a full name.")
@click.option("--effort", default="medium", show_default=True, help="Its reasoning effort.")
@click.option("--codex", default="codex", show_default=True, metavar="PATH", help="The Codex CLI.")
@click.option(
    "--codex-version",
    "version",
    default=codex_options.VERSION,
    show_default=True,
    metavar="V",
    help="The version that it must report.",
)
@click.option(
    "--base-url",
    default="https://api.openai.com/v1",
    show_default=True,
    metavar="URL",
    help="A Responses API.",
)
@click.option(
    "--key",
    "key_variable",
    default="OPENAI_API_KEY",
    show_default=True,
    metavar="NAME",
    help="The variable that holds its key. Commands and servers never get it.",
)
@click.option(
    "--sandbox",
    type=click.Choice(codex_options.SANDBOXES),
    default=codex_options.WORKSPACE,
    show_default=True,
    help="What commands may do: read the workspace and the system's programs, read everything, or"
    " write the workspace.",
)
@click.option(
    "--readable",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True),
    metavar="DIR",
    help="A folder that commands may read as well (--sandbox workspace). Repeatable.",
)
@click.option(
    "--mcp",
    metavar="JSON",
    help='MCP servers: {NAME: {"command": [...], "tools": [...], "environment": [...]}}. Each is'
    " required, its tools are the only ones offered, and they are approved.",
)
@click.option(
    "--handoff",
    metavar="JSON",
    help="A program and its arguments, run first in the workspace. The JSON object that it prints"
    " goes to the model, compact, with the word to begin at its startHere and readBeforeEditing.",
)
@click.option(
    "--forbid",
    "forbidden",
    multiple=True,
    metavar="PROGRAM",
    help="A program that no command may name: the attempt is invalid-setup then. Repeatable.",
)
@click.option(
    "--homes",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT_HOMES,
    show_default=True,
    metavar="DIR",
    help="Where each run gets a HOME of its own, which is removed afterwards. Not below TMPDIR.",
)
@click.option(
    "--timeout",
    "timeout_seconds",
    type=click.IntRange(5, 86_400),
    default=170,
    show_default=True,
    metavar="SECONDS",
    help="The run's end, below the study's own deadline.",
)
@click.option(
    "--check", is_flag=True, help="Only say what would speak against a run. Asks no model."
)
@click.option(
    "--details", is_flag=True, help="Write private details to standard error: texts of the stream."
)
def command(check: bool, details: bool, **given: Any) -> None:  # noqa: ANN401, FBT001 - click's values
    """Answer one request of the study provider CLI contract v1 with the Codex CLI.

    Reads the request from standard input, asks `codex exec` in the current folder, and writes one
    JSON object. {checkout} in the commands of --mcp and --handoff is that folder; a word that is
    {objective}, {task} or {repository} is taken from the request.

    Everything that a user or project configures for Codex is off, and so are retries, web search,
    memories, plans and sub-agents.
    """
    if not sys.flags.safe_path:
        click.echo("started without -I: Python imports what lies in the workspace", err=True)
    options = _options(**given)
    environment, folder = dict(os.environ), Path.cwd()
    if check:
        _check(options, environment, folder)
        return
    try:
        request = codex_prompt.read(sys.stdin.buffer.read())
    except RequestError as error:
        raise click.ClickException(str(error)) from error
    outcome = codex_run.run(request, options, environment, folder)
    for line in (*outcome.logs, *(outcome.details if details else ())):
        click.echo(line, err=True)
    json.dump(outcome.reply, sys.stdout, separators=(",", ":"), allow_nan=False)
    sys.exit(0 if outcome.completed else 1)


def _options(*, mcp: str | None, handoff: str | None, homes: Path, **given: Any) -> Options:  # noqa: ANN401 - fields of the options
    try:
        servers = codex_options.servers(mcp, given["key_variable"]) if mcp else ()
    except OptionError as error:
        raise click.BadParameter(str(error), param_hint="--mcp") from error
    try:
        words = codex_options.words(handoff) if handoff else ()
    except OptionError as error:
        raise click.BadParameter(str(error), param_hint="--handoff") from error
    return Options(servers=servers, handoff=words, homes=homes.expanduser().absolute(), **given)


def _check(options: Options, environment: dict[str, str], folder: Path) -> None:
    problems = codex_run.check(options, environment, folder)
    for problem in problems:
        click.echo(str(problem), err=True)
    if problems:
        sys.exit(1)
    click.echo(
        f"codex-cli {options.version} can run {options.model} here: its sandbox"
        f" ({options.sandbox}) works, {options.key_variable} is set, {len(options.servers)} MCP"
        " servers list their tools"
    )


if __name__ == "__main__":
    command()
