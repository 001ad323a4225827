"""What the harness costs: a real attempt through it over the bare command, turn about.

    python benchmarks/attempt_overhead.py [--claude PATH] [--runs N] [--files N] [--think S]
        [--treatment]

Both start the real Claude Code CLI with the same arguments against the scripted API. The attempt is
all of it: reserve, export, server and agent, reading, clean-up, settle, synced to disk. The bare
command finds its folder laid out and its output is thrown away. The model thinks for S seconds
before each of its three answers; no real one takes 0. Printed are medians and their ratio, which
may be 1.03. The CLI's own time scatters by more than that on a busy machine; so what an attempt
took beyond the process it ran is printed as well, which does not scatter with it.

As in a session, the next attempt's supervisor is started while this one's process runs.
"""

# ruff: noqa: T201 - figures are what it is for

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1] / "fixtures"))

import ledgers
from agent_trials.agents import cli_arguments, cli_environment
from agent_trials.attempt import run_attempt
from agent_trials.records import Status
from agent_trials.rehearsal.messages_server import MessagesServer
from agent_trials.rehearsal.model import respond
from agent_trials.standby import Spare
from agent_trials.study.settings import CorpusFilter
from agent_trials.workspace import export, git
from claude_bench import ANNOTATE, PAGE, PLACE, Bench, docs_server

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_trials.ledger.journal import Journal
    from agent_trials.records import AttemptRequest, PlannedAttempt, SealedCorpus
    from agent_trials.rehearsal.replies import Answer

ROOT = Path(__file__).parents[1]
MOST = 1.03


def thinking(seconds: float) -> Callable[[Mapping[str, Any]], Answer]:
    """Return the rehearsal's model, which takes its time."""

    def answer(body: Mapping[str, Any]) -> Answer:
        time.sleep(seconds)
        return respond(body)

    return answer


def make_corpus(folder: Path, files: int) -> SealedCorpus:
    """Seal a corpus of so many pages of 4 kB."""
    source = folder / "source"
    for number in range(files):
        page = source / f"part{number % 20}" / f"page{number}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"{number} ".ljust(4_000, "x"), encoding="utf-8")
    (source / "install.md").write_text(PAGE, encoding="utf-8")
    pin = git.commit_folder(source, folder / "checkout")
    into = folder / "sealed"
    return export.seal("handbook", folder / "checkout", pin=pin, rules=CorpusFilter(), into=into)


def bare(request: AttemptRequest, folder: Path) -> float:
    """Return how many seconds the command alone takes."""
    settings = request.transport_settings
    with tempfile.TemporaryDirectory() as scratch:
        environment = cli_environment.environment(
            settings, request, dict(os.environ), Path(scratch)
        )
        argv = (str(request.executable), *cli_arguments.arguments(settings, request))
        began = time.perf_counter()
        subprocess.run(
            argv,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        return time.perf_counter() - began


def attempt(
    request: AttemptRequest, journal: Journal, planned: PlannedAttempt, spare: Spare
) -> tuple[float, float]:
    """Return how many seconds an attempt takes, and how many of them are not its process's."""
    began = time.perf_counter()
    journal.admit_and_reserve(planned, [planned], request.limit_usd)
    result = run_attempt(request, spare)
    journal.settle(planned, result)
    taken = time.perf_counter() - began
    seen = result.observation
    if seen.status is not Status.COMPLETED or seen.wall_time_ms is None:
        raise SystemExit(f"the attempt is {seen.status.value}: {', '.join(seen.problems)}")
    return taken, taken - seen.wall_time_ms / 1000


def main() -> None:
    """Run turn about, and print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claude", type=Path, default=ROOT / PLACE)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--think", type=float, default=0.5)
    parser.add_argument("--treatment", action="store_true")
    given = parser.parse_args()
    alone: list[float] = []
    through: list[tuple[float, float]] = []
    with (
        tempfile.TemporaryDirectory() as name,
        MessagesServer(thinking(given.think)) as api,
        Spare() as spare,
    ):
        folder = Path(name)
        corpus = make_corpus(folder, given.files)
        servers = (docs_server(folder / "checkout"),) if given.treatment else ()
        request = replace(
            Bench(str(given.claude.absolute()), corpus.folder).request(
                api.base_url, servers=servers, denied_mcp_tools=ANNOTATE
            ),
            corpus=corpus,
        )
        journal = ledgers.create(folder / "ledger.jsonl", [], capUsd="1000")
        for planned in ledgers.plan(tasks=given.runs, arms=("one",)):
            alone.append(bare(request, corpus.folder))
            through.append(attempt(request, journal, planned, spare))
    show(alone, [taken for taken, _ in through], [beyond for _, beyond in through])


def show(alone: list[float], through: list[float], beyond: list[float]) -> None:
    """Print the medians, their ratio, and the harness's own share."""
    command, whole, own = map(statistics.median, (alone, through, beyond))
    print(f"bare command    {command * 1000:8.1f} ms (of {len(alone)})")
    print(f"attempt         {whole * 1000:8.1f} ms, {whole / command:.4f} of it (at most {MOST})")
    print(f"  beyond its process {own * 1000:3.1f} ms, {1 + own / command:.4f}")


if __name__ == "__main__":
    main()
