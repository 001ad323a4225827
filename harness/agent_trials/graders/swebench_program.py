"""Runs the official evaluation as a program, and finds the report that it wrote.

swebench is never imported: its versions differ in what they import and need, and a study pins one.
The program runs in a folder of its own, with PATH, HOME and the variables that the study names.
Its exit code is not looked at: it is 0 also where every instance failed, and the report says so.
"""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials import process
from agent_trials.errors import AgentError, EvaluationError
from agent_trials.process import Command, Limits, Silent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_trials.graders.predictions import Predictions
    from agent_trials.study.settings import EvaluationSettings

LOG = "evaluation.log"
VERSION_SECONDS = 120
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_OUTPUT_BYTES = 16 * 1024 * 1024
CAUSES = (
    ("No module named 'swebench'", "swebench is not installed for the Python that was named"),
    ("No module named swebench", "swebench is not installed for the Python that was named"),
    ("DockerException", "no Docker daemon answers, and the containers need one"),
    (
        "Cannot connect to the Docker daemon",
        "no Docker daemon answers, and the containers need one",
    ),
    ("KeyError: 'image'", "the rows are not those of this version of swebench: they name no image"),
    ("ConnectionError", "the dataset or an image could not be fetched; give the rows as a file"),
    ("Some prediction IDs not found", "the dataset lacks an instance that was submitted"),
)
"""What a program that left no report says of it, and what it means."""


@dataclass(frozen=True)
class Program:
    """The evaluation's program with everything filled in that is the same for every arm."""

    command: tuple[str, ...]
    version_command: tuple[str, ...]
    values: Mapping[str, str]
    environment: Mapping[str, str]
    deadline_seconds: int

    @classmethod
    def of(
        cls,
        settings: EvaluationSettings,
        *,
        study: Path,
        parameters: Mapping[str, str],
        dataset: str,
        environ: Mapping[str, str],
    ) -> Program:
        """Return the program of a study.

        Args:
            settings: the study's.
            study: its folder.
            parameters: the study's parameters by name.
            dataset: what the program is to read the rows from.
            environ: the operator's environment, of which only what is named is passed on.
        """
        values = {
            **parameters,
            "python": sys.executable,
            "study": str(study.resolve()),
            "dataset": dataset,
            "split": settings.split,
            "max_workers": str(settings.max_workers),
            "timeout": str(settings.timeout_seconds),
        }
        passed = ("PATH", "HOME", *settings.environment)
        environment = {name: environ[name] for name in passed if name in environ}
        return cls(
            settings.command,
            settings.version_command,
            values,
            {**environment, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"},
            settings.deadline_seconds,
        )

    def version(self, folder: Path) -> str:
        """Return the version that the program states.

        Raises:
            EvaluationError: it cannot be started, or states none.
        """
        found = self._run(self.version_command, folder, {}, VERSION_SECONDS)
        words = found.stdout.decode("utf-8", "replace").split()
        if found.exit_code or len(words) != 1:
            raise EvaluationError(
                "the evaluation's program states no version: "
                + (_cause(found.stderr) or "is swebench installed for it?")
                + '; run pip install "pytest-agent-trials[swebench]", or name another Python'
            )
        return words[0]

    def evaluate(self, predictions: Predictions, file: Path, folder: Path) -> bytes:
        """Run the evaluation of one file of predictions, and return its report's bytes.

        Args:
            predictions: what is in the file.
            file: the predictions.
            folder: a new folder, which keeps what the program wrote.

        Raises:
            EvaluationError: it left no report; says what is missing, and where the predictions are.
        """
        values = {
            "predictions": str(file),
            "run_id": predictions.run_id,
            "reports": str(folder),
        }
        found = self._run(self.command, folder, values, self.deadline_seconds)
        (folder / LOG).write_bytes(found.stdout + found.stderr)
        report = folder / f"{predictions.model.replace('/', '__')}.{predictions.run_id}.json"
        if report.is_file() and not found.timed_out:
            return report.read_bytes()
        if found.timed_out:
            why = f"it was still running after {self.deadline_seconds} seconds"
        else:
            why = _cause(found.stdout + found.stderr) or f"it ended with {found.exit_code}"
        raise EvaluationError(
            f"the evaluation of {predictions.model} left no report: {why}; the predictions are kept"
            f" in {file}, what the program said in {folder / LOG}"
        )

    def _run(
        self, words: Sequence[str], folder: Path, further: Mapping[str, str], seconds: int
    ) -> process.ProcessResult:
        argv = filled(words, {**self.values, **further})
        path = shutil.which(argv[0], path=self.environment.get("PATH"))
        if path is None:
            raise EvaluationError(f"the evaluation's program {argv[0]!r} is not there")
        command = Command((str(Path(path).absolute()), *argv[1:]), folder, self.environment)
        limits = Limits(deadline_seconds=seconds, stdout_bytes=_OUTPUT_BYTES, grace_seconds=10)
        try:
            return process.run(command, Silent(), limits)
        except AgentError as error:
            raise EvaluationError(f"the evaluation's program cannot be run: {error}") from error


def filled(words: Iterable[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """Return words with what stands in braces filled in."""
    return tuple(_PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), w) for w in words)


def _cause(said: bytes) -> str | None:
    text = said.decode("utf-8", "replace")
    return next((means for sign, means in CAUSES if sign in text), None)
