"""Decides, before anything is asked or written, whether a ledger's attempts may be graded.

Rules:
    grading is a command of its own, in one process, on a ledger that is there and not open
    mode of ledger and command are equal: a paid ledger needs --approve-budget, a rehearsal's none
    the ledger is one of a study below pytest's arguments, and holds that study and its key
    the study registers an adjudicator; a paid grading has a cap, prices, a key, checkouts, and
    the command of an adjudicator that is one
    every other ledger of the series is counted, as for attempts
    each completed attempt has a blind id and an answer beside the ledger
    --offset, --limit and --run-id choose among the observations in their drawn order
What is wrong is listed all at once.
"""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.agents import credentials
from agent_trials.errors import LedgerError, MoneyError, Problem, RunRefusedError
from agent_trials.graders import adjudicator
from agent_trials.graders.adjudicator import COMMAND, FIRST, GUESS, SECOND, Adjudicator
from agent_trials.ledger import place, prior
from agent_trials.ledger.locks import is_open
from agent_trials.ledger.openings import Openings
from agent_trials.records import Secret, Status
from agent_trials.results.grades import gather
from agent_trials.session import grading_command
from agent_trials.session.admission import PAID
from agent_trials.session.options import CAP, KEY
from agent_trials.session.restated import STAND_IN_INPUT, STAND_IN_OUTPUT
from agent_trials.study import archived, freeze, ledgers
from agent_trials.study.manifest import Study
from agent_trials.study.present import uncollected
from agent_trials.study.settings import OPERATOR, HttpSettings
from agent_trials.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal
    from pathlib import Path

    from agent_trials.ledger.budget import Totals
    from agent_trials.ledger.chain import Line
    from agent_trials.ledger.prior import PriorLedger
    from agent_trials.results.grades import Gathered
    from agent_trials.session.options import Options
    from agent_trials.study.settings import AdjudicatorSettings, GraderSettings

LEDGER = "--ledger"


@dataclass(frozen=True)
class Case:
    """One completed observation to be graded: its opaque name, and its line."""

    blind_id: str
    run_id: str
    line: Line

    @property
    def task(self) -> str:
        """Return the task that was asked."""
        return str(self.line.fields["task"])

    @property
    def asked(self) -> tuple[str, int]:
        """Return task and repetition, from which follows how the question was worded."""
        return self.task, int(self.line.fields["repetition"])


@dataclass(frozen=True)
class GradingPlan:
    """Everything that a batch of gradings is made of. Money in USD.

    ``study`` has the working tree's folder, and manifest and key as the ledger holds them.
    ``opening`` is the run-opened line of the attempts, ``counted`` what is carried over of prior
    ledgers beside ``priors``.
    """

    ledger: Path
    study: Study
    opening: Mapping[str, Any]
    settings: AdjudicatorSettings
    graders: tuple[Adjudicator, ...]
    cases: tuple[Case, ...]
    records: Mapping[tuple[str, str], Line]
    cap_usd: Decimal
    priors: tuple[PriorLedger, ...]
    counted: tuple[Mapping[str, Any], ...]
    options: Options

    @property
    def is_paid(self) -> bool:
        """Return whether the ledger is a paid one."""
        return bool(self.opening["mode"] == PAID)

    @property
    def name(self) -> str:
        """Return ``study/phase``."""
        return f"{self.opening['study']}/{self.opening['phase']}"

    @property
    def open_cases(self) -> tuple[Case, ...]:
        """Return the cases that some grader has yet to grade, or whose arm is yet to be guessed."""
        return tuple(case for case in self.cases if self._is_open(case))

    def _is_open(self, case: Case) -> bool:
        found = [self.records.get((case.blind_id, grader.name)) for grader in self.graders]
        if None in found:
            return True
        # An answer without usable text is graded by rule, and nobody guesses where it came from.
        by_agent = found[0] is not None and found[0].fields["method"] == "agent"
        unguessed = (case.blind_id, GUESS) not in self.records
        return self.settings.guess_arm and by_agent and unguessed


class GradingAdmission:
    """Collects what keeps a ledger from being graded.

    Args:
        options: what the operator asked for.
        studies: those below pytest's arguments.
        project: pytest's root folder, in which no paid ledger may lie.
        processes: how many worker processes pytest was asked for.
    """

    def __init__(
        self, options: Options, studies: Sequence[Study], project: Path, processes: int
    ) -> None:
        self.options = options
        self.studies = studies
        self.project = project
        self.problems: list[Problem] = [
            Problem("command line", sentence, "write it as NAME=VALUE, once")
            for sentence in options.malformed
        ]
        if processes:
            what = "gradings follow one another in one process"
            self._refuse(f"-n {processes}", what, "leave -n out")

    def plan(self) -> GradingPlan:
        """Return the plan.

        Raises:
            RunRefusedError: everything that is wrong.
        """
        path = self._ledger()
        self._stop_here()
        gathered, totals = self._read(path)
        opening = gathered.opening
        if opening is None:
            raise RuntimeError("a ledger that verifies begins with a study")
        self._check_mode(path, opening.fields)
        study = self._study(path, opening)
        self._stop_here()
        settings = study.manifest.adjudicator
        if settings is None:
            what = f"the study {study.manifest.id} of this ledger registers no [adjudicator]"
            self._refuse(f"{LEDGER} {path}", what, "register one before the attempts are made")
            raise RunRefusedError(self.problems)
        graders = self._graders(settings)
        self._check_options(graders)
        cases = self._selected(path, gathered, settings)
        priors, counted = self._priors(gathered, study)
        cap = self._cap(totals, settings, len(cases))
        self._stop_here()
        return GradingPlan(
            ledger=path,
            study=study,
            opening=opening.fields,
            settings=settings,
            graders=graders,
            cases=cases,
            records=gathered.records,
            cap_usd=cap,
            priors=priors,
            counted=counted,
            options=self.options,
        )

    def _refuse(self, where: str, what: str, remedy: str) -> None:
        self.problems.append(Problem(where, what, remedy))

    def _stop_here(self) -> None:
        if self.problems:
            raise RunRefusedError(self.problems)

    def _ledger(self) -> Path:
        path = self.options.ledger
        if path is None:
            what = "grading needs the ledger of the attempts, and none is given"
            self._refuse(LEDGER, what, "give --ledger FILE")
            raise RunRefusedError(self.problems)
        if not path.is_file():
            self._refuse(f"{LEDGER} {path}", "it does not exist", "give the ledger of the attempts")
        elif is_open(path.resolve()):
            self._refuse(f"{LEDGER} {path}", "a run is open on it", "wait until it has ended")
        return path.resolve()

    def _read(self, path: Path) -> tuple[Gathered, Totals]:
        try:
            gathered, state, _ = gather(path)
        except LedgerError as error:
            self._refuse(f"{LEDGER} {path}", str(error), "give the ledger as it was written")
            raise RunRefusedError(self.problems) from error
        if gathered.opening is None:
            self._refuse(f"{LEDGER} {path}", "it holds no study", "give a ledger of attempts")
            raise RunRefusedError(self.problems)
        return gathered, state.totals(is_open=False)

    def _check_mode(self, path: Path, opening: Mapping[str, Any]) -> None:
        paid = opening["mode"] == PAID
        if paid and self.options.approve_budget:
            checkouts = [*self.options.roots.values(), *(study.folder for study in self.studies)]
            self.problems += place.check_existing(path, checkouts=checkouts, project=self.project)
        if paid == self.options.approve_budget:
            return
        what = f"it is a {opening['mode']} ledger, and the command is "
        what += "a rehearsal" if paid else "a paid one"
        remedy = "add --approve-budget" if paid else "leave --approve-budget out"
        self._refuse(f"{LEDGER} {path}", what, remedy)

    def _study(self, path: Path, opening: Line) -> Study:
        fields, openings = opening.fields, Openings(path)
        try:
            found = archived.read(
                openings.value(opening, "study"),
                openings.value(opening, "key"),
                folder_digest=fields["folderDigest"],
            )
        except LedgerError as error:
            self._refuse(f"{LEDGER} {path}", str(error), "give it with its folder .private")
            raise RunRefusedError(self.problems) from error
        folders = [s.folder for s in self.studies if s.manifest.id == found.manifest.id]
        if len(folders) != 1:
            what = f"it is a ledger of the study {found.manifest.id}"
            self._refuse(f"{LEDGER} {path}", what, "name that study's folder: pytest evals/<study>")
            raise RunRefusedError(self.problems)
        self.problems += uncollected(folders[0])
        return Study(folders[0], found.manifest, found.key)

    def _graders(self, settings: AdjudicatorSettings) -> tuple[Adjudicator, ...]:
        registered: dict[str, GraderSettings] = {FIRST: settings}
        if settings.second is not None:
            registered[SECOND] = settings.second
        command, problems = grading_command.find(self.options, tuple(registered.values()))
        self.problems += problems
        graders = (self._grader(name, grader) for name, grader in registered.items())
        return tuple(
            dataclasses.replace(each, command=command) if each.transport == COMMAND else each
            for each in graders
        )

    def _check_options(self, graders: Sequence[Adjudicator]) -> None:
        """Refuse what would seem to change how the ledger is graded, and does not."""
        options = self.options
        is_cli = any(each.transport == "cli" for each in graders)
        for flag, given in (
            ("--transport", options.transport),
            ("--cli-version", options.cli_version),
            ("--attempt-budget-usd", options.attempt_usd),
            ("--param", next(iter(options.parameters), None)),
            ("--claude-bin", None if is_cli else options.claude_bin),
        ):
            if given is not None:
                what = "it is for attempts, and a ledger is graded as its study registers"
                self._refuse(f"{flag} {given}", what, "leave it out")

    def _grader(self, name: str, grader: GraderSettings) -> Adjudicator:
        settings = adjudicator.transport_settings(grader)
        if isinstance(settings, HttpSettings):
            settings = dataclasses.replace(
                settings,
                input_usd_per_million=self._rate(
                    "input", settings.input_usd_per_million, self.options.input_rate, STAND_IN_INPUT
                ),
                output_usd_per_million=self._rate(
                    "output",
                    settings.output_usd_per_million,
                    self.options.output_rate,
                    STAND_IN_OUTPUT,
                ),
            )
        secrets: dict[str, Secret] = {}
        needs_key = grader.transport == "http" or (
            grader.cli is not None and grader.cli.credential == "api-key"
        )
        if self.options.approve_budget and needs_key:
            key = self.options.environ.get(KEY, "")
            if wrong := credentials.key_problem(key):
                self._refuse(KEY, wrong, f"set {KEY} to the key alone")
            secrets[KEY] = Secret(key)
        return Adjudicator(
            name=name,
            transport=grader.transport,
            model=grader.model,
            limit_usd=money.limit(grader.limit_usd),
            settings=settings,
            rehearsal=not self.options.approve_budget,
            secrets=secrets,
        )

    def _rate(
        self, which: str, frozen: Decimal | str, given: str | None, stand_in: Decimal
    ) -> Decimal:
        """Return an upper rate, the operator's where the study leaves it to the operator."""
        flag = f"--{which}-usd-per-million"
        if frozen != OPERATOR:
            if given is not None:
                self._refuse(f"{flag} {given}", f"the study fixes {frozen}", "leave it out")
            return money.parse_positive(frozen)
        if given is None:
            if self.options.approve_budget:
                what = "the study leaves the adjudicator's price to the operator"
                self._refuse(flag, what, f"give {flag}")
            return stand_in
        try:
            return money.parse_positive(given)
        except MoneyError as error:
            self._refuse(flag, str(error), "give a positive decimal amount")
            return stand_in

    def _selected(
        self, path: Path, gathered: Gathered, settings: AdjudicatorSettings
    ) -> tuple[Case, ...]:
        every, options = self._cases(path, gathered, settings.seed), self.options
        if options.run_id is not None and not chosen(every, None, None, options.run_id):
            known = ", ".join(sorted({case.run_id for case in every})) or "none has one"
            what = "no completed attempt is of this run"
            self._refuse(f"--run-id {options.run_id}", what, f"use one of: {known}")
        for flag, number in (("--offset", options.offset), ("--limit", options.limit)):
            if number is not None and number < 0:
                self._refuse(f"{flag} {number}", "it is below 0", "give a whole number from 0")
        return chosen(every, options.offset, options.limit, options.run_id)

    def _cases(self, path: Path, gathered: Gathered, seed: int) -> list[Case]:
        """Return every completed attempt in the order drawn from the seed."""
        openings, cases, unknown = Openings(path), [], 0
        run_ids = {line.run: str(line.fields["runId"]) for line in gathered.runs}
        for line in gathered.settled.values():
            if line.fields["observation"]["status"] != Status.COMPLETED:
                continue
            blind_id = openings.value(line, "blindId")
            committed = "answer" in line.fields.get("private", {})
            if blind_id is None or (committed and openings.find(line, "answer") is None):
                unknown += 1
            else:
                cases.append(Case(blind_id, run_ids[line.run], line))
        if unknown:
            what = f"of {counted(unknown, 'completed attempt')} it lacks the blind id or the answer"
            self._refuse(f"{LEDGER} {path}", what, "give it with its whole folder .private")
        return sorted(cases, key=lambda case: drawn(seed, case.blind_id))

    def _priors(
        self, gathered: Gathered, study: Study
    ) -> tuple[tuple[PriorLedger, ...], tuple[Mapping[str, Any], ...]]:
        """Return the prior ledgers that are given, and what else is counted before this one."""
        latest = gathered.runs[-1].fields
        priors, problems = prior.check(
            self.options.prior_ledgers, series_id=latest["seriesId"], mode=latest["mode"]
        )
        self.problems += problems
        given = {each.origin for each in priors}
        counted = [each for each in latest["priorLedgers"] if each["origin"] not in given]
        if latest["mode"] != PAID:
            return priors, tuple(counted)
        known = {str(line.fields["runId"]) for line in gathered.runs}
        known |= {run_id for each in priors for run_id in each.run_ids}
        for each in counted:
            if not each["origin"].startswith("lost:"):
                self._missing_prior(each["runs"][0])
            known.update(each["runs"])
        counted += self._of_series(study, latest["seriesId"], known)
        return priors, tuple(counted)

    def _of_series(self, study: Study, series_id: str, known: set[str]) -> list[Mapping[str, Any]]:
        """Refuse where a paid run of the series is not counted; return what lost ones count."""
        frozen = freeze.state(study)
        lost: list[Mapping[str, Any]] = []
        for record in ledgers.of_series(ledgers.read(study.folder), series_id):
            if record.run_id in known:
                continue
            if record.run_id in frozen.lost_ledgers:
                lost.append(prior.lost(record.run_id, record.cap_usd))
            else:
                self._missing_prior(record.run_id)
        return lost

    def _missing_prior(self, run_id: str) -> None:
        what = f"the paid run {run_id} of this series is not given"
        self._refuse("--prior-ledger", what, "add its ledger, so that its spend counts")

    def _cap(self, totals: Totals, settings: AdjudicatorSettings, cases: int) -> Decimal:
        written = self.options.cap
        if written is not None:
            try:
                return money.parse_positive(written)
            except MoneyError as error:
                self._refuse(f"{CAP}={written}", str(error), f"set {CAP}=<USD>")
        elif self.options.approve_budget:
            self._refuse(CAP, "a paid grading needs a cap and none is set", f"set {CAP}=<USD>")
        needed = settings.reserves(cases)
        spent = money.total(totals.prior, totals.spent, totals.reserved, needed)
        return max(totals.cap, spent)


def chosen(
    cases: Sequence[Case], offset: int | None, limit: int | None, run_id: str | None
) -> tuple[Case, ...]:
    """Return the cases that an operator asks for; an offset counts those of the run alone."""
    of_run = [case for case in cases if run_id in (None, case.run_id)]
    begin = offset or 0
    return tuple(of_run[begin : None if limit is None else begin + limit])


def drawn(seed: int, blind_id: str) -> bytes:
    """Return what puts a blind id in its place: the SHA-256 of seed and id."""
    return hashlib.sha256(f"{seed}/{blind_id}".encode()).digest()
