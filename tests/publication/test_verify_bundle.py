"""Two programs, one page: verify.py and the package must agree on every ledger, and both refuse.

The second one is written from docs/ledger.md; a difference is a mistake in one of the three.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ledgers
import publishing
from agent_trials.errors import LedgerBrokenError, LedgerError
from agent_trials.ledger.openings import Openings
from agent_trials.ledger.private import private_folder
from agent_trials.publication import verify_bundle
from agent_trials.publication.figures import figures
from agent_trials.results.record import read
from agent_trials.results.summary import verify

if TYPE_CHECKING:
    from collections.abc import Callable

    Lines = list[dict[str, Any]]

SOURCE = Path(verify_bundle.__file__)


def package(path: Path, head: str | None = None) -> str:
    """Return the head, or the line that the package finds broken."""
    try:
        return verify(path, head).head
    except LedgerBrokenError as error:
        return f"line {error.seq}"
    except LedgerError:
        return "line 1"


def second(path: Path, head: str | None = None) -> str:
    """Return the same as verify.py sees it."""
    try:
        return verify_bundle.verify(path, [head] if head else []).state.head
    except verify_bundle.BrokenError as error:
        return f"line {error.seq}"


@pytest.mark.parametrize("make", publishing.LEDGERS.values(), ids=publishing.LEDGERS)
def test_both_come_to_the_same_figures(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """Chain, money, pairs, rates, differences and grades, of every kind of ledger."""
    path = tmp_path / "ledger.jsonl"
    make(path)

    found = verify_bundle.verify(path)
    assert second(path) == package(path)
    assert verify_bundle.figures(found) == figures(read(path))
    assert (found.committed, found.opened) == (verify(path).committed, verify(path).opened)


def test_the_ledgers_hold_everything_that_can_happen(tmp_path: Path) -> None:
    """An agreement about nothing would be easy."""
    events: set[str] = set()
    statuses: set[str] = set()
    outcomes: set[str] = set()
    filled = 0
    for number, make in enumerate(publishing.LEDGERS.values()):
        path = tmp_path / f"{number}.jsonl"
        make(path)
        events.update(ledgers.events(path))
        shown = figures(read(path))
        statuses.update(each["status"] for each in shown["attempts"])
        outcomes.update(each["grade"] for each in shown["attempts"])
        filled += sum(
            each["endpoints"]["cost_usd"]["pairs"] > 1 for each in shown["comparisons"] or ()
        )

    assert events > set(verify_bundle.RULES) - {"adjudicated"}
    assert statuses >= {"completed", "failed", "refused", "blocked", "cut-off", "incomplete"}
    assert outcomes >= {"correct", "partial", "incorrect", "pending", "disagreement", "blocked"}
    assert outcomes >= {"resolved", "unresolved", "empty-patch", "error", "infrastructure"}
    assert "missing-patch" in outcomes
    assert filled


def test_verify_py_is_one_file_of_the_standard_library() -> None:
    """It shares no code with the package, or a mistake would be in both."""
    tree = ast.parse(SOURCE.read_text("utf-8"))
    modules = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or "agent_trials"]
            if isinstance(node, ast.ImportFrom)
            else [each.name for each in node.names]
        )
    }

    assert modules <= set(sys.stdlib_module_names) | {"__future__"}


# What a forger may do without making the chain anew.


def changed(data: bytes) -> bytes:
    return data.replace(b'"at":"2026', b'"at":"2025', 1)


def dropped(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(lines[:3] + lines[4:])


def added(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join([*lines[:3], lines[2], *lines[3:]])


def reordered(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join([*lines[:2], lines[3], lines[2], *lines[4:]])


def last_changed(data: bytes) -> bytes:
    before, _, last = data.rpartition(b'"spentUsd":"')
    return before + b'"spentUsd":"9' + last


@pytest.mark.parametrize("spoil", [changed, dropped, added, reordered, last_changed])
def test_both_name_the_line_of_a_spoiled_chain(
    tmp_path: Path, spoil: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "ledger.jsonl"
    publishing.eventful(path)
    path.write_bytes(spoil(path.read_bytes()))

    assert package(path).startswith("line ")
    assert second(path) == package(path)


def swap_arms(lines: Lines) -> None:
    other = dict(zip(ledgers.ARMS, reversed(ledgers.ARMS), strict=True))
    for line in lines:
        for each in [line, *line.get("cells", ())]:
            if "arm" in each:
                each["arm"] = other[each["arm"]]


def lower_charge(lines: Lines) -> None:
    """Lower it with everything that it is checked against."""
    observation = next(each for each in lines if each["event"] == "attempt-settled")["observation"]
    lowered = Decimal(observation["chargedUsd"]) / 2
    for name in ("chargedUsd", "cliReportedCostUsd", "costUsd"):
        if observation[name] is not None:
            observation[name] = str(lowered)
    lines[-1]["spentUsd"] = str(Decimal(lines[-1]["spentUsd"]) - lowered)


FORGERIES: dict[str, Callable[[Lines], Any]] = {
    "a raised cap": lambda lines: lines[0].update(capUsd="9"),
    "swapped arms": swap_arms,
    "a lowered charge": lower_charge,
    "another answer": lambda lines: lines[3]["private"].update(answer=ledgers.SERIES),
    "a dropped tail": lambda lines: lines.pop(),
    "an added line": lambda lines: lines.insert(4, {**lines[4], "event": "noted"}),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_both_catch_a_forgery_with_a_new_chain_by_a_published_head(
    tmp_path: Path, change: Callable[[Lines], Any]
) -> None:
    """Each keeps every rule; only somebody who saw the head then can tell."""
    path = tmp_path / "ledger.jsonl"
    publishing.pairs(path)
    head = verify(path).head
    private_folder(path).rename(path.with_name("elsewhere"))
    ledgers.rewrite(path, change)

    assert second(path) == package(path)
    assert ":" in package(path)
    assert package(path, head).startswith("line ")
    assert second(path, head) == package(path, head)


BROKEN: dict[str, Callable[[Lines], Any]] = {
    "a charge below what was reported": lambda lines: lines[3]["observation"].update(
        chargedUsd="0.001"
    ),
    "a cap below what was spent": lambda lines: lines[0].update(capUsd="0.15"),
    "a settlement of the other arm": lambda lines: lines[3].update(arm=lines[4]["arm"]),
    "another study's ledger": lambda lines: lines[0].update(seriesId=ledgers.OTHER_SERIES),
    "a sum left out": lambda lines: lines[-1].update(spentUsd="0"),
    "a status that nobody knows": lambda lines: lines[3]["observation"].update(status="fine"),
    "a reservation twice": lambda lines: lines.insert(3, lines[2]),
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_both_name_the_line_that_breaks_a_rule(
    tmp_path: Path, change: Callable[[Lines], Any]
) -> None:
    """The chain is made anew each time, so that the fold alone can tell."""
    path = tmp_path / "ledger.jsonl"
    publishing.pairs(path)
    ledgers.rewrite(path, change)

    assert package(path).startswith("line ")
    assert second(path) == package(path)


def reported(lines: Lines, at: int = 0) -> dict[str, Any]:
    """Return one of the reports of an evaluated ledger; the last one replaces another."""
    return [each for each in lines if each["event"] == "evaluated"][at]


MISREPORTED: dict[str, Callable[[Lines], Any]] = {
    "of nobody": lambda lines: reported(lines).pop("arm"),
    "of an arm and a control": lambda lines: reported(lines).update(control="gold"),
    "digest of another shape": lambda lines: reported(lines).update(reportDigest="sha256:0"),
    "predictions without digest": lambda lines: reported(lines).update(predictionsDigest=None),
    "classes that are none": lambda lines: reported(lines)["classes"].update({"calc-1": "solved"}),
    "no classes": lambda lines: reported(lines).update(classes=["calc-1"]),
    "a resolved task whose ground failed": lambda lines: reported(lines).update(
        infrastructure=["calc-1"]
    ),
    "a failure of a task that is not there": lambda lines: reported(lines).update(ambiguous=["x"]),
    "a failure twice": lambda lines: reported(lines).update(ambiguous=["calc-2", "calc-2"]),
    "the same report twice": lambda lines: reported(lines, -1).update(
        reportDigest=reported(lines, 1)["reportDigest"]
    ),
    "a silent replacement": lambda lines: reported(lines, -1).update(replaces=None),
    "a replacement of nothing": lambda lines: reported(lines).update(replaces=ledgers.SERIES),
    "a report of an earlier run": lambda lines: reported(lines, -1).update(run=2),
}


@pytest.mark.parametrize("change", MISREPORTED.values(), ids=MISREPORTED)
def test_both_name_the_line_of_a_report_that_breaks_a_rule(
    tmp_path: Path, change: Callable[[Lines], Any]
) -> None:
    path = tmp_path / "ledger.jsonl"
    publishing.evaluated(path)
    ledgers.rewrite(path, change)

    assert package(path).startswith("line ")
    assert second(path) == package(path)


def test_both_catch_another_studys_ledger_by_the_head_of_its_freeze(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    publishing.pairs(path)

    for series, verdict in ((ledgers.SERIES, verify(path).head), (ledgers.OTHER_SERIES, "line 1")):
        assert package(path, f"0:{series}") == verdict
        assert second(path, f"0:{series}") == verdict


@pytest.mark.parametrize("field", ["study", "answer", "transcript"])
def test_both_catch_a_false_opening(tmp_path: Path, field: str) -> None:
    """In the opening itself, and in an artifact."""
    path = tmp_path / "ledger.jsonl"
    publishing.pairs(path)
    opened = private_folder(path) / "openings.jsonl"
    lines = [json.loads(raw) for raw in opened.read_bytes().splitlines()]
    line = next(each for each in lines if each["field"] == field)
    line["salt"] = "00" * 32
    opened.write_bytes(b"".join(json.dumps(each).encode() + b"\n" for each in lines))

    assert package(path) == f"line {line['seq']}"
    assert second(path) == package(path)


WORDS = ["completed", "failed", "http", "pending", "never", "0", "0.05", "9", "1.", "1e1", "٣"]
VALUES = st.sampled_from(
    [None, True, False, 0, 1, 2, 3, -1, "", " 1", [], {}, ["a"], {"a": 1}, *WORDS]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401
    """Return the path of everything in a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, each in inside:
        found.append((*path, key))
        if isinstance(each, dict | list):
            found += places(each, (*path, key))
    return found


@given(data=st.data())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_both_agree_on_any_change_of_any_field(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """One value is put in another's place, or left out, or a line is moved; the chain is made anew.

    Whatever one of the programs reads and the other does not, or reads otherwise, shows here.
    """
    cache = publishing.cached(tmp_path_factory)
    name = data.draw(st.sampled_from(sorted(cache)), label="ledger")
    lines: Lines = json.loads(json.dumps(cache[name]))
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.integers(0, len(lines) - 1), label="line")
        kind = data.draw(
            st.sampled_from(["put", "put", "put", "drop field", "move", "drop", "copy"])
        )
        if kind in {"put", "drop field"}:
            *above, last = data.draw(st.sampled_from(places(lines[at])), label="field")
            inside: Any = lines[at]
            for key in above:
                inside = inside[key]
            if kind == "put":
                inside[last] = data.draw(VALUES, label="value")
            else:
                del inside[last]
        elif kind == "copy":
            lines.insert(data.draw(st.integers(0, len(lines))), json.loads(json.dumps(lines[at])))
        elif len(lines) > 1:
            line = lines.pop(at)
            if kind == "move":
                lines.insert(data.draw(st.integers(0, len(lines))), line)
    path = tmp_path_factory.getbasetemp() / "changed.jsonl"
    ledgers.rechain(path, lines, ledgers.SERIES)

    assert second(path) == package(path)


def script(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run verify.py as a stranger does: no package, no environment."""
    command = [sys.executable, "-I", "-S", SOURCE, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={})


def test_a_stranger_runs_it_on_a_ledger_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    publishing.pairs(path)
    head = verify(path).head

    done = script(path, "--head", head)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == f"head {head}"
    shown = script(path, "--json")
    assert json.loads(shown.stdout) == figures(read(path))


def test_it_ends_with_1_and_the_line(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    publishing.pairs(path)
    path.write_bytes(changed(path.read_bytes()))

    done = script(path)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("ledger.jsonl: broken at line 1: ")


@pytest.mark.parametrize("head", ["3", "3:abc", "99:sha256:" + "0" * 64])
def test_a_head_that_is_none_or_too_far_is_refused(tmp_path: Path, head: str) -> None:
    path = tmp_path / "ledger.jsonl"
    publishing.pairs(path)

    done = script(path, "--head", head)

    assert done.returncode == 1
    assert head in done.stderr


def test_what_was_withheld_is_no_fault(tmp_path: Path) -> None:
    """A bundle opens what its operator chose, and the rest of it still verifies."""
    path = tmp_path / "ledger.jsonl"
    publishing.pairs(path)
    private_folder(path).rename(path.with_name("elsewhere"))

    assert not Openings(path).exist
    assert second(path) == package(path)
    assert verify_bundle.figures(verify_bundle.verify(path))["comparisons"] is None


@pytest.mark.parametrize("name", ["ledger.jsonl", "heads/1.head"], ids=["ledger", "head"])
def test_a_pipe_in_a_bundle_is_refused_and_not_waited_for(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "heads").mkdir()
    publishing.LEDGERS["pairs"](tmp_path / "ledger.jsonl")
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)

    assert verify_bundle.main([str(tmp_path)]) == 1
    assert "is no regular file" in capsys.readouterr().err
