"""What holds for any output whatever: a reading, a charge that is never too small, a short line."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent_trials import canonical
from agent_trials.agents import cli_observation, transcript
from agent_trials.agents.cli_rules import CODES, ProcessFacts
from agent_trials.records import Observation, Status
from recordings import DENIED, events, expected, recordings, stdout_of

if TYPE_CHECKING:
    from agent_trials.agents.transcript import Reading

RECORDINGS = recordings()
LONGEST_LINE = 64 * 1024
DONE = ProcessFacts(exit_code=0)
PROCESSES = st.builds(
    ProcessFacts,
    exit_code=st.none() | st.integers(-15, 200),
    timed_out=st.booleans(),
    truncated=st.booleans(),
    interrupted=st.booleans(),
    arrivals=st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 9000))).map(tuple),
)
ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.sampled_from(["assistant", "user", "result", "success", "claude-haiku-5-5", "\ud83d"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)


def _observation(reading: Reading, process: ProcessFacts) -> Observation:
    return cli_observation.observation(
        reading,
        process,
        expected(mcp=True),
        environment_digest="sha256:0",
        expected_version="2.1.296",
        survivors=0,
    )


def _check(stdout: bytes, process: ProcessFacts) -> None:
    """Check every law of a reading."""
    wanted = expected(mcp=True)
    reading = transcript.read(stdout, process, wanted)
    observation = _observation(reading, process)
    line = canonical.dumps(observation.to_json())
    private = canonical.dumps(cli_observation.private(reading))

    assert (reading.status is Status.COMPLETED) == (not reading.codes)
    assert set(reading.codes) <= set(CODES)
    assert len(line) < LONGEST_LINE / 2
    assert json.loads(private)
    assert reading.charged_usd >= Decimal(0)
    if reading.status is not Status.COMPLETED:
        assert reading.charged_usd >= wanted.reservation_usd
        assert reading.charged_usd >= (reading.costs.reported or 0)
    assert observation.cost_usd is None or observation.cost_usd <= reading.charged_usd


@given(stdout=st.binary(max_size=400), process=PROCESSES)
@example(b'{"type":[]}\n{"type":"assistant","message":{"content":[{"type":[]}]}}',
         ProcessFacts(exit_code=0))  # fmt: skip
def test_any_bytes_give_a_reading(stdout: bytes, process: ProcessFacts) -> None:
    _check(stdout, process)


@given(one=st.sampled_from(RECORDINGS), process=PROCESSES, data=st.data())
def test_lines_dropped_doubled_swapped_or_cut_give_a_reading(
    one: Any,  # noqa: ANN401 - a recording, drawn
    process: ProcessFacts,
    data: st.DataObject,
) -> None:
    lines = one.stdout.split(b"\n")
    places = st.lists(st.integers(0, len(lines) - 1), max_size=2 * len(lines))
    stdout = b"\n".join(lines[place] for place in data.draw(places))

    _check(stdout[: data.draw(st.integers(0, len(stdout)))], process)


def _paths(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [path, *(found for key, item in inner for found in _paths(item, (*path, key)))]


@settings(max_examples=100)
@given(one=st.sampled_from(RECORDINGS), process=PROCESSES, data=st.data())
def test_any_value_in_any_field_gives_a_reading(
    one: Any,  # noqa: ANN401 - a recording, drawn
    process: ProcessFacts,
    data: st.DataObject,
) -> None:
    """No field's type is trusted, at any depth."""
    lines = [json.loads(line) for line in one.stdout.split(b"\n") if line[:1] == b"{" == line[:1]
             and line.endswith(b"}")]  # fmt: skip
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from([path for path in _paths(lines) if path]))
        place: Any = lines
        for key in way:
            place = place[key]
        place[last] = data.draw(ANY)
    stdout = b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    _check(stdout, process)


@given(order=st.permutations(range(6)), keep=st.integers(0, 6))
def test_no_order_of_events_makes_a_completed_attempt_cheaper_than_its_result(
    order: list[int], keep: int
) -> None:
    lines = events("success-repo")
    chosen = [lines[place] for place in order[:keep] if place < len(lines)]

    reading = transcript.read(stdout_of(chosen), DONE, expected())

    assert reading.charged_usd in {Decimal("0.000864"), Decimal("0.1")}
    assert (reading.charged_usd == Decimal("0.000864")) == (reading.status is Status.COMPLETED)


@pytest.mark.parametrize("name", ["success-mcp", "denied-mixed", "two-models", "max-turns"])
def test_no_word_of_model_server_or_provider_is_published(name: str) -> None:
    """Whatever single text of the stream is replaced by, it does not come out in public."""
    word = "zebra quince 42"
    for path in _paths(events(name)):
        lines = events(name)
        if path and isinstance(_at(lines, path), str):
            *way, last = path
            _at(lines, tuple(way))[last] = word
            reading = transcript.read(stdout_of(lines), DONE, expected(mcp=True))

            assert word.encode() not in canonical.dumps(_observation(reading, DONE).to_json()), path


def test_a_model_that_is_not_the_studys_is_named_in_the_private_record_alone() -> None:
    reading = transcript.read(stdout_of(events("two-models")), DONE, expected())

    assert _observation(reading, DONE).resolved_model == "other"
    assert "claude-sonnet-5-5" in cli_observation.private(reading)["models"]


def _at(value: Any, path: tuple[Any, ...]) -> Any:  # noqa: ANN401 - any JSON value
    for key in path:
        value = value[key]
    return value


def test_tools_that_a_model_invents_are_counted_without_their_names() -> None:
    """A name may hold an answer; one that the study itself denies is known."""
    reading = transcript.read(stdout_of(events("denied-mixed")), DONE, expected())
    observation = _observation(reading, DONE)

    assert "Bash" in DENIED
    assert observation.tool_calls_by_name == {
        "Bash": 1,
        "Glob": 1,
        "Grep": 1,
        "Read": 2,
        "other": 1,
    }
    assert cli_observation.private(reading)["toolCallsByName"]["Nope"] == 1


def test_a_session_of_ten_thousand_tools_makes_no_long_line() -> None:
    lines = events("success-repo")
    lines[0]["tools"] = [f"tool_{number}" for number in range(10_000)]
    lines[0]["mcp_servers"] = [{"name": f"s{number}", "status": "x"} for number in range(10_000)]

    _check(stdout_of(lines), DONE)
