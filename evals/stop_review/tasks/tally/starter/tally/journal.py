"""Reads journals.

    ; a comment
    open 2026-01-01 assets:bank
    2026-03-02 * Corner shop  ; #food
        expenses:food     12.50 EUR
        assets:cash

At most one posting of a transaction may lack its amount; it takes what the others leave over.
"""

import re
from datetime import date

from tally.amounts import Sum, parse_amount
from tally.errors import JournalError, TallyError, Unbalanced
from tally.model import Journal, Posting, Transaction

_HEAD = re.compile(r"^(?P<day>\d{4}-\d{2}-\d{2})\s+(?P<cleared>\*\s+)?(?P<payee>\S.*?)\s*$")
_OPEN = re.compile(r"^open\s+(?P<day>\d{4}-\d{2}-\d{2})\s+(?P<account>\S+)\s*$")
_ACCOUNT = re.compile(r"^[a-z][a-z0-9-]*(?::[a-z][a-z0-9-]*)*$")
_TAG = re.compile(r"#([a-z][a-z0-9-]*)")


def parse_journal(text):
    """Return the journal of a text; its transactions are in balance."""
    journal = Journal()
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        content, note = split_note(lines[at])
        if not content.strip():
            at += 1
        elif content.startswith("open"):
            _open(journal, content, at + 1)
            at += 1
        elif content[0].isdigit():
            transaction, at = _transaction(lines, at, content, note)
            journal.transactions.append(transaction)
        else:
            raise JournalError(at + 1, "this is neither a transaction nor a directive: " + content.strip())
    journal.transactions.sort(key=lambda each: each.day)
    return journal


def read_journal(path):
    """Return the journal in a file."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse_journal(file.read())
    except OSError as error:
        raise TallyError("{}: {}".format(path, error.strerror or error)) from error


def split_note(line):
    """Return what stands before a semicolon, and what stands behind it."""
    content, _, note = line.partition(";")
    return content.rstrip(), note.strip()


def parse_day(text, line):
    """Return the day that ``2026-03-02`` writes."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise JournalError(line, "there is no day " + text) from None


def _open(journal, content, line):
    found = _OPEN.match(content)
    if not found:
        raise JournalError(line, "an account is opened by: open 2026-01-01 assets:bank")
    account = _account(found["account"], line)
    if account in journal.opened:
        raise JournalError(line, "the account is open already: " + account)
    journal.opened[account] = parse_day(found["day"], line)


def _transaction(lines, at, content, note):
    """Return the transaction that begins at a line, and the number of the line after it."""
    found = _HEAD.match(content)
    if not found:
        raise JournalError(at + 1, "a transaction begins with a day and a payee")
    day = parse_day(found["day"], at + 1)
    head = at + 1
    postings = []
    missing = []
    at += 1
    while at < len(lines) and lines[at][:1] in (" ", "\t") and lines[at].strip():
        inner, own_note = split_note(lines[at])
        if inner.strip():
            account, amount = _posting(inner, at + 1)
            if amount is None:
                missing.append(len(postings))
            postings.append((account, amount, own_note))
        at += 1
    transaction = Transaction(
        day=day,
        payee=found["payee"],
        postings=_complete(postings, missing, head),
        cleared=bool(found["cleared"]),
        line=head,
        tags=frozenset(_TAG.findall(note)),
    )
    rest = transaction.total()
    if rest:
        raise Unbalanced(transaction, rest)
    return transaction, at


def _posting(content, line):
    words = content.split(None, 1)
    account = _account(words[0], line)
    if len(words) == 1:
        return account, None
    try:
        return account, parse_amount(words[1])
    except TallyError as error:
        raise JournalError(line, str(error)) from None


def _complete(postings, missing, line):
    if len(postings) < 2:
        raise JournalError(line, "a transaction has at least two postings")
    if len(missing) > 1:
        raise JournalError(line, "more than one posting lacks its amount")
    if missing:
        rest = Sum(amount for _, amount, _ in postings if amount is not None).amounts()
        if len(rest) > 1:
            raise JournalError(line, "the missing amount would be of several commodities")
        if not rest:
            raise JournalError(line, "nothing is left over for the missing amount")
        account, _, note = postings[missing[0]]
        postings[missing[0]] = (account, -rest[0], note)
    return tuple(Posting(account, amount, note) for account, amount, note in postings)


def _account(text, line):
    if not _ACCOUNT.match(text):
        raise JournalError(line, "an account is like expenses:food, not " + text)
    return text
