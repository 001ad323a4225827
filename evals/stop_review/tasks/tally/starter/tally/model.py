"""What a journal holds: transactions, made of postings to accounts."""

from dataclasses import dataclass, field
from datetime import date
from typing import Optional

from tally.amounts import Amount, Sum


@dataclass(frozen=True)
class Posting:
    """One side of a transaction; ``account`` is written with colons, ``expenses:food``."""

    account: str
    amount: Amount
    note: str = ""


@dataclass(frozen=True)
class Transaction:
    """One event: what moved between accounts on a day."""

    day: date
    payee: str
    postings: tuple
    cleared: bool = False
    line: int = 0
    tags: frozenset = frozenset()

    def total(self):
        """Return what its postings add up to; nothing if it is in balance."""
        return Sum(posting.amount for posting in self.postings)


@dataclass
class Journal:
    """Everything that was read: transactions in the order of their days, and open accounts.

    ``opened`` maps an account to the day on which it was opened; a journal without any such line
    takes every account as it comes.
    """

    transactions: list = field(default_factory=list)
    opened: dict = field(default_factory=dict)

    def accounts(self):
        """Return the names of the accounts that are posted to or opened, sorted."""
        used = {posting.account for each in self.transactions for posting in each.postings}
        return sorted(used | set(self.opened))

    def between(self, since: Optional[date] = None, until: Optional[date] = None):
        """Return the transactions from a day on and before another."""
        return [
            each
            for each in self.transactions
            if (since is None or each.day >= since) and (until is None or each.day < until)
        ]


def is_below(account, parent):
    """Return whether an account is another one or lies below it."""
    return account == parent or account.startswith(parent + ":")


def parents(account):
    """Return an account and those above it, the highest first."""
    parts = account.split(":")
    return [":".join(parts[:count]) for count in range(1, len(parts) + 1)]
