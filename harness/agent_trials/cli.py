"""The command ``agent-trials``: everything around a run that pytest is not for.

A command is imported when it is called, so that ``--help`` and completion start at once. Exit
codes: 0 all is well, 1 something was verified and is wrong, 2 wrong command line, 4 refused.
"""

from __future__ import annotations

import difflib
import importlib
from typing import Any

import click

from agent_trials.commands import examples
from agent_trials.errors import LedgerBrokenError, TrialsError

WRONG = 1
REFUSED = 4

COMMANDS: dict[str, tuple[str, str]] = {
    "new": ("agent_trials.commands.new", "Write a study that rehearses at once."),
    "check": (
        "agent_trials.commands.check",
        "Say everything that is wrong or doubtful in a study.",
    ),
    "select": (
        "agent_trials.commands.select",
        "Select a benchmark's tasks by a rule that leaves nobody a choice.",
    ),
    "freeze": ("agent_trials.commands.freeze", "Fix a study before its first paid attempt."),
    "amend": ("agent_trials.commands.amend", "Record what was changed in a frozen study."),
    "prepare": (
        "agent_trials.commands.prepare",
        "Make clean checkouts of a study's repositories at their pins.",
    ),
    "providers": (
        "agent_trials.commands.providers",
        "Check the file of --transport provider, and write its digest.",
    ),
    "show": ("agent_trials.commands.show", "Show what a ledger holds."),
    "verify": ("agent_trials.commands.verify", "Check every line, rule and opening of a ledger."),
    "report": (
        "agent_trials.commands.report",
        "Write what a finished ledger comes to, for readers and for programs.",
    ),
    "bundle": (
        "agent_trials.commands.bundle",
        "Write what of a ledger may be published, with a program that verifies it.",
    ),
    "approve": (
        "agent_trials.commands.approve",
        "Approve what a ledger holds for publication.",
    ),
}
"""Each command by its name: the module that holds it as ``command``, and what it does."""


class _Commands(click.Group):
    """A group that imports a command when it is needed and says errors of ours in sentences."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of a study's life."""
        del ctx
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name, or say which one is nearest."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            meant = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(COMMANDS)}"
            ctx.fail(f"no command {args[0]!r}; {meant}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, None if there is none."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any of them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, what) for name, (_, what) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's own signature
        """Run the command; what a user can put right is a sentence and an exit code."""
        try:
            return super().invoke(ctx)
        except TrialsError as error:
            click.echo(str(error), err=True)
            ctx.exit(WRONG if isinstance(error, LedgerBrokenError) else REFUSED)
        except BrokenPipeError:
            raise  # whoever read the output has enough of it, as head does; click ends quietly
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            click.echo(
                f"agent-trials: {where}{error.strerror or error}; nothing else was done", err=True
            )
            ctx.exit(REFUSED)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "agent-trials new doc_bridge            a study that rehearses at once",
        "pytest evals/doc_bridge -m pilot       rehearse it, at no cost",
        "agent-trials check evals/doc_bridge    everything that is wrong with it",
        "agent-trials freeze evals/doc_bridge   before the first paid attempt",
        "agent-trials show LEDGER               what a run's ledger holds",
    ),
)
@click.version_option(package_name="pytest-agent-trials", message="%(package)s %(version)s")
def main() -> None:
    """Find out whether a tool helps a coding agent, and prove it.

    A study is a folder: the question and the arms in study.toml, the expected answers in key.toml,
    the reasons in PROTOCOL.md. pytest runs it; these commands are for before and after.

    Exit codes: 0 well, 1 verified and wrong, 2 wrong command line, 4 refused.
    """
