"""Every recorded output of the real Codex CLI comes out as its index says."""

from __future__ import annotations

import hashlib

import pytest

from agent_trials.agents import codex_reading
from agent_trials.agents.codex_usage import Usage
from codex_recordings import Recording, recordings

ALL = recordings()


def read(recording: Recording) -> codex_reading.Reading:
    return codex_reading.read(
        recording.stdout,
        recording.process,
        recording.expected,
        stderr=recording.stderr,
        provider_input_bytes=1000,
    )


@pytest.mark.parametrize("recording", ALL, ids=lambda one: one.name)
def test_a_recording_has_its_class(recording: Recording) -> None:
    reading = read(recording)

    assert reading.status.value == recording.entry["expected"], reading.findings


@pytest.mark.parametrize("recording", ALL, ids=lambda one: one.name)
def test_a_recording_is_the_recorded_bytes(recording: Recording) -> None:
    assert hashlib.sha256(recording.stdout).hexdigest() == recording.entry["sha256"]


@pytest.mark.parametrize("recording", ALL, ids=lambda one: one.name)
def test_tool_items_and_last_message_are_those_of_the_index(recording: Recording) -> None:
    reading, entry = read(recording), recording.entry

    assert reading.measurements["observedToolEventCount"] == entry["tool_items"]
    if reading.status.value == "completed":
        assert reading.answer == entry["last_agent_message"]


@pytest.mark.parametrize("recording", ALL, ids=lambda one: one.name)
def test_usage_is_what_the_api_served_or_missing(recording: Recording) -> None:
    """A figure of the stream that is not what was spent must not be taken for one."""
    usage, served = read(recording).usage, recording.entry["served_usage"]

    if usage is not None:
        assert usage == Usage(
            served["input_tokens"],
            served["output_tokens"],
            served["cached_input_tokens"],
            served["reasoning_output_tokens"],
        )
    elif recording.entry["reported_usage"] is not None:
        assert recording.name in {"no-usage", "subagent-uncounted", "stream-cut-then-ok"}
