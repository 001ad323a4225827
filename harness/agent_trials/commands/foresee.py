"""What a design can see before money is spent on it, and what it would cost at a pilot's prices."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING

from agent_trials.errors import LedgerError
from agent_trials.results import power, record, rows_from_ledger
from agent_trials.results.hypotheses import discordant_floor
from agent_trials.results.numbers import rounded, text
from agent_trials.results.rows import differences, measured
from agent_trials.study.endpoints import endpoints_of
from agent_trials.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_trials.results.record import Record
    from agent_trials.study.design import Design
    from agent_trials.study.settings import Manifest

ALPHA = Decimal("0.05")


def pilot(path: Path, manifest: Manifest) -> Record:
    """Return the record of a pilot's ledger.

    Raises:
        LedgerError: it is another study's, or its frozen study is not known.
    """
    found = record.read(path)
    if found.opening.get("study") != manifest.id:
        raise LedgerError(
            f"the ledger {path} is one of the study {found.opening.get('study')!r} and not of"
            f" {manifest.id!r}; give a pilot of this study"
        )
    if found.frozen.manifest is None:
        raise LedgerError(f"the pilot {path} tells nothing: {found.frozen.problem}")
    return found


def foreseen(manifest: Manifest, design: Design, of: Record | None) -> Iterator[str]:
    """Yield what is to be said of a scored phase, a line each.

    Args:
        manifest: the study.
        design: the phase.
        of: a pilot, from which spread and prices are taken; None without one.
    """
    if not design.whole:
        yield "no pair has every arm, so nothing is paired and there is no power to state"
    elif manifest.endpoints.p_values:
        yield from _power(manifest, design, of)
    else:
        yield "no test is registered (p_values = false), so there is no power to state"
    yield _cost(design, of)


def _power(manifest: Manifest, design: Design, of: Record | None) -> Iterator[str]:
    alpha = _threshold(manifest, "alpha", ALPHA)
    for endpoint in manifest.endpoints.primary:
        for name, spread in _spreads(of, endpoint):
            found = power.design(
                design.tasks,
                design.pairs // design.tasks,
                pilot=spread,
                alpha=alpha,
                minimum_difference=_minimum(manifest, endpoint),
            )
            yield f"{endpoint}{name}: {_smallest(found)}"
    floor = discordant_floor(Fraction(alpha))
    yield f"exact McNemar needs {floor} discordant pairs, all one way, for p <= {text(alpha)}"


def _minimum(manifest: Manifest, endpoint: str) -> Decimal:
    """Return what the registered rule asks of the mean at this endpoint besides a small p."""
    decides = manifest.verdict.thresholds.get("endpoint", manifest.endpoints.primary[0])
    nothing = Decimal(0)
    return _threshold(manifest, "minimum_difference", nothing) if endpoint == decides else nothing


def _threshold(manifest: Manifest, name: str, otherwise: Decimal) -> Decimal:
    """Return a registered threshold; one that is no number is reported by its own check."""
    written = manifest.verdict.thresholds.get(name)
    try:
        return Decimal(written) if written else otherwise
    except InvalidOperation:
        return otherwise


def _smallest(found: power.Design) -> str:
    at = f"at {text(100 * found.power)} % power"
    if found.standard_effect is None:
        return f"no effect is found {at}: {found.reason}"
    size = f"{text(found.standard_effect)} standard deviations of a task's mean difference"
    if found.effect == 0:
        return f"smallest effect {at} {size} (the pilot's differences do not vary)"
    if found.effect is None:
        return f"smallest effect {at} {size} ({found.reason})"
    return f"smallest effect {at} {text(found.effect)} ({size}, by the pilot's spread)"


def _spreads(of: Record | None, endpoint: str) -> Iterator[tuple[str, power.Spread | None]]:
    """Yield the pilot's spread in each comparison, named where there are several of them."""
    if of is None:
        yield "", None
        return
    if of.frozen.manifest is None:
        raise RuntimeError("a pilot whose study is not known")
    control, *treatments = of.frozen.manifest.arms
    graded = rows_from_ledger.grades_of(of)
    for treatment in treatments:
        rows = rows_from_ledger.rows(
            of.attempts,
            graded,
            control=control,
            treatment=treatment,
            endpoints=endpoints_of(of.frozen.manifest),
        )
        name = f" of {treatment.id}" if len(treatments) > 1 else ""
        yield name, power.spread(differences(rows.get(endpoint, ())))


def _cost(design: Design, of: Record | None) -> str:
    planned = f"{counted(design.pairs, 'pair')} ({counted(design.attempts, 'attempt')})"
    if of is None:
        return f"{planned} cost what a pilot shows; give its ledger with --ledger"
    costs = [measured(rows_from_ledger.cost(each)) for each in of.attempts]
    found = power.projected_cost(costs, design.attempts)
    if found is None:
        return f"{planned}: no projection, the pilot lacks the cost of an attempt"
    bias = "the pilot's tasks were not drawn, so this is no bound"
    rehearsal = "REHEARSAL, not a price: " if of.is_rehearsal else ""
    return f"{rehearsal}{planned} cost {text(rounded(found))} USD at the pilot's mean ({bias})"
