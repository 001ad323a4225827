"""Any command that keeps the contract takes part; what is wrong is named before any attempt."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fake_cli

if TYPE_CHECKING:
    from lab import Lab, Outcome

SCRIPT = str(Path(fake_cli.__file__).with_name("fake_provider.py"))
ARMS = ("repository-only", "docs-mcp")
TABLES = """
[transports.provider]
timeout_seconds = 30
[transports.provider.arms.docs-mcp]
allowed_tools = ["docs-tool"]
evidence = ["docs-tool"]
"""


@pytest.fixture
def study(lab: Lab) -> Lab:
    """A frozen study whose treatment is shown by a program."""
    lab.study(transport="provider")
    manifest = lab.folder / "study.toml"
    manifest.write_text(manifest.read_text(encoding="utf-8") + TABLES, encoding="utf-8")
    lab.freeze()
    tool = lab.root / "bin" / "docs-tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    tool.chmod(0o755)
    lab.environment["PATH"] = f"{tool.parent}:{lab.environ({})['PATH']}"
    return lab


@pytest.fixture
def records(study: Lab) -> Path:
    """Where the fake notes each request that it got."""
    return study.root / "requests.jsonl"


def configured(study: Lab, records: Path, **changes: Any) -> Path:  # noqa: ANN401 - JSON
    """Write a providers file whose treatment runs the tool; changes are of the second entry."""
    entries = []
    for arm, programs in zip(ARMS, ([], ["docs-tool"]), strict=True):
        behaviour = json.dumps({"record": str(records), "run": programs})
        entry = {
            "modelId": "claude-haiku-5-5", "scenarioIds": [arm], "command": sys.executable,
            "args": ["-IS", SCRIPT, behaviour], "providerNetwork": False,
            "maxInputBytes": 100_000, "maxOutputBytes": 10_000,
        }  # fmt: skip
        entries.append(entry)
    entries[1] |= changes
    path = study.outside / "providers.json"
    document = {"type": "study-provider-cli-config", "schemaVersion": 1, "providers": entries}
    path.write_text(json.dumps(document), encoding="utf-8")
    made = study.command("agent-trials", "providers", str(path), "--write")
    assert made.code == 0, made.text
    return path


def paid(study: Lab, *arguments: str) -> Outcome:
    """Run the pilot over the provider transport."""
    return study.pytest(*study.paid_arguments(), *arguments, **study.paid_environment)


def test_a_pair_is_answered_by_the_commands_of_its_arms(study: Lab, records: Path) -> None:
    path = configured(study, records)

    outcome = paid(study, "--providers", str(path))

    assert outcome.code == 0, outcome.text
    shown = study.show()
    assert [o["status"] for o in shown["observations"]] == ["completed", "completed"]
    digest = json.loads(path.read_text(encoding="utf-8"))["contentHash"]
    assert shown["run"]["providersDigest"] == f"sha256-normalized-v1:{digest}"
    evidence = [o["treatmentEvidence"]["started"]["docs-tool"] for o in shown["observations"]]
    assert evidence == [0, 1]
    assert Decimal(shown["budget"]["spentUsd"]) == Decimal("0.2")  # no rates: the reservations
    asked = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    assert [each["request"]["task"]["scenarioId"] for each in asked] == list(ARMS)
    assert all("expectedOutcome" not in each["request"] for each in asked)
    assert not any(
        word in json.dumps(each["request"]) or word in each["folder"]
        for each in asked
        for word in (str(study.root), "sample")
    )
    ledger = study.ledger.read_bytes()
    assert b"See README.md:1" not in ledger
    assert str(study.root).encode() not in ledger


def test_a_treatment_that_did_not_run_is_no_treatment(study: Lab, records: Path) -> None:
    path = configured(study, records, args=["-IS", SCRIPT, "{}"])

    outcome = paid(study, "--providers", str(path))

    assert outcome.code == 1
    control, treatment = study.show()["observations"]
    assert control["status"] == "completed"
    assert (treatment["status"], treatment["setupProblem"]) == (
        "invalid-setup", "treatment-not-seen",
    )  # fmt: skip


def refused(study: Lab, records: Path, *arguments: str, sentence: str) -> None:
    """Hold that nothing was started or written but the sentence."""
    outcome = paid(study, *arguments)

    assert outcome.code == 4, outcome.text
    assert sentence in " ".join(outcome.text.split()), outcome.text
    assert not study.ledger.exists()
    assert not records.exists()


def test_what_is_wrong_with_the_commands_is_named_before_any_attempt(
    study: Lab, records: Path
) -> None:
    path = configured(study, records, scenarioIds=["docs-mpc"])
    option = ("--providers", str(path))
    missing = (
        "no provider answers for claude-haiku-5-5 in docs-mcp (the file has claude-haiku-5-5 in"
    )
    refused(study, records, *option, sentence=missing)

    path = configured(study, records, command="./gone")
    refused(study, records, *option, sentence="'./gone' for docs-mcp is no executable")

    path = configured(study, records, maxInputBytes=10)
    refused(study, records, *option, sentence="bytes, and 10 are allowed")

    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("10000", "9999"), encoding="utf-8")
    refused(study, records, *option, sentence="contentHash: is stale")
    refused(study, records, sentence="the provider transport needs its commands")


def test_a_rehearsal_starts_none_of_the_commands(study: Lab, records: Path) -> None:
    path = configured(study, records)

    outcome = study.pytest(
        "evals", "-m", "pilot", "--root", f"handbook={study.checkout}", "--providers", str(path)
    )

    assert outcome.code == 0, outcome.text
    assert not records.exists()
    (ledger,) = study.rehearsals()
    shown = study.show(ledger)
    assert [o["status"] for o in shown["observations"]] == ["completed", "completed"]
    assert shown["observations"][1]["treatmentEvidence"]["succeeded"] == {"docs-tool": 1}


def test_check_doubts_what_would_prove_nothing(study: Lab) -> None:
    manifest = study.folder / "study.toml"
    text = manifest.read_text(encoding="utf-8")
    told = text.replace("timeout_seconds = 30", 'request = ["objective", "expected_outcome"]')
    manifest.write_text(told.replace('evidence = ["docs-tool"]', ""), encoding="utf-8")

    shown = study.command("agent-trials", "check", str(study.folder)).text

    assert "who answers is told the expected outcome" in shown
    assert "a scenario's label is no evidence" in shown


def test_a_tool_that_is_not_installed_is_recorded_and_its_arm_not_skipped(
    study: Lab, records: Path
) -> None:
    path = configured(study, records, args=["-IS", SCRIPT, "{}"])
    (study.root / "bin" / "docs-tool").unlink()

    outcome = paid(study, "--providers", str(path))

    assert outcome.code == 1, outcome.text
    control, treatment = study.show()["observations"]
    assert control["status"] == "completed"
    assert (treatment["status"], treatment["setupProblem"]) == (
        "invalid-setup", "treatment-unavailable",
    )  # fmt: skip
    assert treatment["chargedUsd"] == "0.1"


def test_a_pair_that_does_not_fit_under_the_cap_starts_no_command(
    study: Lab, records: Path
) -> None:
    """What a command costs is not known before; its reservation is, and that is what counts."""
    path = configured(study, records)

    outcome = study.pytest(
        *study.paid_arguments(), "--providers", str(path),
        **(study.paid_environment | {"STUDY_BUDGET_USD": "0.15"}),
    )  # fmt: skip

    assert outcome.code == 1, outcome.text
    shown = study.show()
    assert (shown["observations"], len(shown["refused"])) == ([], 1)
    assert not records.exists()
