"""What differs between two configurations."""

from dataclasses import dataclass

from layercfg import paths


@dataclass(frozen=True)
class Change:
    """One path whose value differs; a side that lacks it has None."""

    path: str
    old: object
    new: object

    @property
    def kind(self):
        """Return ``added``, ``removed`` or ``changed``."""
        if self.old is None:
            return "added"
        return "removed" if self.new is None else "changed"


def diff(old, new):
    """Return the changes from one configuration to another, in order of the paths."""
    before, after = dict(paths.leaves(old)), dict(paths.leaves(new))
    return [
        Change(path, before.get(path), after.get(path))
        for path in sorted(set(before) | set(after))
        if before.get(path) != after.get(path)
    ]
