"""The report as Markdown: tables and sentences, every value escaped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agent_trials.results import evaluation_tables, review_tables
from agent_trials.results.provider_tables import tables
from agent_trials.results.render_html import STANDINGS
from agent_trials.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agent_trials.results.provider_tables import Table

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~&!])")
_MISSING = "missing"
_OF_AN_ARM = ("measured", "missing", "mean", "median", "p95")
_OF_AN_ATTEMPT = (
    "task", "repetition", "arm", "status", "grade", "problems", "chargedUsd", "costUsd",
    "inputTokens", "outputTokens", "toolCalls", "wallTimeMs",
)  # fmt: skip
_OF_A_TIER = (
    "above_prompt_tokens", "input", "output", "cache_read", "cache_write_5m", "cache_write_1h",
)  # fmt: skip


def render(document: Mapping[str, Any]) -> bytes:
    """Return the report."""
    text = "\n".join(_lines(document))
    return re.sub(r"\n{3,}", "\n\n", text).strip().encode("utf-8", "backslashreplace") + b"\n"


def escape(value: object) -> str:
    """Return a value on one line, with nothing in it that Markdown or HTML would read."""
    if value is None:
        return _MISSING
    return _SPECIAL.sub(r"\\\1", " ".join(str(value).split()))


def _lines(d: Mapping[str, Any]) -> Iterator[str]:
    yield from _top(d)
    for standing, heading, note in STANDINGS:
        yield from _endpoints(d, standing, heading, note)
    yield from _section("Arms", _arms(d))
    if found := tables(d["providers"]):
        yield from _section("Provider commands", _of_tables(found))
    if found := review_tables.tables(d["reviews"]):
        yield from _section(review_tables.HEADING, _of_tables(found))
    if found := evaluation_tables.tables(d["evaluation"]):
        yield from _section(evaluation_tables.HEADING, _of_tables(found))
    yield from _section("Flow of attempts", _items(one["says"] for one in d["flow"]))
    yield from _section("Grading", _grading(d))
    yield from _section("Pairs", _pairs(d))
    yield from _section("Attempts", _attempts(d))
    yield from _section("Runs", _runs(d))
    yield from _section("Deviations and amendments", _deviations(d))
    yield from _section("Isolation", _isolation(d["isolation"]))
    yield from _section("Preparation", _preparation(d["preparation"]))
    yield from _section("Prices", _prices(d["prices"]))
    yield from _section("Limits and threats", _limits(d))
    yield from _section("Digests", _digests(d))


def _top(d: Mapping[str, Any]) -> Iterator[str]:
    study, paid = d["study"], d["money"]
    yield f"# {escape(study['title'] or study['id'])}\n"
    if d["rehearsal"]:
        yield "**REHEARSAL. A scripted local model answered; nothing here says anything about the"
        yield "world.**\n"
    for statement in d["compares"]:
        yield f"**{escape(statement)}**\n"
    for verdict in d["verdicts"]:
        word = f"{'REHEARSAL: ' if d['rehearsal'] else ''}{verdict['outcome']}"
        yield f"**{escape(word)}.** {escape(verdict['sentence'])}\n"
    labels = d["labels"]
    bases = [f"cost: {each}" for each in labels["costBasis"]]
    words = [labels["declaration"], labels["correctness"], *bases, labels["cost"]]
    words += [labels["publication"], labels["mode"]]
    yield from _items(dict.fromkeys(word for word in words if word))
    yield ""
    alias = "" if study["immutableModel"] else " (an alias)"
    facts = {
        "ledger head": d["head"],
        "study and phase": f"{study['id']}, {study['phase']}",
        "model and transport": f"{study['model']}{alias}, {study['transport']}",
        "attempts": (
            f"{study['attempts']} planned in {counted(study['pairs'], 'pair')} of"
            f" {counted(study['tasks'], 'task')}"
        ),
        "time": f"{study['openedAt']} to {study['closedAt'] or 'an end that was not recorded'}",
        "money": (
            f"{paid['spentUsd']} USD spent, {paid['reservedUsd']} still reserved,"
            f" {paid['priorUsd']} in prior ledgers; cap {paid['capUsd']} USD"
        ),
    }
    yield from _table(("what", "value"), facts.items())


def _endpoints(d: Mapping[str, Any], standing: str, heading: str, note: str) -> Iterator[str]:
    rows = [
        (comparison, each)
        for comparison in d["comparisons"]
        for each in comparison["endpoints"]
        if each["standing"] == standing
    ]
    yield f"\n## {heading}\n"
    yield f"{note}\n" if rows else "None.\n"
    if not rows:
        return
    has_p = "signFlip" in rows[0][1]
    head = ["endpoint", "unit", "treatment", "control", "pairs", "tasks", "mean difference"]
    head += ["95 % interval", "ratio", "all planned pairs", "as delivered"]
    head += ["p", "p after Holm"] if has_p else []
    yield from _table(head, [_endpoint(comparison, each) for comparison, each in rows])
    if standing != "exploratory":
        yield ""
        yield from _table(
            ("endpoint", "arm", "measured", "missing", "mean", "median", "95th percentile"),
            [
                (each["label"], arm, *(of[name] for name in _OF_AN_ARM))
                for _, each in rows
                for arm, of in each["arms"].items()
            ],
        )
        yield ""
        yield from _items(_confounders(each) for _, each in rows)


def _endpoint(comparison: Mapping[str, Any], each: Mapping[str, Any]) -> list[object]:
    bounds, delivered = each["bounds"], each["delivered"]
    row = [each["label"], each["unit"], comparison["treatment"], comparison["control"]]
    row += [each["pairs"], each["tasks"], each["mean"], _interval(each["interval"])]
    row += [each["ratio"]["ratio"], f"{_end(bounds['lower'])} to {_end(bounds['upper'])}"]
    row += [f"{delivered['mean'] or _MISSING} ({delivered['pairs']} pairs)"]
    if "signFlip" in each:
        row += [each["signFlip"] and each["signFlip"]["p"], each["holmP"] or ""]
    return row


def _confounders(each: Mapping[str, Any]) -> str:
    warmth, found = each["warmth"], each.get("mcnemar")
    parts = [f"{each['label']}: running second adds {each['position']['effect'] or _MISSING}"]
    slope = warmth["reason"] or f"slope {warmth['slope']}"
    parts.append(f"cache warmth {slope}")
    if found:
        parts.append(
            f"exact McNemar p {found['p']} over {found['discordant']} discordant pairs of"
            f" {found['pairs']} (six, all one way, are the fewest that reach 0.05)"
        )
    return "; ".join(parts)


def _arms(d: Mapping[str, Any]) -> Iterator[str]:
    yield from _table(
        ("arm", "correct of planned", "95 % interval", "USD per correct outcome", "statuses"),
        [(name, *_right(of["correctOfPlanned"]), *_worth(of)) for name, of in d["arms"].items()],
    )


def _of_tables(found: Iterable[Table]) -> Iterator[str]:
    for each in found:
        yield f"\n### {escape(each.heading)}\n"
        yield from _table(each.head, each.rows)


def _worth(of: Mapping[str, Any]) -> tuple[str, str]:
    return of["costPerCorrect"]["says"], _counts(of["statuses"])


def _right(rate: Mapping[str, Any]) -> tuple[str, str]:
    interval = f"{_end(rate['lower'])} to {_end(rate['upper'])}"
    return f"{rate['successes']} of {rate['trials']}", interval


def _grading(d: Mapping[str, Any]) -> Iterator[str]:
    found = d["grading"]
    graders = [
        f"{g['grader']}: {g['model']} over {g['transport']}"
        + (", the same model as the agent's" if g.get("sameModelAsAgent") else "")
        for g in found["graders"]
    ]
    yield from _items(graders or ["nobody has graded yet; every answer is pending"])
    yield from _items([f"outcomes: {_counts(found['outcomes']) or 'none'}"])
    if one := found["agreement"]:
        alike = f"{one['agreed']} of {one['pairs']} alike, kappa {one['kappa'] or _MISSING}"
        yield from _items([f"two graders: {alike}"])
    yield from _items(
        f"Bang's blinding index of {arm}: {of['index']} ({of['lower']} to {of['upper']}),"
        f" {of['guesses']} guesses"
        for arm, of in found["blinding"].items()
    )


def _pairs(d: Mapping[str, Any]) -> Iterator[str]:
    yield from _table(
        ("pair", "task", "repetition", "order", "statuses", "note"),
        [
            (
                *(pair[name] for name in ("pair", "task", "repetition")),
                ", ".join(pair["order"]),
                ", ".join(pair["statuses"]),
                "half: in no paired figure" if pair["half"] else "",
            )
            for pair in d["pairs"]
        ],
    )


def _attempts(d: Mapping[str, Any]) -> Iterator[str]:
    rows = [row for each in d["attempts"] for row in _with_turns(each)]
    yield from _table(_OF_AN_ATTEMPT, rows)
    if d["superseded"]:
        yield "\nMade again, and counted in the money only:\n"
        again = ("task", "repetition", "arm", "status", "problems", "chargedUsd")
        yield from _table(again, [_attempt(each, again) for each in d["superseded"]])


def _with_turns(each: Mapping[str, Any]) -> Iterator[list[object]]:
    """Yield an attempt and, where it has several, its turns."""
    yield _attempt(each, _OF_AN_ATTEMPT)
    for turn in each["byTurn"] or ():
        place = {"task": f"turn {turn['turn']}", "grade": None}
        yield _attempt({**each, **turn, **place}, _OF_AN_ATTEMPT)


def _attempt(each: Mapping[str, Any], names: Iterable[str]) -> list[object]:
    values = {**each, "problems": ", ".join(each["problems"]), "grade": each.get("grade") or ""}
    return [values[name] for name in names]


def _runs(d: Mapping[str, Any]) -> Iterator[str]:
    names = ("run", "job", "mode", "phase", "openedAt", "closedAt", "stopped", "counts")
    yield from _table(
        names,
        [
            [
                ({**run, "counts": _counts(run["counts"]), "stopped": run["stopped"] or ""})[name]
                for name in names
            ]
            for run in d["runs"]
        ],
    )


def _deviations(d: Mapping[str, Any]) -> Iterator[str]:
    yield from _items(d["deviations"] or ["no deviation is recorded"])
    if d["amendments"] is None:
        yield from _items(["there is no lock: the study was not frozen"])
    for each in d["amendments"] or ():
        why = f": {each['reason']}" if each["reason"] else ""
        where = f" ({', '.join(each['changes'])})" if each["changes"] else ""
        when = f"{each['entry']} {each['number']}, {each['at']}"
        when += f", after {counted(each['attempts'], 'attempt')}"
        yield from _items([f"{when}{why}{where}"])


def _isolation(found: Mapping[str, Any]) -> Iterator[str]:
    version = f", Claude Code CLI {found['cliVersion']}" if found["cliVersion"] else ""
    yield f"Transport {escape(found['transport'] + version)}. Achieved:\n"
    yield from _items(found["achieved"])
    yield "\nNot achieved:\n"
    yield from _items(found["notAchieved"])


def _preparation(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"Cost: {escape(found['costSays'])}.\n"
    yield from _items([f"preflight: {_milliseconds(found['preflightMs'])}"])
    yield from _items(
        f"checkout of {each['repository']}: made in {_milliseconds(each['preparedMs'])}"
        for each in found["checkouts"]
    )
    yield from _items(
        f"set-up of the attempts' folders in {arm}: {of['totalMs']} ms over {of['attempts']}, the"
        f" longest {of['mostMs']} ms"
        for arm, of in found["setUp"].items()
    )
    yield from _items(
        f"{each['server']} in {each['arm']}: started in {_milliseconds(each['startMs'])}, index"
        f" {_milliseconds(each['indexMs'])}"
        for each in found["servers"]
    )
    yield from _blocks(found["stated"])


def _milliseconds(measured: int | None) -> str:
    return _MISSING if measured is None else f"{measured} ms"


def _prices(found: Mapping[str, Any]) -> Iterator[str]:
    if "prices" in found:
        tiers = [[tier[name] for name in _OF_A_TIER] for tier in found["prices"]]
        yield from _table(_OF_A_TIER, tiers)
        yield "\nUSD per million tokens.\n"
    if "input_usd_per_million" in found:
        rates = f"input {found['input_usd_per_million']}, output {found['output_usd_per_million']}"
        yield f"Upper rates: {escape(rates)} USD per million tokens.\n"
    if found["ofModels"]:
        yield "Of each arm and model, USD per million tokens:\n"
        yield from _items(found["ofModels"])
    if found["source"]:
        yield "The study says of them:\n"
        yield from _blocks(found["source"])
    else:
        yield f"{escape(found['sourceSays'])}.\n"


def _limits(d: Mapping[str, Any]) -> Iterator[str]:
    yield from _items(d["limits"])
    if d["threats"]:
        yield "\nAs the frozen protocol states them:\n"
        yield from _blocks(d["threats"])


def _digests(d: Mapping[str, Any]) -> Iterator[str]:
    names = ("name", "algorithm", "digest")
    yield from _table(("of", *names[1:]), [[each[n] for n in names] for each in d["digests"]])
    yield "\nMade with " + escape(", ".join(f"{n} {v}" for n, v in d["versions"].items())) + "."


def _section(heading: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"\n## {heading}\n"
    yield from lines


def _table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    names = [escape(name) for name in head]
    yield f"| {' | '.join(names)} |"
    yield f"|{' --- |' * len(names)}"
    for row in rows:
        yield f"| {' | '.join(escape(value) for value in row)} |"


def _items(words: Iterable[object]) -> Iterator[str]:
    return (f"- {escape(word)}" for word in words)


def _blocks(found: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for block in found:
        yield f"- {escape(block['text'])}" if block["item"] else f"\n{escape(block['text'])}\n"


def _counts(found: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in found.items())


def _interval(found: Mapping[str, str]) -> str:
    if "reason" in found:
        return f"none: {found['reason']}"
    return f"{found['lower']} to {found['upper']}"


def _end(text: str | None) -> str:
    return "no limit" if text is None else text
