"""Exactly one JSON object, or a reason of its own; what a provider says of itself stays that."""

from __future__ import annotations

import contextlib
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.agents import provider_costs
from agent_trials.agents.provider_reply import InvalidReplyError, Reply, read
from agent_trials.records import Status

RATES = (Decimal(1), Decimal("0.5"), Decimal(3))


@pytest.mark.parametrize(
    ("stdout", "code"),
    [
        (b"", "no-output"),
        (b" \n", "no-output"),
        (b'{"a": 1', "invalid-json"),
        (b"sorry", "invalid-json"),
        (b"[]", "not-an-object"),
        (b'"text"', "not-an-object"),
        (b"{}{}", "two-objects"),
        (b"{}\n{}\n", "two-objects"),
        (b"{} done", "trailing-text"),
        ("{}\u2028".encode(), "trailing-text"),
        (b"{}\x1c", "trailing-text"),
        ("\u00a0{}".encode(), "invalid-json"),
        (b'\xef\xbb\xbf{"a":1}', "invalid-json"),
        (b'{"answer":"\xc3"}', "invalid-utf-8"),
        (b'{"a":1,"a":2}', "repeated-key"),
        (b'{"measurements":{"searchHitRate":NaN}}', "non-finite-number"),
        (b'{"anything":Infinity}', "non-finite-number"),
        (b'{"measurements":{"x":1e999}}', "non-finite-number"),
        (b'{"measurements":{"x":-1}}', "negative-number"),
        (b'{"measurements":{"x":1e99999999999999999999}}', "non-finite-number"),
        (b'{"measurements":{"x":-1e99999999999999999999}}', "negative-number"),
        (b'{"measurements":{"x":1e-99999999999999999999}}', "number-too-large"),
        (b'{"measurements":{"x":0.' + b"3" * 50 + b"}}", "number-too-large"),
        (b'{"inputTokens":-1,"tokenMethod":"provider"}', "negative-number"),
        (b'{"measurements":{"x":1e16}}', "number-too-large"),
        (b'{"measurements":{"x":' + b"9" * 5000 + b"}}", "non-finite-number"),
        (b'{"inputTokens":1.5,"tokenMethod":"provider"}', "invalid-metrics"),
        (b'{"inputTokens":true,"tokenMethod":"provider"}', "invalid-metrics"),
        (b'{"inputTokens":1}', "no-token-method"),
        (b'{"inputTokens":1,"tokenMethod":"guess"}', "invalid-metrics"),
        (b'{"taskOutcome":"great"}', "invalid-metrics"),
        (b'{"safetyOutcome":[]}', "invalid-metrics"),
        (b'{"evidenceIds":"all"}', "invalid-metrics"),
        (b'{"evidenceIds":["/home/someone"]}', "invalid-metrics"),
        (b'{"measurements":[1]}', "invalid-metrics"),
        (b'{"measurements":{"x":"1"}}', "invalid-metrics"),
        (b'{"measurements":{"/etc/passwd":1}}', "invalid-metrics"),
        (b'{"measurements":{"searchHitRate":1.01}}', "invalid-metrics"),
        (b'{"measurements":{"documentationStaleRate":2}}', "invalid-metrics"),
        (b'{"measurements":{"documentationFindingCount":0.5}}', "invalid-metrics"),
        (
            b'{"measurements":{"acceptanceChecksPassed":3,"acceptanceChecksTotal":2}}',
            "invalid-metrics",
        ),
        (b'{"answer":1}', "invalid-metrics"),
        (b"[" * 100_000, "invalid-json"),
        (b'{"execution":{"status":"completed"}}', "invalid-metrics"),
        (b'{"execution":"failed"}', "invalid-metrics"),
        (b'{"execution":{"status":"failed","problems":["Not a code"]}}', "invalid-metrics"),
        (b'{"servers":{"docs":{"ready":true,"calls":1,"answered":2}}}', "invalid-metrics"),
        (b'{"servers":{"docs":{"ready":1}}}', "invalid-metrics"),
        (b'{"servers":{"/a/path":{"ready":true}}}', "invalid-metrics"),
        (b'{"servers":[]}', "invalid-metrics"),
        (b'{"servers":{"docs":{"ready":true,"calls":-1}}}', "invalid-metrics"),
        (b'{"execution":{"status":["failed"]}}', "invalid-metrics"),
    ],
)
def test_what_is_no_reply_has_its_reason(stdout: bytes, code: str) -> None:
    with pytest.raises(InvalidReplyError) as caught:
        read(stdout)

    assert caught.value.code == code


def test_an_empty_object_is_a_reply_that_says_nothing() -> None:
    assert read(b"{}\n") == Reply()


def test_unknown_fields_are_ignored_and_unknown_measurements_kept() -> None:
    found = read(b'{"mood": "good", "measurements": {"laterMetric": 2.50, "n": 3, "z": 1e-3}}')

    assert found.reported == {}
    assert found.measurements == {"laterMetric": "2.5", "n": "3", "z": "0.001"}


def test_an_unknown_field_may_hold_any_number() -> None:
    """It is ignored; an exponent that no Decimal holds ended the whole run."""
    assert read(b'{"mine":1e99999999999999999999,"other":-1e-99999999999999999999}') == Reply()


@pytest.mark.parametrize("zero", [b"-0", b"-0.0", b"0e-999", b"0.000"])
def test_zero_is_written_in_one_way(zero: bytes) -> None:
    assert read(b'{"measurements":{"x":' + zero + b"}}").measurements == {"x": "0"}


def test_self_reports_keep_their_names() -> None:
    found = read(
        b'{"taskOutcome":"success","toolCalls":4,"firstEvidenceLatencyMs":null,'
        b'"evidenceIds":["artifact-hash:abc123"],"reworkCount":0}'
    )

    assert found.reported == {
        "taskOutcome": "success", "toolCalls": 4, "evidenceIds": ["artifact-hash:abc123"],
        "reworkCount": 0,
    }  # fmt: skip


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.floats() | st.text() | st.none()))
def test_any_object_is_a_reply_or_has_a_reason(found: dict[str, object]) -> None:
    """Never another exception, whatever stands under known names too."""
    named = {"measurements": found, "inputTokens": next(iter(found.values()), None), **found}

    try:
        reply = read(json.dumps(named).encode())
    except InvalidReplyError:
        return

    assert all(Decimal(text) >= 0 for text in reply.measurements.values())


@given(st.binary(max_size=60))
def test_any_bytes_are_a_reply_or_have_a_reason(stdout: bytes) -> None:
    with contextlib.suppress(InvalidReplyError):
        assert read(stdout) is not None


def reply(tokens: int | None, cached: int | None, output: int | None, by: str | None) -> Reply:
    return Reply(tokens, cached, output, by)


@pytest.mark.parametrize(
    ("found", "cost", "units"),
    [
        (reply(1_000_000, 400_000, 100_000, "provider"), "1.1", 1_100_000),
        (reply(1000, 5000, 0, "provider"), "0.0005", 1000),
        (reply(1, None, 1, "provider"), "0.000004", 2),
        (reply(1000, None, None, "provider"), None, None),
        (reply(None, None, 10, "provider"), None, None),
        (reply(1000, None, 10, "estimate"), None, None),
        (Reply(), None, None),
    ],
    ids=["cached apart", "cached at most input", "small", "no output", "no input", "estimated",
         "nothing"],
)  # fmt: skip
def test_a_cost_is_derived_only_from_counts_of_the_provider(
    found: Reply, cost: str | None, units: int | None
) -> None:
    derived = provider_costs.cost(found, RATES)

    assert derived == (None if cost is None else Decimal(cost))
    assert provider_costs.units(found) == units
    assert provider_costs.cost(found, None) is None


@pytest.mark.parametrize(
    ("status", "derived", "priced", "charged"),
    [
        (Status.COMPLETED, None, True, "0.1"),
        (Status.COMPLETED, "0.02", True, "0.02"),
        (Status.COMPLETED, "0.02", False, "0.1"),
        (Status.COMPLETED, "0.3", False, "0.3"),
        (Status.FAILED, "0.02", True, "0.1"),
        (Status.BUDGET_EXCEEDED, "0.3", True, "0.3"),
    ],
)
def test_a_cap_works_for_providers_that_report_no_cost(
    status: Status, derived: str | None, charged: str, *, priced: bool
) -> None:
    known = None if derived is None else Decimal(derived)

    found = provider_costs.charge(status, known, Decimal("0.1"), priced=priced)

    assert found == Decimal(charged)
