"""Decides, before anything is started or written, whether the selected phases may run.

Rules for every run:
    options are well-formed, and name roots, parameters and transports that the study has
    a flag may restate a frozen value, never change it (unless the study says "operator")
    a sequential study runs in one process
    --ledger takes one phase of one study, and names a place that is new and outside everything
    --resume names a ledger of the same plan (the rules stand in ``resuming``)
Rules for a paid run, beyond those:
    exactly one phase of one study, all of it, in schedule order
    the model is named and is the study's, the cap is positive, checkouts, prices and key are given
    the study is frozen and unchanged, and every paid ledger of the series is given
    the phase that this one requires was run to its end
    the evaluation that will judge its patches was tried on gold and empty ones
What is missing is listed all at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_trials import money
from agent_trials.agents import credentials
from agent_trials.errors import MoneyError, Problem, StudyError
from agent_trials.ledger import place, prior
from agent_trials.preflight import Ground
from agent_trials.records import Secret
from agent_trials.session import commands, opening, resuming, statements
from agent_trials.session.options import CAP, KEY, MODEL
from agent_trials.session.restated import Restated
from agent_trials.session.runner import runner_digest
from agent_trials.session.ways import find_ways, joined
from agent_trials.study import asked, freeze, ledgers, schedule
from agent_trials.study.manifest import needed_repositories
from agent_trials.study.present import uncollected

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet
    from decimal import Decimal
    from pathlib import Path

    from agent_trials.agents.provider_request import Resolved
    from agent_trials.ledger.prior import PriorLedger
    from agent_trials.records import Cell, PlannedAttempt
    from agent_trials.session.options import Options
    from agent_trials.session.resuming import Recorded
    from agent_trials.session.selection import Selected
    from agent_trials.session.ways import Way, Ways
    from agent_trials.study.freeze import Frozen
    from agent_trials.study.manifest import Study

PAID = "paid"
REHEARSAL = "rehearsal"


@dataclass(frozen=True)
class RunPlan:
    """One phase of one study with everything that was left to the operator filled in.

    ``ways`` has transport, model, settings and reservation of each arm. Money in USD.
    ``recorded`` is the ledger as it stands where this run resumes it. ``providers`` are the
    commands of the arms, where provider commands answer.
    """

    mode: str
    study: Study
    phase: str
    attempts: tuple[PlannedAttempt, ...]
    ways: Ways
    cap_usd: Decimal
    frozen: Frozen
    priors: tuple[PriorLedger, ...]
    ledger: Path | None
    options: Options
    secrets: dict[str, Secret]
    lost: dict[str, Decimal]
    recorded: Recorded | None = None
    providers: tuple[Resolved, ...] = ()

    @property
    def remaining(self) -> tuple[PlannedAttempt, ...]:
        """Return the attempts of this session: all that a resumed ledger does not hold already."""
        if self.recorded is None:
            return self.attempts
        return tuple(each for each in self.attempts if each.cell not in self.recorded.kept)

    @property
    def name(self) -> str:
        """Return ``study/phase``."""
        return f"{self.study.manifest.id}/{self.phase}"

    @property
    def transport(self) -> str:
        """Return the transport; names joined with ``+`` where arms differ in it."""
        return self.ways.transport

    def way(self, cell: Cell) -> Way:
        """Return how an attempt goes to its model."""
        return self.ways.of(self.study.manifest, cell)

    def total_usd(self, attempts: Iterable[PlannedAttempt]) -> Decimal:
        """Return what attempts reserve in all."""
        return self.ways.total(self.study.manifest, (each.cell for each in attempts))

    def ground(self) -> Ground:
        """Return what the preflight looks at."""
        return Ground(
            study=self.study,
            phase=self.phase,
            blocks=tuple(way.settings for way in self.ways.distinct),
            roots=self.options.roots,
            parameters=self.options.parameters,
            claude_bin=self.options.claude_bin,
            rehearsal=self.mode != PAID,
            config_dir=self.options.config_dir,
            mirrors=self.options.mirrors,
            environ=self.options.environ,
        )


class Admission:
    """Collects what keeps the selected phases from running, and plans those that may.

    Args:
        options: what the operator asked for.
        project: pytest's root folder, in which no paid ledger may lie.
        processes: how many worker processes pytest was asked for (0 and 1 are one process).
    """

    def __init__(self, options: Options, project: Path, processes: int) -> None:
        self.options = options
        self.project = project
        self.processes = processes
        self.problems: list[Problem] = [
            Problem("command line", sentence, "write it as NAME=VALUE, once")
            for sentence in options.malformed
        ]

    def plan(
        self, selected: Sequence[Selected], pytest_problems: Iterable[Problem]
    ) -> list[RunPlan]:
        """Return a plan per selected phase; ``problems`` says afterwards whether they may run."""
        if self.options.approve_budget:
            self.problems += pytest_problems
            if len(selected) != 1:
                found = ", ".join(s.name for s in selected) or "none"
                self._refuse(
                    "--approve-budget",
                    f"a paid run is one phase of one study, and this command selects {found}",
                    "name the study's folder and one phase: pytest evals/<study> -m <phase>",
                )
        elif (self.options.ledger or self.options.resume) and len(selected) > 1:
            self._refuse(
                "--ledger",
                f"one ledger holds one phase of one study, and this command selects"
                f" {', '.join(s.name for s in selected)}",
                "name one study's folder and one phase, or leave --ledger out",
            )
        self._check_names(selected)
        plans = [self._plan_one(each) for each in selected]
        return [plan for plan in plans if plan is not None]

    def _refuse(self, where: str, what: str, remedy: str) -> None:
        self.problems.append(Problem(where, what, remedy))

    def _check_names(self, selected: Sequence[Selected]) -> None:
        """Refuse roots and parameters that none of the selected studies knows."""
        if not selected:
            return
        repositories = {name for s in selected for name in s.study.manifest.repositories}
        parameters = {name for s in selected for name in s.study.manifest.parameters}
        for flag, given, known in (
            ("--root", self.options.roots, repositories),
            ("--param", self.options.parameters, parameters),
        ):
            for name in given:
                if name not in known:
                    words = ", ".join(sorted(known))
                    self._refuse(
                        f"{flag} {name}",
                        "no selected study knows this name",
                        f"use one of: {words}" if known else "leave it out",
                    )

    def _plan_one(self, selected: Selected) -> RunPlan | None:
        before = len(self.problems)
        study, phase = self._stated(selected.study), selected.phase
        manifest = study.manifest
        attempts = schedule.plan(manifest, phase)
        self.problems += uncollected(study.folder)
        transport = joined(manifest, self.options.transport or manifest.agent.transport)
        ways = self._ways(study, phase)
        self._check_processes(study)
        frozen = freeze.state(study)
        providers, unfit = commands.find(self.options, study, phase, ways)
        self.problems += unfit
        recorded, unfit = resuming.find(self.options, study)
        self.problems += unfit
        cap = self._cap(selected, attempts, ways, recorded)
        priors = self._priors(frozen)
        cap = self._limited(study, phase, cap, priors, frozen)
        ledger = self._ledger(study)
        secrets: dict[str, Secret] = {}
        if self.options.approve_budget:
            self._check_paid(study, phase, transport, secrets)
            self.problems += frozen.problems()
            known = [each.run_ids for each in (*priors, recorded) if each is not None]
            self._check_given(study, {run_id for run_ids in known for run_id in run_ids})
            self._check_series(study, phase, transport, frozen, priors)
            self._check_controls(study, phase, priors)
        if ways is None or cap is None or len(self.problems) > before:
            return None
        plan = RunPlan(
            PAID if self.options.approve_budget else REHEARSAL,
            study, phase, attempts, ways, cap, frozen, priors, ledger, self.options, secrets,
            self._lost(study, frozen), recorded, providers,
        )  # fmt: skip
        if recorded is not None:
            self.problems += resuming.problems(plan, recorded, opening.planned_fields(plan))
        return None if len(self.problems) > before else plan

    def _stated(self, study: Study) -> Study:
        """Return the study with the statements of its tasks, where a file of rows gives them."""
        try:
            return statements.stated(study, self.options.parameters)
        except StudyError as error:
            self.problems += error.problems
            return study

    def _ways(self, study: Study, phase: str) -> Ways | None:
        """Return how each arm goes to its model, None where something is refused."""
        manifest, given = study.manifest, self.options.transport
        blocks = manifest.transports.described
        if given is not None and "transport" in manifest.agent.compares:
            what = f"study {manifest.id} compares transports, and each of its arms names one"
            self._refuse(f"--transport {given}", what, "leave it out")
            return None
        if given is not None and given not in blocks:
            self._refuse(
                f"--transport {given}",
                f"study {manifest.id} has no [transports.{given}]",
                f"use one of: {', '.join(sorted(blocks))}",
            )
            return None
        restated = Restated(manifest.id, self.options, self.problems)
        return find_ways(manifest, phase, given or manifest.agent.transport, restated)

    def _check_processes(self, study: Study) -> None:
        allowed = study.manifest.schedule.concurrency
        if self.processes > allowed:
            self._refuse(
                f"-n {self.processes}",
                f"study {study.manifest.id} allows {allowed} process"
                f"{'' if allowed == 1 else 'es'} (schedule.concurrency)",
                "leave -n out" if allowed == 1 else f"use -n {allowed} or less",
            )

    def _cap(
        self,
        selected: Selected,
        attempts: Sequence[PlannedAttempt],
        ways: Ways | None,
        recorded: Recorded | None,
    ) -> Decimal | None:
        written = self.options.cap
        if written is None:
            if self.options.approve_budget:
                self._refuse(CAP, "a paid run needs a cap and none is set", f"set {CAP}=<USD>")
                return None
            if ways is None:
                return None
            kept = recorded.kept if recorded else frozenset()
            again = [each.cell for each in attempts if each.cell not in kept]
            manifest = selected.study.manifest
            total = ways.total(manifest, again)
            if manifest.follow_up is not None:
                total = money.times(total, 2)
            if again and manifest.schedule.infra_reruns:
                most = max(way.reserved_usd for way in ways.distinct)
                total = money.total(total, money.times(most, manifest.schedule.infra_reruns))
            if recorded is None:
                return total
            return max(recorded.totals.cap, money.total(recorded.at_risk, total))
        try:
            return money.parse_positive(written)
        except MoneyError as error:
            self._refuse(f"{CAP}={written}", str(error), f"set {CAP}=<USD> for {selected.name}")
            return None

    def _limited(
        self,
        study: Study,
        phase: str,
        cap: Decimal | None,
        priors: Sequence[PriorLedger],
        frozen: Frozen,
    ) -> Decimal | None:
        """Return the cap, lowered to what the phase may spend by itself."""
        limit = study.manifest.phases[phase].limit_usd
        if cap is None or limit is None:
            return cap
        before = [each.spent for each in priors] + [*self._lost(study, frozen).values()]
        return min(cap, money.total(limit, *before))

    def _ledger(self, study: Study) -> Path | None:
        path = self.options.ledger
        if path is None:
            if self.options.approve_budget:
                self._refuse(
                    "--ledger",
                    "a paid run needs a ledger and none is given",
                    "give --ledger FILE, a new path outside the project and every checkout",
                )
            return None
        if self.options.resume:
            return self._existing_ledger(path, study)
        checkouts = [*self.options.roots.values(), study.folder]
        self.problems += place.check_new(path, checkouts=checkouts, project=self.project)
        return path

    def _existing_ledger(self, path: Path, study: Study) -> Path:
        if self.options.approve_budget:
            checkouts = [*self.options.roots.values(), study.folder]
            self.problems += place.check_existing(path, checkouts=checkouts, project=self.project)
        elif not path.is_file():
            self._refuse(f"--ledger {path}", "it does not exist", "give the ledger to be resumed")
        return path.resolve()

    def _priors(self, frozen: Frozen) -> tuple[PriorLedger, ...]:
        mode = PAID if self.options.approve_budget else REHEARSAL
        priors, problems = prior.check(
            self.options.prior_ledgers, series_id=frozen.series_id, mode=mode
        )
        self.problems += problems
        return priors

    def _lost(self, study: Study, frozen: Frozen) -> dict[str, Decimal]:
        """Return what the series' ledgers that were declared lost count, USD by run id."""
        if not self.options.approve_budget:
            return {}
        records = ledgers.of_series(ledgers.read(study.folder), frozen.series_id)
        return {r.run_id: r.cap_usd for r in records if r.run_id in frozen.lost_ledgers}

    def _check_paid(
        self, study: Study, phase: str, transport: str, secrets: dict[str, Secret]
    ) -> None:
        manifest, options = study.manifest, self.options
        asks = ",".join(asked.models(manifest, phase))
        if options.model is None:
            what = "a paid run names its model and none is set"
            self._refuse(MODEL, what, f"set {MODEL}={asks}")
        elif options.model != asks:
            self._refuse(
                f"{MODEL}={options.model}", f"the study asks {asks}",
                f"set {MODEL}={asks}, or amend the study",
            )  # fmt: skip
        if manifest.checkout is not None and options.mirrors is None:
            self._refuse(
                "--mirrors",
                "a paid run takes its checkouts from a cache, and none is given",
                f"agent-trials prepare {study.folder} --into DIR, then --mirrors DIR",
            )
        for name in needed_repositories(study, phase):
            if name not in options.roots and manifest.checkout is None:
                prepare = f"agent-trials prepare {study.folder} --into DIR"
                self._refuse(
                    f"--root {name}",
                    "a paid run needs a checkout of it at the pin",
                    f"{prepare}, then --root {name}=DIR/{name}",
                )
        used = transport.split("+")
        credential = self._cli_credential(study) if "cli" in used else None
        if credential == "config-dir" and options.config_dir is None:
            self._refuse(
                "--config-dir", "the study's login has a folder of its own, and none is given",
                "CLAUDE_CONFIG_DIR=DIR claude, then /login, then --config-dir DIR",
            )  # fmt: skip
        if "http" in used or credential == "api-key":
            self._take_key(secrets)

    @staticmethod
    def _cli_credential(study: Study) -> str | None:
        cli = study.manifest.transports.cli
        return cli.credential if cli is not None else None

    def _take_key(self, secrets: dict[str, Secret]) -> None:
        key = self.options.environ.get(KEY, "")
        wrong = credentials.key_problem(key)
        if wrong:
            self._refuse(KEY, wrong, f"set {KEY} to the key alone")
        else:
            secrets[KEY] = Secret(key)

    def _check_given(self, study: Study, given: AbstractSet[str]) -> None:
        for record in freeze.open_ledgers(study):
            if record.run_id not in given:
                self._refuse(
                    "--prior-ledger",
                    f"the paid run {record.run_id} of this series ({record.phase}) is not given",
                    "add its ledger, or declare it lost with agent-trials amend --lost-ledger",
                )

    def _check_series(
        self,
        study: Study,
        phase: str,
        transport: str,
        frozen: Frozen,
        priors: Sequence[PriorLedger],
    ) -> None:
        required = study.manifest.phases[phase].requires
        fitting = [each for each in priors if required and each.satisfies(required, transport)]
        if required and not fitting:
            self._refuse(
                f"phase {phase}",
                f"it requires {required}, run to its end with every attempt completed",
                f"give --prior-ledger FILE of a closed {required} run over {transport}",
            )
        elif required and not self._same_runner(study, frozen, fitting):
            self._refuse(
                f"phase {phase}",
                f"its {required} was run by another runner (the code of agent_trials or of the"
                " study differs)",
                f"run {required} again, or agent-trials amend {study.folder} --runner"
                f" {fitting[0].opening['runnerDigest']} --runner {runner_digest(study.folder)}",
            )

    def _check_controls(self, study: Study, phase: str, priors: Sequence[PriorLedger]) -> None:
        """Refuse attempts whose patches an evaluation would judge that nobody has tried."""
        manifest = study.manifest
        if manifest.evaluation is None or not manifest.phases[phase].scored:
            return
        if any({"gold", "empty"} <= each.controls for each in priors):
            return
        self._refuse(
            "--prior-ledger",
            "no ledger of passed controls is given (gold patches resolve, empty ones do not)",
            f"pytest {study.folder} -m evaluate --controls --ledger FILE, then give that FILE",
        )

    @staticmethod
    def _same_runner(study: Study, frozen: Frozen, priors: Sequence[PriorLedger]) -> bool:
        runner = runner_digest(study.folder)
        return any(frozen.pooled(runner, each.opening["runnerDigest"]) for each in priors)
