"""What the accounts hold."""

from tally.amounts import Sum
from tally.model import is_below, parents


def balances(transactions):
    """Return what each account holds by itself, accounts by name; empty ones are left out."""
    found = {}
    for transaction in transactions:
        for posting in transaction.postings:
            found.setdefault(posting.account, Sum()).add(posting.amount)
    return {account: found[account] for account in sorted(found) if found[account]}


def rolled_up(transactions, depth=None):
    """Return what each account holds with those below it, down to a depth."""
    found = {}
    for transaction in transactions:
        for posting in transaction.postings:
            for account in parents(posting.account)[:depth]:
                found.setdefault(account, Sum()).add(posting.amount)
    return {account: found[account] for account in sorted(found) if found[account]}


def of_account(transactions, account):
    """Return what an account holds with those below it."""
    return Sum(
        posting.amount
        for transaction in transactions
        for posting in transaction.postings
        if is_below(posting.account, account)
    )


def grand_total(held):
    """Return what several accounts hold together."""
    total = Sum()
    for amounts in held.values():
        total.add_all(amounts)
    return total
