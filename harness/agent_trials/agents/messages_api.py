"""The http transport: asks a model through the anthropic SDK, one request at a time.

Rules:
    1. One request is one try: no retries, redirects, caching or streaming. Thinking is not asked
       for, nor switched off, which some models refuse; temperature goes where the study sets one.
    2. Nothing of the operator's environment is used: no variable, profile, proxy, netrc or trace.
    3. A request leaves only after its ceiling, from the bytes that go over the wire, was opened at
       the meter. Whatever becomes of it, the ceiling stays charged until an answer settles it; an
       HTTP error settles nothing, since nothing in it proves that nothing was billed.
    4. The key is known to the client alone; no exception with a frame of the SDK's goes out.
    5. A rehearsal takes a dummy key and speaks to loopback only.
"""

from __future__ import annotations

import ipaddress
import json
import time
import warnings
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self, cast
from urllib.parse import urlsplit

import anthropic
import httpx2

from agent_trials.agents import messages_outcome as outcome
from agent_trials.agents import messages_reply, messages_wire, toolbox
from agent_trials.agents.credentials import API_KEY, REHEARSAL_KEY, key_problem
from agent_trials.agents.messages_loop import Answered, Conversation, RequestFailedError
from agent_trials.agents.messages_outcome import Course
from agent_trials.agents.metering import DoesNotFitError, Meter, Rates
from agent_trials.agents.toolbox import ToolsMissingError
from agent_trials.errors import AgentError, McpServerError
from agent_trials.money import ZERO
from agent_trials.records import AttemptResult, Observation, Secret, Status
from agent_trials.study.settings import NOT_SENT, HttpSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from agent_trials.agents.toolbox import Connect
    from agent_trials.records import AttemptRequest

PROVIDER = "https://api.anthropic.com"


class MessagesApi:
    """Asks a model over HTTP; one object serves one attempt.

    Args:
        connect: starts an MCP server.
        clock: seconds that never go back.
    """

    def __init__(
        self,
        connect: Connect = toolbox.connect,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect = connect
        self._clock = clock
        self._course: Course | None = None

    def ask(self, request: AttemptRequest, folder: Path) -> AttemptResult:
        """Return what the attempt showed; see ``Agent.ask``.

        Raises:
            AgentError: there is no usable key; nothing was sent.
        """
        settings = _settings(request)
        meter = Meter(request.limit_usd, _rates(settings), settings.max_tokens)
        course = self._course = Course(request, meter, _key(request))
        try:
            with (
                messages_wire.quiet(),
                toolbox.opened(
                    folder,
                    request.mcp_servers,
                    self._connect,
                    self._clock,
                    local=request.local_tools,
                ) as tools,
                _Client(course, settings, self._clock) as client,
            ):
                Conversation(course, settings, tools, client, self._clock).run()
        except McpServerError as error:
            course.add(outcome.MCP_SERVER_FAILED, f"{error} {error.private_detail}")
        except ToolsMissingError as error:
            course.add(outcome.MCP_TOOLS_MISSING, error)
        return outcome.result(course)

    def interrupted(self) -> AttemptResult:
        """Return what is known of an interrupted attempt; see ``InterruptibleAgent``."""
        if self._course is None:
            return AttemptResult(
                Observation(
                    status=Status.INTERRUPTED,
                    transport=outcome.TRANSPORT,
                    problems=(outcome.INTERRUPTED,),
                    charged_usd=ZERO,
                )
            )
        self._course.add(outcome.INTERRUPTED)
        self._course.ended_at = self._clock()
        return outcome.result(self._course)


class _Client:
    """The SDK's client for one attempt, and what went through it."""

    def __init__(self, course: Course, settings: HttpSettings, clock: Callable[[], float]) -> None:
        self._course = course
        self._settings = settings
        self._clock = clock
        self._deadline = messages_wire.Deadline(clock)
        self._sent: tuple[int, bytes, float] | None = None
        self._sdk = self._anthropic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sdk.close()

    def post(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        seconds: float,
    ) -> Answered:
        """Send one request; see ``messages_loop.Client``."""
        self._deadline.start(seconds)
        try:
            response = self._create(messages, tools, seconds)
        except anthropic.APIStatusError as error:
            self._record(error.status_code, error.response.content)
            raise RequestFailedError(f"http-{error.status_code}", error.message) from None
        except anthropic.APITimeoutError as error:
            self._record(None, b"")
            raise RequestFailedError(outcome.REQUEST_TIMEOUT, repr(error.__cause__)) from None
        except anthropic.APIConnectionError as error:
            if isinstance(error.__cause__, DoesNotFitError):
                raise error.__cause__ from None
            self._record(None, b"")
            raise RequestFailedError(outcome.CONNECTION_LOST, repr(error.__cause__)) from None
        except BaseException as error:  # noqa: BLE001 - raised again, without its frames
            # While a request is written, frames of the HTTP library hold its headers, the key
            # among them, and `pytest --showlocals` prints what frames hold.
            raise error.with_traceback(None) from None
        return Answered(self._record(response.status_code, response.content), response.content)

    def _create(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        seconds: float,
    ) -> httpx2.Response:
        written = self._settings.temperature
        with warnings.catch_warnings():
            # Which model is asked was frozen; that it will end one day is no reason to fail.
            warnings.simplefilter("ignore", DeprecationWarning)
            raw = self._sdk.messages.with_raw_response.create(
                model=self._course.request.model,
                max_tokens=self._settings.max_tokens,
                messages=cast("Any", messages),
                tools=cast("Any", messages_reply.sendable(tools)) if tools else anthropic.omit,
                # The SDK has no parameter for it any more; the API still takes it.
                extra_body=None if written == NOT_SENT else {"temperature": _number(written)},
                timeout=seconds,
            )
        return raw.http_response

    def _anthropic(self) -> anthropic.Anthropic:
        url = self._course.request.base_url or PROVIDER
        transport = messages_wire.DeadlineTransport(
            self._deadline, encrypted=urlsplit(url).scheme == "https"
        )
        client = anthropic.Anthropic(
            api_key=self._course.secret.reveal(),
            webhook_key="",
            base_url=url,
            max_retries=0,
            open_telemetry=False,
            http_client=httpx2.Client(
                transport=transport,
                trust_env=False,
                follow_redirects=False,
                event_hooks={"request": [self._leaving]},
            ),
        )
        # The constructor takes ANTHROPIC_CUSTOM_HEADERS in, and has no argument against it.
        client._custom_headers = {}  # noqa: SLF001 - see the line above
        return client

    def _leaving(self, request: httpx2.Request) -> None:
        """Open the ceiling of a request whose bytes are final and none of which was sent."""
        number = self._course.meter.open(len(request.content))
        self._sent = number, request.content, self._clock()
        if self._course.first_request_at is None:
            self._course.first_request_at = self._clock()

    def _record(self, status: int | None, answer: bytes) -> int:
        """Keep a request and its answer for the transcript; return the request's number."""
        if self._sent is None:
            raise RuntimeError("an answer without a request")
        number, sent, sent_at = self._sent
        began = self._course.first_request_at or sent_at
        self._course.transcript.append(
            {
                "request": json.loads(sent),
                "requestNumber": number,
                "response": answer.decode("utf-8", "replace"),
                "sentMs": _milliseconds(sent_at - began),
                "answeredMs": _milliseconds(self._clock() - began),
                "status": status,
            }
        )
        return number


def _settings(request: AttemptRequest) -> HttpSettings:
    if not isinstance(request.transport_settings, HttpSettings):
        raise TypeError("the http transport was given another transport's settings")
    return request.transport_settings


def _rates(settings: HttpSettings) -> Rates:
    prices = settings.input_usd_per_million, settings.output_usd_per_million
    if not isinstance(prices[0], Decimal) or not isinstance(prices[1], Decimal):
        raise TypeError("prices left to the operator were not resolved")
    return Rates(prices[0], prices[1])


def _key(request: AttemptRequest) -> Secret:
    if request.rehearsal:
        _check_loopback(request.base_url)
        return Secret(REHEARSAL_KEY)
    secret = request.secrets.get(API_KEY)
    problem = "is not set" if secret is None else key_problem(secret.reveal())
    if secret is None or problem is not None:
        raise AgentError(f"{API_KEY} {problem}; nothing was sent. Set it to the key to be used")
    return secret


def _check_loopback(base_url: str | None) -> None:
    """Refuse to rehearse against anything but this machine."""
    host = urlsplit(base_url or PROVIDER).hostname or ""
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise RuntimeError(f"a rehearsal speaks to loopback only, not to {host!r}")


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _number(written: str) -> int | float:
    value = Decimal(written)
    return int(value) if value == value.to_integral_value() else float(value)
