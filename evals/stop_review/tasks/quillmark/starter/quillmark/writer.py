"""From blocks to HTML."""

import html

from quillmark import inline
from quillmark.nodes import Code, Heading, ListBlock, Paragraph, Quote, Rule
from quillmark.slug import Slugs


class Writer:
    """Writes the blocks of one document; headings get names unless that is switched off."""

    def __init__(self, names=True):
        self._slugs = Slugs() if names else None
        self._writers = {
            Heading: self._heading,
            Paragraph: self._paragraph,
            Code: self._code,
            ListBlock: self._list,
            Quote: self._quote,
            Rule: self._rule,
        }

    def write(self, blocks):
        """Return blocks as HTML, one after the other, each ending with a line break."""
        return "".join(self._writers[type(block)](block) + "\n" for block in blocks)

    def _heading(self, block):
        name = ""
        if self._slugs:
            name = ' id="{}"'.format(self._slugs.name(inline.plain(block.text)))
        return "<h{0}{1}>{2}</h{0}>".format(block.level, name, inline.render(block.text))

    def _paragraph(self, block):
        return "<p>" + inline.render(block.text) + "</p>"

    def _code(self, block):
        language = ' class="language-{}"'.format(block.language) if block.language else ""
        text = "".join(line + "\n" for line in block.lines)
        return "<pre><code{}>{}</code></pre>".format(language, html.escape(text, quote=False))

    def _list(self, block):
        tag = "ol" if block.ordered else "ul"
        start = ' start="{}"'.format(block.start) if block.ordered and block.start != 1 else ""
        items = "".join(self._item(item) for item in block.items)
        return "<{0}{1}>\n{2}</{0}>".format(tag, start, items)

    def _item(self, item):
        below = "\n" + self.write(item.children) if item.children else ""
        return "<li>" + inline.render(item.text) + below + "</li>\n"

    def _quote(self, block):
        return "<blockquote>\n" + self.write(block.children) + "</blockquote>"

    def _rule(self, _):
        return "<hr>"
