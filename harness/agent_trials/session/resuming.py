"""What a ledger that is resumed holds, and whether this run goes on with the same plan.

Rules:
    only a study that says how (schedule.resume) is resumed
    the ledger is there, verifies, and no run is open on it
    it was begun by the same study, mode, series and phase
    everything else that was fixed when it was begun is as it was: folder, schedule, transport with
    its settings, model, what an attempt may cost, the rules of stopping, resuming and repeating
    a paid run is made by the same runner, or by one that an amendment pools with it
    every prior ledger that it counted is counted again
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.errors import LedgerError, Problem
from agent_trials.ledger import fold, policy
from agent_trials.ledger.budget import State
from agent_trials.ledger.chain import Reading
from agent_trials.ledger.events import Event
from agent_trials.ledger.locks import is_open
from agent_trials.ledger.policy import Policy
from agent_trials.records import Cell, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from decimal import Decimal
    from pathlib import Path

    from agent_trials.ledger.budget import Totals
    from agent_trials.session.admission import RunPlan
    from agent_trials.session.options import Options
    from agent_trials.study.manifest import Study
    from agent_trials.study.settings import ScheduleSettings

IDENTITY = ("study", "mode", "seriesId", "phase")
PLAN = (
    "folderDigest", "scheduleDigest", "attempts", "transport", "model", "transportSettings",
    "attemptUsd", "stopOn", "resume", "infraReruns", "concurrency", "providersDigest",
    "compares", "ways",
)  # fmt: skip
GROUND = ("cliVersion", "corpora", "trees", "checkouts", "engineDigests", "pins")
"""Fields of run-opened that must be as they were; those of GROUND are known after the preflight."""
ANEW = "begin a new ledger, with this one as --prior-ledger"


@dataclass(frozen=True)
class Recorded:
    """A ledger as it stands before it is resumed.

    ``opening`` is the line that planned its attempts, ``latest`` that of its latest run.
    ``statuses`` has how each cell ended last: a reservation that was never settled is interrupted.
    ``kept`` are the cells that the study's policy does not run again.
    """

    path: Path
    origin: str
    opening: Mapping[str, Any]
    latest: Mapping[str, Any]
    run_ids: frozenset[str]
    totals: Totals
    statuses: Mapping[Cell, Status]
    kept: frozenset[Cell]

    @property
    def at_risk(self) -> Decimal:
        """Return what the series has spent or may have spent so far, USD."""
        return money.total(self.totals.prior, self.totals.spent, self.totals.reserved)

    @property
    def counts(self) -> Counter[str]:
        """Return how many of the kept cells ended how."""
        return Counter(self.statuses[cell].value for cell in self.kept)


def find(options: Options, study: Study) -> tuple[Recorded | None, list[Problem]]:
    """Return what the ledger to be resumed holds, None where none is or it cannot be resumed."""
    path, schedule = options.ledger, study.manifest.schedule
    if not options.resume:
        return None, []
    if schedule.resume == policy.NEVER:
        what = f'study {study.manifest.id} is never resumed (schedule.resume = "never")'
        return None, [Problem("--resume", what, ANEW)]
    if path is None:
        what = "it goes on with a ledger, and none is given"
        return None, [Problem("--resume", what, "give --ledger FILE")]
    if not path.is_file():
        return None, []  # said where the ledger's place is looked at
    try:
        return read(path.resolve(), schedule), []
    except LedgerError as error:
        remedy = "give a finished ledger as it was written"
        return None, [Problem(f"--ledger {path}", str(error), remedy)]


def read(path: Path, schedule: ScheduleSettings) -> Recorded:
    """Return what the ledger holds, its lines and rules verified.

    Raises:
        LedgerError: there is no such ledger, it holds no run, or one is open on it.
        LedgerBrokenError: it does not verify.
    """
    if is_open(path):
        raise LedgerError("a run is open on it")
    state, origin = State(), ""
    statuses: dict[Cell, Status] = {}
    for line in Reading(path):
        fold.apply(state, line)
        origin = origin or line.digest
        if line.event == Event.ATTEMPT_RESERVED:
            statuses[Cell.from_json(line.fields)] = Status.INTERRUPTED
        elif line.event == Event.ATTEMPT_SETTLED:
            cell = Cell.from_json(line.fields)
            if state.cells[cell].run == line.run:
                statuses[cell] = Status(line.fields["observation"]["status"])
    if not state.runs:
        raise LedgerError("it holds no run")
    rules, number = Policy(schedule.resume, schedule.infra_reruns), len(state.runs) + 1
    return Recorded(
        path=path,
        origin=origin,
        opening=state.runs[0].opening,
        latest=state.runs[-1].opening,
        run_ids=frozenset(str(run.opening["runId"]) for run in state.runs),
        totals=state.totals(is_open=False),
        statuses=statuses,
        kept=frozenset(
            cell
            for cell, record in state.cells.items()
            if policy.taken(rules, record, run=number, reruns=state.reruns)
        ),
    )


def differences(recorded: Recorded, fields: Mapping[str, Any]) -> list[Problem]:
    """Return where the plan that the ledger was begun with is not that of the fields.

    Args:
        recorded: the ledger.
        fields: what this run's run-opened line would say; those that are not known yet left out.
    """
    identity = list(_differing(recorded, fields, IDENTITY))
    return identity or list(_differing(recorded, fields, (*PLAN, *GROUND)))


def _differing(
    recorded: Recorded, fields: Mapping[str, Any], names: Iterable[str]
) -> Iterator[Problem]:
    for name in names:
        before = recorded.opening.get(name)
        if name in fields and fields[name] != before:
            words = f"is {before} and this run's is {fields[name]}"
            if isinstance(before, dict | list) or isinstance(fields[name], dict | list):
                words = "is not this run's"
            yield Problem(f"--ledger {recorded.path}", f"its {name} {words}", ANEW)


def problems(plan: RunPlan, recorded: Recorded, fields: Mapping[str, Any]) -> list[Problem]:
    """Return what keeps the plan from going on with the ledger.

    Args:
        plan: what would be run.
        recorded: the ledger.
        fields: what its run-opened line would say, as far as that is known.
    """
    where = f"--ledger {recorded.path}"
    found = differences(recorded, fields)
    origins = {each.origin for each in plan.priors}
    found += _missing_priors(recorded, origins)
    if recorded.origin in origins:
        what = "it is the ledger that is resumed"
        found.append(Problem(f"--prior-ledger {recorded.path}", what, "leave it out"))
    for run_id in sorted(recorded.run_ids & plan.lost.keys()):
        what = f"its run {run_id} was declared lost, and counts its whole cap"
        found.append(Problem(where, what, ANEW))
    before, runner = recorded.opening["runnerDigest"], fields["runnerDigest"]
    if plan.mode == "paid" and not plan.frozen.pooled(runner, before):
        what = "it was begun by another runner (the code of agent_trials or of the study differs)"
        amend = f"agent-trials amend {plan.study.folder} --runner {before} --runner {runner}"
        found.append(Problem(where, what, amend))
    return found


def _missing_priors(recorded: Recorded, given: Iterable[str]) -> list[Problem]:
    """Return the prior ledgers that the ledger counts and that are not among the given origins."""
    known = {*given}
    return [
        Problem(
            "--prior-ledger",
            f"the ledger counts that of run {', '.join(each['runs'])}, and it is not given",
            "add it, as when the ledger was begun",
        )
        for each in recorded.latest["priorLedgers"]
        if each["origin"] not in known and not each["origin"].startswith("lost:")
    ]
