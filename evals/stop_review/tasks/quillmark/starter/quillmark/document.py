"""A whole document, from text to HTML."""

import html
from collections import Counter

from quillmark import blocks, toc
from quillmark.nodes import Code, Heading, ListBlock, Paragraph, Quote, walk
from quillmark.writer import Writer

PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<title>{title}</title>
</head>
<body>
{body}</body>
</html>
"""


def render(text, names=True):
    """Return the HTML of a text, without a page around it."""
    return Writer(names=names).write(blocks.parse(text))


def page(text, language="en"):
    """Return a whole HTML page; its title is the first heading, or ``Untitled``."""
    found = blocks.parse(text)
    return PAGE.format(
        language=html.escape(language), title=html.escape(title(found)), body=Writer().write(found)
    )


def title(found):
    """Return the text of the first heading of some blocks."""
    entries = toc.entries(found)
    return entries[0].text if entries else "Untitled"


def statistics(text):
    """Return how many blocks of each kind a text holds, with those inside of others."""
    kinds = {
        Heading: "headings",
        Paragraph: "paragraphs",
        Code: "code blocks",
        ListBlock: "lists",
        Quote: "quotes",
    }
    counts = Counter(kinds.get(type(block)) for block in walk(blocks.parse(text)))
    return {name: counts[name] for name in kinds.values()}
