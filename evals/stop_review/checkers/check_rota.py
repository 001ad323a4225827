"""Checks the absences and swaps of rota."""

from __future__ import annotations

import inspect
import json
from datetime import date
from typing import Any

from checklib import Checker

check = Checker("rota")

AWAY = [["2026-03-01", "2026-03-05"]]
EARLY = {"id": "mo-early", "day": "2026-03-02", "start": "06:00", "end": "14:00"}


def roster(people: list[dict[str, Any]], shifts: list[dict[str, Any]]) -> Any:  # noqa: ANN401 - a value of the tree
    task = check.module("files").task_from_data({"people": people, "shifts": shifts})
    return check.module("roster").Roster(task.people, task.shifts)


def objections(away: list[Any], shift: dict[str, Any]) -> list[str]:
    of = roster([{"name": "Ada", "away": away}], [shift])
    rules = check.module("rules")
    return list(rules.objections(of, of.people["Ada"], of.shifts[shift["id"]]))


def run(command: str, people: list[dict[str, Any]], *words: str) -> tuple[int, str, str]:
    for name, value in (
        ("task.json", {"people": people, "shifts": [EARLY]}),
        ("roster.json", {"assignments": {"mo-early": ["Ada"]}}),
    ):
        check.write(name, json.dumps(value))
    return check.run(command, "task.json", "roster.json", *words)


@check.group("r01")
def both_ends_of_an_absence_belong_to_it() -> None:
    person = check.module("people").person_from_data({"name": "Ada", "away": AWAY})
    days = [
        date(2026, 2, 28),
        date(2026, 3, 1),
        date(2026, 3, 3),
        date(2026, 3, 5),
        date(2026, 3, 6),
    ]
    found = [bool(person.is_away(day)) for day in days]
    assert found == [False, True, True, True, False], found
    assert not check.module("people").person_from_data({"name": "Ben"}).is_away(days[1])


@check.group("r02")
def a_single_day_may_stand_alone() -> None:
    data = {"name": "Ada", "away": ["2026-03-09", ["2026-04-01", "2026-04-05"]]}
    person = check.module("people").person_from_data(data)
    days = [date(2026, 3, 8), date(2026, 3, 9), date(2026, 3, 10), date(2026, 4, 2)]
    found = [bool(person.is_away(day)) for day in days]
    assert found == [False, True, False, True], found


@check.group("r03")
def an_absence_that_ends_before_it_begins_is_refused() -> None:
    data = {"name": "Ada", "away": [["2026-03-04", "2026-03-02"]]}
    said = check.refusal("RotaError", check.module("people").person_from_data, data)
    assert all(part in said for part in ("Ada", "2026-03-04", "2026-03-02")), said


@check.group("r04")
def who_is_away_is_not_planned() -> None:
    assert "away" in objections(AWAY, EARLY)
    assert objections(AWAY, {**EARLY, "day": "2026-03-09"}) == []
    of = roster([{"name": "Ada", "away": AWAY}], [EARLY])
    planned = check.module("plan").plan(of.people, list(of.shifts.values()))
    assert planned.names["mo-early"] == [], planned.names


@check.group("r05")
def a_night_that_ends_in_an_absence_counts() -> None:
    night = {"id": "su-night", "day": "2026-02-28", "start": "22:00", "end": "06:00"}
    assert "away" in objections(AWAY, night)
    assert objections(AWAY, {**night, "end": "00:00"}) == [], "a shift that ends at midnight"


@check.group("r06")
def check_lists_who_is_away() -> None:
    code, out, _ = run("check", [{"name": "Ada", "away": AWAY}])
    assert code == 1
    assert "away: Ada is away on 2026-03-02 (mo-early)" in out.splitlines(), out


@check.group("r07")
def a_swap_keeps_the_place() -> None:
    of = roster([{"name": name} for name in ("Ada", "Ben", "Cem")], [{**EARLY, "places": 2}])
    of.assign("mo-early", "Ada")
    of.assign("mo-early", "Ben")
    check.module("swap").swap(of, "mo-early", "Ada", "Cem")
    assert of.names["mo-early"] == ["Cem", "Ben"], of.names


@check.group("r08")
def a_swap_that_breaks_a_rule_changes_nothing() -> None:
    people: list[dict[str, Any]] = [{"name": "Ada", "skills": ["lead"]}, {"name": "Ben"}]
    of = roster(people, [{**EARLY, "skill": "lead"}])
    of.assign("mo-early", "Ada")
    swap = check.module("swap").swap
    said = check.refusal("RotaError", swap, of, "mo-early", "Ada", "Ben")
    assert "Ben cannot work mo-early: skill" in said, said
    assert of.names["mo-early"] == ["Ada"], of.names


@check.group("r09")
def the_week_shows_absences() -> None:
    people = [{"name": "Ada", "away": [["2026-03-03", "2026-03-06"]]}]
    code, out, _ = run("week", people, "2026-03-02")
    cells = out.splitlines()[1].split()
    assert code == 0
    assert cells[1] == "mo-early", cells
    assert cells[2:4] == ["-", "-"], cells
    assert cells[7] == ".", cells


@check.group("r10")
def plan_keeps_its_parameters() -> None:
    parameters = list(inspect.signature(check.module("plan").plan).parameters)
    assert parameters[:3] == ["people", "shifts", "fixed"], parameters
    check.unmodified(
        {
            "tests/test_plan.py": "f9b500771e6d79bd63833d8a20eb662b",
            "tests/test_rules.py": "d93f86af9371a6f6970b19b8f69beb64",
        }
    )


@check.group("r12")
def the_documents_say_so() -> None:
    assert "`away`" in check.section("README.md", "## Rules")
    changes = check.section("CHANGELOG.md", "## Unreleased").casefold()
    assert "away" in changes
    assert "swap" in changes


check.new_tests(
    "r11",
    "tests/test_away.py",
    {
        "test_both_ends_of_an_absence_count": "r01",
        "test_a_swap_keeps_the_place": "r07",
    },
)
check.main()
