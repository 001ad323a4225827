"""From text to blocks.

The kinds of blocks are tried in a fixed order at every line: fenced code, heading, rule, quotation,
list; what is none of these is a paragraph, which ends at a blank line or where another block begins.
"""

import re

from quillmark.nodes import Code, Heading, ListBlock, ListItem, Paragraph, Quote, Rule

_FENCE = re.compile(r"^(`{3,}|~{3,})\s*([\w+-]*)\s*$")
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_RULE = re.compile(r"^(?:-{3,}|\*{3,}|_{3,})\s*$")
_QUOTE = re.compile(r"^>\s?(.*)$")
_ITEM = re.compile(r"^(?P<mark>[-*+]|(?P<number>\d{1,9})[.)])\s+(?P<text>.*)$")


def parse(text):
    """Return the blocks of a text."""
    return parse_lines(text.replace("\r\n", "\n").split("\n"))


def parse_lines(lines, first=1):
    """Return the blocks of lines, the first of which has this number."""
    blocks = []
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        for take in (_code, _heading, _rule, _quote, _list, _paragraph):
            found = take(lines, at, first)
            if found:
                block, at = found
                blocks.append(block)
                break
    return blocks


def _code(lines, at, first):
    opening = _FENCE.match(lines[at])
    if not opening:
        return None
    fence, language = opening[1], opening[2]
    end = at + 1
    while end < len(lines) and not _closes(lines[end], fence):
        end += 1
    return Code(lines[at + 1 : end], language, first + at), end + 1


def _closes(line, fence):
    stripped = line.strip()
    return len(stripped) >= len(fence) and set(stripped) == {fence[0]}


def _heading(lines, at, first):
    found = _HEADING.match(lines[at])
    if not found:
        return None
    return Heading(len(found[1]), found[2], first + at), at + 1


def _rule(lines, at, first):
    if not _RULE.match(lines[at]):
        return None
    return Rule(first + at), at + 1


def _quote(lines, at, first):
    inner = []
    end = at
    while end < len(lines):
        found = _QUOTE.match(lines[end])
        if not found:
            break
        inner.append(found[1])
        end += 1
    if not inner:
        return None
    return Quote(parse_lines(inner, first + at), first + at), end


def _list(lines, at, first):
    opening = _ITEM.match(lines[at])
    if not opening or _RULE.match(lines[at]):
        return None
    ordered = opening["number"] is not None
    block = ListBlock(ordered, [], int(opening["number"] or 1), first + at)
    end = at
    while end < len(lines):
        found = _ITEM.match(lines[end])
        if not found or (found["number"] is not None) != ordered:
            break
        below, end = _indented(lines, end + 1)
        block.items.append(_item(found["text"], below, first + end - len(below)))
    return block, end


def _item(text, below, first):
    own = [text]
    while below and below[0].strip() and not _begins_block(below, 0):
        own.append(below.pop(0).strip())
        first += 1
    return ListItem("\n".join(own), parse_lines(below, first))


def _indented(lines, at):
    """Return the lines from here on that are indented, without their indent, and where they end."""
    found = []
    while at < len(lines):
        line = lines[at]
        if line.startswith("  "):
            found.append(line[2:])
        elif not line.strip() and at + 1 < len(lines) and lines[at + 1].startswith("  "):
            found.append("")
        else:
            break
        at += 1
    return found, at


def _begins_block(lines, at):
    return any(take(lines, at, 0) for take in (_code, _heading, _rule, _quote, _list))


def _paragraph(lines, at, first):
    end = at + 1
    while end < len(lines) and lines[end].strip() and not _begins_block(lines, end):
        end += 1
    return Paragraph([line.strip() for line in lines[at:end]], first + at), end
