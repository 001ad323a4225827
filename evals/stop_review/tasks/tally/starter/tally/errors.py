"""What can go wrong, each with a sentence for the user."""


class TallyError(Exception):
    """Something in a journal, or in a question about it, that makes no sense."""


class JournalError(TallyError):
    """A line of a journal that cannot be read; ``line`` counts from 1."""

    def __init__(self, line, reason):
        self.line = line
        super().__init__("line {}: {}".format(line, reason))


class Unbalanced(TallyError):
    """A transaction whose postings do not add up to nothing."""

    def __init__(self, transaction, rest):
        self.rest = rest
        super().__init__(
            "line {}: {!r} is out of balance by {}".format(
                transaction.line, transaction.payee, rest
            )
        )
