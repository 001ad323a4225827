"""The command line.

Exit codes: 0 when it was done, 1 when a file cannot be read, 2 for a wrong command line.
"""

import argparse
import sys
from pathlib import Path

from quillmark import blocks, document, links, toc


def main(argv=None):
    """Run one command; return its exit code."""
    options = parser().parse_args(argv)
    try:
        text = _read(options.source)
    except (OSError, UnicodeDecodeError) as error:
        print("quillmark: " + options.source + ": " + str(error), file=sys.stderr)
        return 1
    sys.stdout.write(options.run(options, text))
    return 0


def parser():
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="quillmark", description="Turns Markdown into HTML.")
    commands = top.add_subparsers(dest="command", required=True)

    html = commands.add_parser("html", help="write the HTML of a document")
    html.add_argument("source", help="the document, - for standard input")
    html.add_argument("--page", action="store_true", help="a whole page, not its body alone")
    html.add_argument("--language", default="en", help="the language of a page")
    html.add_argument("--no-names", action="store_true", help="headings without an id")
    html.set_defaults(run=_html)

    contents = commands.add_parser("toc", help="write the table of contents")
    contents.add_argument("source")
    contents.add_argument("--depth", type=int, default=6, help="the deepest level that is shown")
    contents.set_defaults(run=_toc)

    stats = commands.add_parser("stats", help="count the blocks of a document")
    stats.add_argument("source")
    stats.set_defaults(run=_stats)

    points = commands.add_parser("links", help="list what a document points to")
    points.add_argument("source")
    points.add_argument("--broken", action="store_true", help="only names that no heading has")
    points.set_defaults(run=_links)
    return top


def _read(source):
    if source == "-":
        return sys.stdin.read()
    return Path(source).read_text(encoding="utf-8")


def _html(options, text):
    if options.page:
        return document.page(text, options.language)
    return document.render(text, names=not options.no_names)


def _toc(options, text):
    return "".join(line + "\n" for line in toc.as_text(toc.entries(blocks.parse(text), options.depth)))


def _stats(options, text):
    found = document.statistics(text)
    return "".join("{}: {}\n".format(name, count) for name, count in found.items())


def _links(options, text):
    found = blocks.parse(text)
    listed = links.broken(found) if options.broken else links.links(found)
    return "".join("{}: {}\n".format(link.line, link.address) for link in listed)
