"""The conversation of one http attempt: request, tools, request, until there is an answer.

Rules:
    1. A request lasts at most its own time-out or what is left of the attempt's; so does a tool.
       The attempt's time begins with its first request, when its MCP servers already run.
    2. An answer with lost or invalid usage, or of another model, settles nothing and ends it.
    3. An answer may ask for ``max_tool_calls`` tools. Those above are answered with an error and
       not carried out, since the API wants an answer to each.
    4. The tools of the last turn are counted and not carried out: no request would tell the model.
    5. A call of a tool that was not offered ends the attempt.
    6. A tool's answer is cut to ``result_characters``, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from agent_trials.agents import messages_outcome as outcome
from agent_trials.agents import messages_reply
from agent_trials.agents.messages_reply import MalformedReplyError
from agent_trials.agents.metering import DoesNotFitError, UsageError
from agent_trials.workspace.mcp_tools import ToolAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_trials.agents.messages_outcome import Course
    from agent_trials.agents.messages_reply import Reply, ToolUse
    from agent_trials.agents.toolbox import Toolbox
    from agent_trials.study.settings import HttpSettings

_STOPS = {
    "max_tokens": outcome.OUTPUT_LIMIT,
    "model_context_window_exceeded": outcome.CONTEXT_LIMIT,
    "refusal": outcome.REFUSAL,
}
CUT = "\n(cut: the result had {} characters, and {} are shown at most)"
EMPTY = "(no text)"


class RequestFailedError(Exception):
    """A request that brought no answer.

    Attributes:
        code: the problem's code.
    """

    def __init__(self, code: str, detail: object = "") -> None:
        self.code = code
        super().__init__(str(detail))


@dataclass(frozen=True, repr=False)
class Answered:
    """The answer to a request: its number at the meter, and the body's bytes."""

    number: int
    body: bytes


class Client(Protocol):
    """The way to the model."""

    def post(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        seconds: float,
    ) -> Answered:
        """Send one request and return the answer, within so many seconds.

        Raises:
            DoesNotFitError: the request's ceiling does not fit; it was not sent.
            RequestFailedError: it was sent and brought no answer.
        """
        ...


class _EndedError(Exception):
    """The attempt is over; its problems say why."""


@dataclass(repr=False)
class Conversation:
    """One attempt's requests, in order; ``run`` leaves what it found in the course."""

    course: Course
    settings: HttpSettings
    toolbox: Toolbox
    client: Client
    clock: Callable[[], float]
    _until: float = field(init=False, default=0.0)

    def run(self) -> None:
        """Ask until the model has answered or a problem ends the attempt."""
        self.course.tools = self.toolbox.names
        self.course.mcp_servers = tuple(
            {"name": server.name, "status": "connected"}
            for server in self.course.request.mcp_servers
        )
        self._until = self.clock() + self.settings.timeout_seconds
        try:
            self._turns()
        except _EndedError:
            pass
        finally:
            self.course.ended_at = self.clock()

    def _turns(self) -> None:
        prompt = messages_reply.sendable(self.course.request.prompt)
        messages: list[Mapping[str, Any]] = [{"role": "user", "content": prompt}]
        for turn in range(1, self.settings.max_turns + 1):
            reply = self._ask(messages)
            if not self._wants_tools(reply):
                return
            if turn < self.settings.max_turns:
                results = self._results(reply.tool_uses)
                messages.append({"role": "assistant", "content": list(reply.content)})
                messages.append({"role": "user", "content": results})
        self._end(outcome.TURN_LIMIT)

    def _ask(self, messages: Sequence[Mapping[str, Any]]) -> Reply:
        left = self._left()
        seconds = min(self.settings.request_timeout_seconds, left)
        try:
            answered = self.client.post(messages, self.toolbox.definitions, seconds)
        except DoesNotFitError as error:
            self._end(outcome.DOES_NOT_FIT, error)
        except RequestFailedError as error:
            struck = error.code == outcome.REQUEST_TIMEOUT and left == seconds
            self._end(outcome.DEADLINE if struck else error.code, error)
        reply = self._settled(answered)
        self._left()
        return reply

    def _settled(self, answered: Answered) -> Reply:
        """Return the reply; what can be known of an answer is kept before anything ends here."""
        course = self.course
        try:
            body = messages_reply.parse(answered.body)
        except MalformedReplyError as error:
            self._end(outcome.MALFORMED_RESPONSE, error)
        course.answered_by = body.get("model")
        if not messages_reply.is_same_model(course.request.model, course.answered_by):
            course.add(outcome.FOREIGN_MODEL, f"answered by {course.answered_by!r:.200}")
        else:
            try:
                course.meter.settle(answered.number, body)
            except UsageError as error:
                course.add(error.code, error)
        try:
            reply = messages_reply.read(body)
        except MalformedReplyError as error:
            self._end(outcome.MALFORMED_RESPONSE, error)
        self._keep(reply)
        if course.problems:
            raise _EndedError
        return reply

    def _keep(self, reply: Reply) -> None:
        self.course.stop_reason = reply.stop_reason
        if reply.stop_reason != "tool_use":
            self.course.answer = reply.text
        calls = self.course.calls
        for use in reply.tool_uses:
            calls.by_name[self.course.tool_name(use.name)] += 1
            calls.mcp += self.toolbox.is_mcp(use.name)

    def _wants_tools(self, reply: Reply) -> bool:
        foreign = [use.name for use in reply.tool_uses if use.name not in self.toolbox.names]
        if foreign:
            self._end(outcome.FOREIGN_TOOL_CALL, f"not offered: {foreign[0]!r:.200}")
        if reply.stop_reason == "tool_use" and reply.tool_uses:
            return True
        if reply.stop_reason != "end_turn" or reply.tool_uses:
            reason = str(reply.stop_reason)
            self._end(_STOPS.get(reason, outcome.UNEXPECTED_STOP), f"stop reason {reason!r:.200}")
        return False

    def _results(self, uses: Sequence[ToolUse]) -> list[Mapping[str, Any]]:
        results = []
        for position, use in enumerate(uses):
            if position < self.settings.max_tool_calls:
                seconds = min(self.settings.tool_timeout_seconds, self._left())
                answer = self.toolbox.call(use.name, use.arguments, seconds)
            else:
                answer = ToolAnswer(
                    f"not carried out: at most {self.settings.max_tool_calls} tools a turn",
                    is_error=True,
                )
            self._count(use.name, answer)
            results.append(self._result(use, answer))
        return results

    def _count(self, name: str, answer: ToolAnswer) -> None:
        calls = self.course.calls
        if answer.is_error:
            calls.errors_by_name[name] += 1
        if self.toolbox.is_mcp(name):
            calls.mcp_results.append(answer.is_error)

    def _result(self, use: ToolUse, answer: ToolAnswer) -> Mapping[str, Any]:
        text = _cut(messages_reply.sendable(answer.text), self.settings.result_characters)
        return {
            "type": "tool_result",
            "tool_use_id": messages_reply.sendable(use.identity),
            "content": text or EMPTY,
            "is_error": answer.is_error,
        }

    def _left(self) -> float:
        left = self._until - self.clock()
        if left <= 0:
            self._end(outcome.DEADLINE)
        return left

    def _end(self, code: str, detail: object = "") -> NoReturn:
        self.course.add(code, detail)
        raise _EndedError


def _cut(text: str, characters: int) -> str:
    if len(text) <= characters:
        return text
    note = CUT.format(len(text), characters)
    return text[: max(characters - len(note), 0)] + note[-characters:]
