"""What can go wrong, each with a sentence for the user."""


class RotaError(Exception):
    """A plan, or a file of one, that makes no sense."""
