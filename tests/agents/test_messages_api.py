"""The http transport against the real SDK and a scripted API on loopback: statuses and charges."""

from __future__ import annotations

import dataclasses
import json
import socket
import sys
import threading
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_trials import canonical
from agent_trials.agents.messages_api import MessagesApi
from agent_trials.agents.metering import Ceiling, Rates
from agent_trials.errors import McpServerError
from agent_trials.records import Status
from agent_trials.rehearsal import model
from agent_trials.rehearsal.messages_server import MessagesServer
from agent_trials.rehearsal.replies import Cut, Held, HttpError, RawBody, Reply, Reset, call, say
from agent_trials.workspace.mcp_tools import ToolAnswer
from asking import (
    DOCS,
    INPUT_RATE,
    LIMIT,
    MODEL,
    OUTPUT_RATE,
    Clock,
    FakeServer,
    agent,
    ask,
    request,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agent_trials.records import Observation
    from agent_trials.rehearsal.replies import Answer

RATES = Rates(INPUT_RATE, OUTPUT_RATE)
READ = ("repo_read", {"path": "docs/install.md"})
SEARCH = ("docs_search", {"query": "install"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an export of two files."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "install.md").write_text("# Install\n\nRun `make`.\n", encoding="utf-8")
    (tmp_path / "README.md").write_text("See docs/install.md.\n", encoding="utf-8")
    return tmp_path


def usage(**changes: object) -> dict[str, Any]:
    return {"usage": {"input_tokens": 100, "output_tokens": 10, **changes}}


def ceiling_of(body: Mapping[str, Any], max_tokens: int = 1024) -> Decimal:
    """Return the ceiling of a request as it arrived."""
    written = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    return Ceiling.of(len(written), max_tokens, RATES).usd


def observed(folder: Path, *answers: Answer, **changes: Any) -> Observation:  # noqa: ANN401 - as ask
    with MessagesServer(answers) as server:
        return ask(server, folder, **changes).observation


# --- what is asked, and what a completed attempt shows ---


def test_sums_usage_over_all_requests_and_prices_it_at_the_upper_rates(folder: Path) -> None:
    with MessagesServer([call(READ), say("It is `make`, docs/install.md:3.")]) as server:
        result = ask(server, folder)
        counts = server.billed
    seen = result.observation

    assert seen.status is Status.COMPLETED
    assert seen.problems == ()
    assert seen.input_tokens == sum(c["input_tokens"] for c in counts)
    assert seen.output_tokens == sum(c["output_tokens"] for c in counts)
    assert seen.cost_usd == seen.charged_usd
    assert seen.charged_usd == RATES.price(seen.input_tokens or 0, seen.output_tokens or 0)
    assert (seen.cache_creation_input_tokens, seen.cache_read_input_tokens) == (0, 0)
    assert (seen.turns, seen.tool_calls, seen.mcp_tool_calls) == (2, 1, 0)
    assert (seen.model, seen.resolved_model, seen.stop_reason) == (MODEL, MODEL, "end_turn")
    assert seen.tools == ("repo_list", "repo_read", "repo_search")
    assert (seen.usage_complete, seen.attempt_budget_usd) == (True, LIMIT)
    assert seen.wall_time_ms is not None
    assert result.private == {"answer": "It is `make`, docs/install.md:3."}
    canonical.dumps(seen.to_json())


def test_a_request_holds_what_the_study_sets_and_nothing_else(folder: Path) -> None:
    """Guard: caching, thinking, streaming or a system text would be another treatment."""
    with MessagesServer([say("yes")]) as server:
        ask(server, folder, prompt="Which é?", temperature="0.5", max_tokens=77)
        (body,) = server.asked

    assert sorted(body) == ["max_tokens", "messages", "model", "temperature", "tools"]
    assert body["messages"] == [{"role": "user", "content": "Which é?"}]
    assert (body["model"], body["max_tokens"], body["temperature"]) == (MODEL, 77, 0.5)
    assert [tool["name"] for tool in body["tools"]] == ["repo_list", "repo_read", "repo_search"]


def test_temperature_is_sent_only_where_the_study_sets_one(folder: Path) -> None:
    with MessagesServer([say("one"), say("two")]) as server:
        ask(server, folder)
        ask(server, folder, temperature="not-sent")
        first, second = server.asked

    assert first["temperature"] == 0
    assert "temperature" not in second


def test_the_conversation_repeats_the_answer_and_gives_each_call_its_result(folder: Path) -> None:
    with MessagesServer([call(READ, ("repo_list", {})), say("done")]) as server:
        ask(server, folder)
        _, asked, results = server.asked[1]["messages"]

    assert asked["role"] == "assistant"
    assert [block["name"] for block in asked["content"]] == ["repo_read", "repo_list"]
    assert [block["tool_use_id"] for block in results["content"]] == [
        block["id"] for block in asked["content"]
    ]
    assert results["content"][0]["content"].startswith("docs/install.md, lines 1 to 3 of 3")
    assert results["content"][1] == {
        "type": "tool_result",
        "tool_use_id": asked["content"][1]["id"],
        "content": "README.md\ndocs/install.md",
        "is_error": False,
    }


def test_the_transcript_holds_each_request_with_its_answer(folder: Path) -> None:
    with MessagesServer([call(READ), HttpError(529, "overloaded_error")]) as server:
        result = ask(server, folder)
        asked = server.asked
    lines = [json.loads(line) for line in result.artifacts["transcript"].splitlines()]

    assert [line["request"] for line in lines] == asked
    assert [line["status"] for line in lines] == [200, 529]
    assert json.loads(lines[0]["response"])["stop_reason"] == "tool_use"


def test_calls_are_counted_by_name_failed_ones_included(folder: Path) -> None:
    mcp = FakeServer([ToolAnswer("found"), ToolAnswer("no such page", is_error=True)])
    seen = observed(
        folder,
        call(READ, ("repo_read", {"path": "nowhere"}), SEARCH, ("docs_get", {"path": "x"})),
        say("done"),
        mcp=mcp,
    )

    assert seen.status is Status.COMPLETED
    assert (seen.tool_calls, seen.mcp_tool_calls) == (4, 2)
    assert seen.tool_calls_by_name == {"docs_get": 1, "docs_search": 1, "repo_read": 2}
    assert seen.tool_errors_by_name == {"docs_get": 1, "repo_read": 1}
    assert seen.mcp_servers == ({"name": "docs", "status": "connected"},)
    assert mcp.open == 0


def test_the_measured_time_begins_with_the_first_request(folder: Path) -> None:
    """The server's start lies before it, so that a slow server is no slow answer."""
    clock = Clock()

    def respond(body: Mapping[str, Any]) -> Answer:
        clock.now += 2
        return call(SEARCH) if len(body["messages"]) == 1 else say("done")

    def slow() -> None:
        clock.now += 3

    mcp = FakeServer([ToolAnswer("found")], on_call=slow)
    clock.now += 100
    with MessagesServer(respond) as server:
        seen = ask(server, folder, mcp=mcp, clock=clock).observation

    assert seen.wall_time_ms == 7000


def test_a_dated_form_of_the_model_is_the_model(folder: Path) -> None:
    seen = observed(folder, say("yes", model=f"{MODEL}-20261007"))

    assert (seen.status, seen.resolved_model) == (Status.COMPLETED, f"{MODEL}-20261007")


def test_a_model_that_will_end_one_day_is_asked_without_a_warning(folder: Path) -> None:
    """The SDK warns of deprecated models; where warnings are errors it would end the attempt."""
    assert observed(folder, say("yes"), model="claude-sonnet-4-5").status is Status.COMPLETED


def test_the_scripted_model_answers_with_a_citation_through_the_real_loop(folder: Path) -> None:
    with MessagesServer(model.respond) as server:
        result = ask(server, folder, prompt="How is the tool to install?\nCite path:line.")

    assert result.observation.status is Status.COMPLETED
    assert "docs/install.md:1: # Install" in result.private["answer"]


def test_a_real_server_is_worked_by_the_scripted_model(folder: Path) -> None:
    command = (sys.executable, "-m", "agent_trials.rehearsal.docs_server", str(folder))
    docs = dataclasses.replace(DOCS, command=command)
    with MessagesServer(model.respond) as server:
        asked = request(server.base_url, mcp_servers=(docs,), prompt="How do I install it?")
        result = MessagesApi().ask(asked, folder)

    assert result.observation.status is Status.COMPLETED
    assert result.observation.tool_calls_by_name == {"docs_get": 1, "docs_search": 1}
    assert "docs/install.md:1: # Install" in result.private["answer"]


# --- budget-exceeded ---


def test_a_request_that_does_not_fit_is_not_sent(folder: Path) -> None:
    """Guard: the reservation is all that an attempt may spend."""
    with MessagesServer([]) as server:
        seen = ask(server, folder, limit_usd=Decimal("0.006")).observation

        assert server.requests == []
    assert seen.status is Status.BUDGET_EXCEEDED
    assert seen.problems == ("request-does-not-fit",)
    assert (seen.turns, seen.wall_time_ms) == (0, None)
    assert seen.charged_usd == Decimal(0)


def test_ceilings_come_from_the_bytes_that_went_over_the_wire(folder: Path) -> None:
    """Guard: one micro-dollar less than the ceiling of the real bytes, é as two, and it stays."""
    prompt = "é" * 1000
    with MessagesServer([say("yes"), say("yes")]) as server:
        ask(server, folder, prompt=prompt)
        needed = ceiling_of(server.asked[0])
        exact = needed.quantize(Decimal("1e-6"), rounding="ROUND_CEILING")

        fits = ask(server, folder, prompt=prompt, limit_usd=exact)
        short = ask(server, folder, prompt=prompt, limit_usd=exact - Decimal("1e-6"))

    assert fits.observation.status is Status.COMPLETED
    assert short.observation.status is Status.BUDGET_EXCEEDED


def test_what_was_spent_before_is_charged_when_the_next_does_not_fit(folder: Path) -> None:
    answer = call(("repo_read", {"path": "x" * 20_000}), **usage())
    seen = observed(folder, answer, limit_usd=Decimal("0.009"))

    assert seen.status is Status.BUDGET_EXCEEDED
    assert seen.charged_usd == Decimal("0.000075")
    assert (seen.cost_usd, seen.cost_upper_usd) == (None, Decimal("0.000075"))
    assert (seen.turns, seen.usage_complete, seen.input_tokens) == (1, True, 100)


# --- failed: the provider's errors ---


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 413, 429, 500, 503, 529])
def test_an_http_error_fails_the_attempt_and_is_tried_once(folder: Path, status: int) -> None:
    """Guard: a retry would be paid twice and counted once, whatever the headers ask for."""
    error = HttpError(status, headers={"retry-after": "0", "x-should-retry": "true"})
    with MessagesServer([error, say("a second try")]) as server:
        seen = ask(server, folder).observation
        asked = server.asked

    assert len(asked) == 1
    assert seen.status is Status.FAILED
    assert seen.problems == (f"http-{status}", "usage-lost")
    assert seen.charged_usd == ceiling_of(asked[0])
    assert (seen.usage_complete, seen.input_tokens, seen.turns) == (False, None, 1)


def test_redirects_are_not_followed(folder: Path) -> None:
    """Attack: a redirect would take the prompt and the key to a host of somebody's choosing."""
    with MessagesServer([]) as elsewhere:
        moved = RawBody(b"", 307, {"location": f"{elsewhere.base_url}/v1/messages"})
        seen = observed(folder, moved)

        assert elsewhere.requests == []
    assert seen.problems == ("http-307", "usage-lost")


@pytest.mark.parametrize(
    "answer",
    [Reset(say("lost")), Cut(say("x" * 500))],
    ids=["reset before headers", "cut within the body"],
)
def test_a_lost_connection_keeps_the_ceiling(folder: Path, answer: Answer) -> None:
    """Guard: the provider may have worked for it; the answer is not here to say."""
    with MessagesServer([call(READ, **usage()), answer]) as server:
        seen = ask(server, folder).observation
        second = server.asked[1]

    assert seen.status is Status.FAILED
    assert seen.problems == ("connection-lost", "usage-lost")
    assert seen.charged_usd == Decimal("0.000075") + ceiling_of(second)
    assert seen.cost_lower_usd == Decimal("0.000075")
    assert (seen.input_tokens, seen.turns) == (100, 2)


def test_a_refused_connection_fails_the_attempt(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        seen = agent().ask(request(f"http://127.0.0.1:{taken.getsockname()[1]}"), folder)

    assert seen.observation.problems == ("connection-lost", "usage-lost")


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>busy</html>", b"[]", b'{"type": "message"', b"[" * 50_000],
    ids=["empty", "html", "list", "half", "deep"],
)
def test_a_body_that_is_no_message_fails_the_attempt_and_keeps_the_ceiling(
    folder: Path, body: bytes
) -> None:
    with MessagesServer([RawBody(body)]) as server:
        seen = ask(server, folder).observation

        assert seen.charged_usd == ceiling_of(server.asked[0])
    assert seen.status is Status.FAILED
    assert seen.problems == ("malformed-response", "usage-lost")


def test_an_answer_whose_blocks_are_broken_fails_but_its_usage_is_known(folder: Path) -> None:
    seen = observed(
        folder, Reply(({"type": "tool_use", "name": 3, "input": {}},), overrides=usage())
    )

    assert seen.problems == ("malformed-response",)
    assert (seen.charged_usd, seen.usage_complete) == (Decimal("0.000075"), True)


@pytest.mark.parametrize(
    ("reason", "status", "problem"),
    [
        ("max_tokens", Status.INCOMPLETE, "output-limit"),
        ("model_context_window_exceeded", Status.INCOMPLETE, "context-limit"),
        ("refusal", Status.FAILED, "refusal"),
        ("pause_turn", Status.FAILED, "unexpected-stop"),
        ("stop_sequence", Status.FAILED, "unexpected-stop"),
        ("tool_use", Status.FAILED, "unexpected-stop"),
        ("something_new", Status.FAILED, "unexpected-stop"),
        (None, Status.FAILED, "unexpected-stop"),
    ],
)
def test_only_the_end_of_a_turn_completes(
    folder: Path, reason: str | None, status: Status, problem: str
) -> None:
    with MessagesServer([say("half an ans", reason)]) as server:
        result = ask(server, folder)

    assert (result.observation.status, result.observation.problems) == (status, (problem,))
    assert result.observation.cost_usd is None
    assert result.observation.cost_lower_usd == result.observation.charged_usd
    assert result.private.get("answer") == (None if reason == "tool_use" else "half an ans")


def test_calls_in_an_answer_that_ended_otherwise_are_not_carried_out(folder: Path) -> None:
    """A call cut off by the output limit may be half of what was meant."""
    mcp = FakeServer()
    seen = observed(folder, Reply(call(SEARCH).content, "max_tokens"), mcp=mcp)

    assert seen.problems == ("output-limit",)
    assert (seen.tool_calls, mcp.calls) == (1, [])


# --- incomplete: the turns ---


def test_eight_turns_without_an_answer_are_incomplete(folder: Path) -> None:
    mcp = FakeServer([ToolAnswer("found")] * 8)
    with MessagesServer([call(SEARCH)] * 8) as server:
        seen = ask(server, folder, mcp=mcp).observation

        assert len(server.asked) == 8
    assert (seen.status, seen.problems) == (Status.INCOMPLETE, ("turn-limit",))
    assert (seen.turns, seen.tool_calls) == (8, 8)
    assert len(mcp.calls) == 7  # no request would carry the last result


# --- invalid-cost ---


@pytest.mark.parametrize(
    ("stated", "problem"),
    [
        ({"usage": None}, "usage-lost"),
        ({"usage": {"input_tokens": 5}}, "usage-lost"),
        (usage(output_tokens=-1), "usage-invalid"),
        (usage(input_tokens=1.5), "usage-invalid"),
        (usage(input_tokens=10**9), "usage-above-ceiling"),
        (usage(output_tokens=1025), "usage-above-ceiling"),
        (usage(cache_read_input_tokens=1), "usage-cached"),
        (usage(cache_creation_input_tokens=1), "usage-cached"),
        ({"model": "claude-opus-5-5"}, "foreign-model"),
        ({"model": None}, "foreign-model"),
    ],
)
def test_lost_or_invalid_usage_keeps_the_ceiling_and_ends_the_attempt(
    folder: Path, stated: dict[str, Any], problem: str
) -> None:
    """Guard: what cannot be priced must not be continued, nor counted as cheap."""
    with MessagesServer([call(READ, **usage()), call(READ, **stated)]) as server:
        seen = ask(server, folder).observation
        second = server.asked[1]

    assert seen.status is Status.INVALID_COST
    assert seen.problems[0] == problem
    assert seen.charged_usd == Decimal("0.000075") + ceiling_of(second)
    assert (seen.usage_complete, seen.input_tokens, seen.output_tokens) == (False, 100, 10)
    assert (seen.turns, seen.tool_calls) == (2, 2)


def test_the_answer_of_a_foreign_model_is_kept_private_and_not_counted(folder: Path) -> None:
    with MessagesServer([say("an answer", model="claude-opus-5-5")]) as server:
        result = ask(server, folder)

    assert result.observation.resolved_model == "claude-opus-5-5"
    assert result.private["answer"] == "an answer"
    assert result.observation.status is Status.INVALID_COST


# --- invalid-setup ---


def test_the_treatment_is_lost_when_all_its_calls_failed(folder: Path) -> None:
    """Guard: an attempt without working tools is no attempt with them."""
    mcp = FakeServer([ToolAnswer("gone", is_error=True, died=True)] * 2)
    seen = observed(folder, call(SEARCH), call(SEARCH), say("a guess"), mcp=mcp)

    assert (seen.status, seen.problems) == (Status.INVALID_SETUP, ("treatment-lost",))
    assert seen.tool_errors_by_name == {"docs_search": 2}


def test_a_server_that_is_never_called_is_no_lost_treatment(folder: Path) -> None:
    assert observed(folder, say("known"), mcp=FakeServer()).status is Status.COMPLETED


def test_a_call_of_a_tool_that_was_not_offered_ends_the_attempt(folder: Path) -> None:
    """Guard: in the other arm, or of a tool that is denied, it would be another setup."""
    mcp = FakeServer([ToolAnswer("found")])
    seen = observed(folder, call(READ, ("docs_annotate", {"note": "x"})), mcp=mcp)

    assert (seen.status, seen.problems) == (Status.INVALID_SETUP, ("foreign-tool-call",))
    assert seen.tool_calls_by_name == {"docs_annotate": 1, "repo_read": 1}
    assert mcp.calls == []


def test_the_control_arm_has_no_tool_of_the_treatment(folder: Path) -> None:
    seen = observed(folder, call(SEARCH))

    assert seen.problems == ("foreign-tool-call",)
    assert seen.tool_calls_by_name == {"docs_search": 1}


def test_a_made_up_tool_name_is_not_published(folder: Path) -> None:
    """Attack: the name of a tool is the model's text."""
    seen = observed(folder, call(("my name is Ada Lovelace", {})))

    assert seen.tool_calls_by_name == {"other": 1}
    assert "Ada" not in str(seen)


@pytest.mark.parametrize(
    ("mcp", "problem"),
    [
        (FakeServer(fails=McpServerError("MCP server 'docs' ended")), "mcp-server-failed"),
        (FakeServer(lists=("docs.search",)), "mcp-tools-missing"),
    ],
)
def test_an_attempt_without_its_server_is_not_begun(
    folder: Path, mcp: FakeServer, problem: str
) -> None:
    with MessagesServer([]) as server:
        seen = ask(server, folder, mcp=mcp).observation

        assert server.requests == []
    assert (seen.status, seen.problems) == (Status.INVALID_SETUP, (problem,))
    assert seen.charged_usd == 0


# --- timed-out ---


def test_the_deadline_is_looked_at_between_tools(folder: Path) -> None:
    clock = Clock()

    def slow() -> None:
        clock.now += 150

    mcp = FakeServer([ToolAnswer("found")] * 3, on_call=slow)
    seen = observed(folder, call(SEARCH, SEARCH, SEARCH), mcp=mcp, clock=clock)

    assert seen.problems == ("deadline",)
    assert len(mcp.calls) == 2


def test_tools_get_their_own_time_or_what_is_left(folder: Path) -> None:
    clock = Clock()

    def slow() -> None:
        clock.now += 280

    mcp = FakeServer([ToolAnswer("found")] * 2, on_call=slow)
    observed(folder, call(SEARCH, SEARCH), say("x"), mcp=mcp, clock=clock)

    assert [seconds for *_, seconds in mcp.calls] == [30, 20]


def test_a_request_that_lasts_too_long_is_timed_out_and_keeps_its_ceiling(folder: Path) -> None:
    with MessagesServer([Held(threading.Event(), say("late"))]) as server:
        seen = ask(server, folder, request_timeout_seconds=1).observation

        assert seen.charged_usd == ceiling_of(server.asked[0])
    assert (seen.status, seen.problems) == (
        Status.TIMED_OUT,
        ("request-timeout", "usage-lost"),
    )


def test_a_request_that_lasts_to_the_end_of_the_attempt_meets_its_deadline(folder: Path) -> None:
    seen = observed(folder, Held(threading.Event(), say("late")), timeout_seconds=1)

    assert seen.problems == ("deadline", "usage-lost")


def test_an_answer_that_trickles_in_meets_the_requests_time_out(folder: Path) -> None:
    """Attack: a byte now and then keeps a time-out for single reads from ever striking."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def trickle() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
                for _ in range(50):
                    if over.wait(0.1):
                        break
                    connection.sendall(b" ")

        thread = threading.Thread(target=trickle)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        seen = agent().ask(request(url, request_timeout_seconds=1), folder).observation
        over.set()
        thread.join()

    assert seen.problems == ("request-timeout", "usage-lost")
    assert seen.wall_time_ms is not None
    assert 900 <= seen.wall_time_ms < 5000


# --- limits on tools ---


def test_of_more_than_20_calls_in_a_turn_the_rest_is_answered_with_an_error(folder: Path) -> None:
    """Guard: the API wants a result for every call; the study wants 20 carried out at most."""
    mcp = FakeServer([ToolAnswer("found")] * 20)
    with MessagesServer([call(*[SEARCH] * 22), say("done")]) as server:
        seen = ask(server, folder, mcp=mcp).observation
        results = server.asked[1]["messages"][-1]["content"]

    assert seen.status is Status.COMPLETED
    assert len(mcp.calls) == 20
    assert [result["is_error"] for result in results] == [False] * 20 + [True] * 2
    assert results[-1]["content"] == "not carried out: at most 20 tools a turn"
    assert (seen.tool_calls, seen.tool_errors_by_name) == (22, {"docs_search": 2})


@pytest.mark.parametrize("length", [15_999, 16_000, 16_001, 70_000])
def test_results_are_cut_to_16_000_characters_and_say_so(folder: Path, length: int) -> None:
    """Guard: one page of a server must not fill the context, nor seem whole when it is not."""
    mcp = FakeServer([ToolAnswer("ä" * length)])
    with MessagesServer([call(SEARCH), say("done")]) as server:
        ask(server, folder, mcp=mcp)
        content = server.asked[1]["messages"][-1]["content"][0]["content"]

    assert len(content) == min(length, 16_000)
    note = f"\n(cut: the result had {length} characters, and 16000 are shown at most)"
    assert content.endswith(note) is (length > 16_000)


def test_an_empty_result_is_shown_as_one(folder: Path) -> None:
    with MessagesServer([call(SEARCH), say("done")]) as server:
        ask(server, folder, mcp=FakeServer([ToolAnswer("")]))

        assert server.asked[1]["messages"][-1]["content"][0]["content"] == "(no text)"


def test_lone_surrogates_end_no_attempt(folder: Path) -> None:
    """A model or a server can write half a character, which UTF-8 cannot carry."""
    mcp = FakeServer([ToolAnswer("half \ud83d")])
    with MessagesServer([call(("docs_search", {"query": "\udcff"})), say("end \ud83d")]) as server:
        result = ask(server, folder, prompt="what \udfff", mcp=mcp)
        first, asked, results = server.asked[1]["messages"]

    assert result.observation.status is Status.COMPLETED
    assert first["content"] == "what ?"
    assert asked["content"][0]["input"] == {"query": "?"}
    assert results["content"][0]["content"] == "half ?"
    canonical.dumps(dict(result.private))


# --- the law over all of it ---

_ANSWERS: st.SearchStrategy[Answer] = st.sampled_from(
    [
        call(READ),
        call(READ, READ, ("repo_search", {"term": "a"})),
        call(("repo_list", {"term": "x" * 300})),
        say("done"),
        say("half", "max_tokens"),
        Reset(call(READ)),
        Cut(call(READ)),
        HttpError(500),
        HttpError(429),
        RawBody(b"nothing"),
        call(READ, usage=None),
        call(READ, **usage(cache_read_input_tokens=3)),
        call(READ, model="claude-opus-5-5"),
        call(("Bash", {})),
    ]
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    answers=st.lists(_ANSWERS, min_size=8, max_size=8),
    limit=st.decimals("0.005", "0.05", places=6),
)
def test_no_course_of_events_charges_less_than_was_billed_or_more_than_reserved(
    folder: Path, answers: list[Answer], limit: Decimal
) -> None:
    """Law: whatever the API answers, and at whatever limit; lost answers were billed too."""
    with MessagesServer(answers) as server:
        seen = ask(server, folder, limit_usd=limit).observation
        billed = sum(
            (RATES.price(c["input_tokens"], c["output_tokens"]) for c in server.billed),
            Decimal(0),
        )

    assert billed <= seen.charged_usd <= limit
    assert seen.turns == len(server.asked)
    known = seen.cost_usd is not None or seen.cost_lower_usd == seen.charged_usd
    assert seen.usage_complete is (known and seen.turns != 0)
    assert (seen.cost_usd is None) is (seen.status is not Status.COMPLETED)
