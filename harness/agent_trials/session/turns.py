"""The turns of one attempt: run, checked, settled, repeated where the ground failed, followed up.

In order, for each turn:
    run       ``run_attempt``; the workspace stays where a checker looks at it
    check     the task's checker on a copy of the tree, and on the copy of every stop
    settle    with what the checker said, before anything else is reserved
    repeat    in place, with a reservation of its own, where the infrastructure failed and the study
              allows it (``schedule.infra_reruns``, over the whole ledger); otherwise the run stops
The first turn is followed by one more where its checker says no; what does not fit under the cap
stops the run, and is never left out. Whatever happens, the kept workspace is removed.
"""

from __future__ import annotations

import dataclasses
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from agent_trials.attempt import AttemptInterrupted, release, run_attempt
from agent_trials.errors import AdmissionError, FollowUpRefusedError, WorkspaceError
from agent_trials.graders import checker
from agent_trials.records import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_trials.graders.checker import Checked, Checker
    from agent_trials.records import AttemptRequest, AttemptResult, Kept, PlannedAttempt
    from agent_trials.session.run import Settled, StudyRun

NOT_CHECKED = "not-checked"
INCOMPLETE = "incomplete, no evidence"


class Turns:
    """The turns of one attempt of a run."""

    def __init__(self, run: StudyRun) -> None:
        self._run = run
        self._kept: Kept | None = None
        self._notes: list[str] = []

    def perform(self, planned: PlannedAttempt, request: AttemptRequest) -> Settled:
        """Take the reserved first turn, and a further one where the study says so.

        Raises:
            FollowUpRefusedError: the further turn does not fit; the run is stopped.
        """
        found = self._run.prepared.writable.checkers.get(planned.cell.task)
        try:
            settled, result = self._turn(planned, request, found)
            if self._is_followed(result):
                settled, _ = self._follow(planned, request, found)
            self._run.owes_turn = False
            return dataclasses.replace(settled, notes=tuple(self._notes))
        finally:
            self._let_go()

    def _is_owed(self, result: AttemptResult) -> bool:
        """Return whether the study wants a further turn after this one."""
        said = result.observation.checker
        failed = said is not None and said["passed"] is False
        return failed and self._run.plan.study.manifest.follow_up is not None

    def _is_followed(self, result: AttemptResult) -> bool:
        return bool(self._is_owed(result) and self._kept and not self._run.journal.stopped)

    def _follow(
        self, planned: PlannedAttempt, request: AttemptRequest, found: Checker | None
    ) -> tuple[Settled, AttemptResult]:
        cell = dataclasses.replace(planned.cell, turn=planned.cell.turn + 1)
        further = dataclasses.replace(planned, cell=cell)
        follow_up = self._run.plan.study.manifest.follow_up
        prompt = follow_up.prompt if follow_up else ""
        try:
            self._run.reserve(further)
        except AdmissionError as refusal:
            raise FollowUpRefusedError(f"{refusal}; {INCOMPLETE}") from refusal
        launch = self._run.launch(cell)
        return self._turn(
            further, dataclasses.replace(request, prompt=prompt, launch=launch), found
        )

    def _turn(
        self, planned: PlannedAttempt, request: AttemptRequest, found: Checker | None
    ) -> tuple[Settled, AttemptResult]:
        """Take a reserved turn until it stands: settled, or beyond what may be repeated."""
        first = planned.cell.turn == 1
        while True:
            if first:
                self._let_go()  # a turn that is repeated begins with a workspace of its own
            started = time.monotonic()
            kept = None if first else self._kept
            asked = dataclasses.replace(request, kept=kept, keep=found is not None)
            result = self._taken(planned, asked, started)
            self._kept = result.kept or kept
            again = self._run.may_repeat(result)
            if not is_infrastructure(result):
                result = self._checked(planned, result, found, started)
            if first:
                self._run.owes_turn = self._is_owed(result)
            settled = self._run.settle(planned, result, started, repeats=again)
            self._note(planned, result, again=again)
            if not again:
                return settled, result
            self._run.reserve(planned)

    def _taken(
        self, planned: PlannedAttempt, request: AttemptRequest, started: float
    ) -> AttemptResult:
        try:
            return run_attempt(request, self._run.spare)
        except AttemptInterrupted as interruption:
            self._run.settle(planned, interruption.result, started)
            raise interruption.cause from None

    def _checked(
        self,
        planned: PlannedAttempt,
        result: AttemptResult,
        found: Checker | None,
        started: float,
    ) -> AttemptResult:
        """Return the result with what the checker says; who interrupts it interrupts the run."""
        if found is None or result.kept is None:
            return result
        try:
            return with_checks(found, result, result.kept)
        except BaseException:
            self._run.settle(planned, result, started, stop=NOT_CHECKED)
            raise

    def _note(self, planned: PlannedAttempt, result: AttemptResult, *, again: bool) -> None:
        words = [*told(result)]
        if again:
            words.append(f"repeated in place after {', '.join(result.observation.problems)}")
        if words:
            status = result.observation.status.value
            self._notes.append("; ".join([f"turn {planned.cell.turn}: {status}", *words]))

    def _let_go(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            with suppress(WorkspaceError):  # the system's temporary folder is cleaned in time
                release(kept)


def told(result: AttemptResult) -> Iterator[str]:
    """Yield what the terminal says of a turn: the checker's word, and what a reader must know."""
    said, side = result.observation.checker, result.observation.side_costs
    if said is not None:
        failing = [name for name, fulfilled in said["groups"].items() if not fulfilled]
        verdict = {True: "passes", False: "fails", None: "could not look"}[said["passed"]]
        why = said["problem"] or ", ".join(failing)
        yield f"the checker {verdict}" + (f" ({why})" if why else "")
        if said["pathHits"]:
            yield f"the place of the checker stands {said['pathHits']} times in what it saw or said"
    if side is not None and side["overshootUsd"] != "0":
        yield f"its product spent {side['overshootUsd']} USD more than was reserved for it"


def with_checks(found: Checker, result: AttemptResult, kept: Kept) -> AttemptResult:
    """Return a turn's result with what the checker says of the tree, and of each stop in it."""
    final = checker.check(found, kept.workspace)
    names = ("transcript", "stderr", "sideEvents")
    streams = [result.artifacts.get(name, b"") for name in names]
    said = final.to_json() | {"pathHits": checker.hits(found, *streams)}
    stops = result.observation.stops
    if stops:
        stops = tuple(_with_stops(found, result, stops))
    observation = dataclasses.replace(result.observation, checker=said, stops=stops)
    artifacts = {**result.artifacts, "checker": final.output}
    return dataclasses.replace(result, observation=observation, artifacts=artifacts)


def _with_stops(found: Checker, result: AttemptResult, stops: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - facts of stops
    """Return the stops with what the checker says of each; equal trees are looked at once."""
    known: dict[str, Checked] = {}
    checked = []
    for stop in stops:
        digest = stop["digest"]
        if digest not in known:
            known[digest] = checker.check_packed(found, result.artifacts["stops"], stop["stop"])
        said = known[digest].to_json()
        names = ("passed", "groups", "problem")
        checked.append({**stop, **{name: said[name] for name in names}})
    return checked


def is_infrastructure(result: AttemptResult) -> bool:
    """Return whether the ground failed, and not the agent: what may be repeated in place."""
    observation = result.observation
    before_tools = observation.status is Status.FAILED and not observation.tool_calls
    return before_tools or observation.status is Status.INVALID_SETUP
