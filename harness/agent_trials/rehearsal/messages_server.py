"""A scripted Messages API on loopback: it answers as the real one does and keeps what it was asked.

It serves the anthropic SDK and the Claude Code CLI: ``POST /v1/messages`` plain or streaming, with
any query, ``POST /v1/messages/count_tokens``, and HEAD or GET of anything. Answers come from a
function of the request's body or from a ``Script``. A script that runs out fails loudly: with HTTP
500 for the client, and with an exception where the server's context is left.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self

from agent_trials.rehearsal import replies
from agent_trials.rehearsal.messages_http import LOOPBACK, MESSAGES, HttpServer
from agent_trials.rehearsal.replies import Cut, Held, HttpError, Reply, Reset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agent_trials.rehearsal.messages_http import Received
    from agent_trials.rehearsal.replies import Answer

_POLL_SECONDS = 0.02


class ScriptError(RuntimeError):
    """A rehearsal whose script does not fit what was asked of it."""


class Script:
    """Answers in order; one that is asked once too often raises ``ScriptError``."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._answers = list(answers)
        self._given = 0

    def __call__(self, body: Mapping[str, Any]) -> Answer:
        """Return the next answer."""
        del body
        if self._given >= len(self._answers):
            raise ScriptError(
                f"the script of {len(self._answers)} answers ran out; write one more answer, or ask"
                " once less"
            )
        self._given += 1
        return self._answers[self._given - 1]


class MessagesServer:
    """The server while its context is open; ``base_url`` is what a client is given.

    Attributes:
        requests: every request in the order of arrival, side requests included.
        billed: the usage of every answer that the model worked for, delivered or not. Where an
            answer states no usage at all, it was billed all the same.
    """

    def __init__(self, respond: Callable[[Mapping[str, Any]], Answer] | Iterable[Answer]) -> None:
        self._respond = respond if callable(respond) else Script(respond)
        self._lock = threading.Lock()
        self._gates: list[threading.Event] = []
        self._closing = False
        self._failure: Exception | None = None
        self.requests: list[Received] = []
        self.billed: list[Mapping[str, Any]] = []
        self._http = HttpServer(self)
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(_POLL_SECONDS,), daemon=True
        )

    @property
    def base_url(self) -> str:
        """Return the URL without a path."""
        return f"http://{LOOPBACK}:{self._http.server_address[1]}"

    @property
    def asked(self) -> list[dict[str, Any]]:
        """Return the bodies of the requests for a message, in order."""
        return [r.body for r in self.requests if r.method == "POST" and r.path == MESSAGES]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        self._closing = True
        for gate in self._gates:
            gate.set()
        self._http.shutdown()
        self._thread.join()
        self._http.close_all()
        if self._failure is None:
            return
        if error is not None:
            error.add_note(f"The scripted API had failed before: {self._failure}")
            return
        raise self._failure

    def received(self, request: Received) -> None:
        """Keep a request."""
        with self._lock:
            self.requests.append(request)

    def answer(self, body: Mapping[str, Any]) -> tuple[Answer, dict[str, Any] | None]:
        """Return the answer to a request, and the finished message where the model worked for it.

        What the script raises is kept for the end, and answered with HTTP 500.
        """
        with self._lock:
            try:
                answer = self._respond(body)
            except Exception as failure:  # noqa: BLE001 - raised again where the context is left
                self.fail(failure)
                # Clients retry a 500 unless told not to, and the script would not get longer.
                headers = {"x-should-retry": "false"}
                return HttpError(500, message=str(failure), headers=headers), None
            reply = _worked(answer)
            if reply is None:
                return answer, None
            finished = replies.message(reply, body, len(self.billed) + 1)
            self.billed.append(replies.billed(reply, body))
            return answer, finished

    def opened(self, held: Held) -> bool:
        """Wait until a held answer may go; return whether there is still somebody to answer."""
        self._gates.append(held.gate)
        if not self._closing:
            held.gate.wait()
        return not self._closing

    def fail(self, failure: Exception) -> None:
        """Keep the first thing that went wrong, to be raised where the context is left."""
        self._failure = self._failure or failure


def _worked(answer: Answer) -> Reply | None:
    while isinstance(answer, Held):
        answer = answer.then
    if isinstance(answer, Reset):
        return answer.worked
    if isinstance(answer, Cut):
        return answer.reply
    return answer if isinstance(answer, Reply) else None
