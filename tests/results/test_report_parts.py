"""The smaller parts that a report is made of: rows, flow, protocol, timeline, plots."""

from __future__ import annotations

import dataclasses
import json
import re
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import ledgers
from agent_trials.ledger.chain import Line
from agent_trials.publication import verify_bundle
from agent_trials.records import Cell
from agent_trials.results import (
    deviations,
    figures,
    flow,
    limits,
    plots,
    protocol_text,
    report_parts,
    timeline,
)
from agent_trials.results.record import Attempt, Fate
from agent_trials.results.render_html import policy
from agent_trials.results.render_markdown import escape
from agent_trials.results.rows import Missing
from agent_trials.results.rows_from_ledger import cost, delivered, value, warmth
from agent_trials.study.settings import ArmSettings, McpServerSettings, ToolCall

if TYPE_CHECKING:
    from agent_trials.results.record import Record

TRANSCRIPTS = Path(__file__).parents[2] / "fixtures" / "transcripts" / "claude-2.1.296"
OBSERVATION = ledgers.result(input_tokens=100, usage_complete=True).observation.to_json()
CONTROL = ArmSettings(id="repository-only")
TREATMENT = ArmSettings(
    id="docs-mcp",
    mcp_servers={
        "docs": McpServerSettings(command=("docs",), allow=("a",), probe=ToolCall(tool="a"))
    },
)


def attempt(*turns: dict[str, Any], fate: Fate = Fate.SETTLED) -> Attempt:
    """Return an attempt with what changes in each of its turns' observations."""
    cell = Cell("full", "task-0", "docs-mcp", 1)
    shown = tuple({**OBSERVATION, **turn} for turn in turns)
    return Attempt(cell=cell, pair=0, position=0, fate=fate, admitted=True, turns=shown)


def test_figures_of_follow_up_turns_are_added_up() -> None:
    """A turn's costs are its own, so an attempt of two turns costs both."""
    two = attempt({"costUsd": "0.01", "toolCalls": 2}, {"costUsd": "0.02", "toolCalls": 3})

    assert cost(two) == Decimal("0.03")
    assert value(two, "tool_calls") == 5


def test_a_cost_that_was_not_measured_keeps_its_bounds() -> None:
    """It is neither 0 nor what was charged."""
    lost = attempt({"costUsd": None, "costLowerUsd": "0.01", "costUpperUsd": "0.1"})

    assert cost(lost) == Missing(Decimal("0.01"), Decimal("0.1"))
    assert cost(attempt({"costUsd": None, "costLowerUsd": None})) == Missing(None, None)
    assert cost(attempt(fate=Fate.BLOCKED)) is None


@pytest.mark.parametrize(
    "changed",
    [{"usageComplete": False}, {"status": "failed"}, {"inputTokens": None}],
    ids=["usage that is not complete", "an attempt that failed", "a count that is missing"],
)
def test_tokens_of_prior_turns_are_no_total(changed: dict[str, Any]) -> None:
    """Usage that was lost leaves counts of the turns before, which are not the attempt's."""
    assert value(attempt({"inputTokens": 100}), "input_tokens") == 100
    assert value(attempt({"inputTokens": 100, **changed}), "input_tokens") is None


def test_who_counts_only_all_input_has_a_total_and_no_parts_made_up_for_it() -> None:
    """A provider command says nothing of cache writes; its total is measured all the same."""
    whole: dict[str, Any] = {
        "totalInputTokens": 100, "inputTokens": 60, "cacheReadInputTokens": 40,
        "cacheCreationInputTokens": None,
    }  # fmt: skip
    first, parts = attempt(whole), attempt({**whole, "totalInputTokens": None})
    cell = verify_bundle.Cell("full", "t", "a", 1, 1)
    second = [
        verify_bundle.Attempt(cell, 0, 0, "settled", [dict(turn) for turn in each.turns])
        for each in (first, parts)
    ]
    names = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")

    assert value(first, "total_input_tokens") == 100
    assert value(first, "input_tokens") == 60
    assert value(first, "cache_creation_input_tokens") is None
    assert value(parts, "total_input_tokens") is None
    assert [verify_bundle.count(each, names) for each in second] == [100, None]


WATCHED = {"watched": ["docs"], "problems": []}


@pytest.mark.parametrize(
    ("evidence", "delivered_as_planned"),
    [
        (WATCHED, True),
        ({**WATCHED, "problems": ["treatment-not-seen"]}, False),
        ({"watched": [], "problems": []}, None),
        ({"watched": [], "problems": [], "handoffBytes": 0}, True),
        (None, None),
    ],
    ids=["seen", "not seen", "nothing was watched", "given by the harness", "no evidence at all"],
)
def test_of_a_provider_command_delivered_is_what_its_programs_showed(
    evidence: dict[str, Any] | None,
    delivered_as_planned: bool | None,  # noqa: FBT001 - what is expected
) -> None:
    """It calls no server of the harness; that alone would make every treatment one not given."""
    shown = attempt({"treatmentEvidence": evidence, "mcpToolCalls": None})
    cell = verify_bundle.Cell("full", "t", "a", 1, 1)
    turns = [dict(turn) for turn in shown.turns]
    second = verify_bundle.Attempt(cell, 0, 0, "settled", turns)

    arm = verify_bundle.Arm(name="a", has_servers=True, has_product=False)

    assert delivered(shown, TREATMENT) is delivered_as_planned
    assert verify_bundle.delivered(second, arm) is delivered_as_planned


def test_delivered_is_what_the_arm_offers_and_nothing_else() -> None:
    """A treatment that nobody called is none, and a control that called one is no control."""
    used, unused = attempt({"mcpToolCalls": 2}), attempt({"mcpToolCalls": 0})

    assert delivered(used, TREATMENT) is True
    assert delivered(unused, TREATMENT) is False
    assert delivered(unused, CONTROL) is True
    assert delivered(used, CONTROL) is False
    assert delivered(attempt({"mcpToolCalls": None}), TREATMENT) is None
    assert delivered(attempt({"status": "failed"}), TREATMENT) is None


def test_warmth_is_missing_without_tokens() -> None:
    """No prompt, no share of it."""
    none = {"cacheReadInputTokens": 0, "cacheCreationInputTokens": 0, "inputTokens": 0}

    assert warmth(attempt(none)) is None
    assert warmth(attempt(none | {"cacheReadInputTokens": 3, "inputTokens": 1})) == Decimal("0.75")


def test_sections_of_a_protocol_are_taken_without_markup() -> None:
    """Code, comments and tables are left out; wrapped lines become one paragraph."""
    text = "# A\n\n## Threats\n\nOne\n**two**.\n\n- item\n  goes on\n<!-- no -->\n"
    text += "```\n# no\n```\n## B\nno"
    found = protocol_text.section(text, "threat")

    assert [(each.text, each.is_item) for each in found] == [
        ("One two.", False),
        ("item goes on", True),
    ]
    assert protocol_text.section(text, "nowhere") == ()
    assert protocol_text.paragraphs("Prices are\nx.\n\nOther", "Prices")[0].text == "Prices are x."


def test_the_drawing_of_the_flow_escapes_what_an_arm_is_called() -> None:
    """Without the frozen study names come from lines that anybody could have written."""
    counts = dict.fromkeys(flow.STAGES, 2) | {"started": 1, "refused": 1}
    drawn = flow.svg([flow.ArmFlow("<script>", counts, {"failed": 1})])

    assert "<script>" not in drawn
    assert "&lt;script&gt;" in drawn
    assert "1 fewer" in drawn
    assert "failed" in flow.sentence(flow.ArmFlow("a", counts, {"failed": 1}))


def test_isolation_is_not_claimed_of_a_version_that_was_not_observed() -> None:
    """What one version of a CLI does is no promise about the next."""

    @dataclasses.dataclass
    class Ledger:
        opening: dict[str, Any]

    def said(version: str, *arguments: str) -> dict[str, Any]:
        settings = {"arguments": list(arguments), "credential": "login"}
        opening = {"transport": "cli", "cliVersion": version, "transportSettings": settings}
        ledger: Any = Ledger(opening)
        found: Record = ledger
        return limits.isolation(found)

    known, unknown = said("2.1.296", "--restricted"), said("9.9.9", "--restricted")
    without = said("2.1.296")

    assert any("CLAUDE.md" in each for each in known["achieved"])
    assert not any("CLAUDE.md" in each for each in unknown["achieved"])
    assert any("not observed with version 9.9.9" in each for each in unknown["notAchieved"])
    assert any("--restricted was not given" in each for each in without["notAchieved"])


@pytest.mark.parametrize("reached", [True, False])
def test_of_a_checkout_it_is_said_what_it_was_and_who_could_read_the_key(reached: bool) -> None:  # noqa: FBT001 - one of two
    """An attempt that wrote had no read-only export."""
    opening = {
        "transport": "cli",
        "transportSettings": {"arguments": [], "credential": "api-key"},
        "checkouts": {"one": "sha1:0"},
        "keyReachesShell": reached,
    }
    found: Any = SimpleNamespace(opening=opening)

    said = limits.isolation(found)

    assert not any("read-only export" in each for each in said["achieved"])
    assert any("only commit" in each for each in said["achieved"])
    assert any("could read its API key" in each for each in said["notAchieved"]) is reached
    assert any("kept the API key" in each for each in said["achieved"]) is not reached
    assert any("sealed commits of other tasks" in each for each in said["notAchieved"])


@pytest.mark.parametrize(
    ("source", "how"), [(None, "by hand"), ("a lock", "by the rule that their lock names")]
)
def test_it_is_said_how_the_tasks_were_chosen(source: str | None, how: str) -> None:
    """A benchmark's lock names the rule that chose them; nobody did so by hand."""
    manifest: Any = SimpleNamespace(
        endpoints=SimpleNamespace(primary=(), secondary=()),
        task_source=source,
        phases={"full": SimpleNamespace(sample=None)},
    )
    found: Any = SimpleNamespace(
        opening={"phase": "full", "immutableModel": True},
        frozen=SimpleNamespace(manifest=manifest),
        grades=SimpleNamespace(rules=None),
        is_rehearsal=False,
    )

    (said,) = [each for each in limits.limits(found) if "were chosen" in each]

    assert how in said
    assert "no random sample" in said


def test_a_model_that_changed_within_the_run_is_named() -> None:
    """An alias may be moved between two attempts; both names then stand in the report."""
    turns = [{"resolvedModel": "claude-haiku-5-5"}, {"resolvedModel": "claude-haiku-5-5-20261130"}]
    found: Any = SimpleNamespace(
        opening={"model": "claude-haiku-5-5", "transport": "cli"},
        attempts=[SimpleNamespace(turns=[turn]) for turn in turns],
    )

    (said,) = deviations._models(found)
    assert said.endswith("answers came from claude-haiku-5-5, claude-haiku-5-5-20261130.")


def test_a_provider_command_is_not_said_to_be_kept_as_the_harness_own_tools_are() -> None:
    @dataclasses.dataclass
    class Ledger:
        opening: dict[str, Any]

    def said(opening: dict[str, Any]) -> dict[str, Any]:
        ledger: Any = Ledger(opening)
        found: Record = ledger
        return limits.isolation(found)

    one = said({"transport": "provider", "transportSettings": {"writable": True}})
    ways: list[dict[str, Any]] = [
        {"arm": name, "transport": name, "model": "m", "transportSettings": {}}
        for name in ("http", "provider")
    ]
    both = said({"transport": "http+provider", "ways": ways})

    assert not any("three file tools" in each for each in one["achieved"])
    assert any("operator's home folder" in each for each in one["notAchieved"])
    assert not any("read-only" in each for each in one["achieved"])
    assert any(each.startswith("Over http: The harness offered") for each in both["achieved"])
    assert any(each.startswith("Over provider: A provider") for each in both["notAchieved"])


@pytest.mark.parametrize("file", sorted(TRANSCRIPTS.glob("*.jsonl")), ids=lambda file: file.stem)
def test_every_recorded_stream_becomes_a_timeline(file: Path) -> None:
    """What a CLI wrote is shown whole, whatever became of the attempt."""
    lines = [line for line in file.read_bytes().splitlines() if line.strip()]
    entries = list(timeline.read(file.read_bytes()))

    assert len(entries) >= len(lines)


@pytest.mark.parametrize(
    "line",
    [b"\xff\xfe", b"[1]", b'{"request":1,"response":"{"}', b'{"type":"assistant","message":{}}',
     b'{"type":"user","message":{"content":[{"type":"tool_result","is_error":true}]}}',
     b'{"request":{"messages":[]},"response":"{\\"content\\":[{\\"type\\":7}]}"}'],
)  # fmt: skip
def test_a_transcript_of_any_shape_is_shown(line: bytes) -> None:
    """A page that fails on one odd line hides all the others."""
    assert list(timeline.read(line + b"\n"))


def test_a_long_entry_is_cut_and_says_so() -> None:
    """A tool's result can hold megabytes."""
    message = {"content": "x" * (timeline.MOST_CHARACTERS + 5)}
    [entry] = timeline.read(json.dumps({"type": "user", "message": message}).encode())

    assert entry.text.endswith("… 5 more characters")


def test_markdown_reads_nothing_in_a_value() -> None:
    """A cell of a table stays one cell, and a tag stays text."""
    assert escape("a|b\n<i>`c`") == r"a\|b \<i\>\`c\`"
    assert escape(None) == "missing"


def test_a_plot_is_the_same_bytes_every_time_and_whatever_a_user_has_configured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ids, dates and a matplotlibrc would make every report another one."""
    import matplotlib as mpl  # noqa: PLC0415 - what the test changes

    what = figures.Outcomes(("a", "b"), ("one",), ({"correct": (1, 2), "odd": (1, 0)},), "said")
    first = plots.draw(what)
    monkeypatch.setitem(mpl.rcParams, "axes.facecolor", "red")
    monkeypatch.setitem(mpl.rcParams, "font.size", 20)

    assert plots.draw(what) == first
    assert first.startswith(b"<svg")
    assert not re.search(rb"DOCTYPE|<metadata|<script|dc:date", first)


def test_an_arm_without_a_measured_attempt_is_said_far_from_zero_too() -> None:
    """The words stand at the plot's edge; at 0.01 of the unit they would push the plot aside."""
    what = figures.Distributions("ms", ("a", "b"), ((5000.0,), ()), (5000.0, None), "said")

    assert plots.draw(what).startswith(b"<svg")  # a warning of the layout would be an error here


@pytest.mark.parametrize("tasks", [1, plots.MOST_LABELS + 1], ids=["one task", "very many tasks"])
def test_plots_are_drawn_of_few_and_of_very_many(tasks: int) -> None:
    """A thousand bars would be a thousand elements, and no reader sees one of them."""
    names = tuple(f"task-{at}" for at in range(tasks))
    values = tuple(float(at) for at in range(tasks * 10))
    drawn = [
        plots.draw(
            figures.Differences("a", "b", "USD", names, values[:tasks], 0.0, None, None, "said")
        ),
        plots.draw(figures.Distributions("USD", ("a", "b"), (values, ()), (1.0, None), "said")),
        plots.draw(figures.Outcomes(names, ("a",), ({"correct": (1,) * tasks},), "said")),
    ]

    assert all(len(svg) < 200_000 for svg in drawn)


def test_the_policy_allows_one_style_and_data_images() -> None:
    """Nothing is loaded, nothing is run."""
    assert policy("").startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "unsafe" not in policy("")


def test_an_attempt_of_two_turns_is_their_sum_and_shows_both() -> None:
    """A turn's figures are its own: the last one's alone would hide what the first one cost."""
    two = attempt(
        {"costUsd": "0.01", "chargedUsd": "0.02", "toolCalls": 2, "status": "failed"},
        {"costUsd": "0.02", "chargedUsd": "0.03", "toolCalls": 3},
    )
    lines = tuple(
        Line(seq, 1, "2026-11-30T00:00:00.000Z", "attempt-settled", {"turn": turn}, "sha256:0")
        for turn, seq in ((1, 4), (2, 6))
    )

    shown = report_parts.attempt(dataclasses.replace(two, lines=lines), None)

    assert (shown["costUsd"], shown["chargedUsd"], shown["toolCalls"]) == ("0.03", "0.05", 5)
    assert [(turn["turn"], turn["seq"], turn["costUsd"]) for turn in shown["byTurn"]] == [
        (1, 4, "0.01"),
        (2, 6, "0.02"),
    ]


def test_a_figure_that_one_turn_lacks_is_missing() -> None:
    unknown = attempt({"costUsd": None}, {"costUsd": "0.02"})
    lines = (Line(4, 1, "", "", {"turn": 1}, ""), Line(6, 1, "", "", {"turn": 2}, ""))

    shown = report_parts.attempt(dataclasses.replace(unknown, lines=lines), None)

    assert shown["costUsd"] is None


def test_a_timeline_tells_when_an_http_request_went_out_and_was_answered() -> None:
    exchange = {
        "request": {"messages": [{"content": "?"}, {"content": [{"type": "tool_result"}]}]},
        "requestNumber": 2,
        "response": {"content": [{"type": "text", "text": "x"}]},
        "sentMs": 1500,
        "answeredMs": 2750,
    }

    [handed_in, answer] = timeline.read(json.dumps(exchange).encode())

    assert handed_in.at == "1.500 s after the first request"
    assert answer.at == "2.750 s after the first request"
