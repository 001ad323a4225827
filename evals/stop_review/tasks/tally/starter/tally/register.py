"""What happened on an account, line by line, with what it held then."""

from dataclasses import dataclass
from datetime import date

from tally.amounts import Amount, Sum
from tally.model import is_below


@dataclass(frozen=True)
class Line:
    """One posting to an account, with what the account held after it."""

    day: date
    payee: str
    account: str
    amount: Amount
    held: str


def register(transactions, account):
    """Return the postings to an account and those below it, in order."""
    running = Sum()
    lines = []
    for transaction in transactions:
        for posting in transaction.postings:
            if is_below(posting.account, account):
                running.add(posting.amount)
                lines.append(
                    Line(transaction.day, transaction.payee, posting.account, posting.amount, str(running))
                )
    return lines


def by_month(transactions, account):
    """Return what was posted to an account and those below it, month by month."""
    found = {}
    for transaction in transactions:
        month = transaction.day.strftime("%Y-%m")
        for posting in transaction.postings:
            if is_below(posting.account, account):
                found.setdefault(month, Sum()).add(posting.amount)
    return {month: found[month] for month in sorted(found)}
