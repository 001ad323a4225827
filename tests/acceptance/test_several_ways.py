"""Arms that differ in transport, and several models with several wordings, through whole runs."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fake_cli

if TYPE_CHECKING:
    from lab import Lab

SCRIPT = str(Path(fake_cli.__file__).with_name("fake_provider.py"))
PROVIDER = """
[transports.provider]
timeout_seconds = 30
evidence_rule = "record"
writable = true
"""
CHECKS = """
[[transports.provider.tasks.install-command.checks]]
id = "names-a-file"
command = ["{python}", "-I", "{study}/names_a_file.py"]
[[transports.provider.tasks.install-command.checks]]
id = "says-no"
command = ["false"]
"""
CHECK = """
import json, pathlib, sys
answer = json.load(sys.stdin)["answer"]
sys.exit(0 if any(path.name in answer for path in pathlib.Path.cwd().iterdir()) else 1)
"""
MODELS = """
[[models]]
id = "low-cost"
model = "small-1"
attempt_usd = "0.02"
[[models]]
id = "reference"
model = "large-1"
"""
QUESTION = 'question = "How does the install-command work?"'
VARIANTS = f"""{QUESTION}
variants = {{ short = "Install command?", long = "Which command installs the worker?" }}"""


def rewritten(lab: Lab, *changes: tuple[str, str], extra: str = "") -> None:
    """Change the lab's study, each old text once, and add tables to its end."""
    file = lab.folder / "study.toml"
    text = file.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    file.write_text(text + extra, encoding="utf-8")


def openings(ledger: Path) -> dict[str, Any]:
    first: dict[str, Any] = json.loads(ledger.read_text(encoding="utf-8").splitlines()[0])
    return first


def verified(lab: Lab, ledger: Path, report: Path) -> None:
    """Publish a ledger with its report; a stranger verifies both, and makes the report anew."""
    into = lab.outside / "bundle"
    options = ("--into", str(into), "--report", str(report))
    made = lab.command("agent-trials", "bundle", str(ledger), *options)
    assert made.code == 0, made.text
    found = lab.command(sys.executable, "-I", str(into / "verify.py"))
    assert found.code == 0, found.text
    assert "summary.json: every figure follows from the ledger" in found.out
    assert "report/summary.json: its head and its rows follow from the ledger" in found.out
    anew = lab.outside / "anew"
    lab.command("agent-trials", "report", str(into / "ledger.jsonl"), "--into", str(anew))
    theirs, ours = (json.loads((each / "summary.json").read_bytes()) for each in (anew, report))
    assert theirs["providers"] == ours["providers"] is not None


def test_a_comparison_of_transports_says_so_and_takes_both_ways(lab: Lab) -> None:
    lab.study(transport="http")
    rewritten(
        lab,
        ('model = "claude', 'compares = ["transport"]\nmodel = "claude'),
        ('id = "repository-only"', 'id = "repository-only"\ntransport = "http"'),
        ('id = "docs-mcp"', 'id = "docs-mcp"\ntransport = "provider"'),
        extra=PROVIDER,
    )
    arguments = ("evals", "-m", "pilot", "--root", f"handbook={lab.checkout}")

    dry = lab.pytest(*arguments, "--collect-only")
    refused = lab.pytest(*arguments, "--transport", "http")
    shown = lab.pytest(*arguments)

    loud = "THE ARMS DIFFER IN TRANSPORT, which is what is compared: repository-only = http; docs"
    assert loud in dry.out
    assert refused.code == 4
    assert "compares transports, and each of its arms names one" in refused.text
    assert shown.code == 0, shown.text
    assert loud in shown.out
    (ledger,) = lab.rehearsals()
    assert [(o["arm"], o["transport"]) for o in lab.show(ledger)["observations"]] == [
        ("repository-only", "http"),
        ("docs-mcp", "provider"),
    ]
    into = lab.outside / "report"
    told = lab.command("agent-trials", "report", str(ledger), "--into", str(into))
    assert told.code == 0, told.text
    report = (into / "report.md").read_text("utf-8")
    assert (
        "The arms differ in transport: repository-only asked claude-haiku-5-5 over http" in report
    )
    assert "Over http: The harness offered its own three file tools" in report
    verified(lab, ledger, into)
    opening = openings(ledger)
    assert (opening["transport"], opening["compares"]) == ("http+provider", ["transport"])
    assert [(way["arm"], way["transport"]) for way in opening["ways"]] == [
        ("repository-only", "http"),
        ("docs-mcp", "provider"),
    ]


@pytest.fixture
def slotted(lab: Lab) -> Lab:
    """A frozen study of two models, two wordings and two replicates over provider commands."""
    lab.study(transport="provider", repetitions=2)
    rewritten(
        lab,
        ('model = "claude-haiku-5-5"', 'model = "small-1"'),
        ("repetitions = 1\nscored = false", "scored = false"),
        ("[[arms]]", f"{MODELS}\n[[arms]]"),
        (QUESTION, VARIANTS),
        extra=PROVIDER + CHECKS,
    )
    (lab.folder / "names_a_file.py").write_text(CHECK, encoding="utf-8")
    lab.freeze()
    return lab


def configured(lab: Lab, records: Path, models: tuple[str, ...]) -> Path:
    """Write a providers file with one command for each model."""
    entries = [
        {
            "modelId": model, "scenarioIds": ["repository-only", "docs-mcp"],
            "command": sys.executable, "providerNetwork": False, "maxInputBytes": 100_000,
            "args": ["-IS", SCRIPT, json.dumps({"record": str(records)})], "maxOutputBytes": 9_000,
        }
        for model in models
    ]  # fmt: skip
    path = lab.outside / "providers.json"
    document = {"type": "study-provider-cli-config", "schemaVersion": 1, "providers": entries}
    path.write_text(json.dumps(document), encoding="utf-8")
    assert lab.command("agent-trials", "providers", str(path), "--write").code == 0
    return path


def test_every_task_is_asked_of_every_model_in_one_wording_per_pair(slotted: Lab) -> None:
    records = slotted.root / "requests.jsonl"
    one = configured(slotted, records, ("small-1",))
    environment = {"STUDY_MODEL": "small-1,large-1", "STUDY_BUDGET_USD": "1"}
    options = ("--providers", str(one))

    refused = slotted.pytest(*slotted.paid_arguments(), *options, **environment)
    unnamed = slotted.pytest(
        *slotted.paid_arguments(), *options, **(environment | {"STUDY_MODEL": "small-1"})
    )
    configured(slotted, records, ("small-1", "large-1"))
    shown = slotted.pytest(*slotted.paid_arguments(), *options, **environment)

    assert (refused.code, unnamed.code) == (4, 4)
    assert "no provider answers for large-1 in repository-only" in refused.text
    assert "the study asks small-1,large-1" in " ".join(unnamed.text.split())
    assert shown.code == 0, shown.text
    found = slotted.show()
    assert [(o["repetition"], o["model"]) for o in found["observations"]] == [
        (1, "small-1"), (1, "small-1"), (2, "large-1"), (2, "large-1"),
        (3, "small-1"), (3, "small-1"), (4, "large-1"), (4, "large-1"),
    ]  # fmt: skip
    assert [o["chargedUsd"] for o in found["observations"]][:3] == ["0.02", "0.02", "0.1"]
    asked = [json.loads(each)["request"] for each in records.read_text("utf-8").splitlines()]
    tasks = [each["task"] for each in asked]
    assert [(each["modelId"], each["replicate"]) for each in tasks[::2]] == [
        ("small-1", 0), ("large-1", 0), ("small-1", 1), ("large-1", 1),
    ]  # fmt: skip
    assert [each["variantId"] for each in tasks] == ["short"] * 4 + ["long"] * 4
    assert asked[0]["objective"].startswith("Install command?")
    assert asked[-1]["objective"].startswith("Which command installs the worker?")
    for observation in found["observations"]:
        acceptance = observation["acceptance"]
        assert [(c["check"], c["passed"]) for c in acceptance["checks"]] == [
            ("names-a-file", True),
            ("says-no", False),
        ]
        assert acceptance["outcome"] == "partial"
    told = slotted.command(
        "agent-trials", "report", str(slotted.ledger), "--into", str(slotted.outside / "report")
    )
    assert told.code == 0, told.text
    report = (slotted.outside / "report" / "report.md").read_text("utf-8")
    assert "Every task was asked of 2 models: small-1 (low-cost), large-1 (reference)." in report
    assert "| small-1 | 4 | 4 | 4 of 8 |" in report
    verified(slotted, slotted.ledger, slotted.outside / "report")
    page = (slotted.outside / "report" / "report.html").read_text("utf-8")
    assert "Every task was asked of 2 models" in page
    assert "<td>small-1</td><td>4</td><td>4</td><td>4 of 8</td>" in page
    opening = openings(slotted.ledger)
    assert "tasks" not in opening["transportSettings"]
    assert str(slotted.folder) not in slotted.ledger.read_text("utf-8")


def test_each_of_two_models_over_the_cli_is_charged_at_its_own_prices(lab: Lab) -> None:
    fake = fake_cli.install(lab.root / "bin")
    lab.study(transport="cli", resume="skip-recorded")
    models = "".join(
        f'[[models]]\nid = "{name}"\nmodel = "{model}"\n'
        "[[models.prices]]\nabove_prompt_tokens = 0\n"
        f'input = "{rate}"\noutput = "{rate}"\ncache_read = "{rate}"\n'
        f'cache_write_5m = "{rate}"\ncache_write_1h = "{rate}"\n'
        for name, model, rate in (
            ("low-cost", "claude-haiku-5-5", "0.10"),
            ("reference", "claude-sonnet-5", "0.30"),
        )
    )
    rewritten(lab, ("[[arms]]", f"{models}\n[[arms]]"))
    lab.freeze()
    run = (*lab.paid_arguments(), "--claude-bin", str(fake.path))
    environment = lab.paid_environment | {"STUDY_MODEL": "claude-haiku-5-5,claude-sonnet-5"}

    shown = lab.pytest(*run, **environment)
    again = lab.pytest(*run, "--resume", **environment)

    assert (shown.code, again.code) == (0, 0), shown.text + again.text
    seen = lab.show()["observations"]
    asked = [each["argv"][each["argv"].index("--model") + 1] for each in fake.starts]
    assert [each["model"] for each in seen] == asked
    computed = {each["model"]: Decimal(each["computedCostUsd"]) for each in seen}
    assert set(computed) == {"claude-haiku-5-5", "claude-sonnet-5"}
    assert computed["claude-sonnet-5"] == 3 * computed["claude-haiku-5-5"]


def test_a_check_whose_program_is_not_there_is_named_before_any_attempt(slotted: Lab) -> None:
    records = slotted.root / "requests.jsonl"
    path = configured(slotted, records, ("small-1", "large-1"))
    rewritten(slotted, ('command = ["false"]', 'command = ["no-such-check"]'))

    shown = slotted.pytest(
        "evals", "-m", "pilot", "--providers", str(path), "--root", f"handbook={slotted.checkout}"
    )

    assert shown.code == 4
    assert "the check's program 'no-such-check' is no executable" in " ".join(shown.text.split())
    assert not records.exists()
