"""One arm's patches in the official format."""

from __future__ import annotations

import json

import pytest

from agent_trials.errors import EvaluationError
from agent_trials.graders.predictions import predictions

PLANNED = ("b__b-2", "a__a-1", "c__c-3")


def test_an_empty_patch_stays_and_a_missing_one_is_named() -> None:
    """Leaving an empty one out would take a failure out of the rate."""
    made = predictions("study-native", PLANNED, {"a__a-1": b"", "b__b-2": "ü\n".encode()})

    assert [json.loads(line) for line in made.content.splitlines()] == [
        {"instance_id": "a__a-1", "model_name_or_path": "study-native", "model_patch": ""},
        {"instance_id": "b__b-2", "model_name_or_path": "study-native", "model_patch": "ü\n"},
    ]
    assert made.missing == ("c__c-3",)


def test_the_run_id_changes_with_any_patch() -> None:
    """The evaluation answers a run id that it has seen with the verdicts of then."""
    first = predictions("study-native", PLANNED, {"a__a-1": b"x"})
    second = predictions("study-native", PLANNED, {"a__a-1": b"y"})
    other = predictions("study-other", PLANNED, {"a__a-1": b"x"})

    assert len({each.run_id for each in (first, second, other)}) == 3
    assert first.run_id == predictions("study-native", PLANNED, {"a__a-1": b"x"}).run_id


def test_what_is_not_planned_is_not_submitted() -> None:
    assert predictions("m", ("a__a-1",), {"z__z-9": b"x"}).content == b""


def test_refuses_bytes_that_the_format_cannot_hold() -> None:
    with pytest.raises(
        EvaluationError, match=r"patch of a__a-1 holds a byte \(1\) that is not UTF-8"
    ):
        predictions("m", PLANNED, {"a__a-1": b"x\xff"})
