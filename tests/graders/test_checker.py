"""A hidden checker: its exit code is the verdict, and nothing of it can be guessed or forged."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from agent_trials import cli
from agent_trials.errors import WorkspaceError
from agent_trials.graders import checker, proof
from agent_trials.graders.checker import Checked, Checker
from agent_trials.study import manifest
from agent_trials.study.key import CheckerKey
from agent_trials.workspace import snapshots
from tree_lab import PRODUCT, TreeLab

if TYPE_CHECKING:
    from pathlib import Path

BOTH = '{"groups": {"code": true, "notes": true}}'
ONE = '{"groups": {"code": true, "notes": {"ok": false, "detail": "no file"}}}'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a small tree."""
    found = tmp_path / "tree"
    (found / ".git").mkdir(parents=True)
    (found / "app.py").write_text("print('fixed')\n", encoding="utf-8")
    return found


def asked(tree: Path, code: str, seconds: float = 30) -> Checked:
    """Return what a checker of this code says."""
    command = (sys.executable, "-c", code, "{tree}")
    return checker.check(Checker(command, ("code", "notes"), seconds), tree)


@pytest.mark.parametrize(
    ("code", "passed", "problem"),
    [
        (f"print('{BOTH}')", True, None),
        (f"print('{ONE}'); raise SystemExit(1)", False, None),
        (f"print('{ONE}')", False, "contradiction"),
        (f"print('{BOTH}'); raise SystemExit(1)", False, "contradiction"),
        ("print('PASSED 12 tests')", False, "no-groups"),
        ("pass", False, "no-groups"),
        ('print(\'{"groups": {"code": true}}\')', False, "other-groups"),
        ('print(\'{"groups": {"code": true, "notes": true, "x": true}}\')', False, "other-groups"),
        ('print(\'{"groups": {"code": 1, "notes": "yes"}}\')', False, "other-groups"),
        ("print('x' * 2_000_000)", False, "output-over-bound"),
    ],
    ids=[
        "all fulfilled", "one is not", "passes while one is not", "fails while all are",
        "a suite's own words", "silence", "too few groups", "too many", "no truth values", "flood",
    ],
)  # fmt: skip
def test_the_exit_code_is_the_verdict_and_the_groups_must_bear_it_out(
    tree: Path, code: str, passed: object, problem: str | None
) -> None:
    """A printed pass of a suite that never ran once counted as a result."""
    found = asked(tree, code)

    assert (found.passed, found.problem) == (passed, problem)


def test_a_checker_that_hangs_fails_at_its_deadline(tree: Path) -> None:
    """It may hang because of what the agent wrote."""
    found = asked(tree, "import time; time.sleep(60)", seconds=1)

    assert (found.passed, found.problem) == (False, "deadline")


def test_a_checker_sees_a_copy_without_git_and_leaves_no_trace(tree: Path) -> None:
    """What it leaves behind would tell the agent in its next turn what is looked for."""
    code = (
        "import os, pathlib, sys; t = pathlib.Path(sys.argv[1]); (t / 'left').write_text('x');"
        f"ok = not (t / '.git').exists() and t == pathlib.Path.cwd(); print('{BOTH}' if ok else '')"
    )
    found = asked(tree, code)

    assert found.passed
    assert sorted(each.name for each in tree.iterdir()) == [".git", "app.py"]


def test_what_cannot_be_copied_is_left_out(tree: Path) -> None:
    """A pipe that the agent's server left is no reason for having no verdict."""
    os.mkfifo(tree / "pipe")
    (tree / "link").symlink_to("/nowhere")

    assert asked(tree, f"print('{BOTH}')").passed


def test_a_state_out_of_an_artifact_is_looked_at_like_a_tree(tree: Path) -> None:
    """The copies of stops are checked afterwards, from what is kept beside the ledger."""
    state = snapshots.of_tree(tree)
    packed = snapshots.pack([("stop-1", state), ("stop-2", state)])
    code = (
        "import json, pathlib, sys; ok = (pathlib.Path(sys.argv[1]) / 'app.py').is_file();"
        "print(json.dumps({'groups': {'code': ok, 'notes': ok}})); sys.exit(not ok)"
    )
    found = Checker((sys.executable, "-c", code, "{tree}"), ("code", "notes"), 30)

    assert checker.check_packed(found, packed, 2).passed is True
    assert checker.check_packed(found, packed, 3).passed is False
    assert checker.check_packed(found, b"no tar", 1).problem == "not-copied"


def test_hits_of_the_place_of_a_checker_are_counted(tmp_path: Path) -> None:
    """The result counts; who reads it knows that the agent may have known."""
    (tmp_path / "checkers").mkdir()
    script = tmp_path / "checkers" / "one.py"
    script.write_text("", encoding="utf-8")
    key = CheckerKey(
        command=("{python}", "{study}/checkers/one.py", "{tree}"),
        requirements=("code",), reference="r", variants="v",
    )  # fmt: skip
    found = checker.resolve(key, tmp_path, {})
    stream = f"ls {tmp_path}\ncat checkers/one.py\nprint".encode()

    assert found.command[1:] == (str(script), "{tree}")
    assert checker.hits(found, stream) == 2
    assert [*checker.shown_in(found, [("prompt", b"fix it"), ("tree:x", stream)])] == ["tree:x"]


def test_refuses_a_checker_whose_program_is_not_there(tmp_path: Path) -> None:
    """Before money, not after the first attempt."""
    key = CheckerKey(
        command=("no-such-program",), requirements=("code",), reference="r", variants="v"
    )

    with pytest.raises(WorkspaceError, match="no-such-program"):
        checker.resolve(key, tmp_path, {})


@pytest.fixture
def graded(tmp_path: Path) -> proof.Graded:
    """Return a study with one task whose checker can say no."""
    lab = TreeLab(tmp_path / "lab", questions=("calibration", "one"))
    study = manifest.load(lab.folder)
    return proof.Graded(study.folder, study.manifest, study.key, {})


def proved(graded: proof.Graded) -> list[str]:
    """Return what is wrong with the checker of the one task."""
    tasks = [task for task in graded.manifest.tasks if task.id == "one"]
    (found,) = proof.prove(graded, tasks)
    return [each.what for each in found.problems]


def test_a_checker_that_tells_every_requirement_apart_is_proved(graded: proof.Graded) -> None:
    """The original fails, the reference passes, each variant fails in its own group."""
    assert proved(graded) == []


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("checkers/check.py", f"print('{BOTH}')\n", "the original passes"),
        ("tasks/one/reference/app.py", "print('broken')\n", "the reference fails: code"),
        ("tasks/one/variants/code/app.py", "print('fixed')\n", "fails in none, and should in code"),
        ("tasks/one/variants/code/_delete.txt", "NOTES.md\n", "fails in code, notes"),
        ("tasks/one/variants/other/app.py", "", "holds other, which is no requirement"),
        ("tasks/one/variants/notes/_delete.txt", "GONE.md\n", "names GONE.md"),
    ],
    ids=["never red", "wrong reference", "blind", "too wide", "odd variant", "odd deletion"],
)
def test_a_checker_that_cannot_say_no_is_found_before_money(
    graded: proof.Graded, file: str, text: str, said: str
) -> None:
    """Each of them would have made a result of nothing."""
    path = graded.folder / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")

    assert said in " | ".join(proved(graded))


def test_a_parameter_that_the_set_up_needs_is_asked_for(graded: proof.Graded) -> None:
    """Without it the trees cannot be laid out as attempts will get them."""
    path = graded.folder / "study.toml"
    text = path.read_text(encoding="utf-8").replace(
        "[transports.cli]", '[parameters.product]\ndescription = "a launcher"\n\n[transports.cli]'
    )
    text = text.replace(str(PRODUCT), "{product}", 1)
    path.write_text(text, encoding="utf-8")
    arguments = ["check", str(graded.folder), "--tasks", "--task", "one"]
    without = CliRunner().invoke(cli.main, arguments)
    given = CliRunner().invoke(cli.main, [*arguments, "--param", f"product={PRODUCT}"])

    assert "give --param product=VALUE (a launcher)" in without.output
    assert given.exit_code == 0


def test_the_command_says_of_each_task_whether_its_checker_is_proved(
    graded: proof.Graded,
) -> None:
    """What stands between a study and its first paid attempt."""
    arguments = ["check", str(graded.folder), "--tasks", "--task", "one"]
    said = CliRunner().invoke(cli.main, arguments)
    (graded.folder / "checkers" / "check.py").write_text(f"print('{BOTH}')\n", encoding="utf-8")
    blind = CliRunner().invoke(cli.main, arguments)

    assert "checker of one: 4 trees, red where it must be" in said.output
    assert "checker of one: 4 trees, NOT PROVED" in blind.output
    assert blind.exit_code == 1


def test_the_command_fills_parameters_into_the_set_up(graded: proof.Graded) -> None:
    """A set-up that is the product's own is part of what every attempt gets."""
    path = graded.folder / "study.toml"
    setup = path.read_text(encoding="utf-8").split("setup = ", 1)[1].split("\n", 1)[0]
    text = path.read_text(encoding="utf-8").replace(setup, '[["{product}"]]')
    path.write_text(f'{text}\n[parameters.product]\ndescription = "it"\n', encoding="utf-8")
    arguments = ["check", str(graded.folder), "--tasks", "--task", "one"]

    without = CliRunner().invoke(cli.main, arguments)
    given = CliRunner().invoke(cli.main, [*arguments, "--param", "product=true"])
    odd = CliRunner().invoke(cli.main, [*arguments, "--param", "produkt=true"])
    alone = CliRunner().invoke(cli.main, [*arguments[:2], "--param", "product=true"])

    assert "give --param product=VALUE (it)" in without.stderr
    assert "red where it must be" in given.output
    assert "did you mean 'product'" in odd.stderr
    assert "--param is for the set-up of --tasks" in alone.stderr
