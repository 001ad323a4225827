"""What of the operator's leaves the process through the http transport: nothing but the key."""

from __future__ import annotations

import logging
import signal
import threading
import traceback
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace

from agent_trials.agents import messages_api
from agent_trials.agents.credentials import REHEARSAL_KEY, key_problem
from agent_trials.agents.messages_outcome import Course
from agent_trials.agents.metering import Meter, Rates
from agent_trials.errors import AgentError
from agent_trials.records import Secret, Status
from agent_trials.rehearsal.messages_server import MessagesServer
from agent_trials.rehearsal.replies import Held, HttpError, RawBody, call, say
from agent_trials.workspace.mcp_tools import ToolAnswer
from asking import DOCS, KEY, Clock, FakeServer, agent, ask, paid, request, settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from agent_trials.rehearsal.messages_http import Received
    from agent_trials.rehearsal.replies import Answer

MARK = "operators-own-value"
OPERATORS = {
    "ANTHROPIC_API_KEY": f"sk-{MARK}",
    "ANTHROPIC_AUTH_TOKEN": f"token-{MARK}",
    "ANTHROPIC_CUSTOM_HEADERS": (
        f"X-Custom: {MARK}\nAuthorization: Bearer {MARK}\nUser-Agent: {MARK}\nX-Api-Key: {MARK}\n"
        f"anthropic-version: {MARK}\nanthropic-beta: {MARK}\nX-Stainless-Lang: {MARK}"
    ),
    "ANTHROPIC_PROFILE": MARK,
    "ANTHROPIC_WORKSPACE_ID": MARK,
    "ANTHROPIC_WEBHOOK_SIGNING_KEY": MARK,
    "ANTHROPIC_IDENTITY_TOKEN": MARK,
    "ANTHROPIC_FEDERATION_RULE_ID": MARK,
    "ANTHROPIC_ORGANIZATION_ID": MARK,
    "ANTHROPIC_OPEN_TELEMETRY": "true",
    "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE": "content",
    "OTEL_SERVICE_NAME": MARK,
    "SSL_CERT_FILE": f"/{MARK}",
}


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesServer]:
    """Serve as the operator's proxy, base URL and everything else that could be spoken to."""
    with MessagesServer([]) as server:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
            monkeypatch.setenv(name, server.base_url)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        yield server


@pytest.fixture
def operator(
    proxy: MessagesServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> MessagesServer:
    """Set every variable and file that the SDK or its HTTP library would read."""
    for name, value in OPERATORS.items():
        monkeypatch.setenv(name, value)
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login me password {MARK}\n", encoding="utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    configs = tmp_path / "configs"
    configs.mkdir()
    (configs / f"{MARK}.json").write_text(f'{{"base_url": "{proxy.base_url}"}}', encoding="utf-8")
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    return proxy


def sent(folder: Path, **changes: Any) -> Received:  # noqa: ANN401 - as ask
    """Return the request as it went over the wire."""
    with MessagesServer([say("yes")]) as server:
        assert ask(server, folder, **changes).observation.status is Status.COMPLETED
        (received,) = server.requests
    return received


def varying(received: Received) -> dict[str, str]:
    return {name: value for name, value in received.headers.items() if name != "host"}


@pytest.mark.parametrize("changes", [{}, paid()], ids=["rehearsal", "paid"])
def test_nothing_of_the_operators_environment_reaches_the_wire(
    tmp_path: Path, request: pytest.FixtureRequest, changes: dict[str, Any]
) -> None:
    """Attack: a variable that redirects, authenticates, traces or marks what a study sends."""
    clean = sent(tmp_path, **changes)
    elsewhere: MessagesServer = request.getfixturevalue("operator")
    received = sent(tmp_path, **changes)

    assert elsewhere.requests == []
    assert varying(received) == varying(clean)
    assert received.data == clean.data
    assert MARK not in repr(received)
    assert not {"traceparent", "baggage", "cookie"} & set(received.headers)


def test_a_trace_that_is_going_on_is_not_told_to_the_provider(tmp_path: Path) -> None:
    """Attack: the SDK would send the id of the operator's trace with every request."""
    ids = trace.SpanContext(trace_id=7**40, span_id=7**20, is_remote=False)
    with trace.use_span(trace.NonRecordingSpan(ids)):
        received = sent(tmp_path)

    assert "traceparent" not in received.headers


def test_a_rehearsal_sends_a_dummy_key_whatever_it_is_given(tmp_path: Path) -> None:
    """Guard: a rehearsal reads and passes on no credential of the user's."""
    received = sent(tmp_path, secrets={"ANTHROPIC_API_KEY": Secret(KEY)})

    assert received.headers["authorization"] == f"Bearer {REHEARSAL_KEY}"
    assert KEY not in repr(received)


def test_a_paid_request_carries_its_key_in_one_header_and_nowhere_else(tmp_path: Path) -> None:
    received = sent(tmp_path, **paid())
    holders = [name for name, value in received.headers.items() if KEY in value]

    assert holders == ["authorization"]
    assert KEY.encode("ascii") not in received.data
    assert KEY not in received.target


@pytest.mark.parametrize(
    "base_url",
    [None, "https://api.anthropic.com", "http://10.0.0.1:80", "http://loopback.example", "http://"],
)
def test_a_rehearsal_speaks_to_loopback_only(tmp_path: Path, base_url: str | None) -> None:
    """Guard: a bug that leaves the URL out must not turn a rehearsal into a paid run."""
    with pytest.raises(RuntimeError, match="loopback"):
        agent().ask(request(base_url), tmp_path)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("", "is empty"),
        (f"{KEY}\r\nX-Other: 1", "holds a line break"),
        (f"{KEY}\n", "holds a line break"),
        (f"{KEY}\r", "holds a line break"),
        (f"{KEY} x", "no printable ASCII"),
        (f"{KEY}é", "no printable ASCII"),
        (f"{KEY}\0", "no printable ASCII"),
        ("a1b2c3d", "fewer than 8"),
    ],
    ids=["empty", "header", "line feed", "carriage return", "space", "letter", "NUL", "short"],
)
def test_an_unusable_key_is_refused_unseen_before_anything_is_sent(
    tmp_path: Path, key: str, said: str
) -> None:
    """Attack: a line break in the key writes headers of its own into every request."""
    secrets = {"ANTHROPIC_API_KEY": Secret(key)}
    with MessagesServer([]) as server:
        with pytest.raises(AgentError) as refused:
            ask(server, tmp_path, **paid(secrets=secrets))

        assert server.requests == []
    assert said in str(refused.value)
    assert not key or repr(key)[1:-1] not in shown(refused.value)
    assert key_problem(KEY) is None


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    with (
        MessagesServer([]) as server,
        pytest.raises(AgentError, match="ANTHROPIC_API_KEY is not set; nothing was sent"),
    ):
        ask(server, tmp_path, **paid(secrets={}))


@pytest.mark.parametrize(
    "answer",
    [
        say(f"your key is {KEY}"),
        HttpError(401, "authentication_error", f"invalid x-api-key {KEY}"),
        RawBody(f"<html>{KEY}</html>".encode("ascii")),
        call((KEY, {"key": KEY})),
        call(("repo_list", {"term": KEY})),
        say("yes", KEY),
        say("yes", model=KEY),
    ],
    ids=["answer", "error", "body", "tool name", "argument", "stop reason", "model"],
)
def test_a_key_that_comes_back_leaves_in_nothing(tmp_path: Path, answer: Answer) -> None:
    """Attack: an endpoint that quotes the key, as error messages of gateways do."""
    with MessagesServer([answer, say("end")]) as server:
        result = ask(server, tmp_path, **paid())

    assert KEY not in repr(result)
    assert KEY not in repr(result.observation.to_json())


def test_no_log_holds_key_or_prompt_even_at_debug(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Attack: `pytest --log-level=DEBUG` puts what libraries log into JUnit's system-out."""
    caplog.set_level(logging.DEBUG)
    for name in [*logging.root.manager.loggerDict]:
        if name.startswith(("anthropic", "httpx2", "httpcore2")):
            logging.getLogger(name).setLevel(logging.NOTSET)
    with MessagesServer([call(("repo_list", {})), HttpError(500)]) as server:
        ask(server, tmp_path, prompt="a private prompt", **paid())

    assert not [r for r in caplog.records if r.name.startswith(("anthropic", "http"))]
    assert "a private prompt" not in caplog.text
    assert KEY not in caplog.text


def shown(error: BaseException) -> str:
    """Return all that a traceback with the frames' locals could print, but for this file's own."""
    whole = traceback.TracebackException.from_exception(error, capture_locals=True)
    whole.stack = traceback.StackSummary.from_list(
        [frame for frame in whole.stack if frame.filename != __file__]
    )
    return "".join(whole.format())


class Ended(BaseException):
    """What something outside the attempt raises in its thread."""


def end_from_outside(_: int, __: object) -> None:
    raise Ended


def interrupt() -> None:
    """Raise ``Ended`` in the main thread, where it waits for the answer."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)


@pytest.fixture
def interrupted_by_a_signal() -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, end_from_outside)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("interrupted_by_a_signal")
@pytest.mark.parametrize("changes", [{}, paid()], ids=["rehearsal", "paid"])
def test_an_interruption_goes_on_and_leaves_what_was_spent(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    """Guard: Ctrl-C in the middle of a request must not make its money disappear."""
    usage = {"input_tokens": 100, "output_tokens": 10}

    def respond(body: Mapping[str, Any]) -> Answer:
        if len(body["messages"]) == 1:
            return call(("docs_search", {"query": "x"}), usage=usage)
        interrupt()
        return Held(threading.Event(), say("too late"))

    mcp = FakeServer([ToolAnswer("found")])
    asked = agent(mcp)
    with MessagesServer(respond) as server:
        with pytest.raises(Ended) as ended:
            asked.ask(request(server.base_url, mcp_servers=(DOCS,), **changes), tmp_path)
        assert len(server.asked) == 2
    seen = asked.interrupted().observation

    assert mcp.open == 0
    assert (seen.status, seen.problems) == (Status.INTERRUPTED, ("interrupted", "usage-lost"))
    assert seen.charged_usd > Decimal("0.006656")
    assert seen.cost_lower_usd == Decimal("0.000075")
    assert (seen.turns, seen.tool_calls, seen.input_tokens) == (2, 1, 100)
    assert seen.wall_time_ms is not None
    assert KEY not in shown(ended.value)


@pytest.mark.usefixtures("interrupted_by_a_signal")
def test_the_frames_of_the_http_library_do_not_go_out(tmp_path: Path) -> None:
    """Attack: `pytest --showlocals` prints the locals of frames; the library's hold headers."""

    def respond(body: Mapping[str, Any]) -> Answer:
        del body
        interrupt()
        return Held(threading.Event(), say("too late"))

    with MessagesServer(respond) as server, pytest.raises(Ended) as ended:
        ask(server, tmp_path, **paid())
    files = {frame.filename for frame in traceback.extract_tb(ended.value.__traceback__)}

    assert not [name for name in files if "httpcore2" in name or "anthropic/" in name]


def test_an_agent_that_was_never_asked_has_spent_nothing() -> None:
    seen = agent().interrupted().observation

    assert (seen.status, seen.problems) == (Status.INTERRUPTED, ("interrupted",))
    assert seen.charged_usd == Decimal(0)


def test_an_exception_in_a_tool_ends_the_servers_and_leaves_what_was_spent(tmp_path: Path) -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    mcp = FakeServer(on_call=fail)
    asked = agent(mcp)
    with MessagesServer([call(("docs_search", {}))]) as server, pytest.raises(KeyboardInterrupt):
        asked.ask(request(server.base_url, mcp_servers=(DOCS,)), tmp_path)
    seen = asked.interrupted().observation

    assert mcp.open == 0
    assert seen.status is Status.INTERRUPTED
    assert seen.usage_complete
    assert seen.tool_calls_by_name == {"docs_search": 1}


def test_a_paid_attempt_without_a_url_goes_to_the_provider_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Guard: the SDK would take the URL from a variable, its HTTP library whom to trust."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/at/all.pem")
    asked = request(None, **paid())
    meter = Meter(asked.limit_usd, Rates(Decimal(1), Decimal(1)), 1)
    client = messages_api._Client(Course(asked, meter, Secret(KEY)), settings(), Clock())

    assert str(client._sdk.base_url) == "https://api.anthropic.com"
    assert client._sdk.max_retries == 0
    client._sdk.close()
