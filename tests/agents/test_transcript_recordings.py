"""Every recorded output of the real CLI is judged as its index says, and charged as we must."""

from __future__ import annotations

from decimal import Decimal

import pytest

from agent_trials.agents import transcript
from agent_trials.agents.cli_rules import CODES, ProcessFacts
from agent_trials.agents.cli_usage import SessionTotals
from recordings import FOLDER, Recording, expected, recordings

RECORDINGS = recordings()
IDS = [one.name for one in RECORDINGS]
FIRST_TURN = {"resume-2-followup": SessionTotals(Decimal("0.000864"))}

# What is charged otherwise than by the words of the seed, which the index follows.
PER_REQUEST = {
    "tier-crossing-false-invalid": Decimal("0.09805"),
    "tier-mixed": Decimal("0.07505"),
    "partial-messages-tiers": Decimal("0.07505"),
    "resume-2-followup": Decimal("0.000432"),
}
WHOLE_ATTEMPT = {
    "tier-crossing-false-invalid": Decimal("0.09805"),
    "resume-2-followup": Decimal("0.000432"),
}


def _charge(one: Recording, special: dict[str, Decimal]) -> Decimal:
    return special.get(one.name, Decimal(str(one.entry["charged_usd"])))


@pytest.mark.parametrize("one", RECORDINGS, ids=IDS)
def test_each_recording_gets_its_expected_status_and_charge(one: Recording) -> None:
    wanted = one.expected(prior=FIRST_TURN.get(one.name))

    reading = transcript.read(one.stdout, one.process, wanted)

    assert reading.status == one.entry["expected"], reading.findings
    assert reading.charged_usd == _charge(one, PER_REQUEST)
    assert (reading.codes == ()) == (one.entry["expected"] == "completed")


@pytest.mark.parametrize("one", RECORDINGS, ids=IDS)
def test_the_whole_attempt_rule_gives_the_same_statuses(one: Recording) -> None:
    """Agreement with either figure suffices, so a long attempt is not invalid under it."""
    wanted = one.expected(rule="whole-attempt", prior=FIRST_TURN.get(one.name))

    reading = transcript.read(one.stdout, one.process, wanted)

    assert reading.status == one.entry["expected"]
    assert reading.charged_usd == _charge(one, WHOLE_ATTEMPT)


@pytest.mark.parametrize("one", RECORDINGS, ids=IDS)
def test_each_recordings_calls_denials_and_costs_are_those_of_the_index(one: Recording) -> None:
    """The index's computed cost is the whole-attempt figure of all that the session used."""
    reading = transcript.read(one.stdout, one.process, one.expected(rule="whole-attempt"))
    reported, computed = one.entry["reported_cost_usd"], one.entry["computed_cost_usd"]

    assert reading.calls.count_by_name() == one.entry["tool_calls_by_name"]
    assert reading.calls.errors_by_name() == one.entry["tool_errors_by_name"]
    assert sorted(reading.denials) == sorted(one.entry["denials"])
    assert len(reading.calls.names) == one.entry["tool_calls"]
    assert reading.costs.reported == (
        None if reported is None else Decimal(str(round(reported, 12)))
    )
    figure = reading.costs.computed
    assert (figure.whole_attempt if figure else None) == (
        None if computed is None else Decimal(str(round(computed, 12)))
    )


def test_a_completed_attempt_settles_to_the_larger_of_two_costs_that_agree() -> None:
    """Writes of unknown life: the CLI reports 0.000575, the table at the hourly rate 0.0008."""
    one = next(one for one in RECORDINGS if one.name == "cache-unattributed")

    reading = transcript.read(one.stdout, one.process, one.expected())

    assert reading.costs.reported == Decimal("0.000575")
    assert reading.charged_usd == Decimal("0.0008")


@pytest.mark.parametrize(
    ("version", "name", "exit_code", "limit", "status", "charged"),
    [
        ("2.1.288", "success-repo", 0, "0.10", "invalid-cost", "0.1"),
        ("2.1.332", "success-repo", 0, "0.10", "completed", "0.000864"),
        ("2.1.332", "denied-mixed", 0, "0.10", "invalid-setup", "0.1"),
        ("2.1.332", "api-error-400", 1, "0.10", "failed", "0.1"),
        ("2.1.332", "budget-exceeded-final-answer", 1, "0.001", "budget-exceeded", "0.013515"),
    ],
)
def test_other_versions_are_read_as_well(
    version: str, name: str, *, exit_code: int, limit: str, status: str, charged: str
) -> None:
    stdout = (FOLDER / f"claude-{version}" / f"{name}.jsonl").read_bytes()
    wanted = expected(reservation=Decimal(limit), version=version)

    reading = transcript.read(stdout, ProcessFacts(exit_code=exit_code), wanted)

    assert reading.status == status, reading.findings
    assert reading.charged_usd == Decimal(charged)


def test_an_unknown_model_is_priced_at_forty_times_its_list_price() -> None:
    """2.1.288 does not know the model; the basis of its cost says so before the factor does."""
    stdout = (FOLDER / "claude-2.1.288" / "success-repo.jsonl").read_bytes()

    reading = transcript.read(stdout, ProcessFacts(exit_code=0), expected(version="2.1.288"))

    assert reading.codes == ("cost-basis-not-list", "costs-disagree")


def test_every_code_that_the_recordings_give_has_its_class() -> None:
    for one in RECORDINGS:
        reading = transcript.read(one.stdout, one.process, one.expected())
        assert {finding.code for finding in reading.findings} <= set(CODES)
