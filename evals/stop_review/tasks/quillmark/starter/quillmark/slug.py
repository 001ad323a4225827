"""Names for headings that links can point to."""

import re
import unicodedata


def slug(text):
    """Return a heading's text as a name: small letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    words = re.findall(r"[a-z0-9]+", plain.lower())
    return "-".join(words) or "section"


class Slugs:
    """Gives each heading of a document a name of its own."""

    def __init__(self):
        self._taken = {}

    def name(self, text):
        """Return the name of the next heading; a second one of the same text gets ``-2``."""
        base = slug(text)
        count = self._taken.get(base, 0) + 1
        self._taken[base] = count
        return base if count == 1 else "{}-{}".format(base, count)
