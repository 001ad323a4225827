"""Several workers: pairs whole and in order, one cap, a stop seen before the next reservation."""

from __future__ import annotations

import os
import signal
import subprocess
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import fake_cli
from lab import Lab
from waiting import await_that

if TYPE_CHECKING:
    from pathlib import Path

    from fake_cli import FakeCli
    from lab import Outcome

TASKS = ("install-command", "retry-count", "queue-name", "worker-number")


@pytest.fixture
def crowd(tmp_path: Path) -> Lab:
    """A frozen study of 8 pairs that allows 16 processes."""
    lab = Lab(tmp_path, values={"concurrency": 16, "repetitions": 2}, questions=TASKS)
    lab.freeze()
    return lab


@pytest.fixture
def fake(crowd: Lab) -> FakeCli:
    """The CLI of the pinned version."""
    return fake_cli.install(crowd.root / "bin")


def paid(lab: Lab, fake: FakeCli, workers: int, **changes: str) -> Outcome:
    """Run the full phase in so many workers."""
    processes = ["-n", str(workers)] if workers > 1 else []
    return lab.pytest(
        *lab.paid_arguments("full"), "--claude-bin", str(fake.path), *processes,
        **(lab.paid_environment | changes),
    )  # fmt: skip


def pairs(shown: dict[str, Any]) -> dict[int, list[dict[str, Any]]]:
    """Return the observations of each pair in the order of their reservations."""
    found: dict[int, list[dict[str, Any]]] = {}
    for each in sorted(shown["observations"], key=lambda o: o["reservedAt"]):
        found.setdefault(each["pair"], []).append(each)
    return found


@pytest.mark.parametrize("workers", [1, 4, 16])
def test_pairs_stay_whole_and_in_order(crowd: Lab, fake: FakeCli, workers: int) -> None:
    outcome = paid(crowd, fake, workers, STUDY_BUDGET_USD="3")

    assert outcome.code == 0, outcome.text
    shown = crowd.show()
    assert len(shown["observations"]) == 16
    for attempts in pairs(shown).values():
        first, second = attempts
        assert first["position"] + 1 == second["position"]
        assert first["settledAt"] <= second["reservedAt"]
    assert Decimal(shown["budget"]["spentUsd"]) == fake.took_usd
    assert outcome.out.count("= agent-trials: PAID RUN") == 1
    assert len([line for line in outcome.out.splitlines() if "  completed  spent" in line]) == 16


@pytest.mark.parametrize("workers", [1, 4, 16])
@pytest.mark.parametrize("costs", ["equal", "random", "adversarial"])
def test_the_cap_is_passed_by_no_more_than_what_was_under_way(
    crowd: Lab, fake: FakeCli, workers: int, costs: str
) -> None:
    """Adversarial: every response costs three times its reservation."""
    spends = {
        "equal": ["0.1"],
        "random": ["0.01", "0.09", "0.03", "0.1", "0.002", "0.07"],
        "adversarial": ["0.3"],
    }[costs]
    fake.behave(attempts=[{"spend_usd": spend} for spend in spends], obey_limit=False)

    paid(crowd, fake, workers, STUDY_BUDGET_USD="0.7")

    shown = crowd.show()
    budget = shown["budget"]
    recorded = Decimal(budget["spentUsd"]) + Decimal(budget["reservedUsd"])
    assert recorded >= fake.took_usd
    overshoots = sum(
        max(Decimal(o["chargedUsd"]) - Decimal(o["reservedUsd"]), Decimal(0))
        for o in shown["observations"]
    )
    assert recorded <= Decimal("0.7") + overshoots
    in_flight = min(workers, 3)
    assert overshoots <= in_flight * Decimal("0.2")
    assert len(fake.starts) == len(shown["observations"]) + len(shown["unsettled"])


def test_a_stop_is_seen_before_the_next_reservation(crowd: Lab, fake: FakeCli) -> None:
    fake.behave(exit_code=3)

    outcome = paid(crowd, fake, 4, STUDY_BUDGET_USD="3")

    assert outcome.code == 1
    shown = crowd.show()
    assert shown["runs"][0]["stopped"]["reason"] == "failed"
    assert len(fake.starts) <= 4
    assert len(shown["observations"]) + len(shown["blocked"]) == 16


def test_a_killed_worker_loses_nothing_and_is_not_replaced(crowd: Lab, fake: FakeCli) -> None:
    fake.behave(hang="before-result")
    run = crowd.begin(
        *crowd.paid_arguments("full"), "--claude-bin", str(fake.path), "-n", "2",
        **(crowd.paid_environment | {"STUDY_BUDGET_USD": "3"}),
    )  # fmt: skip
    await_that(lambda: len(fake.starts) == 2)
    worker = parent_of(parent_of(fake.starts[0]["pid"]))
    other = fake.starts[1]["pid"]

    os.kill(worker, signal.SIGKILL)
    await_that(lambda: fake.starts[0]["pid"] not in fake.alive)
    os.kill(other, signal.SIGKILL)
    out, _ = run.communicate(timeout=60)

    shown = crowd.show()
    assert run.returncode != 0, out
    assert "worker restarting disabled" in out
    assert len(fake.starts) == 2
    assert len(shown["unsettled"]) == 1
    assert Decimal(shown["budget"]["reservedUsd"]) == Decimal("0.1")
    assert shown["runs"][0]["stopped"] is not None
    assert shown["runs"][0]["closedAt"] is not None
    assert fake.alive == []


def parent_of(pid: int) -> int:
    """Return a process's parent."""
    listed = subprocess.run(
        ["ps", "-o", "ppid=", "-p", str(pid)], check=True, capture_output=True, text=True,
        encoding="utf-8",
    )  # fmt: skip
    return int(listed.stdout)


def test_a_rehearsal_runs_in_workers_too(crowd: Lab) -> None:
    crowd.study(transport="http")

    outcome = crowd.pytest("evals", "-m", "full", "-n", "4", "--root", f"handbook={crowd.checkout}")

    assert outcome.code == 0, outcome.text
    (ledger,) = crowd.rehearsals()
    assert len(crowd.show(ledger)["observations"]) == 16


def test_more_workers_than_the_study_allows_are_refused(crowd: Lab, fake: FakeCli) -> None:
    outcome = paid(crowd, fake, 17, STUDY_BUDGET_USD="3")

    assert outcome.code == 4
    assert "-n 17: study sample allows 16 processes" in outcome.text
    assert fake.starts == []
