"""What may be wrong with a journal that can be read."""

from collections import Counter


def findings(journal):
    """Return sentences about what looks wrong, in order of the lines."""
    found = _unopened(journal) + _too_early(journal) + _twice(journal)
    return [text for _, text in sorted(found)]


def _unopened(journal):
    if not journal.opened:
        return []
    return [
        (each.line, "line {}: {} was never opened".format(each.line, posting.account))
        for each in journal.transactions
        for posting in each.postings
        if posting.account not in journal.opened
    ]


def _too_early(journal):
    return [
        (
            each.line,
            "line {}: {} was opened later, on {}".format(
                each.line, posting.account, journal.opened[posting.account]
            ),
        )
        for each in journal.transactions
        for posting in each.postings
        if posting.account in journal.opened and each.day < journal.opened[posting.account]
    ]


def _twice(journal):
    keys = [(each.day, each.payee, each.postings) for each in journal.transactions]
    counts = Counter(keys)
    found = []
    seen = Counter()
    for each, key in zip(journal.transactions, keys):
        seen[key] += 1
        if counts[key] > 1 and seen[key] > 1:
            text = "line {}: {} on {} stands there twice".format(each.line, each.payee, each.day)
            found.append((each.line, text))
    return found
