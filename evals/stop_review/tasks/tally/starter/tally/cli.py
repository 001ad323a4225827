"""The command line.

Exit codes: 0 when all is well, 1 when `check` finds something, 2 for what cannot be read.
"""

import argparse
import sys
from datetime import date

from tally import balance, checks, layout, register
from tally.errors import TallyError
from tally.journal import read_journal


def main(argv=None):
    """Run one command; return its exit code."""
    options = parser().parse_args(argv)
    try:
        return options.run(options, read_journal(options.journal))
    except TallyError as error:
        print("tally: " + str(error), file=sys.stderr)
        return 2


def parser():
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="tally", description="Plain-text bookkeeping.")
    commands = top.add_subparsers(dest="command", required=True)

    held = _command(commands, "balance", "what the accounts hold")
    held.add_argument("account", nargs="?", help="this account and those below it")
    held.add_argument("--depth", type=int, help="how deep accounts are shown")
    held.add_argument("--flat", action="store_true", help="each account by itself, in full")
    held.set_defaults(run=_balance)

    lines = _command(commands, "register", "what happened on an account")
    lines.add_argument("account")
    lines.add_argument("--monthly", action="store_true", help="a line for each month")
    lines.set_defaults(run=_register)

    names = _command(commands, "accounts", "the names of the accounts")
    names.set_defaults(run=_accounts)

    check = _command(commands, "check", "what looks wrong")
    check.set_defaults(run=_check)
    return top


def _command(commands, name, text):
    command = commands.add_parser(name, help=text)
    command.add_argument("journal", help="the journal file")
    command.add_argument("--since", type=_day, help="from this day on")
    command.add_argument("--until", type=_day, help="before this day")
    command.add_argument("--tag", help="only transactions with this tag")
    return command


def _day(text):
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("a day is like 2026-03-02, not " + repr(text)) from None


def _selected(options, journal):
    found = journal.between(options.since, options.until)
    return [each for each in found if options.tag is None or options.tag in each.tags]


def _balance(options, journal):
    transactions = _selected(options, journal)
    own = balance.balances(transactions)
    held = own if options.flat else balance.rolled_up(transactions, options.depth)
    if options.account:
        held = _below(held, options.account)
        own = _below(own, options.account)
    _print(layout.balance_lines(held, balance.grand_total(own), options.flat))
    return 0


def _below(held, account):
    return {
        name: amounts
        for name, amounts in held.items()
        if name == account or name.startswith(account + ":")
    }


def _register(options, journal):
    transactions = _selected(options, journal)
    if options.monthly:
        months = register.by_month(transactions, options.account)
        _print(layout.right_aligned([(str(amounts), month) for month, amounts in months.items()]))
    else:
        _print(layout.register_lines(register.register(transactions, options.account)))
    return 0


def _accounts(options, journal):
    del options
    _print(journal.accounts())
    return 0


def _check(options, journal):
    del options
    found = checks.findings(journal)
    _print(found)
    return 1 if found else 0


def _print(lines):
    for line in lines:
        print(line)
