"""What a study over trees may not say: each rule is broken once in a study that holds them all."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from agent_trials.errors import StudyError
from agent_trials.study import manifest, phases, schedule
from tree_lab import TreeLab

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> TreeLab:
    """Return a study over trees that breaks no rule."""
    return TreeLab(tmp_path_factory.mktemp("rules"))


def said(lab: TreeLab, old: str, new: str, file: str = "study.toml") -> str:
    """Return what is said of the study with one text replaced."""
    lab.study()
    path = lab.folder / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(StudyError) as raised:
        manifest.load(lab.folder)
    return str(raised.value)


def test_the_study_as_it_is_breaks_none(written: TreeLab) -> None:
    """Otherwise what follows would show nothing."""
    written.study()

    assert manifest.load(written.folder).manifest.tree


def test_what_a_product_may_spend_is_in_what_a_phase_reserves(written: TreeLab) -> None:
    """Two pairs of 0.10 and 0.10 with two reviews of 0.06; follow-ups come on top."""
    written.study()
    found = manifest.load(written.folder).manifest
    cells = [planned.cell for planned in schedule.plan(found, "full")]

    assert phases.reserved(found, cells) == Decimal("0.64")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"--permission-mode", "acceptEdits",', "", "does not pin the mode 'acceptEdits'"),
        ("acceptEdits", "auto", 'the mode "auto" makes requests of its own'),
        ('"--include-hook-events", ', "", "does not show whether the hook loaded"),
        ('"--include-hook-events", ', '"--include-hook-events", "--restricted", ', "no hook of a"),
        ('"{session}", ', "", "a further turn needs {session} once"),
        ('"{session}", ', '"{session}", "--no-session-persistence", ', "no session to go on with"),
        ('credential = "config-dir"', 'credential = "login"', "the operator's own memory"),
        ('tree = "tasks/one/starter"', "", "tasks.one.tree: is missing"),
        ('tree = "tasks/one/starter"', 'tree = "tasks/gone"', "no folder 'tasks/gone'"),
        ('tree = "tasks/one/starter"', 'tree = "../.."', "no folder inside the study's"),
        ('kind = "tree"', 'kind = "export"', "the kind is 'export'"),
        ('prompt = "The', 'prompt = "/The', "a mark that a CLI reads as a command"),
        ("infra_reruns = 1", 'resume = "skip-recorded"', "does not outlive its run"),
        ("[arms.follow_up]\n", '[arms.follow_up]\narguments = ["--model"]\n', "same in every arm"),
        ('{ REVIEW = "1" }', '{ PATH = "/x" }', "the harness alone decides on this variable"),
        ('{ REVIEW = "1" }', '{ MY_API_KEY = "x" }', "the harness alone decides on this variable"),
        ('{ REVIEW = "1" }', '{ REVIEW = "1" }\nunset = ["REVIEW"]', "it is set and taken away"),
        ('{ REVIEW = "1" }', '{ A = "1" }\nunset = ["PATH"]', "PATH is the same in every arm"),
        ('path = "{home}/', 'path = "/tmp/', "does not say where the file is"),
        ('path = "{home}/', 'path = "{home}/../', "does not say where the file is"),
        ('equal = [".claude', 'equal = ["../.claude', "is no path inside the tree"),
        ('limit_usd = "1.50"', 'limit_usd = "0"', "limit_usd"),
    ],
    ids=[
        "no mode pinned", "auto", "no hook events", "restricted", "no session", "not persisted",
        "operator's login", "no starter", "starter gone", "starter outside", "another kind",
        "prompt is a command", "resumed", "shared option", "shared variable", "credential",
        "set and unset", "unset for all", "file anywhere", "file above", "equal outside",
        "no limit",
    ],
)  # fmt: skip
def test_names_what_would_spoil_the_comparison(
    written: TreeLab, old: str, new: str, words: str
) -> None:
    """Each of them has spoilt one, or would spend money that no figure shows."""
    assert words in said(written, old, new)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('["code", "notes"]', '["code", "code"]', "'code' stands twice"),
        ("[tasks.two.checker]", "[tasks.two.checkers]", "unknown key"),
    ],
    ids=["twice", "no checker"],
)
def test_names_what_is_wrong_with_a_checker(
    written: TreeLab, old: str, new: str, words: str
) -> None:
    """A follow-up waits for it."""
    assert words in said(written, old, new, "key.toml")


def test_a_place_of_a_checker_in_a_prompt_is_refused_before_anything_starts(
    tmp_path: Path,
) -> None:
    """Nothing was written or spent, and the task is named."""
    lab = TreeLab(tmp_path, questions=("calibration", "one"))
    lab.study()
    path = lab.folder / "study.toml"
    text = path.read_text(encoding="utf-8").replace("in the notes.", "for checkers/check.py.")
    path.write_text(text, encoding="utf-8")
    done = lab.run()

    assert done.returncode == 4
    assert "task one: prompt: the place of the hidden checker stands in it" in done.stderr
    assert not lab.ledger.exists()


REVIEWS = """\
max_calls = 2
[arms.reviews]
event = "SEMANTIC_REVIEW"
continued = "SEMANTIC_CONTINUE"
"""


def test_reviews_are_read_from_the_file_of_what_was_spent(written: TreeLab) -> None:
    written.study()
    text = (written.folder / "study.toml").read_text(encoding="utf-8")
    costs = text[text.index("[arms.side_costs]") : text.index("max_calls = 2\n")]

    words = said(written, f"{costs}max_calls = 2\n", REVIEWS.removeprefix("max_calls = 2\n"))

    assert "arms.review.reviews: are read from the file of side_costs" in words


def test_reviews_are_of_stops_that_leave_snapshots(written: TreeLab) -> None:
    """Without one nobody can tell whether a review was right."""
    written.study()
    path = written.folder / "study.toml"
    text = path.read_text(encoding="utf-8").replace("max_calls = 2\n", REVIEWS)
    path.write_text(text, encoding="utf-8")
    assert manifest.load(written.folder).manifest.arms[1].reviews is not None
    path.write_text(text.replace("stop_snapshots = true", "stop_snapshots = false"), "utf-8")

    with pytest.raises(StudyError, match="a review is of a stop, and stops leave no snapshot"):
        manifest.load(written.folder)
