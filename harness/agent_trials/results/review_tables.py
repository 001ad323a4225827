"""What a report shows of turns, stops and reviews: tables of words, the same in every rendering."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_trials.results.provider_tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HEADING = "Turns, stops and reviews"
ARTIFACTS = frozenset({"transcript", "tree", "stops", "checker", "sideEvents"})
"""What is shown of the commitments of a turn; the JSON value has all."""
_ARM = (
    "arm", "attempts", "passes", "first-turn passes", "follow-ups", "USD per correct outcome",
    "USD spent", "of it on reviews", "reviews", "without a cost",
)  # fmt: skip
_USE = (
    "arm", "input tokens", "output tokens", "cache reads", "cache writes", "tool calls",
    "wall time ms",
)  # fmt: skip
_INTERVENTION = (
    "task", "arm", "turn", "stop", "lacking", "harmful", "review USD", "review ms",
    "agent USD, at least", "agent ms", "reason",
)  # fmt: skip
_TURN = (
    "task", "arm", "turn", "status", "checker", "lacking", "stops", "agent USD", "tree",
)  # fmt: skip
_REVIEW = (
    "task", "arm", "turn", "stop", "snapshot", "judgement", "delivered", "ids", "USD", "scope",
    "reason",
)  # fmt: skip


def tables(found: Mapping[str, Any] | None) -> list[Table]:
    """Return what a report shows; nothing where no checker looked at a tree."""
    if found is None:
        return []
    arms = found["arms"]
    named = [
        Table("By arm", _ARM, tuple(_arm(arm, of) for arm, of in arms.items())),
        Table("Tokens, calls and time", _USE, tuple(_use(arm, of) for arm, of in arms.items())),
    ]
    for key, heading in (
        ("credited", "Repairs to a review's credit"),
        ("unnecessary", "Unnecessary interventions"),
        ("missed", "Failing stops that a review let pass"),
    ):
        if any(of["reviews"] for of in arms.values()):
            named.append(Table(heading, _INTERVENTION, _interventions(found[key])))
    again = tuple(
        (each["task"], each["arm"], _said(each["wholeRequest"])) for each in found["secondReviews"]
    )
    if again:
        head = ("task", "arm", "second review looked at the whole request again")
        named.append(Table("Second reviews", head, again))
    return [
        *named,
        Table("Requirements that trees lacked", _DROP, _drops(found["drops"])),
        Table("Turns", _TURN, tuple(_turns(found["attempts"]))),
        *_reviews(found["attempts"]),
        Table("Commitments to what was kept", _KEPT, tuple(_kept(found["attempts"]))),
    ]


_DROP = ("task", "requirement", "arm", "after the first turn", "in the end")
_KEPT = ("task", "arm", "turn", "line", "what", "commitment")


def _arm(name: str, of: Mapping[str, Any]) -> tuple[str, ...]:
    keys = (
        "attempts", "passes", "firstTurnPasses", "followUps", "costPerCorrect", "spentUsd",
        "onReviewsUsd", "reviews", "reviewsWithoutCost",
    )  # fmt: skip
    return (name, *(_said(of[key]) for key in keys))


def _use(name: str, of: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        name,
        *map(_said, of["tokens"].values()),
        _said(of["toolCalls"]),
        _said(of["wallTimeMs"]),
    )


def _interventions(found: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, ...], ...]:
    keys = (
        "task", "arm", "turn", "stop", "lacking", "harmful", "reviewUsd", "reviewMs",
        "agentUsdAtLeast", "agentMs", "reason",
    )  # fmt: skip
    return tuple(tuple(_said(each[key]) for key in keys) for each in found)


def _drops(found: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, ...], ...]:
    """Return the requirements that were lacking somewhere; the others were always met."""
    keys = ("task", "requirement", "arm", "first", "final")
    return tuple(
        tuple(_said(each[key]) for key in keys) for each in found if each["first"] or each["final"]
    )


def _numbered(
    attempts: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[tuple[str, str, str], Mapping[str, Any]]]:
    for attempt in attempts:
        for number, turn in enumerate(attempt["turns"], 1):
            yield (attempt["task"], attempt["arm"], str(number)), turn


def _turns(attempts: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    for place, turn in _numbered(attempts):
        verdict = {True: "passes", False: "fails", None: "no verdict"}[turn["passed"]]
        if turn["placeOfCheckerSeen"]:
            verdict += f" (its place was seen {turn['placeOfCheckerSeen']} times)"
        stops = ", ".join(
            {True: "passes", False: "fails", None: "no verdict"}[stop["passed"]]
            for stop in turn["stops"]
        )
        yield (
            *place, turn["status"], verdict, _said(turn["lacking"]), stops or "none",
            _said(turn["agentUsd"]), _said(turn["treeDigest"]),
        )  # fmt: skip


def _reviews(attempts: Iterable[Mapping[str, Any]]) -> list[Table]:
    rows = []
    for place, turn in _numbered(attempts):
        stops = [(str(at), stop) for at, stop in enumerate(turn["stops"], 1) if stop["review"]]
        further = [("none", {"passed": None, "review": each}) for each in turn["furtherReviews"]]
        for at, stop in [*stops, *further]:
            review = stop["review"]
            ids = "valid" if review["citesValidly"] else "not valid"
            rows.append(
                (
                    *place, at, _passes(stop["passed"]), _said(review["judgement"]),
                    _said(review["delivered"]), ids, _said(review["usd"]), _said(review["scope"]),
                    _said(review["reason"]),
                )
            )  # fmt: skip
    return [Table("Every review", _REVIEW, tuple(rows))] if rows else []


def _kept(attempts: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    for place, turn in _numbered(attempts):
        for name, commitment in sorted(turn["commitments"].items()):
            if name in ARTIFACTS:
                yield (*place, str(turn["line"]), name, commitment)


def _passes(passed: object) -> str:
    return {True: "passes", False: "fails"}.get(passed, "no verdict")  # type: ignore[call-overload, no-any-return] # any value


def _said(value: object) -> str:
    if value is None:
        return "missing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "nothing"
    return str(value)
