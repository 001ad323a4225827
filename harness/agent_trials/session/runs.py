"""The runs of a session, from the refusals before anything starts to the closing of each ledger."""

from __future__ import annotations

import base64
import os
import pickle
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from agent_trials import preflight
from agent_trials.errors import LedgerError, RunRefusedError
from agent_trials.results.summary import summarise
from agent_trials.session import opening, pytest_rules, signed, text
from agent_trials.session.admission import Admission
from agent_trials.session.collection import cells
from agent_trials.session.run import Handed, StudyRun
from agent_trials.session.signals import Interruptions
from agent_trials.standby import Spare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pytest

    from agent_trials.preflight import Prepared
    from agent_trials.records import Cell
    from agent_trials.session.admission import RunPlan
    from agent_trials.session.options import Options
    from agent_trials.session.selection import Selected

Key = tuple[Path, str]
Phases = dict[Path, tuple[str, ...]]


def now() -> datetime:
    """Return the time; the one clock of a session."""
    return datetime.now(UTC)


class Runs:
    """Every run that this session opened or joined, by study folder and phase.

    ``skipped`` says why a rehearsal of a phase could not be opened. ``recorded`` holds, by study
    folder, the cells that the ledger of a resumed run has already.
    """

    def __init__(self, project: Path) -> None:
        self._project = project
        self._resources = ExitStack()
        self._spare = self._resources.enter_context(Spare())
        self._interruptions = Interruptions()
        self._heads = signed.SignedHeads(None)
        self.open_runs: dict[Key, StudyRun] = {}
        self.skipped: dict[Key, str] = {}
        self.recorded: dict[Path, frozenset[Cell]] = {}
        self.unclosed: list[str] = []
        self.header: list[str] = []

    @classmethod
    def open(cls, config: pytest.Config, options: Options, selected: Sequence[Selected]) -> Self:
        """Refuse, or open a run for each selected phase.

        Raises:
            RunRefusedError: everything that is wrong; nothing was written or started.
        """
        processes = pytest_rules.requested_processes(config)
        project = pytest_rules.project(config)
        admission = Admission(options, project, processes)
        plans = admission.plan(selected, pytest_rules.paid_problems(config))
        new = [plan.ledger for plan in plans if plan.ledger and not plan.recorded]
        heads, unfit = signed.find(options.sign, new)
        if admission.problems or unfit:
            raise RunRefusedError([*admission.problems, *unfit])
        runs = cls(project)
        runs._heads = heads
        try:
            runs._prepare(plans)
        except BaseException:
            runs.finish(close=True)
            raise
        runs._interruptions.install()
        return runs

    @classmethod
    def join(cls, handed: str, environ: Mapping[str, str]) -> tuple[Self, Phases]:
        """Return the runs as a worker process takes part in them, and what was selected."""
        runs = cls(Path(os.devnull))
        parts: dict[Key, Handed]
        selected: Phases
        # Written by our own controlling process, over xdist's channel.
        parts, runs.skipped, runs.recorded, selected = pickle.loads(  # noqa: S301
            base64.b64decode(handed)
        )
        runs.open_runs = {
            key: StudyRun.join(part, environ, now, runs._spare) for key, part in parts.items()
        }
        runs._interruptions.install()
        return runs, selected

    def hand_over(self, selected: Phases) -> str:
        """Return what a worker process needs, as text."""
        handed = {key: run.hand_over() for key, run in self.open_runs.items()}
        everything = handed, self.skipped, self.recorded, selected
        return base64.b64encode(pickle.dumps(everything)).decode("ascii")

    def _prepare(self, plans: Sequence[RunPlan]) -> None:
        """Run every preflight before the first ledger is created."""
        made = tempfile.TemporaryDirectory(prefix="at-")
        into = Path(self._resources.enter_context(made))
        for plan in plans:
            if plan.recorded:
                self.recorded[plan.study.folder] = plan.recorded.kept
                self.header += text.resuming(plan, plan.recorded)
        # Where the ledger holds everything there is nothing to prepare, and no run to open.
        ready = [(plan, self._preflight(plan, into)) for plan in plans if plan.remaining]
        for plan, prepared in ready:
            if prepared is not None:
                self._open_run(plan, prepared)

    def _preflight(self, plan: RunPlan, into: Path) -> Prepared | None:
        ground = plan.ground()
        missing = preflight.missing_needs(ground)
        if missing and ground.rehearsal:
            self.skipped[plan.study.folder, plan.phase] = "; ".join(missing)
            return None
        return preflight.check(ground, into)

    def _open_run(self, plan: RunPlan, prepared: Prepared) -> None:
        base_url = None
        if plan.mode != "paid":
            from agent_trials.session.scripted import (  # noqa: PLC0415 - no paid run imports it
                scripted_api,
            )

            base_url = self._resources.enter_context(scripted_api(plan.study.folder))
        run = opening.open_run(plan, prepared, self._project, base_url, now, spare=self._spare)
        self.open_runs[plan.study.folder, plan.phase] = run
        self.header += text.heading(plan, run.journal.head)
        self.header += [f"agent-trials: {line}" for line in self._heads.opened(run.journal)]

    def of(self, folder: Path, phase: str) -> StudyRun | str | None:
        """Return the run of a phase, or why there is none."""
        return self.open_runs.get((folder, phase)) or self.skipped.get((folder, phase))

    def compare(self, items: Sequence[pytest.Item]) -> None:
        """Compare what pytest collected with what was admitted.

        Raises:
            RunRefusedError: they differ in a paid run; it is stopped.
        """
        for run in self.open_runs.values():
            planned = [each.cell for each in run.plan.remaining]
            found = [c for c in cells(items, run.plan.study) if c.phase == run.plan.phase]
            if run.plan.mode == "paid" and found != planned:
                run.journal.stop("collection-differs")
                raise RunRefusedError([opening.collection_differs(run, len(found), len(planned))])

    def stop_all(self, reason: str) -> None:
        """Let no further attempt of any run be reserved."""
        for run in self.open_runs.values():
            run.journal.stop(reason)

    def finish(self, *, close: bool) -> None:
        """Remove what the session made, and close the ledgers where this process opened them."""
        self._interruptions.restore()
        if close:
            for run in self.open_runs.values():
                self._close(run)
        self._resources.close()

    def _close(self, run: StudyRun) -> None:
        """Close a run's ledger; where that cannot be written, let go of it and keep the reason."""
        try:
            if opening.close_run(run, now):
                self._heads.closed(run.journal)
        except (LedgerError, OSError) as error:
            run.journal.release()
            self.unclosed.append(text.unclosed(run.plan.name, error))

    def summaries(self) -> list[tuple[str, list[str]]]:
        """Return title and lines of each run's summary, and why others were not rehearsed."""
        parts = [self._summary(run) for run in self.open_runs.values()]
        if self.skipped:
            lines = [f"{name}: {why}" for name, why in self._skipped_lines()]
            parts.insert(0, ("agent-trials: NOT REHEARSED", lines))
        return [(text.NOT_CLOSED, self.unclosed), *parts] if self.unclosed else parts

    def _skipped_lines(self) -> Iterator[tuple[str, str]]:
        for (folder, phase), why in self.skipped.items():
            yield f"{folder.name.replace('_', '-')}/{phase}", why

    def _summary(self, run: StudyRun) -> tuple[str, list[str]]:
        """Return title and lines; the ledger's path stays the last one."""
        path = run.journal.path
        title, lines = text.summary(run.plan, summarise(path), path)
        return title, [*lines[:-1], *self._heads.lines.get(path, ()), lines[-1]]
