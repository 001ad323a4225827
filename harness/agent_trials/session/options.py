"""Command line and environment of a session, read once into a frozen value.

Standard library only: this module is imported by every pytest run of everyone who installed us.
A flag wins over its variable. Nothing is judged here; ``admission`` judges all of it at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_trials.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

STANDARD_PHASES = ("smoke", "pilot", "full")
MODEL = "STUDY_MODEL"
CAP = "STUDY_BUDGET_USD"
INPUT_RATE = "STUDY_INPUT_USD_PER_MILLION"
OUTPUT_RATE = "STUDY_OUTPUT_USD_PER_MILLION"
KEY = "ANTHROPIC_API_KEY"


def add_options(parser: pytest.Parser) -> None:
    """Declare every option; each dest begins with ``trials_``."""
    group = parser.getgroup("agent-trials", "paired trials of coding agents (agent-trials)")
    add = group.addoption
    add(
        "--approve-budget",
        action="store_true",
        dest="trials_approve_budget",
        help="Paid run of exactly one phase of one study. Without it the run is a rehearsal against"
        " a scripted local model, at no cost.",
    )
    add(
        "--transport",
        dest="trials_transport",
        metavar="NAME",
        help="The way to the model: one of the study's [transports.*] (http, cli, provider).",
    )
    add(
        "--root",
        action="append",
        default=[],
        dest="trials_roots",
        metavar="NAME=CHECKOUT",
        help="A clean checkout of one of the study's repositories at its pin; repeatable.",
    )
    add(
        "--mirrors",
        dest="trials_mirrors",
        metavar="DIR",
        help="The cache of repositories that agent-trials prepare filled, for a study whose agents"
        " work in checkouts.",
    )
    add(
        "--ledger",
        dest="trials_ledger",
        metavar="FILE",
        help="The ledger: a path that does not exist yet for attempts, an existing one to"
        " adjudicate or to --resume; outside every checkout and outside the project.",
    )
    add(
        "--resume",
        action="store_true",
        dest="trials_resume",
        help="Goes on with the attempts of --ledger where the study allows it (schedule.resume);"
        " what it holds already is deselected.",
    )
    add(
        "--prior-ledger",
        action="append",
        default=[],
        dest="trials_prior_ledgers",
        metavar="FILE",
        help="A finished ledger of the same series; its spend counts against the cap. Repeatable.",
    )
    add(
        "--claude-bin",
        dest="trials_claude_bin",
        metavar="PATH",
        help="The Claude Code executable for --transport cli (default: claude on PATH).",
    )
    add(
        "--config-dir",
        dest="trials_config_dir",
        metavar="DIR",
        help="The folder, made for this, in which Claude Code is logged in for a study whose"
        ' credential is "config-dir"; what runs leave there is removed. A rehearsal needs none.',
    )
    add(
        "--providers",
        dest="trials_providers",
        metavar="FILE",
        help="The provider commands for --transport provider, and the adjudicator that is a command"
        " (agent-trials providers checks it).",
    )
    add(
        "--cli-version",
        dest="trials_cli_version",
        metavar="V",
        help="Restates the study's pinned CLI version, or gives it where the study says"
        ' "operator".',
    )
    for flag, dest, what in (
        ("--attempt-budget-usd", "trials_attempt_usd", "what one attempt may cost, USD"),
        ("--input-usd-per-million", "trials_input_rate", "upper input price, USD per million"),
        ("--output-usd-per-million", "trials_output_rate", "upper output price, USD per million"),
    ):
        add(flag, dest=dest, metavar="X", help=f"Restates {what}, or gives it for the operator.")
    add(
        "--param",
        action="append",
        default=[],
        dest="trials_parameters",
        metavar="KEY=VALUE",
        help="A value of the study's [parameters]; recorded, never printed. Repeatable.",
    )
    for flag, dest, what in (
        ("--offset", "trials_offset", "Passes over so many observations, in their drawn order"),
        ("--limit", "trials_limit", "Grades at most so many observations"),
    ):
        add(flag, dest=dest, type=int, metavar="N", help=f"{what} (-m adjudicate).")
    add(
        "--sign",
        dest="trials_sign",
        metavar="KEY",
        help="An SSH key that signs the ledger's head when a run opens and when it closes"
        " (ssh-keygen -Y sign).",
    )
    add(
        "--run-id",
        dest="trials_run_id",
        metavar="ID",
        help="Grades the observations of this run of the ledger alone (-m adjudicate).",
    )
    add_evaluation_options(add)


def add_evaluation_options(add: Any) -> None:  # noqa: ANN401 - pytest's addoption
    """Declare the options of -m evaluate."""
    add(
        "--eval-report",
        action="append",
        default=[],
        dest="trials_eval_reports",
        metavar="ARM=PATH",
        help="A report of the official evaluation to be imported, made from the arm's predictions"
        " (-m evaluate); repeatable. Without it the evaluation is run.",
    )
    add(
        "--controls",
        action="store_true",
        dest="trials_controls",
        help="Also evaluates the benchmark's own patches, which must all resolve, and empty ones,"
        " of which none may (-m evaluate). With a new --ledger these alone, before any attempt.",
    )
    add(
        "--replace-report",
        action="store_true",
        dest="trials_replace_report",
        help="Evaluates again and records another report for the same predictions (-m evaluate).",
    )


def names_ours(option: Any) -> bool:  # noqa: ANN401 - argparse namespace
    """Return whether any option of ours was given, so that studies must be looked for."""
    return any(value for name, value in vars(option).items() if name.startswith("trials_"))


def shows_only(option: Any) -> bool:  # noqa: ANN401 - argparse namespace
    """Return whether pytest was asked to show something instead of running tests."""
    shown = ("showfixtures", "show_fixtures_per_test", "cacheshow")
    return any(getattr(option, name, None) for name in shown)


def marker_line(phase: str) -> str:
    """Return the declaration of a phase's marker."""
    return f"{phase}: attempts of the phase {phase!r} of a study (agent-trials)"


JOB_LINES = (
    "adjudicate: blind grading of the attempts of a ledger (agent-trials)",
    "evaluate: official evaluation of the patches of a ledger (agent-trials)",
)


def deselected_line(count: int) -> str:
    """Return the line that says why attempts did not run."""
    return (
        f"{counted(count, 'attempt')} of studies deselected: -m names no phase"
        " (-m pilot rehearses at no cost)"
    )


def recorded_line(count: int) -> str:
    """Return the line that says which attempts were not run again."""
    return f"{counted(count, 'attempt')} deselected: the ledger holds them already (--resume)"


@dataclass(frozen=True)
class Options:
    """What the operator asked for, as written.

    ``roots`` and ``parameters`` keep malformed entries under ``malformed``. ``environ`` is a copy
    of the operator's environment; only named variables of it are ever looked at.
    """

    approve_budget: bool
    transport: str | None
    roots: Mapping[str, Path]
    ledger: Path | None
    prior_ledgers: tuple[Path, ...]
    claude_bin: str | None
    cli_version: str | None
    attempt_usd: str | None
    input_rate: str | None
    output_rate: str | None
    parameters: Mapping[str, str]
    malformed: tuple[str, ...]
    offset: int | None
    limit: int | None
    run_id: str | None
    sign: Path | None
    resume: bool
    providers: Path | None
    config_dir: Path | None
    mirrors: Path | None
    eval_reports: Mapping[str, Path]
    controls: bool
    replace_report: bool
    environ: Mapping[str, str] = field(repr=False)

    @property
    def model(self) -> str | None:
        """Return STUDY_MODEL, None where unset or empty."""
        return self.environ.get(MODEL) or None

    @property
    def cap(self) -> str | None:
        """Return STUDY_BUDGET_USD as written, None where unset."""
        return self.environ.get(CAP)


def read_options(config: pytest.Config, environ: Mapping[str, str]) -> Options:
    """Return the session's options; paths are taken relative to the folder of invocation."""
    option: Any = config.option
    base = config.invocation_params.dir
    roots, bad_roots = _pairs("--root", option.trials_roots)
    parameters, bad_parameters = _pairs("--param", option.trials_parameters)
    reports, bad_reports = _pairs("--eval-report", option.trials_eval_reports)
    return Options(
        approve_budget=option.trials_approve_budget,
        transport=option.trials_transport,
        roots={name: base / path for name, path in roots.items()},
        ledger=base / option.trials_ledger if option.trials_ledger else None,
        prior_ledgers=tuple(base / path for path in option.trials_prior_ledgers),
        claude_bin=option.trials_claude_bin,
        cli_version=option.trials_cli_version,
        attempt_usd=option.trials_attempt_usd,
        input_rate=option.trials_input_rate or environ.get(INPUT_RATE),
        output_rate=option.trials_output_rate or environ.get(OUTPUT_RATE),
        parameters=parameters,
        malformed=(*bad_roots, *bad_parameters, *bad_reports),
        offset=option.trials_offset,
        limit=option.trials_limit,
        run_id=option.trials_run_id,
        sign=base / option.trials_sign if option.trials_sign else None,
        resume=option.trials_resume,
        providers=base / option.trials_providers if option.trials_providers else None,
        config_dir=base / option.trials_config_dir if option.trials_config_dir else None,
        mirrors=base / option.trials_mirrors if option.trials_mirrors else None,
        eval_reports={name: base / path for name, path in reports.items()},
        controls=option.trials_controls,
        replace_report=option.trials_replace_report,
        environ=dict(environ),
    )


def _pairs(flag: str, written: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return ``KEY=VALUE`` entries as a mapping, and a sentence for each that is none."""
    pairs: dict[str, str] = {}
    malformed = []
    for entry in written:
        name, equals, value = entry.partition("=")
        if not (name and equals and value):
            malformed.append(f"{flag} {name or entry!r} is not NAME=VALUE")
        elif name in pairs:
            malformed.append(f"{flag} {name} is given twice")
        else:
            pairs[name] = value
    return pairs, malformed
