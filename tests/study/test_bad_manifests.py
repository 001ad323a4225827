"""Every single thing that can be wrong with a study, broken one at a time in a valid example."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_trials.errors import StudyError
from agent_trials.study import manifest

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

EXAMPLE = Path(__file__).parents[2] / "fixtures" / "bad_manifests"
BREAKAGES = tomllib.loads((EXAMPLE / "breakages.toml").read_text("utf-8"))["breakage"]


def test_the_example_itself_is_valid(folder: Path) -> None:
    study = manifest.load(folder)

    assert study.manifest.id == "valid-study"
    assert study.key is not None


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda each: each["name"])
def test_names_what_is_broken_and_the_way_out(folder: Path, breakage: dict[str, Any]) -> None:
    """A study is read by a person at work: one sentence, with file, keys, value and way out."""
    file = folder / breakage.get("file", "study.toml")
    text = file.read_text("utf-8")
    assert text.count(breakage["old"]) >= 1
    file.write_text(text.replace(breakage["old"], breakage["new"], 1), "utf-8")

    with pytest.raises(StudyError) as raised:
        manifest.load(folder)

    said = [str(problem) for problem in raised.value.problems]
    assert said == [f"{folder}/{each}" for each in (breakage["says"], *breakage.get("also", ()))]


def test_says_everything_about_every_study_at_once(
    folder: Path, snapshot: SnapshotAssertion
) -> None:
    """Somebody who corrects a study must not be sent back once per mistake."""
    other = Path("other")
    shutil.copytree(folder, other)
    _break(folder, 'arm_order = "alternate"', 'arm_ordr = "alternate"')
    _break(folder, 'transport = "http"', 'transport = "htpp"')
    _break(folder, 'requires = "pilot"', 'requires = "pilt"')
    _break(folder, 'repository = "handbook"', 'repository = "handbok"')
    _break(folder, 'primary = ["correctness"', 'primary = ["corectness"')
    (folder / "key.toml").write_text('schema = 1\n[tasks.install-command]\nsource = ["a.md"]\n')
    (other / "key.toml").write_text("schema = \n")

    with pytest.raises(StudyError) as raised:
        manifest.load_all([folder, other])

    assert str(raised.value) == snapshot


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('attempt_usd = "0.10"', "attempt_usd = 0.10", "budget.attempt_usd: 0.1 is no amount"),
        ("schema = 1", "schema = 2", "schema: 2 is not known"),
        ('transport = "http"', 'transport = "htpp"', "agent.transport: 'htpp' is not known"),
        ("scored = false", 'scored = "no"', "phases.pilot.scored: 'no' is no truth value"),
    ],
    ids=["money", "schema", "a word", "an optional value"],
)
def test_a_value_that_does_not_fit_hides_no_rule_over_the_whole(
    folder: Path, old: str, new: str, sentence: str
) -> None:
    _break(folder, old, new)
    _break(folder, 'requires = "pilot"', 'requires = "pilt"')

    with pytest.raises(StudyError) as raised:
        manifest.load(folder)

    first, second = map(str, raised.value.problems)
    assert first.startswith(f"valid_study/study.toml: {sentence}")
    assert second.startswith("valid_study/study.toml: phases.full.requires: 'pilt' is no phase")


def _break(folder: Path, old: str, new: str) -> None:
    file = folder / "study.toml"
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")
