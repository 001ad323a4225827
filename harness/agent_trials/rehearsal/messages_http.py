"""The HTTP side of the scripted Messages API: sockets, paths and bytes, no script."""

from __future__ import annotations

import json
import os
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import TYPE_CHECKING, Any, Protocol

from agent_trials.rehearsal import replies
from agent_trials.rehearsal.replies import Cut, Held, HttpError, RawBody, Reset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_trials.rehearsal.replies import Answer

LOOPBACK = "127.0.0.1"
MESSAGES = "/v1/messages"
COUNT_TOKENS = "/v1/messages/count_tokens"


@dataclass(frozen=True)
class Received:
    """One request as it arrived; header names are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    data: bytes

    @property
    def path(self) -> str:
        """Return the target without its query."""
        return self.target.partition("?")[0]

    @property
    def body(self) -> dict[str, Any]:
        """Return the JSON object that it carries."""
        body = json.loads(self.data)
        if not isinstance(body, dict):
            raise TypeError("a request whose body is no object")
        return body


class Owner(Protocol):
    """Who knows the answers; its methods are called from the threads of the connections."""

    def received(self, request: Received) -> None:
        """Keep a request."""

    def answer(self, body: Mapping[str, Any]) -> tuple[Answer, Mapping[str, Any] | None]:
        """Return the answer to a request, and the finished message if the model worked for it."""
        ...

    def opened(self, held: Held) -> bool:
        """Wait until a held answer may go; return whether there is still somebody to answer."""
        ...

    def fail(self, failure: Exception) -> None:
        """Keep what went wrong in a connection."""


class HttpServer(ThreadingHTTPServer):
    """The listening socket and its connections, on a free port of loopback."""

    daemon_threads = False
    block_on_close = True

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self._sockets: set[socket.socket] = set()
        super().__init__((LOOPBACK, 0), _Handler)

    def server_bind(self) -> None:
        """Bind, without a name for this machine."""
        # HTTPServer would ask the resolver for this machine's name, which may take seconds.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, int(self.server_address[1])

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection and remember it."""
        connection, address = super().get_request()
        self._sockets.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - the library's own signature
        """Forget a connection and end it."""
        self._sockets.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as above
        """Leave it: a client may go when it likes, and the handler keeps everything else."""

    def close_all(self) -> None:
        """End the connections that clients keep open, so that no thread waits for them."""
        for connection in list(self._sockets):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: HttpServer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Print nothing."""

    def do_HEAD(self) -> None:
        self._received(b"")
        self._send(200, b"")

    def do_GET(self) -> None:
        self._received(b"")
        self._send(200, b"{}")

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        request = self._received(data)
        try:
            self._post(request)
        except ConnectionError:
            self.close_connection = True  # the client is gone
        except Exception as failure:
            self.server.owner.fail(failure)
            raise

    def _post(self, request: Received) -> None:
        if request.path == COUNT_TOKENS:
            self._send_json(200, {"input_tokens": replies.input_tokens(request.body)})
        elif request.path == MESSAGES:
            answer, finished = self.server.owner.answer(request.body)
            self._give(answer, finished, stream=request.body.get("stream") is True)
        else:
            self._give(HttpError(404, "not_found_error", "no such endpoint"), None, stream=False)

    def _received(self, data: bytes) -> Received:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Received(self.command, self.path, headers, data)
        self.server.owner.received(request)
        return request

    def _give(self, answer: Answer, finished: Mapping[str, Any] | None, *, stream: bool) -> None:
        while isinstance(answer, Held):
            if not self.server.owner.opened(answer):
                self.close_connection = True
                return
            answer = answer.then
        if isinstance(answer, Reset):
            self._reset()
        elif isinstance(answer, HttpError):
            error = {"type": answer.kind, "message": answer.message}
            self._send_json(answer.status, {"type": "error", "error": error}, answer.headers)
        elif isinstance(answer, RawBody):
            self._send(answer.status, answer.body, answer.headers)
        elif finished is not None and stream:
            self._stream(finished, answer.events if isinstance(answer, Cut) else None)
        elif finished is not None:
            self._plain(finished, cut=isinstance(answer, Cut))

    def _plain(self, finished: Mapping[str, Any], *, cut: bool) -> None:
        data = json.dumps(finished).encode("ascii")
        self._send(200, data[: len(data) // 2] if cut else data, length=len(data))
        if cut:
            self.close_connection = True

    def _stream(self, finished: Mapping[str, Any], only: int | None) -> None:
        events = [replies.encoded(name, data) for name, data in replies.events(finished)]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events[:only]:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        if only is None:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def _reset(self) -> None:
        # A reset rather than an orderly end: nothing lingers. The library's own way of closing
        # would say good-bye first.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())
        self.close_connection = True

    def _send_json(
        self, status: int, value: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> None:
        self._send(status, json.dumps(value).encode("ascii"), headers)

    def _send(
        self,
        status: int,
        data: bytes,
        headers: Mapping[str, str] | None = None,
        length: int | None = None,
    ) -> None:
        self.send_response(status)
        sent = {"content-type": "application/json", **(headers or {})}
        for name, value in sent.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data) if length is None else length))
        self.end_headers()
        self.wfile.write(data)
