"""Opens a run's ledger with everything that was fixed beforehand, and closes it with its totals."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import platform
import secrets
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from agent_trials import canonical, money
from agent_trials.errors import LedgerError, Problem, RunRefusedError
from agent_trials.ledger.journal import Journal
from agent_trials.ledger.prior import lost
from agent_trials.ledger.private import Artifact
from agent_trials.session import commands, resuming
from agent_trials.session.run import StudyRun
from agent_trials.session.runner import runner_digest
from agent_trials.study import asked, freeze, ledgers, phases, schedule
from agent_trials.study.ledgers import LedgerRecord
from agent_trials.study.lock import time_text
from agent_trials.study.settings import ProviderSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from agent_trials.preflight import Prepared
    from agent_trials.records import SealedTree
    from agent_trials.session.admission import RunPlan
    from agent_trials.session.restated import Block
    from agent_trials.session.resuming import Recorded
    from agent_trials.standby import Spare

PACKAGES = ("pytest-agent-trials", "pytest", "anthropic", "mcp", "pydantic")


def open_run(
    plan: RunPlan,
    prepared: Prepared,
    project: Path,
    base_url: str | None,
    clock: Callable[[], datetime],
    *,
    spare: Spare,
) -> StudyRun:
    """Open the ledger with ``run-opened`` and ``preflight-passed``, and return the run.

    It is created, or gets a further run where it is resumed. A paid run is named beside the lock.

    Raises:
        LedgerError, OSError: it cannot be written; a new ledger is gone then, and a further run of
            a resumed one is closed, as far as the machine lets us.
        RunRefusedError: it cannot be resumed; nothing was written then.
    """

    def begin(journal: Journal) -> None:
        journal.passed_preflight(dict(prepared.facts))
        if plan.mode == "paid":
            ledgers.opened(plan.study.folder, _record(plan, journal.run_id, clock()))

    if plan.recorded is not None:
        journal = _reopen(plan, plan.recorded, opening_fields(plan, prepared), clock)
        begin_or_close(journal, begin)
    else:
        journal = Journal.create(
            plan.ledger or rehearsal_path(plan, project, clock()),
            opening=opening_fields(plan, prepared),
            private=private_fields(plan),
            series_id=plan.frozen.series_id,
            clock=clock,
            priors=plan.priors,
            begin=begin,
        )
    return StudyRun(plan, prepared, journal, base_url, spare)


def begin_or_close(journal: Journal, begin: Callable[[Journal], None]) -> None:
    """Begin a further run; one that does not is closed, since lines are never taken back."""
    try:
        begin(journal)
    except BaseException:
        with suppress(LedgerError, OSError):
            journal.stop("not-begun")
            journal.close()
        journal.release()
        raise


def _reopen(
    plan: RunPlan, recorded: Recorded, fields: Mapping[str, Any], clock: Callable[[], datetime]
) -> Journal:
    """Open a further run, with the same ground under it as the preflight of the first one found.

    Raises:
        RunRefusedError: a corpus, an engine or the CLI is another, or the ledger is in use.
    """
    if problems := resuming.differences(recorded, fields):
        raise RunRefusedError(problems)
    try:
        return Journal.reopen(
            recorded.path,
            opening=fields,
            private=private_fields(plan),
            clock=clock,
            priors=plan.priors,
        )
    except LedgerError as error:
        remedy = "wait until no run is open on it"
        raise RunRefusedError([Problem(f"--ledger {recorded.path}", str(error), remedy)]) from error


def _record(plan: RunPlan, run_id: str, now: datetime) -> LedgerRecord:
    return LedgerRecord(
        run_id=run_id,
        series_id=plan.frozen.series_id,
        phase=plan.phase,
        scored=plan.study.manifest.phases[plan.phase].scored,
        cap_usd=plan.cap_usd,
        opened_at=time_text(now),
    )


def close_run(run: StudyRun, clock: Callable[[], datetime]) -> bool:
    """Stop what did not run to its end, close the ledger, and say so beside the lock.

    Returns whether this call closed it.
    """
    if run.closed:
        return False
    run.closed = True
    if run.remaining() and not run.journal.stopped:
        run.journal.stop("session-ended")
    totals = run.journal.close()
    if run.plan.mode == "paid":
        ledgers.closed(
            run.plan.study.folder,
            run.journal.run_id,
            head=run.journal.head,
            attempts=run.reserved(),
            spent_usd=money.total(totals.spent, totals.reserved),
            at=time_text(clock()),
        )
    return True


def rehearsal_path(plan: RunPlan, project: Path, now: datetime) -> Path:
    """Return a new path for a rehearsal's ledger in a folder that git ignores."""
    folder = project / ".agent-trials"
    folder.mkdir(mode=0o700, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    study = plan.study.manifest.id
    return folder / f"{study}-{plan.phase}-{stamp}-{secrets.token_hex(4)}.jsonl"


def opening_fields(plan: RunPlan, prepared: Prepared) -> dict[str, Any]:
    """Return what ``run-opened`` says in public: all that was fixed before the first attempt."""
    return {
        **planned_fields(plan),
        "engineDigests": dict(prepared.parameters),
        "corpora": {name: each.digest for name, each in prepared.corpora.items()},
        **({"trees": _digests(prepared.writable.trees)} if prepared.writable.trees else {}),
        **_checkouts(prepared),
        "cliVersion": prepared.executable_version,
        "environment": environment_facts(),
        "priorLedgers": [lost(run_id, cap) for run_id, cap in plan.lost.items()],
    }


def _checkouts(prepared: Prepared) -> dict[str, Any]:
    """Return what run-opened says of checkouts: their trees, and who can read the key."""
    found = prepared.writable
    if not found.checkouts:
        return {}
    return {
        "checkouts": {name: each.digest for name, each in found.checkouts.items()},
        "shielded": found.arms.shielded,
        "keyReachesShell": found.arms.facts["keyReachesShell"],
    }


def _digests(found: Mapping[str, SealedTree]) -> dict[str, str]:
    return {name: each.digest for name, each in found.items()}


def planned_fields(plan: RunPlan) -> dict[str, Any]:
    """Return what of ``run-opened`` is known before the preflight."""
    manifest, frozen = plan.study.manifest, plan.frozen
    first = next(iter(plan.ways.by_arm.values()))
    return {
        "schema": 1,
        "mode": plan.mode,
        "study": manifest.id,
        "phase": plan.phase,
        "scored": manifest.phases[plan.phase].scored,
        "seriesId": frozen.series_id,
        "frozen": frozen.frozen and not frozen.changed,
        "amendment": frozen.amendment,
        "folderDigest": frozen.folder_digest,
        **_sample(plan),
        "scheduleDigest": schedule.digest(plan.attempts),
        "attempts": len(plan.attempts),
        "runnerDigest": runner_digest(plan.study.folder),
        "pins": {name: each.pin for name, each in manifest.repositories.items()},
        "model": " + ".join(asked.models(manifest, plan.phase)),
        "immutableModel": manifest.agent.immutable_model,
        "transport": plan.transport,
        "transportSettings": settings_fields(first.settings),
        "attemptUsd": money.text(first.attempt_usd),
        "capUsd": money.text(plan.cap_usd),
        "resume": manifest.schedule.resume,
        "infraReruns": manifest.schedule.infra_reruns,
        "concurrency": manifest.schedule.concurrency,
        "stopOn": plain(first.settings.stop_on),
        **_several_ways(plan),
        **commands.opening_fields(plan.providers),
    }


def settings_fields(settings: Block) -> dict[str, Any]:
    """Return a transport's block for a line; a digest of what it says to each task.

    That is part of prompts, and would not fit a line; the frozen study beside the ledger has it.
    """
    fields: dict[str, Any] = plain(dataclasses.asdict(settings))
    if isinstance(settings, ProviderSettings):
        fields["tasksDigest"] = canonical.digest_of(fields.pop("tasks"))
    return fields


def _several_ways(plan: RunPlan) -> dict[str, Any]:
    """Return what run-opened says where not every attempt goes the same way: each way, in full."""
    if len(plan.ways.distinct) == 1:
        return {}
    return {
        "compares": list(plan.study.manifest.agent.compares),
        "ways": [
            {
                "arm": arm,
                "slot": slot,
                "transport": way.transport,
                "model": way.model,
                "transportSettings": settings_fields(way.settings),
                "attemptUsd": money.text(way.attempt_usd),
                "stopOn": plain(way.settings.stop_on),
            }
            for (arm, slot), way in plan.ways.by_arm.items()
        ],
    }


def _sample(plan: RunPlan) -> dict[str, Any]:
    """Return what run-opened says of a sample: its name, of how much it is, how it is reduced."""
    manifest = plan.study.manifest
    name = manifest.phases[plan.phase].sample
    if name is None:
        return {}
    return {"sample": name, "sampled": list(phases.sampled(manifest, plan.phase))}


def private_fields(plan: RunPlan) -> dict[str, Any]:
    """Return what ``run-opened`` commits to: frozen folder, planned cells, answer key."""
    folder = plan.study.folder
    study = freeze.archive(folder) | {"cells": [each.cell.to_json() for each in plan.attempts]}
    return {
        "study": Artifact(canonical.dumps(study)),
        "key": Artifact(canonical.dumps(freeze.key_archive(folder))),
        "parameters": dict(plan.options.parameters),
    }


def environment_facts() -> dict[str, Any]:
    """Return what of this machine may matter to a reader: versions, no names and no paths."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
    }


def plain(value: Any) -> Any:  # noqa: ANN401 - any value of a settings block
    """Return a settings value as JSON has it, money as text."""
    if isinstance(value, Decimal):
        return money.text(value)
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def collection_differs(run: StudyRun, found: int, planned: int) -> Problem:
    """Return what to say when pytest collected something else than was admitted."""
    return Problem(
        run.plan.name,
        f"pytest collected {found} of its {planned} attempts, or in another order",
        "run the study's folder without options or plugins that drop or replace items; the ledger"
        " was opened and holds no attempt",
    )
