"""A summary in words: JSON for programs, text for a terminal. Nothing private is in either."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.records import Cell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_trials.ledger.budget import Run
    from agent_trials.ledger.chain import Line
    from agent_trials.results.summary import GradeShown, Settled, Summary

_OF_THE_LINE = frozenset({"seq", "at", "event", "prev", "run", "private"})


def to_show_json(summary: Summary) -> dict[str, Any]:
    """Return what ``show --json`` prints; docs/show.schema.json describes it."""
    totals = summary.totals
    return {
        "run": {
            **_public(summary.runs[0].opening),
            "run": 1,
            "openedAt": summary.runs[0].opening["at"],
            "preflight": summary.preflight and _public(summary.preflight),
        },
        "runs": [_run(run) for run in summary.runs],
        "budget": {
            "capUsd": money.text(totals.cap),
            "priorUsd": money.text(totals.prior),
            "spentUsd": money.text(totals.spent),
            "reservedUsd": money.text(totals.reserved),
            "heldUsd": money.text(totals.held),
            "availableUsd": money.text(max(totals.available, money.ZERO)),
            "cumulativeCapExceeded": totals.cap_exceeded,
        },
        "observations": [_observation(each) for each in summary.settled],
        "unsettled": [_unsettled(line, summary) for line in summary.unsettled],
        "refused": [{**_place(line), "at": line.at} for line in summary.refused],
        "blocked": None if summary.blocked is None else [c.to_json() for c in summary.blocked],
        "halfPairs": [
            {
                "pair": each.pair,
                "settled": [cell.to_json() for cell in each.settled],
                "missing": [cell.to_json() for cell in each.missing],
            }
            for each in summary.half_pairs
        ],
        "grades": [_grade(each) for each in summary.grades],
        "evaluations": [{**_place(line), "at": line.at} for line in summary.evaluations],
        "head": summary.head,
        "open": summary.is_open,
        "tornBytes": summary.torn_bytes,
    }


def _run(run: Run) -> dict[str, Any]:
    stop = run.stop and {
        "reason": run.stop.reason,
        "cell": run.stop.cell.to_json() if run.stop.cell else None,
    }
    return {
        **{name: run.opening[name] for name in ("runId", "mode", "phase", "transport", "capUsd")},
        "run": run.number,
        "openedAt": run.opening["at"],
        "closedAt": run.closed_at,
        "stopped": stop,
        "counts": dict(run.counts),
    }


def _observation(settled: Settled) -> dict[str, Any]:
    place, reserved = _place(settled.line), settled.reserved
    del place["observation"]
    return {
        **place,
        "reservedAt": reserved.at,
        "settledAt": settled.line.at,
        "reservedUsd": reserved.fields["amountUsd"],
        "superseded": settled.is_superseded,
        **settled.line.fields["observation"],
    }


def _grade(shown: GradeShown) -> dict[str, Any]:
    """Return a grade by its blind id: whose it is stands in the openings alone."""
    settled = shown.settled
    return {
        **_public(shown.line.fields),
        "run": shown.line.run,
        "seq": shown.line.seq,
        "at": shown.line.at,
        "reason": settled.fields["reason"] if settled else None,
        "chargedUsd": settled.fields["chargedUsd"] if settled else "0",
    }


def _unsettled(line: Line, summary: Summary) -> dict[str, Any]:
    return {
        **_place(line),
        "at": line.at,
        "status": "in-flight" if line in summary.in_flight else "interrupted",
        "superseded": summary.is_repeated(line),
    }


def _place(line: Line) -> dict[str, Any]:
    return {**_public(line.fields), "run": line.run, "seq": line.seq}


def _public(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in _OF_THE_LINE}


def to_text(summary: Summary) -> str:
    """Return what ``show`` prints: runs, money, every attempt by what became of it, the head."""
    return "\n".join(_lines(summary)) + "\n"


def _lines(summary: Summary) -> Iterator[str]:
    opening = summary.runs[0].opening
    study = f" of {opening['study']}" if "study" in opening else ""
    yield f"{opening['mode'].upper()}: {opening['phase']}{study} over {opening['transport']}"
    yield f"series  {opening['seriesId']}"
    for run in summary.runs:
        yield f"run {run.number:<3} {_fate(run, summary)}"
    yield _money(summary)
    yield _counts(summary)
    for settled in summary.settled:
        observation = settled.line.fields["observation"]
        again = ", reserved again" if settled.is_superseded else ""
        yield _row(observation["status"], settled.cell, f"{observation['chargedUsd']} USD{again}")
    for line in summary.unsettled:
        state = "in flight" if line in summary.in_flight else "interrupted"
        again = ", reserved again" if summary.is_repeated(line) else ""
        kept = "" if state == "in flight" else ", cut off and never settled"
        figures = f"{line.fields['amountUsd']} USD reserved{kept}{again}"
        yield _row(state, Cell.from_json(line.fields), figures)
    yield from _judged(summary)
    for line in summary.refused:
        needed, available = line.fields["neededUsd"], line.fields["availableUsd"]
        why = f"needed {needed} USD of {available} USD left ({line.fields['reason']})"
        yield _row("refused", Cell.from_json(line.fields), why)
    for cell in summary.blocked or ():
        yield _row(_not_begun(summary), cell, "nothing was spent on it")
    for half in summary.half_pairs:
        missing = ", ".join(_name(cell) for cell in half.missing)
        yield f"half    pair {half.pair} is in no paired figure: {missing} is missing"
    if summary.torn_bytes:
        yield f"torn    {summary.torn_bytes} bytes behind the last line were never written"
    yield f"head    {summary.head}"


def _judged(summary: Summary) -> Iterator[str]:
    """Yield what graders and official evaluations came to."""
    for word, wanted in (("grades", False), ("controls", True)):
        lines = [each.line.fields for each in summary.grades]
        found = Counter(
            str(fields["outcome"]) for fields in lines if ("control" in fields) is wanted
        )
        if found:
            yield f"{word:<7} {', '.join(f'{found[name]} {name}' for name in sorted(found))}"
    for line in summary.evaluations:
        kind = "control" if "control" in line.fields else "arm"
        classes = Counter(line.fields["classes"].values())
        counts = ", ".join(f"{classes[name]} {name}" for name in sorted(classes))
        yield f"patches {kind} {line.fields[kind]}: {counts}"


def _fate(run: Run, summary: Summary) -> str:
    began = f"opened {run.opening['at']}"
    stop = f", stopped ({run.stop.reason})" if run.stop else ""
    if run.closed_at:
        return f"{began}{stop}, closed {run.closed_at}"
    if run is summary.runs[-1] and summary.is_open:
        return f"{began}{stop}, open"
    return f"{began}{stop}, ended without being closed"


def _money(summary: Summary) -> str:
    totals = summary.totals
    parts = [f"{money.text(totals.spent)} USD spent", f"{money.text(totals.reserved)} reserved"]
    if totals.held:
        parts.append(f"{money.text(totals.held)} held")
    if totals.prior:
        parts.append(f"{money.text(totals.prior)} in prior ledgers")
    left = money.text(max(totals.available, money.ZERO))
    exceeded = "; SPEND HAS PASSED THE CAP" if totals.cap_exceeded else ""
    return f"money   {', '.join(parts)}; cap {money.text(totals.cap)}, {left} left{exceeded}"


def _counts(summary: Summary) -> str:
    interrupted = Counter(interrupted=len(summary.interrupted))
    found = dict(sorted((summary.statuses + interrupted).items()))
    found["in flight"] = len(summary.in_flight)
    found["refused"] = len(summary.refused)
    found[_not_begun(summary)] = len(summary.blocked or ())
    shown = ", ".join(f"{count} {name}" for name, count in found.items() if count) or "none begun"
    unknown = "" if summary.blocked is not None else " (the planned cells were not opened)"
    return f"planned {summary.runs[0].opening['attempts']}: {shown}{unknown}"


def _not_begun(summary: Summary) -> str:
    return "to come" if summary.is_open and not summary.runs[-1].is_over else "blocked"


def _row(state: str, cell: Cell, figures: str) -> str:
    return f"  {state:<15} {_name(cell):<50} {figures}"


def _name(cell: Cell) -> str:
    return cell.item if cell.turn == 1 else f"{cell.item} turn {cell.turn}"
