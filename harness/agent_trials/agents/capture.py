"""A Messages API on loopback that answers by a fixed script and keeps what it was asked.

With it a CLI shows before any money what it would send, and what a command that it starts can
see: the model behind it is a few fixed replies. It knows streams of the one kind that Claude Code
asks for; the rehearsal's scripted model is another thing, and no paid run imports it.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_USAGE = {"input_tokens": 1, "output_tokens": 1}


class Capture(ThreadingHTTPServer):
    """The server; ``asked`` are the bodies of the requests for messages, in order.

    Args:
        command: what the first reply has the shell tool run, where that tool is offered.
    """

    daemon_threads = True

    def __init__(self, command: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.command = command
        self.asked: list[dict[str, Any]] = []

    @property
    def base_url(self) -> str:
        """Return the address for ``ANTHROPIC_BASE_URL``."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing where a client goes away."""


@contextmanager
def capture(command: str = "env") -> Iterator[Capture]:
    """Serve until the block ends."""
    with Capture(command) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def texts(value: object) -> Iterator[str]:
    """Yield every text in a JSON value, keys apart."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base's name
        """Print nothing."""

    def do_HEAD(self) -> None:
        self._send(b"", "application/json")

    do_GET = do_HEAD  # noqa: N815 - the base's name

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if "count_tokens" in self.path:
            self._send(b'{"input_tokens": 1}', "application/json")
            return
        server = cast("Capture", self.server)
        server.asked.append(body)
        self._send(_stream(body, server.command), "text/event-stream")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _stream(body: Mapping[str, Any], command: str) -> bytes:
    """Return the first reply, a call of the shell where there is one, or the last: a word."""
    offered = {tool.get("name") for tool in body.get("tools") or []}
    answered = any("tool_result" in json.dumps(each) for each in body.get("messages") or [])
    if "Bash" in offered and not answered:
        call = {"type": "tool_use", "id": "toolu_probe", "name": "Bash", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps({"command": command})}
        return _message(body, call, delta, "tool_use")
    text = {"type": "text_delta", "text": "done"}
    return _message(body, {"type": "text", "text": ""}, text, "end_turn")


def _message(
    body: Mapping[str, Any], block: Mapping[str, Any], delta: Mapping[str, Any], reason: str
) -> bytes:
    message: dict[str, Any] = {
        "id": "msg_probe",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _USAGE,
    }
    ended = {"stop_reason": reason, "stop_sequence": None}
    events = (
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": _USAGE},
        {"type": "message_stop"},
    )
    lines = (f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
    return "".join(lines).encode("ascii")
