"""What of a turn is a failure of the ground, what a checker adds to it, and what is said of it."""

from __future__ import annotations

import dataclasses
import sys
from decimal import Decimal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.graders.checker import Checker
from agent_trials.records import (
    AttemptRequest,
    AttemptResult,
    Cell,
    Kept,
    Observation,
    PlannedAttempt,
    Status,
    Surroundings,
)
from agent_trials.session import turns
from agent_trials.study import manifest
from agent_trials.workspace import snapshots, starter
from tree_lab import TreeLab

if TYPE_CHECKING:
    from pathlib import Path

CODE = (
    "import json, pathlib, sys; t = pathlib.Path(sys.argv[1]); log = pathlib.Path(sys.argv[2]);"
    "log.open('a').write('x'); ok = 'fixed' in (t / 'app.py').read_text();"
    "print(json.dumps({'groups': {'code': ok}})); sys.exit(not ok)"
)


def observed(status: Status = Status.COMPLETED, **fields: Any) -> Observation:  # noqa: ANN401 - fields of an observation
    """Return an observation of a turn."""
    return Observation(status=status, transport="cli", charged_usd=Decimal(0), **fields)


@pytest.mark.parametrize(
    ("status", "tool_calls", "is_ground"),
    [
        (Status.INVALID_SETUP, 3, True),
        (Status.FAILED, 0, True),
        (Status.FAILED, None, True),
        (Status.FAILED, 1, False),
        (Status.TIMED_OUT, 0, False),
        (Status.BUDGET_EXCEEDED, 0, False),
        (Status.INVALID_COST, 0, False),
        (Status.COMPLETED, 0, False),
    ],
)
def test_wrong_answers_time_outs_and_used_up_budgets_are_results(
    status: Status, tool_calls: int | None, *, is_ground: bool
) -> None:
    """Only what kept the agent from working is taken again."""
    result = AttemptResult(observed(status, tool_calls=tool_calls))

    assert turns.is_infrastructure(result) is is_ground


def test_each_state_of_a_turn_is_looked_at_and_equal_ones_once(tmp_path: Path) -> None:
    """A checker of minutes is not run again on a tree that it has seen."""
    tree, log = tmp_path / "tree", tmp_path / "log"
    tree.mkdir()
    states = []
    for text in ("broken", "fixed", "fixed"):
        (tree / "app.py").write_text(text, encoding="utf-8")
        states.append(snapshots.of_tree(tree))
    named = [(f"stop-{number}", state) for number, state in enumerate(states, 1)]
    stops = tuple(
        {"stop": number, "digest": state.digest} for number, state in enumerate(states, 1)
    )
    found = Checker((sys.executable, "-c", CODE, "{tree}", str(log)), ("code",), 30, ("/secret",))
    result = AttemptResult(
        observed(stops=stops),
        artifacts={"stops": snapshots.pack(named), "transcript": b"cat /secret/check.py"},
    )
    around = Surroundings(*(tmp_path / name for name in "hctps"))
    checked = turns.with_checks(found, result, Kept(tree, around))

    seen = checked.observation
    assert [stop["passed"] for stop in seen.stops or ()] == [False, True, True]
    assert seen.checker
    assert (seen.checker["passed"], seen.checker["pathHits"]) == (True, 1)
    assert log.read_text(encoding="utf-8") == "xxx"  # the tree, and two states
    assert b"groups" in checked.artifacts["checker"]


def test_says_what_a_reader_of_the_result_must_know() -> None:
    """A hit of the checker's place is flagged and counts; an overshoot is money."""
    said = {"passed": False, "groups": {"a": False, "b": True}, "problem": None, "pathHits": 2}
    side = {"overshootUsd": "0.25"}
    result = AttemptResult(observed(checker=said, side_costs=side))

    assert [*turns.told(result)] == [
        "the checker fails (a)",
        "the place of the checker stands 2 times in what it saw or said",
        "its product spent 0.25 USD more than was reserved for it",
    ]


@dataclasses.dataclass
class Run:
    """A run as its turns see it: one checker, a follow-up, and a reservation that is cut off."""

    checkers: dict[str, Checker]
    settled: list[int] = dataclasses.field(default_factory=list)
    owes_turn: bool = False
    spare: None = None

    def __post_init__(self) -> None:
        follow_up = SimpleNamespace(when="checker-fails", prompt="Again.")
        self.plan = SimpleNamespace(
            study=SimpleNamespace(manifest=SimpleNamespace(follow_up=follow_up))
        )
        self.prepared = SimpleNamespace(writable=SimpleNamespace(checkers=self.checkers))
        self.journal = SimpleNamespace(stopped=None)

    def settle(self, planned: PlannedAttempt, *_: Any, **__: Any) -> None:  # noqa: ANN401 - as it is
        """Keep the turn."""
        self.settled.append(planned.cell.turn)

    def may_repeat(self, _result: AttemptResult) -> bool:
        """Nothing is repeated."""
        return False

    def reserve(self, _planned: PlannedAttempt) -> None:
        """Be interrupted before the further turn's money is set aside."""
        raise KeyboardInterrupt


def test_a_further_turn_that_an_interruption_left_out_is_owed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that ends there is incomplete, although every planned attempt was begun."""
    lab = TreeLab(tmp_path / "lab", questions=("calibration", "one"))
    monkeypatch.setattr("tempfile.tempdir", str(lab.place))
    study = manifest.load(lab.folder)
    assert study.manifest.transports.cli
    sealed = starter.seal("one", lab.folder / "tasks/one/starter", tmp_path / "sealed")
    no = 'import sys; print(\'{"groups": {"code": false}}\'); sys.exit(1)'
    run = Run({"one": Checker((sys.executable, "-c", no), ("code",), 30)})
    request = AttemptRequest(
        transport="cli", transport_settings=study.manifest.transports.cli,
        model="claude-haiku-5-5", prompt="Fix it.", limit_usd=Decimal("0.1"), corpus=sealed,
        mcp_servers=(), executable=str(lab.claude), executable_version="2.1.296",
        base_url="http://127.0.0.1:9", rehearsal=True,
    )  # fmt: skip
    planned = PlannedAttempt(Cell("full", "one", "plain", 1), 0, 0)

    with pytest.raises(KeyboardInterrupt):
        turns.Turns(run).perform(planned, request)  # type: ignore[arg-type] # a double

    assert (run.settled, run.owes_turn) == ([1], True)
    assert not any(each.name.startswith("workspace") for each in lab.place.iterdir())
