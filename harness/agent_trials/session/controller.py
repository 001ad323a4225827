"""The state of one pytest session: what it met, what it selected, what became of it.

What opens runs stands in ``runs`` and is imported when there is something to run: a dry run and a
user's ordinary tests load neither an SDK nor anything else that takes time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_trials.errors import Problem, RunRefusedError
from agent_trials.session import dry, keys, text
from agent_trials.session.collection import Collection, planned_of, study_of
from agent_trials.session.selection import ADJUDICATE, EVALUATE, names, select, unknown
from agent_trials.study import manifest
from agent_trials.study.findings import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pytest

    from agent_trials.session.evaluating import Evaluating, Evaluation
    from agent_trials.session.grading import Adjudication, Grading
    from agent_trials.session.options import Options
    from agent_trials.session.run import StudyRun
    from agent_trials.session.runs import Runs
    from agent_trials.session.selection import Selected
    from agent_trials.study.manifest import Study


class Controller:
    """Decides before collection what may run, and knows at the end what it came to.

    In a worker process it joins the runs that the controlling process opened.

    Args:
        config: the session's.
        options: what the operator asked for.
        folders: the studies below pytest's arguments.
    """

    def __init__(self, config: pytest.Config, options: Options, folders: Sequence[Path]) -> None:
        self.config = config
        self.options = options
        self.folders = folders
        self.collection = Collection(config)
        self.selected: tuple[Selected, ...] = ()
        self.runs: Runs | None = None
        self.grading: Grading | None = None
        self._is_empty = False
        self.evaluating: Evaluating | None = None

    @property
    def is_worker(self) -> bool:
        """Return whether this process runs items for another that decides."""
        return hasattr(self.config, "workerinput")

    @property
    def is_dry(self) -> bool:
        """Return whether nothing may be started or written."""
        return bool(self.config.option.collectonly)

    @property
    def header(self) -> list[str]:
        """Return what pytest's header says of the runs."""
        if self.grading:
            return self.grading.header
        if self.evaluating:
            return self.evaluating.header
        return self.runs.header if self.runs else []

    @property
    def unclosed(self) -> bool:
        """Return whether the ledger of some run could not be closed."""
        return any(part.unclosed for part in (self.runs, self.grading) if part is not None)

    def start(self) -> None:
        """Do everything that is decided before collection.

        Raises:
            ProblemsError: the studies or the run are refused; nothing was written or started.
        """
        if self.is_worker:
            self._join()
            return
        studies = manifest.load_all(self.folders)
        self.collection.know(studies)
        self.selected = select(studies, self.config.option.markexpr or "")
        self.collection.selected = {
            s.study.folder: tuple(t.phase for t in self.selected if t.study is s.study)
            for s in self.selected
        }
        jobs = {ADJUDICATE: self._start_grading, EVALUATE: self._start_evaluating}
        for job, start in jobs.items():
            if names(self.config.option.markexpr or "", job):
                self._refuse_attempts(job)
                start(studies)
                return
        self._refuse_options_of_jobs()
        if self.is_dry:
            dry.check_roots(studies, self.options.roots)
        elif self.selected or self.options.approve_budget:
            from agent_trials.session.runs import Runs  # noqa: PLC0415 - loads SDKs

            self.runs = Runs.open(self.config, self.options, self.selected)
            self.collection.recorded = self.runs.recorded

    def _refuse_attempts(self, job: str) -> None:
        if self.selected:
            what = f"it names attempts and the job {job} at once"
            where = f"-m {self.config.option.markexpr!r}"
            raise RunRefusedError([Problem(where, what, f"do it by itself: -m {job}")])
        if self.options.resume:
            what = f"it goes on with attempts, and {job} always goes on where it ended"
            raise RunRefusedError([Problem("--resume", what, "leave it out")])

    def _start_evaluating(self, studies: Sequence[Study]) -> None:
        from agent_trials.session.evaluating import Evaluating  # noqa: PLC0415 - loads SDKs

        if self.options.ledger or not self.is_dry:
            self.evaluating = Evaluating.open(self.config, self.options, studies, dry=self.is_dry)
            self.collection.evaluating = self.evaluating

    def _start_grading(self, studies: Sequence[Study]) -> None:
        self._refuse_options(self._of_evaluation(), EVALUATE)
        from agent_trials.session.grading import Grading  # noqa: PLC0415 - loads SDKs

        if self.options.ledger or not self.is_dry:
            self.grading = Grading.open(self.config, self.options, studies, dry=self.is_dry)
            self.collection.grading = self.grading

    def _of_evaluation(self) -> dict[str, object]:
        options = self.options
        return {
            "--eval-report": next(iter(options.eval_reports), None),
            "--controls": options.controls or None,
            "--replace-report": options.replace_report or None,
        }

    def _refuse_options_of_jobs(self) -> None:
        options = self.options
        given = {
            "--offset": options.offset, "--limit": options.limit, "--run-id": options.run_id,
        }  # fmt: skip
        self._refuse_options(given, ADJUDICATE)
        self._refuse_options(self._of_evaluation(), EVALUATE)

    def _refuse_options(self, given: Mapping[str, object], job: str) -> None:
        problems = [
            Problem(flag, f"it is an option of {job}", f"add -m {job}, or leave it out")
            for flag, value in given.items()
            if value is not None
        ]
        if problems:
            raise RunRefusedError(problems)

    def evaluation(self, item: pytest.Item, name: str) -> Evaluation:
        """Return the evaluation that an item stands for."""
        if self.evaluating is None:
            raise RuntimeError(f"{item.nodeid} belongs to no evaluation")
        return self.evaluating.evaluation(item, name)

    def adjudication(self, item: pytest.Item, blind_id: str) -> Adjudication:
        """Return the grading that an item stands for."""
        if self.grading is None:
            raise RuntimeError(f"{item.nodeid} belongs to no batch of gradings")
        return self.grading.adjudication(item, blind_id)

    def _join(self) -> None:
        handed = getattr(self.config, "workerinput", {}).get(keys.WORKER_INPUT)
        if handed:
            from agent_trials.session.runs import Runs  # noqa: PLC0415 - loads SDKs

            self.runs, self.collection.selected = Runs.join(handed, self.options.environ)
            self.collection.recorded = self.runs.recorded

    def hand_over(self) -> str | None:
        """Return what a worker process needs, as text; None where there is nothing to run."""
        return self.runs.hand_over(self.collection.selected) if self.runs else None

    def arrange(self, items: list[pytest.Item]) -> list[pytest.Item]:
        """Put attempts in schedule order; return the items to deselect.

        Raises:
            RunRefusedError: what was collected is not what was admitted (paid runs).
        """
        deselected = self.collection.arrange(items, everything=self.is_dry)
        self._is_empty = not items
        if self.runs:
            self.runs.compare(items)
        return deselected

    def run_of(self, item: pytest.Item) -> StudyRun | str | None:
        """Return the run that an attempt item belongs to, or why there is none."""
        planned = planned_of(item)
        if planned is None or self.runs is None:
            return None
        return self.runs.of(study_of(item).folder, planned.cell.phase)

    def stop_all(self, reason: str) -> None:
        """Let no further attempt of any run be reserved."""
        if self.runs:
            self.runs.stop_all(reason)

    def finish(self) -> None:
        """Close every run and remove what the session made; safe to call twice."""
        deselected = self.collection.deselected
        recorded = self.collection.deselected_as_recorded
        if deselected or recorded:
            nothing_else = deselected + recorded == self.collection.all_items
            found = (deselected, nothing_else, recorded)
            self.config.stash[keys.DESELECTED] = keys.Deselected(*found)
            if self.is_worker:
                output = getattr(self.config, "workeroutput", {})
                output[keys.WORKER_OUTPUT] = found
        if self.runs:
            self.runs.finish(close=not self.is_worker)
        if self.grading:
            self.grading.finish()
        if self.evaluating:
            self.evaluating.finish()

    def summaries(self) -> list[tuple[str, list[str]]]:
        """Return what the terminal shows at the end: title and lines per part."""
        if self.is_worker:
            return []
        if self.grading:
            return self.grading.summaries(dry=self.is_dry)
        if self.evaluating:
            return self.evaluating.summaries(dry=self.is_dry)
        if self.is_dry:
            met = self.collection.studies.values()
            rows = dry.rows(self.selected, met, self.options, self.collection.plan)
            return [("agent-trials dry run", text.dry_run(rows))] if rows else []
        return self.runs.summaries() if self.runs else self._misspelt()

    def _misspelt(self) -> list[tuple[str, list[str]]]:
        """Return a hint where the ``-m`` expression has a word that is no marker at all."""
        declared = (line.partition(":")[0] for line in self.config.getini("markers"))
        markers = (name.partition("(")[0].strip() for name in declared)
        words = unknown(self.config.option.markexpr or "", markers)
        studies = self.collection.studies.values()
        known = list(dict.fromkeys(phase for study in studies for phase in study.manifest.phases))
        if not words or not known or not self._is_empty:
            return []
        way_out = [nearest(word, [*known, ADJUDICATE], "the phases are") for word in words]
        lines = [
            f"-m {word}: no phase of a study; {way}"
            for word, way in zip(words, way_out, strict=True)
        ]
        return [("agent-trials: NOTHING SELECTED", lines)]
