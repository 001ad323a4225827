"""Paid runs against a CLI that counts the money it took: what the ledger says is never less."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fake_cli
from waiting import await_that

if TYPE_CHECKING:
    import subprocess

    from fake_cli import FakeCli
    from lab import Lab, Outcome


@pytest.fixture
def fake(lab: Lab) -> FakeCli:
    """The CLI that ``--claude-bin`` names."""
    return fake_cli.install(lab.root / "bin")


@pytest.fixture
def frozen(lab: Lab) -> Lab:
    """A frozen study."""
    lab.freeze()
    return lab


def paid(lab: Lab, fake: FakeCli, *arguments: str, phase: str = "pilot", **changes: str) -> Outcome:
    """Start a paid run that lacks nothing."""
    return lab.pytest(
        *lab.paid_arguments(phase), "--claude-bin", str(fake.path), *arguments,
        **(lab.paid_environment | changes),
    )  # fmt: skip


def needs(plugin: str) -> None:
    """Skip where a plugin is not installed; fail in the part of the gate that installs it."""
    if importlib.util.find_spec(plugin) is None:
        missing = pytest.fail if os.environ.get("IN_COMPANY") else pytest.skip
        missing(f"{plugin} is not installed: .ci/run company")


def at_risk(shown: dict[str, object]) -> Decimal:
    """Return spent + reserved as ``show --json`` gives them."""
    budget = shown["budget"]
    assert isinstance(budget, dict)
    return Decimal(budget["spentUsd"]) + Decimal(budget["reservedUsd"])


def test_a_pair_completes_and_is_charged_what_it_cost(frozen: Lab, fake: FakeCli) -> None:
    outcome = paid(frozen, fake)

    assert outcome.code == 0, outcome.text
    shown = frozen.show()
    assert shown["run"]["mode"] == "paid"
    assert [o["status"] for o in shown["observations"]] == ["completed", "completed"]
    assert at_risk(shown) == fake.took_usd
    assert shown["budget"]["reservedUsd"] == "0"
    assert all(not start["hasKey"] for start in fake.starts)


def test_the_arms_differ_in_their_server_alone(frozen: Lab, fake: FakeCli) -> None:
    paid(frozen, fake)

    control, treatment = (start["argv"] for start in fake.starts)
    differing = [
        control[i - 1] for i, (a, b) in enumerate(zip(control, treatment, strict=True)) if a != b
    ]
    assert differing == ["--allowedTools", "--mcp-config"]
    first, second = fake.starts
    assert first["environment"] == second["environment"]
    assert len(first["cwd"]) == len(second["cwd"])
    assert not any(word in second["cwd"] for word in ("docs", "mcp", "sample", "install"))


def test_the_private_ledger_is_readable_by_its_owner_alone(frozen: Lab, fake: FakeCli) -> None:
    paid(frozen, fake)

    assert frozen.ledger.stat().st_mode & 0o777 == 0o600
    private = frozen.ledger.with_name(f"{frozen.ledger.name}.private")
    assert private.stat().st_mode & 0o777 == 0o700


def test_an_answer_and_a_prompt_stay_beside_the_ledger(frozen: Lab, fake: FakeCli) -> None:
    fake.behave(answer="the private answer of README.md:1")

    outcome = paid(frozen, fake, "-v")

    assert "the private answer" not in outcome.text
    assert b"the private answer" not in frozen.ledger.read_bytes()
    assert b"How does the install-command work" not in frozen.ledger.read_bytes()
    assert str(frozen.root).encode() not in frozen.ledger.read_bytes()


def test_a_pair_that_does_not_fit_starts_no_process(frozen: Lab, fake: FakeCli) -> None:
    outcome = paid(frozen, fake, STUDY_BUDGET_USD="0.15")

    assert outcome.code == 1
    assert fake.starts == []
    assert "needs 0.2 USD and 0.15 USD is left under the cap of 0.15 USD" in outcome.text
    assert "Traceback" not in outcome.text
    shown = frozen.show()
    assert [(r["arm"]) for r in shown["refused"]] == ["repository-only"]
    assert [(b["arm"]) for b in shown["blocked"]] == ["docs-mcp"]
    assert at_risk(shown) == 0


def test_a_refusal_is_an_error_at_set_up_and_the_rest_is_blocked(
    frozen: Lab, fake: FakeCli
) -> None:
    """The second pair needs 0.2 of the 0.12 USD that the first one left."""
    fake.behave(spend_usd="0.09")

    outcome = paid(frozen, fake, phase="full", STUDY_BUDGET_USD="0.3")

    assert "2 passed, 2 errors" in outcome.out, outcome.text
    assert "skipped" not in outcome.out
    shown = frozen.show()
    assert len(shown["observations"]) == 2
    assert [(r["task"], r["arm"]) for r in shown["refused"]] == [("retry-count", "docs-mcp")]
    assert [(b["task"], b["arm"]) for b in shown["blocked"]] == [("retry-count", "repository-only")]
    assert len(fake.starts) == 2


def test_an_overshoot_is_charged_whole_and_stops_the_run(frozen: Lab, fake: FakeCli) -> None:
    fake.behave(spend_usd="0.7", obey_limit=False)

    outcome = paid(frozen, fake, phase="full")

    assert outcome.code == 1
    shown = frozen.show()
    assert [o["status"] for o in shown["observations"]] == ["budget-exceeded"]
    assert Decimal(shown["observations"][0]["chargedUsd"]) >= Decimal("0.7")
    assert at_risk(shown) >= fake.took_usd
    assert shown["runs"][0]["stopped"]["reason"] == "budget-exceeded"
    assert len(fake.starts) == 1
    assert len(shown["blocked"]) == 3
    assert shown["halfPairs"]


def test_says_when_spend_has_passed_the_cap(frozen: Lab, fake: FakeCli) -> None:
    fake.behave(spend_usd="1.5", obey_limit=False)

    outcome = paid(frozen, fake)

    assert frozen.show()["budget"]["cumulativeCapExceeded"] is True
    assert "cumulativeCapExceeded" in outcome.out


@pytest.mark.parametrize(
    ("behaviour", "status"),
    [
        ({"exit_code": 3}, "failed"),
        ({"between": ["not json"]}, "invalid-setup"),
        ({"result": {"total_cost_usd": 9.0}}, "invalid-cost"),
        ({"init": {"model": "claude-other-1"}}, "invalid-setup"),
    ],
    ids=["exit code", "malformed line", "costs that disagree", "another model"],
)
def test_what_is_no_completed_attempt_fails_with_one_sentence(
    frozen: Lab, fake: FakeCli, behaviour: dict[str, object], status: str
) -> None:
    fake.behave(**behaviour)

    outcome = paid(frozen, fake)

    assert outcome.code == 1
    assert f"pilot/install-command/repository-only/r1: {status}" in outcome.out
    assert "Traceback" not in outcome.text
    assert "harness/agent_trials" not in outcome.out
    shown = frozen.show()
    assert [o["status"] for o in shown["observations"]] == [status]
    assert Decimal(shown["observations"][0]["chargedUsd"]) >= Decimal("0.1")
    assert len(shown["blocked"]) == 1


def test_a_deadline_ends_the_agent_and_keeps_the_reservation(lab: Lab, fake: FakeCli) -> None:
    lab.study(timeout_seconds=1)
    lab.freeze()
    fake.behave(hang="before-result", ignore=["SIGINT", "SIGTERM"], children=1)

    outcome = paid(lab, fake)

    assert outcome.code == 1
    shown = lab.show()
    assert [o["status"] for o in shown["observations"]] == ["timed-out"]
    assert Decimal(shown["observations"][0]["chargedUsd"]) >= Decimal("0.1")
    assert fake.alive == []


def begin(lab: Lab, fake: FakeCli) -> subprocess.Popen[str]:
    """Start a paid run in the background; its agent hangs."""
    arguments = [*lab.paid_arguments(), "--claude-bin", str(fake.path)]
    return lab.begin(*arguments, **lab.paid_environment)


def test_sigkill_in_mid_attempt_leaves_the_money_reserved_and_the_agent_dead(
    frozen: Lab, fake: FakeCli
) -> None:
    fake.behave(hang="before-result", children=2, ignore=["SIGTERM", "SIGINT"])
    run = begin(frozen, fake)
    await_that(lambda: len(fake.recorded("child")) == 2)

    os.kill(run.pid, signal.SIGKILL)
    run.communicate()

    await_that(lambda: not fake.alive)
    shown = frozen.show()
    assert at_risk(shown) >= max(fake.took_usd, Decimal("0.1"))
    assert [(u["arm"]) for u in shown["unsettled"]] == ["repository-only"]
    assert shown["open"] is False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_is_settled_and_stops_the_run(
    frozen: Lab, fake: FakeCli, number: signal.Signals
) -> None:
    fake.behave(hang="before-result", ignore=["SIGTERM", "SIGINT"])
    run = begin(frozen, fake)
    await_that(lambda: bool(fake.starts))

    os.kill(run.pid, number)
    out, _ = run.communicate(timeout=60)

    assert run.returncode == 2, out
    assert fake.alive == []
    shown = frozen.show()
    assert [o["status"] for o in shown["observations"]] == ["interrupted"]
    assert shown["runs"][0]["stopped"]["reason"] == "interrupted"
    assert shown["runs"][0]["closedAt"] is not None
    assert at_risk(shown) >= Decimal("0.1")


def test_an_outer_time_out_is_an_interruption_of_the_attempt(lab: Lab, fake: FakeCli) -> None:
    """A user's own time-out around everything does not end it; the item's own limit is longer."""
    lab.study(timeout_seconds=2)
    lab.freeze()
    fake.behave(sleep={"before-result": 1})

    outcome = paid(lab, fake, "--timeout", "1")

    assert outcome.code == 0, outcome.text


def test_rerun_plugins_cannot_pay_twice(frozen: Lab, fake: FakeCli) -> None:
    needs("pytest_rerunfailures")
    fake.behave(exit_code=3)

    outcome = paid(frozen, fake, "--reruns", "2")

    assert outcome.code == 1
    assert len(fake.starts) == 1


def test_runs_in_schedule_order_whatever_shuffles(frozen: Lab, fake: FakeCli) -> None:
    needs("pytest_randomly")

    outcome = paid(frozen, fake, "-p", "randomly", "-p", "no:cacheprovider", phase="full")

    assert outcome.code == 0, outcome.text
    assert [(o["task"], o["arm"]) for o in frozen.show()["observations"]] == [
        ("install-command", "repository-only"),
        ("install-command", "docs-mcp"),
        ("retry-count", "docs-mcp"),
        ("retry-count", "repository-only"),
    ]


def test_records_each_paid_run_beside_the_lock(frozen: Lab, fake: FakeCli) -> None:
    paid(frozen, fake)

    lines = (frozen.folder / "study.ledgers.jsonl").read_text(encoding="utf-8").splitlines()
    opened, closed = (json.loads(line) for line in lines)
    assert opened["event"] == "opened"
    assert closed["head"] == frozen.show()["head"]
    assert str(frozen.root) not in "".join(lines)


def test_the_full_phase_needs_its_pilot_and_counts_its_spend(lab: Lab, fake: FakeCli) -> None:
    lab.study(requires='requires = "pilot"')
    lab.freeze()
    without = paid(lab, fake, phase="full")
    assert without.code == 4
    assert "phase full: it requires pilot" in without.text
    assert paid(lab, fake).code == 0
    pilot = lab.ledger
    spent = lab.show(pilot)["budget"]["spentUsd"]

    outcome = lab.pytest(
        "evals/sample", "-m", "full", "--approve-budget", "--root", f"handbook={lab.checkout}",
        "--ledger", str(lab.outside / "full.jsonl"), "--prior-ledger", str(pilot),
        "--claude-bin", str(fake.path), **lab.paid_environment,
    )  # fmt: skip

    assert outcome.code == 0, outcome.text
    assert lab.show(lab.outside / "full.jsonl")["budget"]["priorUsd"] == spent
    assert f"prior pilot: spent {spent} USD" in outcome.out


def test_a_paid_ledger_of_the_series_may_not_be_left_out(frozen: Lab, fake: FakeCli) -> None:
    assert paid(frozen, fake).code == 0
    starts = len(fake.starts)

    outcome = frozen.pytest(
        "evals/sample", "-m", "pilot", "--approve-budget", "--root",
        f"handbook={frozen.checkout}", "--ledger", str(frozen.outside / "second.jsonl"),
        "--claude-bin", str(fake.path), **frozen.paid_environment,
    )  # fmt: skip

    assert outcome.code == 4
    assert "--prior-ledger" in outcome.text
    assert len(fake.starts) == starts
    assert not Path(frozen.outside / "second.jsonl").exists()


def test_another_runners_pilot_satisfies_nothing_unless_an_amendment_names_both(
    lab: Lab, fake: FakeCli
) -> None:
    """The study's own code is part of the runner; it changes here between pilot and full."""
    lab.study(requires='requires = "pilot"')
    lab.freeze()
    assert paid(lab, fake).code == 0
    before = lab.show()["run"]["runnerDigest"]
    module = lab.folder / "test_sample.py"
    module.write_text(f"{module.read_text(encoding='utf-8')}\n# more\n", encoding="utf-8")
    assert lab.command("agent-trials", "amend", str(lab.folder), "--reason", "a remark").code == 0
    arguments = [
        "evals/sample", "-m", "full", "--approve-budget", "--root", f"handbook={lab.checkout}",
        "--ledger", str(lab.outside / "full.jsonl"), "--prior-ledger", str(lab.ledger),
        "--claude-bin", str(fake.path),
    ]  # fmt: skip

    refused = lab.pytest(*arguments, **lab.paid_environment)

    assert refused.code == 4, refused.text
    assert "its pilot was run by another runner" in refused.text
    assert before.startswith("sha256:")
