"""The parts of a report that stand in the ledger as they are: labels, attempts, money, digests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_trials import money as amounts
from agent_trials.results import evaluated, ways
from agent_trials.results.protocol_text import paragraphs, section
from agent_trials.results.rows_from_ledger import pairs
from agent_trials.study.phases import phase_arms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_trials.ledger.budget import Run
    from agent_trials.ledger.chain import Line
    from agent_trials.results.protocol_text import Block
    from agent_trials.results.record import Attempt, Record
    from agent_trials.results.rows_from_ledger import Grade
    from agent_trials.study.settings import Manifest

NOT_APPROVED = "publication: not approved"
_COSTS = ("costUsd", "costLowerUsd", "costUpperUsd")
_OF_AN_ATTEMPT = (
    "inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens", "toolCalls",
    "turns", "wallTimeMs",
)  # fmt: skip


def labels(record: Record) -> dict[str, Any]:
    """Return the words that stand beside every figure."""
    manifest, approved = record.frozen.manifest, record.approved
    bases = sorted(
        {str(t["costBasis"]) for each in record.attempts for t in each.turns if t.get("costBasis")}
    )
    return {
        "declaration": manifest.declaration if manifest else None,
        "correctness": (
            "resolved by the official evaluation; no human review was performed"
            if evaluated.is_evaluated(record)
            else "agent-adjudicated; no human review was performed"
        ),
        "costBasis": bases or ["no attempt has a cost"],
        "cost": "computed from counts and prices; not a billed amount",
        "publication": (
            NOT_APPROVED
            if approved is None
            else f"publication: approved by {approved.fields['by']} on {approved.at}"
        ),
        "mode": "REHEARSAL" if record.is_rehearsal else "paid",
    }


def study(record: Record) -> dict[str, Any]:
    """Return what was asked, of whom, when."""
    opening, manifest = record.opening, record.frozen.manifest
    return {
        "id": opening.get("study"),
        "title": manifest.title if manifest else None,
        "phase": opening["phase"],
        "scored": opening.get("scored"),
        "transport": opening["transport"],
        "model": opening.get("model"),
        "immutableModel": opening.get("immutableModel"),
        "amendment": opening.get("amendment"),
        "frozen": opening.get("frozen"),
        "openedAt": opening["at"],
        "closedAt": record.summary.runs[0].closed_at,
        "plannedAttempts": opening["attempts"],
        "attempts": len(record.attempts),
        "pairs": sum(len(pair) > 1 for pair in pairs(record.attempts)),
        "tasks": len({each.cell.task for each in record.attempts}),
        "arms": [a.id for a in phase_arms(manifest, opening["phase"])] if manifest else None,
        "endpoints": _registered(manifest) if manifest else None,
        "environment": opening.get("environment"),
    }


def _registered(manifest: Manifest) -> dict[str, Any]:
    registered = manifest.endpoints
    return {
        "primary": list(registered.primary),
        "secondary": list(registered.secondary),
        "pValues": registered.p_values,
        "rule": manifest.verdict.rule,
        "thresholds": dict(manifest.verdict.thresholds),
    }


def attempt(attempt: Attempt, grade: Grade | None) -> dict[str, Any]:
    """Return what an attempt showed in public, one line of the table: the sum of its turns.

    A turn's figures are its own, so each is counted once; ``byTurn`` has them where there are
    several.
    """
    charged = [turn["chargedUsd"] for turn in attempt.turns]
    return {
        "task": attempt.cell.task,
        "repetition": attempt.cell.repetition,
        "arm": attempt.cell.arm,
        "pair": attempt.pair,
        "position": attempt.position,
        "seq": attempt.lines[-1].seq if attempt.lines else None,
        "status": attempt.status,
        "problems": sorted({code for turn in attempt.turns for code in turn.get("problems", ())}),
        "grade": None if grade is None else grade.outcome,
        "gradeReason": None if grade is None else grade.reason,
        "reservedUsd": attempt.reserved.fields["amountUsd"] if attempt.reserved else None,
        "chargedUsd": amounts.text(amounts.total(*map(amounts.parse, charged)))
        if charged
        else None,
        **{name: _added(attempt, name) for name in (*_COSTS, *_OF_AN_ATTEMPT)},
        "byTurn": _by_turn(attempt) if len(attempt.turns) > 1 else None,
    }


def _added(attempt: Attempt, name: str) -> Any:  # noqa: ANN401 - a count or money as text
    """Return the sum of a figure over the turns; None where one of them does not have it."""
    found = [turn.get(name) for turn in attempt.turns]
    if None in found or not found:
        return None
    if name in _COSTS:
        return amounts.text(amounts.total(*map(amounts.parse, found)))
    return sum(found)


def _by_turn(attempt: Attempt) -> list[dict[str, Any]]:
    names = ("chargedUsd", *_COSTS, *_OF_AN_ATTEMPT)
    return [
        {
            "turn": line.fields["turn"],
            "seq": line.seq,
            "status": turn["status"],
            "problems": list(turn.get("problems", ())),
            **{name: turn.get(name) for name in names},
        }
        for line, turn in zip(attempt.lines, attempt.turns, strict=True)
    ]


def superseded(line: Line) -> dict[str, Any]:
    """Return an attempt whose cell was made again; its money counts."""
    observation = line.fields["observation"]
    return {
        **{name: line.fields[name] for name in ("task", "arm", "repetition", "turn")},
        "seq": line.seq,
        "status": observation["status"],
        "problems": observation["problems"],
        "chargedUsd": observation["chargedUsd"],
    }


def money(record: Record) -> dict[str, Any]:
    """Return the sums of the ledger."""
    totals = record.summary.totals
    return {
        "capUsd": amounts.text(totals.cap),
        "priorUsd": amounts.text(totals.prior),
        "spentUsd": amounts.text(totals.spent),
        "reservedUsd": amounts.text(totals.reserved),
        "cumulativeCapExceeded": totals.cap_exceeded,
        "attemptUsd": record.opening.get("attemptUsd"),
        "priorLedgers": list(record.opening.get("priorLedgers", ())),
    }


def run(run: Run) -> dict[str, Any]:
    """Return one run of the ledger."""
    names = ("runId", "mode", "phase", "transport", "capUsd", "runnerDigest")
    return {
        "run": run.number,
        "job": run.opening.get("job", "attempts"),
        **{name: run.opening.get(name) for name in names},
        "openedAt": run.opening["at"],
        "closedAt": run.closed_at,
        "stopped": run.stop.reason if run.stop else None,
        "counts": dict(run.counts),
    }


def preparation(record: Record) -> dict[str, Any]:
    """Return what it took to prepare the study, as far as it was measured or is stated."""
    found = record.summary.preflight or {}
    return {
        "costUsd": None,
        "costSays": "missing: no money was counted for preparing the study, only the times below",
        "checkouts": [
            {"repository": each.get("repository"), "preparedMs": each.get("preparedMs")}
            for each in found.get("corpora", ())
        ],
        "setUp": _set_up(record),
        "preflightMs": found.get("totalMs"),
        "sealedMs": found.get("sealedMs"),
        "servers": [
            {
                name: each.get(name)
                for name in ("arm", "server", "startMs", "callMs", "indexMs", "tools", "allow")
            }
            for each in found.get("servers", ())
        ],
        "stated": blocks(section(protocol(record), "preparation", "set-up", "setup")),
    }


def _set_up(record: Record) -> dict[str, dict[str, int]]:
    """Return how long the set-up of the attempts' folders took in each arm, where it was timed."""
    found: dict[str, list[int]] = {}
    for each in record.attempts:
        for turn in each.turns:
            if turn.get("setupMs") is not None:
                found.setdefault(each.cell.arm, []).append(turn["setupMs"])
    return {
        arm: {"attempts": len(of), "totalMs": sum(of), "mostMs": max(of)}
        for arm, of in found.items()
    }


def prices(record: Record) -> dict[str, Any]:
    """Return the price table with what the study says of its source."""
    settings = record.opening.get("transportSettings", {})
    names = ("input_usd_per_million", "output_usd_per_million", "prices", "tier_rule")
    stated = blocks(paragraphs(protocol(record), "Prices"))
    return {
        **{name: settings[name] for name in (*names, "web_search_usd") if name in settings},
        "ofModels": ways.rates(record.opening),
        "source": stated or None,
        "sourceSays": None if stated else "source and date of the prices: not stated by the study",
    }


def digests(record: Record) -> list[dict[str, str]]:
    """Return every digest with its algorithm."""
    opening = record.opening
    named = {
        "provider commands": opening.get("providersDigest"),
        "series (folder at its first freeze)": opening["seriesId"],
        "folder": opening.get("folderDigest"),
        "schedule": opening.get("scheduleDigest"),
        "runner": opening.get("runnerDigest"),
        **{f"engine {name}": each for name, each in opening.get("engineDigests", {}).items()},
        **{f"corpus {name}": each for name, each in opening.get("corpora", {}).items()},
        **{f"pin {name}": f"sha1:{pin}" for name, pin in opening.get("pins", {}).items()},
        **{f"commitment {name}": each for name, each in opening.get("private", {}).items()},
        "last line": record.summary.head.partition(":")[2],
    }
    for server in (record.summary.preflight or {}).get("servers", ()):
        if server.get("definitions"):
            named[f"tools of {server['server']} in {server['arm']}"] = server["definitions"]
    for grader in (record.grades.rules or {}).get("graders", ()):
        named[f"configuration of {grader['grader']}"] = grader.get("configurationDigest")
    return [
        {"name": name, "algorithm": str(each).partition(":")[0], "digest": str(each)}
        for name, each in named.items()
        if each
    ]


def protocol(record: Record) -> str:
    """Return the frozen protocol, empty where there is none."""
    return record.frozen.files.get("PROTOCOL.md", "")


def blocks(found: Iterable[Block]) -> list[dict[str, Any]]:
    """Return blocks of text as they stand in a summary."""
    return [each.to_json() for each in found]
