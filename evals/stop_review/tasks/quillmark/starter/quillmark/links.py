"""What a document points to, and whether the names inside of it are there."""

from dataclasses import dataclass

from quillmark import inline
from quillmark.nodes import Heading, ListBlock, Paragraph, walk
from quillmark.slug import Slugs


@dataclass(frozen=True)
class Link:
    """One address; ``line`` is where its block begins."""

    address: str
    line: int

    @property
    def is_inside(self):
        """Return whether it points into the document itself."""
        return self.address.startswith("#")


def links(blocks):
    """Return the links and images of a document, in order."""
    found = []
    for block in walk(blocks):
        for text in _texts(block):
            found += [Link(address, block.line) for address in inline.addresses(text)]
    return found


def broken(blocks):
    """Return the links into the document whose name no heading has."""
    slugs = Slugs()
    names = {
        slugs.name(inline.plain(block.text)) for block in blocks if isinstance(block, Heading)
    }
    return [link for link in links(blocks) if link.is_inside and link.address[1:] not in names]


def _texts(block):
    if isinstance(block, (Heading, Paragraph)):
        return [block.text]
    if isinstance(block, ListBlock):
        return [item.text for item in block.items]
    return []
