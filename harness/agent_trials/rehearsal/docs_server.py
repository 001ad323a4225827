"""A small MCP documentation server for rehearsals: ``python -m …docs_server CHECKOUT``.

It speaks JSON lines over stdio and uses the standard library alone, so that it is up in a few
hundredths of a second; one on the SDK takes longer to start than a whole rehearsed attempt. Even
pathlib would lengthen its start by a fifth and typing by a tenth, so paths are text here.

It serves the public Markdown files of one folder: regular files (symbolic links are not followed)
of at most ``MAX_BYTES``, whose paths hold no part that starts with a dot and none of ``WORDS``.
Answers are lines of the form ``path:line: text``. The same folder and the same question always
give the same answer.
"""

from __future__ import annotations

import json
import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
SUFFIXES = (".md", ".mdx")
PARTS = frozenset({"node_modules", "dist", "build", "coverage"})
WORDS = ("secret", "credential", "lock")
MAX_BYTES = 200_000
MAX_LINE = 500
DEFAULT_LIMIT = 10
MAX_LIMIT = 50
MAX_WEIGHT = 100

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602

_WORD = re.compile(r"[a-z0-9_]+")

TOOLS: list[dict[str, Any]] = [
    {
        "name": "docs.search",
        "description": "Find lines of the documentation that hold words of the query.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Words to look for."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT},
            },
            "required": ["query"],
        },
    },
    {
        "name": "docs.get",
        "description": "Return one page of the documentation with its line numbers.",
        "inputSchema": {
            "type": "object",
            "properties": {"path": {"type": "string", "description": "As given by docs.search."}},
            "required": ["path"],
        },
    },
    {
        "name": "docs.annotate",
        "description": "Add a note to a page.",
        "inputSchema": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "note": {"type": "string"}},
            "required": ["path", "note"],
        },
    },
]


class RpcError(Exception):
    """A request that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


class ToolRefusal(Exception):  # noqa: N818 - an answer of the tool, not a fault of the server
    """A call that is answered with ``isError``."""


class Pages:
    """The public Markdown files below one folder, read anew for every question."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def paths(self) -> list[str]:
        """Return the relative paths, forward slashes, sorted."""
        return sorted(self._walk(""))

    def lines(self, path: str) -> list[str]:
        """Return the lines of a page that ``paths`` lists; a page that is no text has none."""
        # A link put there after the listing is refused by the system itself.
        descriptor = os.open(f"{self._folder}/{path}", os.O_RDONLY | os.O_NOFOLLOW)
        with open(descriptor, "rb") as file:  # noqa: PTH123 - paths are text here
            data = file.read(MAX_BYTES)
        return [] if b"\0" in data else data.decode("utf-8", "replace").splitlines()

    def _walk(self, prefix: str) -> Iterator[str]:
        with os.scandir(f"{self._folder}/{prefix}") as entries:
            found = list(entries)
        for entry in found:
            path = f"{prefix}{entry.name}"
            if not _is_public(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from self._walk(f"{path}/")
            elif _is_page(entry):
                yield path


def _is_public(name: str) -> bool:
    folded = name.casefold()
    return not (name.startswith(".") or name in PARTS or any(word in folded for word in WORDS))


def _is_page(entry: os.DirEntry[str]) -> bool:
    return (
        entry.name.endswith(SUFFIXES)
        and entry.is_file(follow_symlinks=False)
        and entry.stat(follow_symlinks=False).st_size <= MAX_BYTES
    )


def search(pages: Pages, query: str, limit: int) -> str:
    """Return the best lines, best first; rare words weigh more, ties go by path and line."""
    terms = sorted(set(_WORD.findall(query.casefold())))
    lines = [
        (path, number, text, set(_WORD.findall(text.casefold())))
        for path in pages.paths()
        for number, text in enumerate(pages.lines(path), 1)
        if text.strip()
    ]
    counts = {term: sum(term in words for *_, words in lines) for term in terms}
    weights = {t: min(MAX_WEIGHT, len(lines) // n) for t, n in counts.items() if n}
    scored = [
        (-sum(weight for term, weight in weights.items() if term in words), path, number, text)
        for path, number, text, words in lines
    ]
    hits = sorted(hit for hit in scored if hit[0] < 0)[:limit]
    if not hits:
        return "no line of the documentation holds a word of the query"
    return "\n".join(_cited(path, number, text.strip()) for _, path, number, text in hits)


def get(pages: Pages, path: str) -> str:
    """Return a page with its line numbers.

    Raises:
        ToolRefusal: there is no such page.
    """
    if path not in pages.paths():
        raise ToolRefusal(f"no page {path[:200]!r}; docs.search gives the paths that exist")
    return "\n".join(_cited(path, n, text) for n, text in enumerate(pages.lines(path), 1))


def _cited(path: str, number: int, text: str) -> str:
    return f"{path}:{number}: {text[:MAX_LINE]}"


class DocsServer:
    """Answers one message at a time."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def answer(self, line: bytes) -> dict[str, Any] | None:
        """Return the response to one line, or None where none is due."""
        try:
            message = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError):
            return _failure(None, PARSE_ERROR, "the line is no JSON")
        if not isinstance(message, dict):
            return _failure(None, INVALID_REQUEST, "a message is an object")
        if "method" in message and "id" not in message:
            return None
        if "method" not in message and ("result" in message or "error" in message):
            return None  # the answer to a request that was never made
        return self._respond(message)

    def _respond(self, message: dict[str, Any]) -> dict[str, Any]:
        identity, method = message.get("id"), message.get("method")
        if not isinstance(identity, str | int) or isinstance(identity, bool):
            return _failure(None, INVALID_REQUEST, "an id is text or a whole number")
        if not isinstance(method, str):
            return _failure(identity, INVALID_REQUEST, "a method is text")
        try:
            result = self._result(method, message.get("params", {}))
        except RpcError as error:
            return _failure(identity, error.code, str(error))
        return {"jsonrpc": "2.0", "id": identity, "result": result}

    def _result(self, method: str, params: object) -> dict[str, Any]:
        if not isinstance(params, dict):
            raise RpcError(INVALID_PARAMS, "params is an object")
        if method == "initialize":
            return _welcome(params)
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": TOOLS}
        if method == "tools/call":
            return self._call(params)
        # `server/discover`, the first question of newer clients, ends here as well: they take the
        # error for a server of the initialize kind.
        raise RpcError(METHOD_NOT_FOUND, f"unknown method {method[:200]!r}")

    def _call(self, params: dict[str, Any]) -> dict[str, Any]:
        tool, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(tool, str) or tool not in [known["name"] for known in TOOLS]:
            raise RpcError(INVALID_PARAMS, f"unknown tool {tool!r:.200}")
        if not isinstance(arguments, dict):
            raise RpcError(INVALID_PARAMS, "arguments is an object")
        try:
            return _content(self._run(tool, arguments), is_error=False)
        except ToolRefusal as refusal:
            return _content(str(refusal), is_error=True)
        except OSError as error:  # its text holds the folder's path, which is nobody's business
            return _content(f"the documentation cannot be read: {error.strerror}", is_error=True)

    def _run(self, tool: str, arguments: dict[str, Any]) -> str:
        if tool == "docs.annotate":
            raise ToolRefusal("notes are refused: the documentation is read-only")
        if tool == "docs.get":
            return get(self._pages, _text(arguments, "path"))
        return search(self._pages, _text(arguments, "query"), _limit(arguments))


def _text(arguments: dict[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str):
        raise ToolRefusal(f"{name} is missing or no text")
    return value


def _limit(arguments: dict[str, Any]) -> int:
    value = arguments.get("limit", DEFAULT_LIMIT)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_LIMIT:
        raise ToolRefusal(f"limit is a whole number from 1 to {MAX_LIMIT}")
    return value


def _welcome(params: dict[str, Any]) -> dict[str, Any]:
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "agent-trials-docs", "version": "1"},
    }


def _content(text: str, *, is_error: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _failure(identity: str | int | None, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}


def serve(server: DocsServer, requests: BinaryIO, responses: BinaryIO) -> None:
    """Answer line after line until the requests end."""
    for line in requests:
        answer = server.answer(line)
        if answer is not None:
            responses.write(json.dumps(answer).encode("ascii") + b"\n")
            responses.flush()


def main(arguments: list[str]) -> int:
    """Serve the folder that is the only argument; return the exit code."""
    if len(arguments) != 1 or not os.path.isdir(arguments[0]):  # noqa: PTH112 - paths are text here
        sys.stderr.write("usage: docs_server CHECKOUT (an existing folder)\n")
        return 2
    try:
        serve(DocsServer(Pages(arguments[0])), sys.stdin.buffer, sys.stdout.buffer)
    except BrokenPipeError:
        # Whoever asked is gone. What is still buffered must not be written again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
