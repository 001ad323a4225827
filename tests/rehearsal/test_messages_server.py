from __future__ import annotations

import http.client
import json
import threading
from typing import TYPE_CHECKING, Any

import anthropic
import pytest

from agent_trials.rehearsal import replies
from agent_trials.rehearsal.messages_server import MessagesServer, ScriptError
from agent_trials.rehearsal.replies import Cut, Held, HttpError, RawBody, Reply, Reset, call, say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syrupy.assertion import SnapshotAssertion

    from agent_trials.rehearsal.replies import Answer

BODY: dict[str, Any] = {
    "model": "claude-haiku-5-5",
    "max_tokens": 1024,
    "messages": [{"role": "user", "content": "Where is it?"}],
}
LONG = "It is in the handbook, under installation. " * 5


def post(
    server: MessagesServer,
    body: Mapping[str, Any] = BODY,
    target: str = "/v1/messages?beta=true",
) -> tuple[int, Mapping[str, str], bytes]:
    connection = http.client.HTTPConnection(server.base_url.removeprefix("http://"), timeout=10)
    try:
        connection.request("POST", target, json.dumps(body), {"X-Some": "header"})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def client(server: MessagesServer) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        api_key="dummy-key",
        base_url=server.base_url,
        max_retries=0,
        open_telemetry=False,
        http_client=anthropic.DefaultHttpxClient(trust_env=False),
    )


def create(server: MessagesServer) -> anthropic.types.Message:
    with client(server) as sdk:
        return sdk.messages.create(
            model="claude-haiku-5-5",
            max_tokens=1024,
            messages=[{"role": "user", "content": "Where is it?"}],
        )


def streamed(server: MessagesServer) -> anthropic.types.Message:
    with (
        client(server) as sdk,
        sdk.messages.stream(
            model="claude-haiku-5-5",
            max_tokens=1024,
            messages=[{"role": "user", "content": "Where is it?"}],
        ) as stream,
    ):
        return stream.get_final_message()


def test_a_plain_answer_is_what_the_api_writes(snapshot: SnapshotAssertion) -> None:
    with MessagesServer([call(("repo_read", {"path": "a.md"}), ("repo_list", {}))]) as server:
        status, headers, data = post(server)

    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(data) == snapshot


def test_a_stream_is_what_the_api_writes(snapshot: SnapshotAssertion) -> None:
    two = Reply(({"type": "text", "text": "é\n" + LONG[:100]}, *call(("Read", {"p": "x"})).content))
    with MessagesServer([two]) as server:
        status, headers, data = post(server, {**BODY, "stream": True})

    assert (status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert data.decode("ascii") == snapshot


def test_the_real_sdk_reads_the_same_message_plain_and_streamed() -> None:
    answer = Reply(
        ({"type": "text", "text": LONG}, *call(("repo_read", {"path": "ä.md", "n": 3})).content),
        "tool_use",
    )
    with MessagesServer([answer, answer]) as server:
        plain, stream = create(server), streamed(server)
        first, second = server.billed

    assert first == second
    for message in (plain, stream):
        assert [block.type for block in message.content] == ["text", "tool_use"]
        assert message.content[0].to_dict()["text"] == LONG
        assert message.content[1].to_dict()["input"] == {"path": "ä.md", "n": 3}
        assert message.stop_reason == "tool_use"
        assert message.usage.input_tokens == first["input_tokens"]
        assert message.usage.output_tokens == first["output_tokens"]
        assert message.usage.cache_creation_input_tokens == 0
        assert message.usage.cache_read_input_tokens == 0


def test_tokens_are_counted_from_what_was_asked_with_tools_and_system() -> None:
    body = {**BODY, "system": "s" * 400, "tools": [{"name": "t" * 400}]}
    with MessagesServer([say("yes"), say("yes"), say("x" * 9000)]) as server:
        post(server)
        post(server, body)
        post(server, {**BODY, "max_tokens": 50})
        small, large, bounded = server.billed

    assert large["input_tokens"] - small["input_tokens"] >= 200
    assert bounded["output_tokens"] == 50
    assert small["input_tokens"] == replies.input_tokens(BODY)


def test_count_tokens_agrees_with_the_usage_of_the_answer() -> None:
    with MessagesServer([say("yes")]) as server:
        post(server)
        _, _, data = post(server, target="/v1/messages/count_tokens?beta=true")
        billed = server.billed

    assert json.loads(data) == {"input_tokens": billed[0]["input_tokens"]}
    assert len(billed) == 1


def test_keeps_every_request_with_headers_and_body() -> None:
    with MessagesServer([say("yes")]) as server:
        post(server)
        post(server, target="/v1/messages/count_tokens")

        assert [r.target for r in server.requests] == [
            "/v1/messages?beta=true",
            "/v1/messages/count_tokens",
        ]
        assert server.requests[0].headers["x-some"] == "header"
        assert server.requests[0].body == BODY
        assert server.asked == [BODY]


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_answers_what_clients_ask_before_they_begin(method: str) -> None:
    with MessagesServer([]) as server:
        connection = http.client.HTTPConnection(server.base_url.removeprefix("http://"), timeout=10)
        connection.request(method, "/api/hello")
        answer = connection.getresponse()
        answer.read()
        connection.close()

    assert answer.status == 200


def test_an_unknown_endpoint_is_not_found_and_uses_no_answer() -> None:
    with MessagesServer([say("yes")]) as server:
        assert post(server, target="/v1/complete")[0] == 404
        assert post(server)[0] == 200


def test_a_script_that_runs_out_fails_for_the_client_and_for_the_test() -> None:
    """Guard: a test whose double ran dry must not pass by chance."""
    server = MessagesServer([say("one")])
    with pytest.raises(ScriptError, match="the script of 1 answers ran out"), server:  # noqa: PT012 - it is raised where the block ends
        post(server)
        status, headers, data = post(server)

        assert status == 500
        assert headers["x-should-retry"] == "false"
        assert "ran out" in json.loads(data)["error"]["message"]


def test_a_failure_of_the_test_is_not_hidden_by_the_scripts() -> None:
    server = MessagesServer([])
    with pytest.raises(KeyError) as failure, server:  # noqa: PT012 - the test's own failure
        post(server)
        raise KeyError

    assert "ran out" in failure.value.__notes__[0]


def test_what_a_respond_function_raises_comes_out() -> None:
    def respond(body: Mapping[str, Any]) -> Answer:
        raise ValueError(body["model"])

    server = MessagesServer(respond)
    with pytest.raises(ValueError, match="claude-haiku-5-5"), server:
        assert post(server)[0] == 500


def test_a_body_that_is_no_json_comes_out() -> None:
    server = MessagesServer([])
    with pytest.raises(TypeError, match="no object"), server, pytest.raises(OSError):  # noqa: PT011 - which one depends on when the connection goes
        post(server, [])  # type: ignore[arg-type] # wrong on purpose


def test_errors_have_the_apis_shape_and_headers() -> None:
    error = HttpError(429, "rate_limit_error", "slow down", {"retry-after": "7"})
    with MessagesServer([error]) as server, pytest.raises(anthropic.RateLimitError) as raised:
        create(server)

    assert raised.value.type == "rate_limit_error"
    assert raised.value.api_message == "slow down"
    assert raised.value.response.headers["retry-after"] == "7"
    assert server.billed == []


@pytest.mark.parametrize(
    "answer",
    [Reset(), Reset(say("lost")), Cut(say(LONG))],
    ids=["reset", "reset after work", "cut"],
)
def test_connections_are_lost_on_demand_and_the_work_is_billed(answer: Answer) -> None:
    with MessagesServer([answer]) as server, pytest.raises(anthropic.APIConnectionError):
        create(server)

    assert len(server.billed) == (answer != Reset())


@pytest.mark.parametrize("events", [0, 1, 3])
def test_streams_are_cut_after_so_many_events(events: int) -> None:
    with MessagesServer([Cut(say(LONG), events)]) as server:
        with pytest.raises(http.client.IncompleteRead) as cut:
            post(server, {**BODY, "stream": True})

        assert cut.value.partial.count(b"event: ") == events


def test_raw_bytes_go_out_as_they_are() -> None:
    with MessagesServer([RawBody(b"<html>", 502, {"content-type": "text/html"})]) as server:
        status, headers, data = post(server)

    assert (status, headers["content-type"], data) == (502, "text/html", b"<html>")


def test_overrides_replace_fields_of_the_message() -> None:
    with MessagesServer([say("yes", usage=None, model="other")]) as server:
        message = json.loads(post(server)[2])

        assert (message["usage"], message["model"]) == (None, "other")
        assert server.billed[0]["input_tokens"] > 0


def test_a_held_answer_waits_for_its_gate() -> None:
    gate, answers = threading.Event(), []
    with MessagesServer([Held(gate, say("late"))]) as server:
        thread = threading.Thread(target=lambda: answers.append(create(server)))
        thread.start()
        assert answers == []
        gate.set()
        thread.join(10)

    assert answers[0].content[0].to_dict()["text"] == "late"


def test_a_held_answer_does_not_hold_up_the_end() -> None:
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            create(server)
        except anthropic.APIConnectionError as error:
            failures.append(error)

    arrived = threading.Event()

    def respond(body: Mapping[str, Any]) -> Answer:
        del body
        arrived.set()
        return Held(threading.Event(), say("never"))

    with MessagesServer(respond) as server:
        thread = threading.Thread(target=ask)
        thread.start()
        assert arrived.wait(10)
    thread.join(10)

    assert len(failures) == 1


def test_an_open_connection_does_not_hold_up_the_end() -> None:
    with MessagesServer([say("yes")]) as server:
        connection = http.client.HTTPConnection(server.base_url.removeprefix("http://"), timeout=10)
        connection.request("POST", "/v1/messages", json.dumps(BODY))
        connection.getresponse().read()
        assert connection.sock is not None
    connection.close()


def test_serves_many_at_once() -> None:
    with MessagesServer(lambda _: say("yes")) as server:
        threads = [threading.Thread(target=post, args=(server,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)

        assert len(server.asked) == len(server.billed) == 8


def test_ids_are_the_same_in_every_run() -> None:
    def run() -> list[bytes]:
        with MessagesServer([call(("a", {}), ("b", {})), say("yes")]) as server:
            return [post(server)[2] for _ in range(2)]

    assert run() == run()
