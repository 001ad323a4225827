"""The doc-bridge study says what its specification says, and rehearses over stand-ins."""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

import fake_cli
from agent_trials import canonical
from agent_trials.graders import citations
from agent_trials.graders.citations import Corpora
from agent_trials.study import freeze, lock, manifest, schedule
from doc_bridge_lab import NAMES, ROOT, STAND_INS, STUDY, DocBridgeLab
from lab import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from agent_trials.study.manifest import Study
    from fake_cli import FakeCli

ARMS = ("repository-only", "doc-bridge-mcp")
OLD_PIN = "7f7388bcc60b7259d4148c0a0fb1142b8629dfff"
NEW_PIN = "9c431e98f70cfee178a3cf6265eea5e2dd898ac3"
OTHERS = ("gate_status", "memory_classify", "memory_promoteDraft", "registry_topology")


@pytest.fixture(scope="module")
def study() -> Study:
    return manifest.load(STUDY)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> DocBridgeLab:
    """A project with the study's copy, checkouts and indexes; tests leave it as it is."""
    if shutil.which("node") is None:
        reason = "the study's engine is started with node; install Node 20 or newer"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    found = DocBridgeLab(tmp_path_factory.mktemp("doc-bridge") / "lab")
    found.prepare()
    return found


@pytest.fixture(scope="module")
def http(lab: DocBridgeLab) -> dict[str, Any]:
    """The whole scored phase over the Messages API, as ``show --json`` has it."""
    return _rehearsed(lab, "full")


@pytest.fixture(scope="module")
def claude(lab: DocBridgeLab) -> FakeCli:
    return fake_cli.install(lab.root / "bin")


@pytest.fixture(scope="module")
def cli(lab: DocBridgeLab, claude: FakeCli) -> dict[str, Any]:
    """The pilot through a fake Claude Code, as ``show --json`` has it."""
    return _rehearsed(lab, "pilot", "--transport", "cli", "--claude-bin", str(claude.path))


def _rehearsed(lab: DocBridgeLab, phase: str, *arguments: str) -> dict[str, Any]:
    ledger = lab.outside / f"{phase}.jsonl"
    outcome = lab.rehearse(phase, "--ledger", str(ledger), *arguments)
    assert outcome.code == 0, outcome.text
    return lab.show(ledger)


def _real(*arguments: str) -> Outcome:
    """Run pytest over the study itself, in this project, as an operator without anything does."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", "evals/doc_bridge",
         *arguments],
        cwd=ROOT, env=kept, capture_output=True, text=True, encoding="utf-8", check=False,
        timeout=120,
    )  # fmt: skip
    return Outcome(done.returncode, done.stdout, done.stderr)


def test_the_dry_run_shows_two_and_thirty_six_attempts() -> None:
    shown = _real("--collect-only", "-q")

    assert shown.code == 0, shown.text
    assert "doc-bridge/pilot: 2 attempts (1 task x 2 arms x 1 repetition)" in shown.out
    assert "doc-bridge/full: 36 attempts (6 tasks x 2 arms x 3 repetitions)" in shown.out
    assert shown.out.count("networkCalls: 0") == shown.out.count("claudeProcesses: 0") == 2


def test_each_arm_goes_first_in_nine_pairs(study: Study) -> None:
    plan = schedule.plan(study.manifest, "full")

    first = Counter(pair[0].cell.arm for pair in schedule.pairs(plan))
    assert first == dict.fromkeys(ARMS, 9)
    tasks = [attempt.cell.task for attempt in plan]
    assert sum(one != other for one, other in pairwise(tasks)) == 5  # the order of tasks is fixed


def test_the_lock_and_the_protocol_hold_the_amendment(study: Study) -> None:
    entries = lock.read_lock(STUDY)

    dates = [entry.at[:10] for entry in entries]
    assert dates == ["2026-10-09", "2026-10-10", "2026-11-30"]
    (change,) = (each for each in entries[1].changes if each.field is not None)
    assert change.field == "repositories.agentskit-chat.pin"
    assert (OLD_PIN in str(change.old), NEW_PIN in str(change.new)) == (True, True)
    protocol = (STUDY / "PROTOCOL.md").read_text("utf-8")
    assert [f"### A{n} · {dates[n]}" in protocol for n in (1, 2)] == [True, True]
    assert freeze.state(study).problems() == []


def test_pins_prices_and_tools_are_those_of_the_specification(study: Study) -> None:
    settings = study.manifest
    cli = settings.transports.cli

    assert {name: each.pin for name, each in settings.repositories.items()} == {
        "doc-bridge": "948e8b2211c367f36581c503dcb7280bdd3b1028",
        "agentskit-chat": NEW_PIN,
        "agents-playbook": "c922b52249605c3e2437897364e722b76de67224",
    }
    assert cli is not None
    rows = [tuple(str(price) for price in vars(tier).values()) for tier in cli.prices]
    assert rows == [
        ("0", "0.10", "0.50", "0.01", "0.125", "0.20"),
        ("100000", "0.50", "2.50", "0.05", "0.625", "1.00"),
    ]
    assert (cli.version, cli.tier_rule, cli.stdout_bytes) == ("2.1.296", "whole-attempt", 1 << 22)
    assert settings.arms[1].mcp_servers["doc-bridge"].allow == (
        "doc.search", "doc.get", "handoff.resolve",
    )  # fmt: skip


def test_is_skipped_with_the_reason_where_nothing_is_prepared() -> None:
    shown = _real("-m", "pilot", "-rs")

    assert shown.code == 0, shown.text
    assert "2 skipped" in shown.out
    assert "no checkout of doc-bridge (--root doc-bridge=DIR; agent-trials prepare" in shown.out
    assert "no --param engine=VALUE" in shown.out


def test_never_takes_a_stand_in_for_the_repository(lab: DocBridgeLab) -> None:
    """A rehearsal of the study itself needs the pins as well; only a copy's can be others."""
    root = f"doc-bridge={lab.checkouts / 'doc-bridge'}"

    shown = _real("-m", "pilot", "--root", root, "--param", f"engine={lab.engine}")

    assert shown.code == 4, shown.text
    assert f"HEAD is {lab.pins['doc-bridge']} and the study's pin is 948e8b2211c3" in shown.text


def test_the_copy_differs_in_addresses_and_pins_alone(lab: DocBridgeLab) -> None:
    names = {path.name for path in STUDY.iterdir() if path.is_file()}
    differing = {n for n in names if (STUDY / n).read_bytes() != (lab.folder / n).read_bytes()}
    assert differing == {"study.toml"}

    real, copy = ((folder / "study.toml").read_text("utf-8") for folder in (STUDY, lab.folder))
    changed = [
        line[2:]
        for line in difflib.ndiff(real.splitlines(), copy.splitlines())
        if line.startswith(("- ", "+ "))
    ]
    assert Counter(line.partition(" = ")[0] for line in changed) == {"url": 6, "pin": 6}


def test_the_whole_study_rehearses_over_the_messages_api(http: dict[str, Any]) -> None:
    seen = http["observations"]

    assert len(seen) == 36
    assert {each["status"] for each in seen} == {"completed"}
    assert (http["refused"], http["blocked"]) == ([], [])
    assert http["run"]["mode"] == "rehearsal"


def test_only_the_treatment_meets_the_server(http: dict[str, Any]) -> None:
    calls: dict[str, set[bool]] = {arm: set() for arm in ARMS}
    for each in http["observations"]:
        calls[each["arm"]].add(bool(each["mcpToolCalls"]))

    assert calls == {"repository-only": {False}, "doc-bridge-mcp": {True}}


def test_both_arms_complete_through_claude_code(cli: dict[str, Any]) -> None:
    control, treatment = cli["observations"]

    assert (control["status"], treatment["status"]) == ("completed", "completed")
    assert (control["arm"], treatment["arm"]) == ARMS
    assert treatment["mcp_servers"] == [{"name": "doc-bridge", "status": "connected"}]
    assert control["mcp_servers"] == []


def test_the_arms_differ_in_the_server_and_its_three_tools(
    cli: dict[str, Any], claude: FakeCli
) -> None:
    del cli
    control, treatment = (record["argv"] for record in claude.starts)
    changed = [at for at, (one, other) in enumerate(zip(control, treatment, strict=True))
               if one != other]  # fmt: skip

    assert [control[at - 1] for at in changed] == ["--allowedTools", "--mcp-config"]
    added = treatment[changed[0]].removeprefix(control[changed[0]])
    tools = {f"mcp__doc-bridge__{name}" for name in ("doc_search", "doc_get", "handoff_resolve")}
    assert set(filter(None, added.split(","))) == tools
    denied = treatment[treatment.index("--disallowedTools") + 1].split(",")
    assert {f"mcp__doc-bridge__{name}" for name in (*OTHERS, "retriever_query")} <= set(denied)


def test_the_pilot_is_graded_by_the_registered_adjudicator(
    lab: DocBridgeLab, cli: dict[str, Any]
) -> None:
    """The right answer, an empty one and the wrong one are told apart before an attempt is."""
    del cli
    root = f"--root=doc-bridge={lab.checkouts / 'doc-bridge'}"
    ledger = str(lab.outside / "pilot.jsonl")

    shown = lab.pytest("evals/doc_bridge", "-m", "adjudicate", "--ledger", ledger, root)

    assert shown.code == 0, shown.text
    assert "controls: 3 of 3 as expected" in shown.out
    assert "0 pending" in shown.out
    assert "claude-sonnet-5-5" in shown.out


def test_the_control_answers_cite_lines_that_the_stand_in_has(study: Study) -> None:
    """The pin's own page is not here; the stand-in says the same at the same lines."""
    assert study.key is not None
    entry = study.key.tasks["bridge-discovery"]
    folder = STAND_INS / "corpora" / "doc-bridge"
    corpus = Corpora({path: (folder / path).read_text("utf-8") for path in entry.sources})

    for answer, places in ((entry.reference, 4), (entry.wrong, 3)):
        assert answer is not None
        checked = citations.check(citations.find(answer, corpus), corpus)
        assert [each.finding for each in checked] == [citations.Finding.EXISTS] * places


def test_the_engine_is_recorded_by_revision_and_digest(
    http: dict[str, Any], lab: DocBridgeLab
) -> None:
    assert http["run"]["engineDigests"]["engine"] == {
        "name": "engine",
        "kind": "file",
        "digest": canonical.digest(lab.engine.read_bytes()),
        "revision": lab.revision,
        "dirty": False,
    }


def test_set_up_and_index_are_facts_of_their_own(http: dict[str, Any]) -> None:
    """What it takes to have the treatment at all is part of the question's answer."""
    preflight = http["run"]["preflight"]

    assert [each["checkout"] for each in preflight["servers"]] == sorted(NAMES)
    for each in preflight["servers"]:
        assert all(isinstance(each[name], int) for name in ("startMs", "callMs", "indexMs"))
        assert each["indexMs"] > 0
    assert all(each["generated"].startswith("sha256:") for each in preflight["corpora"])


def test_refuses_a_stale_index_that_the_engine_answers_from(
    lab: DocBridgeLab, tmp_path: Path
) -> None:
    """The engine serves it without complaint, so the treatment would answer for another commit."""
    index = lab.checkouts / "doc-bridge" / ".doc-bridge" / "index.json"
    fresh = index.read_text("utf-8")
    ledger = tmp_path / "stale.jsonl"
    index.write_text(fresh.replace("getting-started", "starting", 1), "utf-8")
    try:
        shown = lab.rehearse("pilot", "--ledger", str(ledger))
    finally:
        index.write_text(fresh, "utf-8")

    assert shown.code == 4, shown.text
    assert "the index '.doc-bridge/index.json' is stale" in shown.text
    assert not ledger.exists()
