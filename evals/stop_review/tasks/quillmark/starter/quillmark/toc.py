"""The table of contents: the headings of a document, nested by their level."""

from dataclasses import dataclass, field

from quillmark.inline import plain
from quillmark.nodes import Heading
from quillmark.slug import Slugs


@dataclass
class Entry:
    """One heading with those below it."""

    level: int
    text: str
    name: str
    children: list = field(default_factory=list)


def entries(blocks, depth=6):
    """Return the headings of the top level of a document, nested, down to a level."""
    slugs = Slugs()
    roots = []
    path = []
    for block in blocks:
        if not isinstance(block, Heading):
            continue
        text = plain(block.text)
        entry = Entry(block.level, text, slugs.name(text))
        if block.level > depth:
            continue
        while path and path[-1].level >= entry.level:
            path.pop()
        (path[-1].children if path else roots).append(entry)
        path.append(entry)
    return roots


def as_text(found, indent=0):
    """Return entries as lines, two spaces further in for every level."""
    lines = []
    for entry in found:
        lines.append("  " * indent + "- " + entry.text + " (#" + entry.name + ")")
        lines += as_text(entry.children, indent + 1)
    return lines
