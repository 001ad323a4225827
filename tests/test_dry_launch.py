"""The dry run sees, before money, which binary each process of an arm would have come to."""

from __future__ import annotations

import dataclasses
import json
import sys
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from agent_trials import dry_launch
from agent_trials.agents import launches
from agent_trials.graders import checker
from agent_trials.study import manifest
from agent_trials.workspace import trees
from tree_lab import TreeLab

if TYPE_CHECKING:
    from pathlib import Path

    from agent_trials.records import Launch

LAUNCHER = """\
import os, sys
os.environ["REVIEW"] = "1"
{change}
os.execvp({program}, [{program}, *sys.argv[1:]])
"""


@dataclasses.dataclass(frozen=True)
class Tried:
    """A stage, and the reviewed arm on it."""

    stage: dry_launch.Stage
    arm: dry_launch.Arm

    def problems(self, **changes: object) -> list[str]:
        """Return what is wrong with the arm, with these fields changed."""
        arm = dataclasses.replace(self.arm, **changes)  # type: ignore[arg-type] # fields of an arm
        return [each.what for each in dry_launch.rehearse(self.stage, arm)[1]]


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Tried:
    """Return a small trial, ready to be tried with a stand-in."""
    root = tmp_path_factory.mktemp("dry")
    lab = TreeLab(root / "lab", questions=("calibration", "one"))
    study = manifest.load(lab.folder)
    task, arm = study.manifest.tasks[1], study.manifest.arms[1]
    settings, key, cli = study.manifest.tree, study.key, study.manifest.transports.cli
    assert settings
    assert key
    assert cli
    task_checker = key.tasks[task.id].checker
    assert task_checker
    sealed = trees.sealed(study, task, settings, {}, root / "sealed", executable=sys.executable)
    stage = dry_launch.Stage(
        sealed, checker.resolve(task_checker, study.folder, {}), cli, "claude-haiku-5-5",
        Decimal("0.01"), "2.1.296", 2,
    )  # fmt: skip
    started, _ = launches.resolve(arm, {}, None)
    sides = launches.side_files(study.manifest.arms)
    return Tried(stage, dry_launch.Arm(arm.id, started, sides[arm.id]))


def launcher(tried: Tried, folder: Path, *, change: str = "", program: str = "'claude'") -> Launch:
    """Return the first turn's launch by another launcher."""
    script = folder / "launcher.py"
    script.write_text(LAUNCHER.format(change=change, program=program), encoding="utf-8")
    return dataclasses.replace(tried.arm.launches[0], command=(sys.executable, str(script)))


def test_hooks_answer_and_snapshots_land_on_the_resumed_turn_too(tried: Tried) -> None:
    """The launcher of the first turn refuses --resume: the second one is another command."""
    facts, problems = dry_launch.rehearse(tried.stage, tried.arm)

    assert problems == []
    assert facts["stops"] == [2, 2]  # a review sends the agent back once
    assert facts["productCalls"] == [2, 2]
    assert [hooks["Stop"] for hooks in facts["hooks"]] == [4, 4]


def test_the_arm_without_the_product_is_seen_without_it(tried: Tried) -> None:
    """Its file of events is looked at in every arm."""
    plain = dataclasses.replace(tried.arm.launches[0], command=(), environment={})
    assert tried.arm.side
    side = dataclasses.replace(tried.arm.side, max_calls=0)
    arm = dry_launch.Arm("plain", (plain, plain), side)
    facts, problems = dry_launch.rehearse(tried.stage, arm)

    assert (problems, facts["productCalls"]) == ([], [0, 0])
    (found, *_) = tried.problems(id="plain", side=side)
    assert "invalid-setup (product-of-another-arm)" in found


def test_a_launcher_that_starts_another_binary_is_found(tried: Tried, tmp_path: Path) -> None:
    """A relative PATH once called the real reviewer in a dry run, for 0.19 USD."""
    other = tmp_path / "other-claude"
    other.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    other.chmod(0o755)
    first = launcher(tried, tmp_path, program=repr(str(other)))
    found = tried.problems(launches=(first, tried.arm.launches[1]))

    assert "2 turns were started and 1 came to the claude that is first on PATH" in found[0]


def test_a_child_that_would_find_another_binary_is_found(tried: Tried, tmp_path: Path) -> None:
    """The launcher comes to the right one, and gives its hooks another PATH."""
    other = tmp_path / "bin"
    other.mkdir()
    (other / "claude").write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    (other / "claude").chmod(0o755)
    change = (
        "import shutil; found = shutil.which('claude');"
        f"os.environ['PATH'] = {str(other)!r} + os.pathsep + os.environ['PATH']"
    )
    first = launcher(tried, tmp_path, change=change, program="found")
    found = tried.problems(launches=(first, tried.arm.launches[1]))

    assert any("a child of turn 1 finds another claude" in each for each in found)


def test_a_product_that_is_not_called_is_found(tried: Tried) -> None:
    """The second turn lacks its switch: the arm would be half an arm."""
    first, further = tried.arm.launches
    found = tried.problems(launches=(first, dataclasses.replace(further, environment={})))

    assert found == ["the product wrote no event 'SEMANTIC_COST' in turn 2"]


def test_a_set_up_that_names_the_place_of_the_checker_is_found(tried: Tried) -> None:
    """It would stand in the tree of every attempt."""
    assert tried.stage.checker
    place = tried.stage.checker.hidden[0]
    code = f"open('NOTES.txt', 'w').write({place!r})"
    sealed = dataclasses.replace(
        tried.stage.sealed,
        setup=(*tried.stage.sealed.setup, (sys.executable, "-c", code)),
    )
    stage = dataclasses.replace(tried.stage, sealed=sealed, turns=1)
    _, problems = dry_launch.rehearse(stage, tried.arm)

    assert [each.what for each in problems] == [
        "the place of the hidden checker stands in the tree of turn 1"
    ]


def test_no_credential_and_no_address_is_there_to_spend_with(tried: Tried, tmp_path: Path) -> None:
    """Whatever a product starts in a dry run, it costs nothing."""
    seen = tmp_path / "seen.json"
    change = f"import json; json.dump(dict(os.environ), open({str(seen)!r}, 'w'))"
    tried.problems(launches=(launcher(tried, tmp_path, change=change), tried.arm.launches[1]))
    environment = json.loads(seen.read_text(encoding="utf-8"))

    assert environment["ANTHROPIC_BASE_URL"] == dry_launch.NOWHERE
    assert environment["ANTHROPIC_AUTH_TOKEN"] == "rehearsal"
    assert "ANTHROPIC_API_KEY" not in environment
