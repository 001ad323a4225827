"""Streams of the kinds that were recorded, with other names, versions, counts and field orders.

Each says what must come of it by the rules alone; nothing here was read off the program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.agents import transcript
from agent_trials.agents.cli_prices import Tokens
from agent_trials.agents.cli_rules import ProcessFacts, expected_tools
from agent_trials.agents.cli_usage import SessionTotals
from agent_trials.records import Status
from invented_streams import (
    MODEL,
    Counts,
    Lines,
    added,
    answered,
    asked,
    by_model,
    init,
    printed,
    result,
    said,
    spoken,
    usd,
)
from recordings import expected

if TYPE_CHECKING:
    from agent_trials.agents.transcript import Reading

BUILT_IN = ("Read", "Grep", "Glob")
SERVERS = {"kb.two": ("page.find", "page.open"), "tickets": ("list",)}
TOOLS, BY_SERVER = expected_tools(BUILT_IN, SERVERS)
FIND, OPEN = "mcp__kb_two__page_find", "mcp__kb_two__page_open"
TICKETS = "mcp__tickets__list"
UP = {"kb.two": "connected", "tickets": "connected"}
OTHER_MODEL = "claude-haiku-4-5-20251001"
RESERVATION = Decimal("0.05")
ONE = Counts(fresh=640, out=80, read=12_000, five=900)
TWO = Counts(fresh=2, out=411, read=12_900, hour=1_300)
BIG = Counts(fresh=31, out=77, read=99_969, unknown=11)
"""A prompt of 100,011 tokens, most of it read from the cache: above the bound of the tier."""


@dataclass(frozen=True, kw_only=True)
class Invented:
    """A stream, how its process ended, and what must come of it."""

    lines: Lines
    status: str
    charged: Decimal
    codes: tuple[str, ...] = ()
    exit_code: int | None = 0
    timed_out: bool = False
    truncated: bool = False
    ending: bytes = b""
    prior: SessionTotals | None = None
    control: bool = False
    version: str = "2.1.350"
    seen: dict[str, Any] | None = None

    def read(self, seed: int) -> Reading:
        """Return its reading with one order of the fields."""
        wanted = replace(
            expected(reservation=RESERVATION, version=self.version, prior=self.prior),
            tools=BUILT_IN if self.control else TOOLS,
            mcp_tools={} if self.control else BY_SERVER,
        )
        facts = ProcessFacts(
            exit_code=self.exit_code, timed_out=self.timed_out, truncated=self.truncated
        )
        return transcript.read(printed(self.lines, seed) + self.ending, facts, wanted)


def _error(
    counts: list[Counts],
    why: str = "api_error",
    **fields: Any,  # noqa: ANN401 - any field of the event
) -> dict[str, Any]:
    return result(counts, is_error=True, terminal_reason=why, **fields)


def _crossed(counts: list[Counts], total: Decimal | None = None) -> dict[str, Any]:
    return result(
        counts,
        total,
        is_error=True,
        subtype="error_max_budget_usd",
        terminal_reason="budget_exhausted",
        result=None,
        errors=["Reached maximum budget ($0.05)"],
    )


NOVEL = {"type": "telemetry", "payload": {"type": "result", "subtype": "success"}}
HUGE = Counts(fresh=95_000, out=27_000)
HIDDEN = Counts(fresh=150_000, out=900)
PAID = Counts(fresh=99_000, out=60_000)

CASES = {
    "parallel calls, answered in another order, between the blocks of their message": Invented(
        lines=[
            {"type": "system", "subtype": "hook_started", "hook_event": "SessionStart"},
            init(TOOLS, UP),
            NOVEL,
            *spoken(1, ONE, asked(FIND, "a"), asked(TICKETS, "b")),
            answered("b"),
            *spoken(1, ONE, asked("Grep", "c")),
            answered("c", "no such file", failed=True),
            answered("a"),
            *spoken(2, TWO, {"type": "thinking", "thinking": "hm"}, said("see docs/a.md:3")),
            result([ONE, TWO], num_turns=4),
        ],
        status="completed",
        charged=Decimal("0.0009312"),
        seen={FIND: 1, TICKETS: 1, "Grep": 1},
    ),
    "a run above the tier, with a request for which there is no event": Invented(
        lines=[
            init(BUILT_IN, {}),
            *spoken(1, ONE, asked("Read", "a")),
            answered("a"),
            {"type": "system", "subtype": "status", "status": "compacting"},
            *spoken(2, BIG, said("see docs/a.md:3")),
            result([ONE, BIG, Counts(fresh=30_000, out=500)]),
        ],
        status="completed",
        charged=usd(ONE, BIG, Counts(fresh=30_000, out=500)),
        control=True,
    ),
    "a compaction whose own request, above the tier, is in the totals alone": Invented(
        lines=[
            init(BUILT_IN, {}),
            *spoken(1, ONE, said("see docs/a.md:3")),
            result([ONE, HIDDEN]),
        ],
        status="budget-exceeded",
        charged=usd(ONE, HIDDEN),
        codes=("charged-above-reservation",),
        control=True,
    ),
    "a server that answers once and dies": Invented(
        lines=[
            init(TOOLS, UP),
            *spoken(1, ONE, asked(FIND, "a")),
            answered("a"),
            *spoken(2, TWO, asked(OPEN, "b"), asked(FIND, "c")),
            answered("c", "MCP error -32000: Connection closed", failed=True),
            answered("b", "MCP error -32000: Connection closed", failed=True),
            *spoken(3, ONE, said("see docs/a.md:3")),
            result([ONE, TWO, ONE], num_turns=4),
        ],
        status="completed",
        charged=Decimal("0.0012677"),
        seen={FIND: 2, OPEN: 1},
    ),
    "a server whose tools are gone in mid-run": Invented(
        lines=[
            init(TOOLS, UP),
            *spoken(1, ONE, asked(FIND, "a")),
            answered("a"),
            *spoken(2, TWO, asked(FIND, "b")),
            answered("b", f"Error: No such tool available: {FIND}", failed=True),
            *spoken(3, ONE, said("see docs/a.md:3")),
            result([ONE, TWO, ONE]),
        ],
        status="invalid-setup",
        charged=RESERVATION,
        codes=("tools-changed",),
    ),
    "one of two servers that must be logged in to": Invented(
        lines=[
            init((*BUILT_IN, FIND, OPEN), {**UP, "tickets": "needs-auth"}),
            *spoken(1, ONE, said("see docs/a.md:3")),
            result([ONE]),
        ],
        status="invalid-setup",
        charged=RESERVATION,
        codes=("tools-missing", "mcp-server-not-connected"),
    ),
    "a refused call of one server's tool, and good ones besides": Invented(
        lines=[
            init(TOOLS, UP),
            *spoken(1, ONE, asked(FIND, "a"), asked(OPEN, "b")),
            answered("a"),
            {"type": "system", "subtype": "permission_denied", "tool_name": OPEN,
             "tool_use_id": "b", "decision_reason_type": "mode"},
            answered("b", "refused", failed=True),
            *spoken(2, TWO, said("see docs/a.md:3")),
            result([ONE, TWO], permission_denials=[
                {"tool_name": OPEN, "tool_use_id": "b", "tool_input": {}},
            ]),
        ],
        status="invalid-setup",
        charged=RESERVATION,
        codes=("denial-not-accepted",),
    ),
    "an overloaded provider after requests dearer than the reservation": Invented(
        lines=[
            init(TOOLS, UP),
            *spoken(1, PAID, asked("Grep", "a")),
            answered("a"),
            *spoken(2, PAID, asked("Grep", "b")),
            answered("b"),
            {"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": 529},
            *spoken(3, Counts(fresh=0, out=0), said("API Error: 529"), model="<synthetic>"),
            _error([PAID, PAID], api_error_status=529, result="API Error: 529"),
        ],
        exit_code=1,
        status="failed",
        charged=Decimal("0.0798"),
        codes=("provider-error", "charged-above-reservation", "result-is-error", "exit-code"),
    ),
    "a cut stream that was continued": Invented(
        lines=[
            init(TOOLS, UP),
            {"type": "user", "isSynthetic": True, "message": {"role": "user", "content": [
                said("Your response above was cut off mid-stream")]}},
            *spoken(2, TWO, said("see docs/a.md:3")),
            result([ONE, TWO]),
        ],
        status="completed",
        charged=Decimal("0.0009312"),
    ),
    "a fallback to another model, which answered": Invented(
        lines=[
            init(TOOLS, UP),
            {"type": "system", "subtype": "model_fallback", "trigger": "overloaded",
             "original_model": MODEL, "fallback_model": OTHER_MODEL},
            *spoken(1, ONE, said("see docs/a.md:3"), model=OTHER_MODEL),
            result([], Decimal("0.0061"), modelUsage={OTHER_MODEL: by_model(ONE, 0.0061)}),
        ],
        status="invalid-cost",
        charged=RESERVATION,
        codes=("foreign-model",),
    ),
    "an older version's second model beside the study's": Invented(
        lines=[
            init(BUILT_IN, {}, claude_code_version="2.1.270"),
            *spoken(1, ONE, said("see docs/a.md:3")),
            result([ONE], Decimal("0.071"), modelUsage={
                MODEL: by_model(ONE, 0.0174, costBasis="unknown"),
                OTHER_MODEL: by_model(ONE, 0.0536),
            }),
        ],
        status="invalid-cost",
        charged=Decimal("0.071"),
        codes=("foreign-model", "cost-basis-not-list", "costs-disagree"),
        control=True,
        version="2.1.270",
    ),
    "a dated name of the model everywhere but in the study": Invented(
        lines=[
            init(BUILT_IN, {}, model=f"{MODEL}-20261007"),
            *spoken(1, ONE, said("see docs/a.md:3"), model=f"{MODEL}-20261007"),
            result([ONE], modelUsage={
                MODEL: by_model(ONE, 0.0003, canonicalModel=f"{MODEL}-20261007")}),
        ],
        status="completed",
        charged=Decimal("0.0003365"),
        control=True,
    ),
    "the second turn of a session that crosses its own limit": Invented(
        lines=[
            init(TOOLS, UP),
            *spoken(1, HUGE, asked(FIND, "z")),
            {**_crossed([HUGE], Decimal("0.0113") + HUGE.usd),
             "usage": Counts(fresh=0, out=0).usage(0),
             "modelUsage": {MODEL: by_model(added([HUGE, TWO]), 0.0)}},
        ],
        exit_code=1,
        status="budget-exceeded",
        charged=RESERVATION,
        codes=("limit-reached", "result-is-error", "result-not-success", "exit-code"),
        prior=SessionTotals(Decimal("0.0113"), Tokens(
            input=TWO.fresh, output=TWO.out, cache_read=TWO.read, write_1h=TWO.hour)),
    ),
    "a SIGINT that was not the harness's": Invented(
        lines=[
            init(TOOLS, UP),
            *spoken(1, ONE, asked(FIND, "a")),
            answered("a"),
            result([ONE], is_error=True, subtype="error_during_execution", result=None,
                   terminal_reason="aborted_streaming", errors=["aborted"]),
        ],
        status="failed",
        charged=RESERVATION,
        codes=("result-is-error", "result-not-success"),
    ),
    "a SIGINT without a server: exit 0 and no result": Invented(
        lines=[init(BUILT_IN, {}), *spoken(1, ONE, asked("Grep", "a")), answered("a")],
        status="failed",
        charged=RESERVATION,
        codes=("no-result",),
        control=True,
    ),
    "a clean result, and a server that kept the process alive until the deadline": Invented(
        lines=[init(TOOLS, UP), *spoken(1, PAID, said("see docs/a.md:3")), result([PAID, PAID])],
        exit_code=-9,
        timed_out=True,
        status="timed-out",
        charged=Decimal("0.0798"),
        codes=("deadline", "charged-above-reservation", "exit-code"),
    ),
    "an output over its bound, cut inside a text that looks like a result": Invented(
        lines=[init(BUILT_IN, {}), *spoken(1, PAID, asked("Read", "a"))],
        ending=b'{"type":"user","message":{"content":[{"type":"tool_result","content":"'
        b'{\\"type\\":\\"result\\",\\"total_cost_usd\\":0}',
        truncated=True,
        exit_code=-9,
        status="failed",
        charged=RESERVATION,
        codes=("stdout-over-bound", "no-result", "line-not-json"),
        control=True,
    ),
    "a search that the provider ran itself": Invented(
        lines=[
            init(BUILT_IN, {}),
            *spoken(1, ONE, asked("web_search", "a", "server_tool_use"), said("see a.md:3")),
            result([ONE], usd(ONE) + Decimal("0.02"), modelUsage={
                MODEL: by_model(ONE, 0.02, webSearchRequests=2)}),
        ],
        status="invalid-setup",
        charged=RESERVATION,
        codes=("foreign-tool-call",),
        control=True,
    ),
    "a prompt too long for the model": Invented(
        lines=[
            init(BUILT_IN, {}),
            *spoken(1, Counts(fresh=0, out=0), said("Prompt is too long"), model="<synthetic>"),
            _error([], "prompt_too_long", modelUsage={}),
        ],
        exit_code=1,
        status="failed",
        charged=RESERVATION,
        codes=("provider-error", "model-usage-missing", "result-is-error", "exit-code"),
        control=True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_an_invented_stream_gets_the_class_and_the_charge_of_its_kind(
    case: Invented, seed: int
) -> None:
    reading = case.read(seed)

    assert reading.status is Status(case.status), reading.findings
    assert reading.charged_usd == case.charged
    assert reading.codes == case.codes
    if case.seen is not None:
        assert reading.calls.count_by_name() == case.seen
