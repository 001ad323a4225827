"""Checks the latency report of logsift."""

from __future__ import annotations

import inspect
from typing import Any

from checklib import Checker

check = Checker("logsift")


def line(path: str, duration: int | None) -> str:
    ending = "" if duration is None else f" {duration}"
    request = f'"GET {path} HTTP/1.1" 200 5'
    return f"192.0.2.1 - - [05/Mar/2026:10:00:00 +0000] {request}{ending}"


def records(*timings: tuple[str, int | None]) -> list[Any]:
    return [check.module("parse").parse_line(line(*timing)) for timing in timings]


def latency(*timings: tuple[str, int | None]) -> list[Any]:
    return list(check.module("stats").latency_by_route(records(*timings)))


def run(*words: str, lines: list[str]) -> tuple[int, str, str]:
    check.write("access.log", "\n".join(lines) + "\n")
    return check.run(*words)


@check.group("r01")
def whole_numbers_are_ids() -> None:
    route_of = check.module("routes").route_of
    found = [route_of(path) for path in ("/users/7?tab=a", "/", "/a/12/b/3", "/v2/users")]
    assert found == ["/users/:id", "/", "/a/:id/b/:id", "/v2/users"], found


@check.group("r02")
def long_hexadecimal_words_are_ids() -> None:
    route_of = check.module("routes").route_of
    uuid = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
    found = [route_of(path) for path in (f"/o/{uuid}", "/c/0a1b2c3d", "/c/cafe", "/c/effaced")]
    assert found == ["/o/:id", "/c/:id", "/c/cafe", "/c/effaced"], found


@check.group("r03")
def percentiles_by_nearest_rank() -> None:
    timings = [("/a", duration) for duration in (10, 20, 30, 40)] + [("/b", 5)]
    found = {each.route: each for each in latency(*timings)}
    first = found["/a"]
    assert (first.timed, first.p50, first.p95, first.max) == (4, 20, 40, 40), first
    assert found["/b"].p50 == found["/b"].max == 5, found["/b"]


@check.group("r04")
def what_has_no_duration_is_counted_apart() -> None:
    found = {each.route: each for each in latency(("/a", 10), ("/a", None), ("/b", None))}
    first, second = found["/a"], found["/b"]
    assert (first.timed, first.untimed, first.p50) == (1, 1, 10), first
    assert (second.timed, second.untimed) == (0, 1), second
    assert second.p50 is second.p95 is second.max is None, second


@check.group("r05")
def the_slowest_come_first() -> None:
    found = latency(("/n", None), ("/z", 50), ("/b", 7), ("/a", 7), ("/c", 9))
    assert [each.route for each in found] == ["/z", "/c", "/a", "/b", "/n"], found


@check.group("r06")
def the_command_latency() -> None:
    code, out, _ = run("latency", "access.log", lines=[line("/a", 30), line("/a", 30)])
    rows = [row.split() for row in out.splitlines()]
    assert code == 0
    assert rows[0] == ["ROUTE", "TIMED", "UNTIMED", "P50", "P95", "MAX"], rows
    assert rows[1] == ["/a", "2", "0", "30", "30", "30"], rows
    out = run("latency", "access.log", "--format", "csv", lines=[line("/a", 10)])[1]
    assert out == "route,timed,untimed,p50,p95,max\n/a,1,0,10,10,10\n", out


@check.group("r07")
def few_timings_can_be_hidden() -> None:
    lines = [line("/a", 10), line("/a", 30), line("/b", 99)]
    code, out, _ = run("latency", "access.log", "--min-timed", "2", lines=lines)
    assert code == 0
    assert "/a" in out
    assert "/b" not in out, out


@check.group("r08")
def strict_refuses_lines_that_are_no_requests() -> None:
    lines = [line("/a", 1), "garbage", "", "more garbage"]
    code, out, err = run("summary", "access.log", "--strict", lines=lines)
    assert (code, out) == (3, ""), (code, out)
    assert "2 lines are no requests: 2, 4" in err, err
    assert run("summary", "access.log", lines=lines)[0] == 0
    assert run("top", "path", "access.log", "--strict", lines=lines[:1])[0] == 0


@check.group("r09")
def percentile_is_as_it_was() -> None:
    parameters = list(inspect.signature(check.module("stats").percentile).parameters)
    assert parameters == ["values", "percent"], parameters
    check.unmodified({"tests/test_stats.py": "fe77702f7f5bc5cda9eb69891fb7d07f"})


@check.group("r11")
def the_documents_say_so() -> None:
    section = check.section("README.md", "## Latency")
    assert "--min-timed" in section, section
    assert ":id" in section, section
    assert "latency" in check.section("CHANGELOG.md", "## Unreleased").casefold()


check.new_tests(
    "r10",
    "tests/test_latency.py",
    {
        "test_numbers_in_paths_are_ids": "r01",
        "test_untimed_requests_are_counted_apart": "r04",
        "test_the_slowest_route_comes_first": "r05",
    },
)
check.main()
