"""The verdict of a ledger: by the rule that was frozen, or why there is none.

Looked at in this order:
    the frozen study cannot be read       not-decided
    the phase is not scored               not-scored
    the study brings a rule of its own    not-executed, unless its code is trusted;
                                          not-decided, where what it decides on was withheld
    the named rule                        incomplete, against, for, no-evidence
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_trials.errors import StudyError
from agent_trials.ledger.openings import Openings
from agent_trials.results import rules
from agent_trials.results.evidence import Evidence
from agent_trials.results.record import Fate
from agent_trials.results.reviewed_rows import SIDE_EVENTS, is_reviewed, reviewed
from agent_trials.results.rows_from_ledger import pairs
from agent_trials.results.rules import CORRECTNESS, HIGHER_IS_BETTER
from agent_trials.results.verdict import decide
from agent_trials.study.endpoints import RESOLVED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from decimal import Decimal

    from agent_trials.records import Cell
    from agent_trials.results.evidence import Finding
    from agent_trials.results.record import Record
    from agent_trials.results.report import Compared
    from agent_trials.results.reviewed import Reviewed
    from agent_trials.results.rows import Row
    from agent_trials.results.rows_from_ledger import Grade

OWN_RULE = "verdict.py"
EFFORT = "--effort"


def judge(
    record: Record,
    compared: Iterable[Compared],
    graded: Mapping[Cell, Grade],
    *,
    study_rule: Callable[[Evidence], Finding] | None = None,
) -> list[dict[str, Any]]:
    """Return one verdict for each comparison; one without arms where there is no comparison."""
    every = tuple(compared)
    if not every:
        problem = record.frozen.problem
        return [_none("not-decided", f"No verdict: the frozen study is not known ({problem}).")]
    return [_judged(record, each, graded, study_rule) for each in every]


def _judged(
    record: Record,
    compared: Compared,
    graded: Mapping[Cell, Grade],
    study_rule: Callable[[Evidence], Finding] | None,
) -> dict[str, Any]:
    manifest = record.frozen.manifest
    if manifest is None:
        raise RuntimeError("a verdict on a study that was not read")
    arms = {"control": compared.control.id, "treatment": compared.treatment.id}
    if record.opening.get("scored") is False:
        phase = record.opening["phase"]
        words = f"No verdict: the phase {phase} is not scored and never counts towards one."
        return _none("not-scored", _rehearsed(record, words)) | arms
    if OWN_RULE in record.frozen.files and study_rule is None:
        words = (
            "No verdict: the study decides by its own verdict.py, which was not executed. Read it,"
            " and give --trust-study-code to run it."
        )
        return _none("not-executed", _rehearsed(record, words)) | arms
    if study_rule is not None and (lacking := _withheld(record, {*arms.values()})):
        words = (
            f"No verdict: what the product under trial said was withheld in {lacking} turns, and"
            " the study's rule decides on it."
        )
        return _none("not-decided", _rehearsed(record, words)) | arms
    try:
        rule = rules.read(
            manifest.verdict.rule,
            manifest.verdict.thresholds,
            primary=manifest.endpoints.primary,
            p_values=manifest.endpoints.p_values,
        )
    except StudyError as error:
        return (
            _none("not-decided", f"No verdict: the registered rule does not fit ({error}).") | arms
        )
    found = decide(rule, _evidence(record, compared, graded), finder=study_rule)
    return arms | {
        "outcome": found.outcome.value,
        "sentence": found.sentence,
        "reasons": list(found.reasons),
        "figures": dict(found.figures),
        "rule": OWN_RULE if study_rule else manifest.verdict.rule,
    }


def _evidence(record: Record, compared: Compared, graded: Mapping[Cell, Grade]) -> Evidence:
    manifest = record.frozen.manifest
    registered = manifest.endpoints if manifest else None
    counts = registered and HIGHER_IS_BETTER & {*registered.primary, *registered.secondary}
    arms = {compared.control.id, compared.treatment.id}
    pending = sum(grade.is_pending for cell, grade in graded.items() if cell.arm in arms)
    stop = record.summary.runs[0].stop
    reviewing = manifest is not None and is_reviewed(manifest)
    return Evidence(
        control=compared.control.id,
        treatment=compared.treatment.id,
        rows=_decided_on(compared.rows),
        pending=pending if counts else 0,
        stopped=stop.reason if stop else None,
        rehearsal=record.is_rehearsal,
        reviewed=_reviewed(record, arms) if reviewing else (),
        review_soft_cap=_soft_cap(compared),
        facts=_facts(record),
        owed=_owed(record, arms),
        undecided=_undecided(record, arms),
    )


def _decided_on(rows: Mapping[str, tuple[Row, ...]]) -> Mapping[str, tuple[Row, ...]]:
    """Return the rows with ``resolved`` as what is correct, where patches are evaluated."""
    return {**rows, CORRECTNESS: rows[RESOLVED]} if RESOLVED in rows else rows


def _reviewed(record: Record, arms: set[str]) -> tuple[Reviewed, ...]:
    """Return the attempts of two arms, as far as both of a pair were run to their end."""
    manifest = record.frozen.manifest
    if manifest is None:
        return ()
    whole = [
        each
        for pair in pairs(record.attempts)
        if all(one.fate is Fate.SETTLED for one in pair if one.cell.arm in arms)
        for each in pair
        if each.cell.arm in arms
    ]
    return reviewed(whole, manifest, Openings(record.path))


def _owed(record: Record, arms: set[str]) -> int:
    """Return how many attempts lack the further turn that a checker asked for."""
    manifest = record.frozen.manifest
    if manifest is None or manifest.follow_up is None:
        return 0
    return sum(
        len(each.turns) == 1 and (each.turns[0].get("checker") or {}).get("passed") is False
        for each in record.attempts
        if each.cell.arm in arms
    )


def _undecided(record: Record, arms: set[str]) -> int:
    """Return how many attempts of a trial with checkers were run and have no verdict of theirs."""
    manifest = record.frozen.manifest
    if manifest is None or manifest.tree is None:
        return 0
    last = [each.turns[-1] for each in record.attempts if each.turns and each.cell.arm in arms]
    return sum((turn.get("checker") or {}).get("passed") is None for turn in last)


def _withheld(record: Record, arms: set[str]) -> int:
    """Return in how many turns a product was called of which nothing that it said was kept."""
    openings = Openings(record.path)
    return sum(
        bool((turn.get("sideCosts") or {}).get("calls"))
        and openings.find(line, SIDE_EVENTS) is None
        for each in record.attempts
        if each.cell.arm in arms
        for turn, line in zip(each.turns, each.lines, strict=False)
    )


def _soft_cap(compared: Compared) -> Decimal | None:
    side = compared.treatment.side_costs or compared.control.side_costs
    return side.soft_cap_usd if side else None


def _facts(record: Record) -> dict[str, str]:
    """Return what a claim's scope names, as the attempts showed it."""
    turns = [turn for each in record.attempts for turn in each.turns]
    models = sorted({str(turn.get("resolvedModel") or turn["model"]) for turn in turns})
    versions = sorted({str(turn["cliVersion"]) for turn in turns if turn.get("cliVersion")})
    found = {"actor": " and ".join(models), "cli": " and ".join(versions)}
    manifest = record.frozen.manifest
    cli = manifest.transports.cli if manifest else None
    if cli and EFFORT in cli.arguments[:-1]:
        effort = cli.arguments[cli.arguments.index(EFFORT) + 1]
        found["actor"] += f" at effort {effort}"
    if engines := record.opening.get("engineDigests"):
        found["product"] = ", ".join(
            str(engine.get("digest") or engine.get("revision")) for engine in engines.values()
        )
    return {name: text for name, text in found.items() if text}


def _none(outcome: str, sentence: str) -> dict[str, Any]:
    return {
        "control": None,
        "treatment": None,
        "outcome": outcome,
        "sentence": sentence,
        "reasons": [],
        "figures": {},
        "rule": None,
    }


def _rehearsed(record: Record, words: str) -> str:
    return f"REHEARSAL, says nothing of the world. {words}" if record.is_rehearsal else words
