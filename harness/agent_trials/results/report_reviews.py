"""What reports say of turns, checkers, stops and reviews, as one JSON value.

Every turn that was run stands in it, every reason that a review gave, every requirement that a tree
lacks, and the commitments to what was kept of it. Paths of the machine are taken out of reasons.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.ledger.openings import Openings
from agent_trials.results.interventions import credited, looked_again, missed, unnecessary
from agent_trials.results.numbers import text
from agent_trials.results.reviewed import run_cost
from agent_trials.results.reviewed_arms import arm_figures, drops
from agent_trials.results.reviewed_rows import reviewed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal

    from agent_trials.ledger.chain import Line
    from agent_trials.results.interventions import Intervention
    from agent_trials.results.numbers import Number
    from agent_trials.results.record import Record
    from agent_trials.results.reviewed import Review, Reviewed, Stop, Turn
    from agent_trials.results.reviewed_arms import ArmFigures
    from agent_trials.study.settings import Manifest

MOST_CHARACTERS = 2000
_PATH = re.compile(r"(?<![\w.~-])/(?:[\w.@+~-]+/)+[\w.@+~-]*")


def reviews(record: Record) -> dict[str, Any] | None:
    """Return what turns, stops and reviews came to; None where no checker looked at anything."""
    manifest = record.frozen.manifest
    if manifest is None or not any(
        turn.get("checker") for each in record.attempts for turn in each.turns
    ):
        return None
    attempts = reviewed(record.attempts, manifest, Openings(record.path))
    cap = _soft_cap(manifest)
    arms = list(dict.fromkeys(each.arm for each in attempts))
    return {
        "softCapUsd": money.text(cap) if cap else None,
        "arms": {arm: _arm(arm_figures(attempts, arm, soft_cap=cap or 0)) for arm in arms},
        "credited": [_intervention(each) for each in credited(attempts)],
        "unnecessary": [_intervention(each) for each in unnecessary(attempts)],
        "missed": [_intervention(each) for each in missed(attempts)],
        "secondReviews": [
            {"task": each.task, "arm": each.arm, "wholeRequest": looked_again(each)}
            for each in attempts
            if any(len(turn.reviews) > 1 for turn in each.turns)
        ],
        "drops": [asdict(each) for each in drops(attempts, arms)],
        "attempts": [
            _attempt(each, ledger.lines, ledger.turns, cap)
            for each, ledger in zip(attempts, record.attempts, strict=True)
            if each.turns
        ],
    }


def public(reason: str | None) -> str | None:
    """Return a reason as it may be shown: without paths of the machine, and not endless."""
    if reason is None:
        return None
    plain = "".join(letter if letter.isprintable() else " " for letter in reason)
    return _PATH.sub("[path]", plain)[:MOST_CHARACTERS]


def _soft_cap(manifest: Manifest) -> Decimal | None:
    return next((arm.side_costs.soft_cap_usd for arm in manifest.arms if arm.side_costs), None)


def _arm(found: ArmFigures) -> dict[str, Any]:
    return {
        "attempts": found.attempts,
        "passes": found.passes,
        "firstTurnPasses": found.first_passes,
        "undecided": found.undecided,
        "costPerCorrect": str(found.per_correct),
        "spentUsd": text(found.spent),
        "onReviewsUsd": text(found.on_reviews),
        "reviews": found.reviews,
        "reviewsWithoutCost": found.uncosted,
        "followUps": found.follow_ups,
        "tokens": dict(found.tokens),
        "toolCalls": found.tool_calls,
        "wallTimeMs": found.wall_ms,
    }


def _intervention(found: Intervention) -> dict[str, Any]:
    return {
        "task": found.task,
        "arm": found.arm,
        "turn": found.turn,
        "stop": found.stop,
        "reason": public(found.reason),
        "lacking": list(found.failed),
        "harmful": found.harmful,
        "reviewUsd": _usd(found.review_cost),
        "reviewMs": found.review_wall_ms,
        "agentUsdAtLeast": _usd(found.agent_cost),
        "agentMs": found.agent_wall_ms,
    }


def _attempt(
    attempt: Reviewed,
    lines: Iterable[Line],
    observations: Iterable[Mapping[str, Any]],
    cap: Decimal | None,
) -> dict[str, Any]:
    return {
        "task": attempt.task,
        "arm": attempt.arm,
        "passed": attempt.passed,
        "runUsd": _usd(run_cost(attempt, cap or 0)),
        "turns": [
            _turn(turn, line, observation)
            for turn, line, observation in zip(attempt.turns, lines, observations, strict=True)
        ],
    }


def _turn(turn: Turn, line: Line, observation: Mapping[str, Any]) -> dict[str, Any]:
    checked = observation.get("checker") or {}
    return {
        "status": turn.status,
        "passed": turn.passed,
        "lacking": list(turn.failed),
        "checkerProblem": checked.get("problem"),
        "placeOfCheckerSeen": checked.get("pathHits"),
        "agentUsd": _usd(turn.cost),
        "stops": [_stop(stop) for stop in turn.stops],
        "furtherReviews": [_review(review) for review in turn.extra_reviews],
        "sideCosts": observation.get("sideCosts"),
        "treeDigest": observation.get("treeDigest"),
        "line": line.seq,
        "commitments": dict(line.fields.get("private", {})),
    }


def _stop(stop: Stop) -> dict[str, Any]:
    return {
        "passed": stop.passed,
        "lacking": list(stop.failed),
        "review": _review(stop.review) if stop.review else None,
    }


def _review(review: Review) -> dict[str, Any]:
    return {
        "judgement": public(review.judgement),
        "delivered": review.delivered,
        "citesValidly": review.cites_validly,
        "reason": public(review.reason),
        "usd": _usd(review.cost),
        "ms": review.wall_ms,
        "scope": public(review.scope),
    }


def _usd(amount: Number | None) -> str | None:
    return None if amount is None else text(amount)
