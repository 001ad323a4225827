"""What a document is made of: blocks, as plain values. Inline text stays text until it is rendered."""

from dataclasses import dataclass, field


@dataclass
class Heading:
    """A heading of level 1 to 6; ``line`` counts from 1."""

    level: int
    text: str
    line: int = 0


@dataclass
class Paragraph:
    """Lines of text that belong together."""

    lines: list
    line: int = 0

    @property
    def text(self):
        """Return its text, lines joined as they stood."""
        return "\n".join(self.lines)


@dataclass
class Code:
    """A fenced block of code; ``language`` is empty where the fence names none."""

    lines: list
    language: str = ""
    line: int = 0


@dataclass
class ListItem:
    """One item of a list: its text, and the blocks that are indented below it."""

    text: str
    children: list = field(default_factory=list)


@dataclass
class ListBlock:
    """A list; an ordered one has the number that it begins with."""

    ordered: bool
    items: list
    start: int = 1
    line: int = 0


@dataclass
class Quote:
    """A quotation: blocks of its own."""

    children: list
    line: int = 0


@dataclass
class Rule:
    """A thematic break."""

    line: int = 0


def walk(blocks):
    """Yield every block, those inside of others after the one that holds them."""
    for block in blocks:
        yield block
        if isinstance(block, Quote):
            yield from walk(block.children)
        elif isinstance(block, ListBlock):
            for item in block.items:
                yield from walk(item.children)
