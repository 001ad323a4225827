"""An adjudicator command is bounded like any provider's, and what it does has a reason."""

from __future__ import annotations

import dataclasses
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import fake_cli
from agent_trials.graders import adjudicator, command
from agent_trials.graders.adjudicator import Adjudicator
from agent_trials.graders.command import Command
from agent_trials.graders.prompt import Prompt
from agent_trials.records import AttemptResult, Status
from agent_trials.study.providers import AdjudicatorCommand, Pricing
from agent_trials.study.settings import AdjudicatorCommandSettings, GraderSettings

SCRIPT = Path(fake_cli.__file__).with_name("fake_provider.py")
LIMIT = Decimal("0.1")
PROMPT = Prompt("Grade it.", {"question": "Wo läuft der 🐇?", "record": {}})
VERDICT = {"outcome": "correct", "propositions": [], "citations": []}
COUNTED = {"inputTokens": 1000, "outputTokens": 100, "tokenMethod": "provider"}
PRICING = Pricing(
    currency="USD", inputPerMillionUsd=1, cachedInputPerMillionUsd=0.5, outputPerMillionUsd=3
)
DIGEST = "sha256-normalized-v1:0"


def grader(behaviour: dict[str, Any], entry: Any = None, **changes: Any) -> Adjudicator:  # noqa: ANN401 - fields
    fields = {
        "id": "independent-reviewer",
        "modelId": "reference-model",
        "command": sys.executable,
        "args": ("-IS", str(SCRIPT), json.dumps(behaviour)),
        "providerNetwork": True,
        "maxInputBytes": 100_000,
        "maxOutputBytes": 10_000,
    }
    settings = adjudicator.transport_settings(
        GraderSettings(
            transport="command",
            model="reference-model",
            limit_usd=LIMIT,
            command=AdjudicatorCommandSettings(**{"timeout_seconds": 20, **changes}),
        )
    )
    made = Command(AdjudicatorCommand(**(fields | (entry or {}))), sys.executable, DIGEST)
    return Adjudicator("adjudicator", "command", "reference-model", LIMIT, settings, command=made)


def ask(behaviour: dict[str, Any], entry: Any = None, **changes: Any) -> AttemptResult:  # noqa: ANN401 - as grader
    return grader(behaviour, entry, **changes).ask(PROMPT)


def test_gets_one_request_an_empty_folder_and_an_allowlist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = tmp_path / "records"
    monkeypatch.setenv("A_KEY", "the-value-of-a-key")
    monkeypatch.setenv("STUDY_BUDGET_USD", "1")
    said = json.dumps({**VERDICT, "reason": "the-value-of-a-key"})

    result = ask({"record": str(records), "write": said}, {"envAllowlist": ("A_KEY",)})

    seen = json.loads(records.read_text("utf-8"))
    assert seen["request"] == {
        "protocol": "doc-bridge.study-adjudicator.v1",
        "response": command.RESPONSE,
        "instruction": "Grade it.",
        "packet": {"question": "Wo läuft der 🐇?", "record": {}},
    }
    assert set(seen["environment"]) - {"LC_CTYPE"} == {"PATH", "HOME", "TMPDIR", "A_KEY"}
    assert seen["folder"] != str(Path.cwd())
    assert json.loads(str(result.private["answer"]))["outcome"] == "correct"
    assert "the-value-of-a-key" not in str(result.private)


@pytest.mark.parametrize(
    ("behaviour", "status", "problem"),
    [
        ({"exit": 3}, Status.FAILED, "non-zero-exit"),
        ({"write": "{}{}"}, Status.FAILED, "two-objects"),
        ({"write": json.dumps(VERDICT) + " ok"}, Status.FAILED, "trailing-text"),
        ({"write": "```json\n{}\n```"}, Status.FAILED, "invalid-json"),
        ({"write": '{"confidence": NaN}'}, Status.FAILED, "non-finite-number"),
        ({"flood": 20_000}, Status.FAILED, "output-limit"),
        ({"write": ""}, Status.FAILED, "no-output"),
        ({"hang": True}, Status.TIMED_OUT, "timeout"),
    ],
)
def test_what_is_no_reply_decides_nothing_and_keeps_its_reservation(
    behaviour: dict[str, Any], status: Status, problem: str
) -> None:
    result = ask(behaviour, timeout_seconds=1 if "hang" in behaviour else 20)

    assert (result.observation.status, result.observation.problems[0]) == (status, problem)
    assert result.observation.charged_usd == LIMIT
    assert "answer" not in result.private


def test_a_command_that_is_gone_is_said_to_be_unavailable() -> None:
    whole = grader({})
    assert whole.command is not None
    gone = dataclasses.replace(whole.command, executable="/nowhere/at/all")

    result = dataclasses.replace(whole, command=gone).ask(PROMPT)

    assert result.observation.problems == ("unavailable",)


@pytest.mark.parametrize(
    ("entry", "settings"), [({"maxInputBytes": 100}, {}), ({}, {"max_input_bytes": 100})]
)
def test_the_lower_bound_of_input_wins_and_nothing_is_started(
    entry: dict[str, int], settings: dict[str, int], tmp_path: Path
) -> None:
    result = ask({"record": str(tmp_path / "records")}, entry, **settings)

    assert result.observation.problems == ("input-limit",)
    assert result.observation.charged_usd == 0
    assert not (tmp_path / "records").exists()


def test_the_lower_bound_of_output_wins() -> None:
    result = ask({"write": json.dumps(VERDICT)}, max_output_bytes=10)

    assert result.observation.problems == ("output-limit",)


@pytest.mark.parametrize(
    ("charge", "charged"), [("reservation", LIMIT), ("priced", Decimal("0.0013"))]
)
def test_charges_the_reservation_or_the_configured_price(charge: str, charged: Decimal) -> None:
    reply = json.dumps({**VERDICT, **COUNTED, "measurements": {"passes": 2}})

    result = ask({"write": reply}, {"pricing": PRICING}, charge=charge)

    assert result.observation.charged_usd == charged
    told = command.measured(result.observation)
    assert told is not None
    assert told["measurements"] == {"passes": "2"}
    assert told["providerTokenCostUnits"] == 1100
    assert told["computedCostUsd"] == "0.0013"
    assert told["configuration"] == DIGEST
    assert "selfReported" not in told


def test_its_configuration_is_that_of_the_file_and_names_no_path() -> None:
    one = grader({})
    assert one.command is not None
    other = dataclasses.replace(
        one, command=dataclasses.replace(one.command, digest="sha256-normalized-v1:1")
    )

    assert one.digest != other.digest
    assert one.configuration["command"]["providersDigest"] == DIGEST
    assert sys.executable not in json.dumps(one.configuration)
    assert str(SCRIPT) not in json.dumps(one.configuration)
