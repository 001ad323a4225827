"""From inline text to HTML: code, links, images, strong and emphasised text, line breaks.

Code comes first, because nothing in it means anything; then backslashes, which take the meaning of the
next character away; the rest is done on what is left.
"""

import html
import re

_CODE = re.compile(r"(?<!\\)(`+)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+.!|>~-])")
_IMAGE = re.compile(r"!\[([^\]]*)\]\(([^()\s]+)(?:\s+&quot;(.*?)&quot;)?\)")
_LINK = re.compile(r"\[([^\]]+)\]\(([^()\s]+)(?:\s+&quot;(.*?)&quot;)?\)")
_AUTOLINK = re.compile(r"&lt;(https?://[^\s&]+)&gt;")
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", re.DOTALL)
_EMPHASIS = re.compile(r"(?<![\w*])([*_])(?=\S)(.+?)(?<=\S)\1(?![\w*])", re.DOTALL)
_STRIKE = re.compile(r"~~(?=\S)(.+?)(?<=\S)~~", re.DOTALL)
_BREAK = re.compile(r"(?: {2,}|\\)\n")

_UNSAFE = re.compile(r"^\s*(?:javascript|vbscript|data):", re.IGNORECASE)


def render(text):
    """Return inline text as HTML; whatever is no markup is escaped."""
    kept = []

    def keep(markup):
        kept.append(markup)
        return "\x00{}\x00".format(len(kept) - 1)

    text = _CODE.sub(lambda found: keep(_code(found[2])), text)
    text = _ESCAPED.sub(lambda found: keep(html.escape(found[1])), text)
    text = html.escape(text, quote=True)
    text = _IMAGE.sub(lambda found: keep(_image(found)), text)
    text = _LINK.sub(_link, text)
    text = _AUTOLINK.sub(lambda found: keep('<a href="{0}">{0}</a>'.format(found[1])), text)
    text = _STRONG.sub(r"<strong>\2</strong>", text)
    text = _EMPHASIS.sub(r"<em>\2</em>", text)
    text = _STRIKE.sub(r"<del>\1</del>", text)
    text = _BREAK.sub("<br>\n", text)
    return re.sub("\x00(\\d+)\x00", lambda found: kept[int(found[1])], text)


def plain(text):
    """Return inline text without its markup, for a table of contents."""
    kept = []

    def keep(part):
        kept.append(part)
        return "\x00{}\x00".format(len(kept) - 1)

    text = _CODE.sub(lambda found: keep(found[2].strip()), text)
    text = _ESCAPED.sub(lambda found: keep(found[1]), text)
    text = re.sub(r"!?\[([^\]]*)\]\([^()]*\)", r"\1", text)
    text = _STRONG.sub(r"\2", text)
    text = _EMPHASIS.sub(r"\2", text)
    text = _STRIKE.sub(r"\1", text)
    return re.sub("\x00(\\d+)\x00", lambda found: kept[int(found[1])], text)


def addresses(text):
    """Return the addresses of the links and images in inline text, in order."""
    text = _CODE.sub("", text)
    return [found[1] for found in re.finditer(r"\]\(([^()\s]+)[^()]*\)", text)]


def _code(text):
    inner = text.replace("\n", " ")
    if inner.strip() and inner.startswith(" ") and inner.endswith(" "):
        inner = inner[1:-1]
    return "<code>" + html.escape(inner, quote=False) + "</code>"


def _image(found):
    title = ' title="{}"'.format(found[3]) if found[3] else ""
    return '<img src="{}" alt="{}"{}>'.format(_address(found[2]), found[1], title)


def _link(found):
    title = ' title="{}"'.format(found[3]) if found[3] else ""
    return '<a href="{}"{}>{}</a>'.format(_address(found[2]), title, found[1])


def _address(text):
    return "#" if _UNSAFE.match(html.unescape(text)) else text
