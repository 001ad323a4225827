"""What the terminal shows of a run: header, a line per attempt, a summary. Pure text.

Never an answer, a key or a prompt. A rehearsal says so in every part.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from agent_trials import money
from agent_trials.study import asked, phases, schedule
from agent_trials.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from agent_trials.ledger.prior import PriorLedger
    from agent_trials.results.summary import Summary
    from agent_trials.session.admission import RunPlan
    from agent_trials.session.resuming import Recorded
    from agent_trials.session.run import Settled
    from agent_trials.study.frozen import Frozen
    from agent_trials.study.settings import Manifest

TOKENS = (
    ("input", "inputTokens"),
    ("cache read", "cacheReadInputTokens"),
    ("cache write", "cacheCreationInputTokens"),
    ("output", "outputTokens"),
)
NOT_CLOSED = "agent-trials: NOT CLOSED"
REHEARSAL = "REHEARSAL (scripted local model, no cost)"


def heading(plan: RunPlan, head: str) -> list[str]:
    """Return the header lines of a run that may start."""
    mode = "PAID RUN" if plan.mode == "paid" else REHEARSAL
    series = f"{plan.frozen.series_id} ({standing(plan.frozen)})"
    attempts = counted(len(plan.remaining), "attempt")
    total = money.text(plan.total_usd(plan.remaining))
    cap = money.text(plan.cap_usd)
    return [
        f"agent-trials: {mode}: {plan.name}, {attempts} over {plan.transport}",
        f"agent-trials: reserves at most {total} USD, cap {cap} USD, series {series}",
        *_further(plan, total),
        f"agent-trials: head {head}",
        *(f"agent-trials: {line}" for line in changed(plan.frozen)),
        *(f"agent-trials: {line}" for line in compared(plan.study.manifest, plan.phase)),
        *(f"agent-trials: {line}" for line in phases.sampled(plan.study.manifest, plan.phase)),
        *(f"agent-trials: {line}" for prior in plan.priors for line in _prior(prior)),
        *_required(plan),
    ]


def _further(plan: RunPlan, total: str) -> list[str]:
    """Return what further turns reserve at most, where the study has them."""
    if plan.study.manifest.follow_up is None:
        return []
    return [f"agent-trials: follow-up turns reserve at most as much again ({total} USD)"]


def standing(frozen: Frozen) -> str:
    """Return in a word or two how the study stands against its lock."""
    if not frozen.frozen:
        return "not frozen"
    state = f"frozen, amendment {frozen.amendment}" if frozen.amendment else "frozen"
    return f"{state}, CHANGED SINCE" if frozen.changed else state


def changed(frozen: Frozen) -> list[str]:
    """Return the line that names what differs from the lock; none where nothing does."""
    if not frozen.changed:
        return []
    return [f"changed since the freeze: {', '.join(frozen.changed)}; a paid run needs an amendment"]


def compared(manifest: Manifest, phase: str) -> list[str]:
    """Return what a reader must know where arms differ in model or transport, or models are many.

    Loud, because the difference between arms is then that of what is named here.
    """
    lines = []
    if manifest.agent.compares:
        words = " AND ".join(each.upper() for each in manifest.agent.compares)
        each = [
            f"{arm.id} = {', '.join(word for word in (arm.transport, arm.model) if word)}"
            for arm in manifest.arms
        ]
        lines.append(f"THE ARMS DIFFER IN {words}, which is what is compared: {'; '.join(each)}")
    if slots := asked.phase_models(manifest, phase):
        named = ", ".join(f"{slot.id} = {slot.model}" for slot in slots)
        lines.append(f"every task is asked of {counted(len(slots), 'model')}: {named}")
    return lines


def resuming(plan: RunPlan, recorded: Recorded) -> list[str]:
    """Return the header line of a ledger that is gone on with: what it holds, what is left."""
    counts = ", ".join(f"{count} {status}" for status, count in sorted(recorded.counts.items()))
    held = f"{len(recorded.kept)} of {len(plan.attempts)} attempts are recorded"
    left = f"{len(plan.remaining)} to run" if plan.remaining else "nothing is left to run"
    if counts:
        held += f" ({counts})"
    return [f"agent-trials: resumes {plan.name}: {held}, {left}; ledger {recorded.path}"]


def _required(plan: RunPlan) -> list[str]:
    """Return what a paid run of the phase would need, for a rehearsal that needs nothing."""
    required = plan.study.manifest.phases[plan.phase].requires
    if plan.mode == "paid" or not required:
        return []
    line = (
        f"agent-trials: a paid run of {plan.phase} needs --prior-ledger of a closed {required} run"
        " with every attempt completed"
    )
    return [line]


def _prior(prior: PriorLedger) -> list[str]:
    """Return what an earlier ledger showed: spend, cost per attempt, tokens, CLI, MCP check."""
    costs = ", ".join(money.text(each.charged) for each in prior.attempts) or "none"
    observations = [each.observation for each in prior.attempts]
    attempts = counted(len(observations), "attempt")
    preflight = prior.preflight or {}
    servers = [
        f"{server['server']} in {server['arm']} for {server['checkout']}"
        f" ({len(server['tools'])} tools)"
        for server in preflight.get("servers", ())
    ]
    checked = f"passed by {', '.join(servers)}" if servers else "no server"
    return [
        f"prior {prior.phase}: spent {money.text(prior.spent)} USD in {attempts}",
        f"prior {prior.phase}: charged per attempt {costs} USD; tokens {_sums(observations)}",
        f"prior {prior.phase}: CLI {preflight.get('cliVersion') or 'none'}, MCP check: {checked}",
    ]


def attempt_line(settled: Settled) -> str:
    """Return the line of one attempt: how it ended, the money, the time."""
    problems = f" ({', '.join(settled.problems)})" if settled.problems else ""
    rehearsal = " REHEARSAL" if settled.rehearsal else ""
    line = (
        f"{settled.item}  {settled.status}{problems}  spent {settled.spent}, reserved"
        f" {settled.reserved}, cap {settled.cap} USD  {settled.elapsed_ms / 1000:.1f} s{rehearsal}"
    )
    after = [f"  after this pair: {settled.pair}"] if settled.pair else []
    return "\n".join([line, *(f"  {note}" for note in settled.notes), *after])


def summary(plan: RunPlan, found: Summary, path: Path) -> tuple[str, list[str]]:
    """Return title and lines of what a run came to; the ledger's path is the last line."""
    mode = "PAID RUN" if plan.mode == "paid" else REHEARSAL
    totals = found.totals
    lines = [f"{plan.name}: {_counts(found)}"]
    lines += [f"  {line}" for line in phases.sampled(plan.study.manifest, plan.phase)]
    lines += [f"  {arm}: {_tally(rows)}" for arm, rows in _by_arm(found).items()]
    lines.append(f"tokens: {_sums([each.line.fields['observation'] for each in found.settled])}")
    lines.append(
        f"spent {money.text(totals.spent)}, reserved {money.text(totals.reserved)}, prior"
        f" {money.text(totals.prior)}, cap {money.text(totals.cap)} USD"
    )
    if totals.cap_exceeded:
        lines.append("cumulativeCapExceeded: spend has passed the cap")
    lines += _stops(found)
    lines += _extrapolation(plan, found)
    lines += [f"head {found.head}", str(path)]
    return f"agent-trials: {mode}: {plan.name}", lines


def unclosed(name: str, error: Exception) -> str:
    """Return what to say of a run whose ledger cannot be closed."""
    return (
        f"{name} is not closed: {error}; what was reserved and not settled stays reserved, and its"
        " ledger is given to the next run as --prior-ledger"
    )


def _counts(found: Summary) -> str:
    parts = {
        **(found.statuses + Counter(interrupted=len(found.interrupted))),
        "in flight": len(found.in_flight),
        "refused": len(found.refused),
        "blocked": len(found.blocked or ()),
    }
    said = ", ".join(f"{count} {name}" for name, count in parts.items() if count)
    further = sum(each.cell.turn > 1 for each in found.settled)
    return (said or "nothing begun") + (f" ({further} of them further turns)" if further else "")


def _by_arm(found: Summary) -> dict[str, list[str]]:
    arms: dict[str, list[str]] = {}
    for each in found.settled:
        arms.setdefault(each.cell.arm, []).append(each.line.fields["observation"]["status"])
    return arms


def _tally(statuses: Sequence[str]) -> str:
    counts = {status: statuses.count(status) for status in dict.fromkeys(statuses)}
    return ", ".join(f"{count} {status}" for status, count in counts.items())


def _sums(observations: Sequence[Mapping[str, Any]]) -> str:
    """Return token sums over the attempts that state them; what none stated is missing."""
    shown = []
    for name, field in TOKENS:
        known = [each[field] for each in observations if each.get(field) is not None]
        missing = len(observations) - len(known)
        note = f" ({missing} missing)" if known and missing else ""
        shown.append(f"{name} {sum(known) if known else 'missing'}{note}")
    return ", ".join(shown)


def _stops(found: Summary) -> list[str]:
    return [
        f"stopped: {run.stop.reason}{f' at {run.stop.cell.item}' if run.stop.cell else ''}"
        for run in found.runs
        if run.stop
    ]


def _extrapolation(plan: RunPlan, found: Summary) -> list[str]:
    """Return what the other phases would cost at this one's average; only of a whole phase."""
    if found.statuses.get("completed", 0) != len(plan.attempts):
        return []
    lines = []
    for phase, settings in plan.study.manifest.phases.items():
        if settings.requires != plan.phase:
            continue
        count = len(schedule.plan(plan.study.manifest, phase))
        ratio = Decimal(count) / len(plan.attempts)
        total = money.text(money.charge(found.totals.spent * ratio))
        lines.append(
            f"extrapolation: {phase} has {counted(count, 'attempt')}, this times"
            f" {ratio.normalize():f} is {total} USD; no bound: other tasks may cost more"
        )
    return lines


def dry_run(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the dry run's summary: one block per study and phase."""
    lines = []
    for row in rows:
        lines.append(f"{row['name']}: {row['attempts']} ({row['shape']}), arms {row['arms']}")
        for facts in ("compared", "sampled", "changed"):
            lines += [f"  {line}" for line in row.get(facts, "").splitlines()]
        lines.append(f"  reserves at most {row['reserved']} USD; cap {row['cap']}; {row['series']}")
        if row.get("checkouts"):
            lines.append(f"  repositoriesChecked: {row['checkouts']}")
        lines += ["  networkCalls: 0", "  claudeProcesses: 0"]
    return lines


def failure(settled: Settled) -> str:
    """Return the one sentence of an attempt that did not complete."""
    why = f" ({', '.join(settled.problems)})" if settled.problems else ""
    return (
        f"{settled.item}: {settled.status}{why}; the details are private, beside the ledger"
        " (agent-trials report LEDGER --into DIR --private)"
    )
