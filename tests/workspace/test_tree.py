"""A writable tree is the starter, set up the same in every arm, at a place that says nothing."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agent_trials.errors import WorkspaceError
from agent_trials.workspace import neutral, snapshots, starter, tree

if TYPE_CHECKING:
    from pathlib import Path

    from agent_trials.records import SealedTree

FILES = {
    "src/app.py": "print('one')\n",
    "dot_gitignore": "ignored/\n",
    "run.sh": "#!/bin/sh\n",
}


@pytest.fixture
def sealed(tmp_path: Path) -> SealedTree:
    """Return a small sealed starter."""
    folder = tmp_path / "starter"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "run.sh").chmod(0o755)
    return starter.seal("task-one", folder, tmp_path / "master")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder for workspaces."""
    found = tmp_path / "place"
    found.mkdir()
    return found


def laid_out(sealed: SealedTree, place: Path, home: Path | None = None) -> tree.Tree:
    """Return a tree that stays."""
    with tree.tree(sealed, home=home, programs={}, parent=place) as made:
        made.stays = True
    return made


def git(folder: Path, *arguments: str) -> str:
    """Return what git prints."""
    return subprocess.run(
        ["git", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
    ).stdout.strip()


def test_a_tree_is_the_starter_in_one_commit_without_a_trace_of_where_it_came_from(
    sealed: SealedTree, place: Path
) -> None:
    """A clone's reflog and remote would name the folder of the task."""
    made = laid_out(sealed, place)

    assert (made.folder / "src/app.py").read_text(encoding="utf-8") == FILES["src/app.py"]
    assert (made.folder / ".gitignore").exists()
    assert (made.folder / "run.sh").stat().st_mode & 0o100
    assert git(made.folder, "status", "--porcelain") == ""
    assert git(made.folder, "rev-list", "--count", "--all") == "1"
    assert git(made.folder, "remote") == ""
    assert "starter" not in git(made.folder, "reflog")


def test_two_trees_of_a_task_are_the_same_commit(sealed: SealedTree, place: Path) -> None:
    """A commit's id is shown to the agent."""
    first, second = laid_out(sealed, place), laid_out(sealed, place)

    assert git(first.folder, "rev-parse", "HEAD") == git(second.folder, "rev-parse", "HEAD")
    assert len(str(first.folder)) == len(str(second.folder))
    assert "task" not in str(first.folder.relative_to(place))


def test_a_tree_is_gone_with_all_around_it_unless_it_stays(sealed: SealedTree, place: Path) -> None:
    """What is left would be found by the next agent."""
    with tree.tree(sealed, home=None, programs={}, parent=place) as made:
        (made.folder / "src").chmod(0o000)
    assert [*place.iterdir()] == []

    kept = laid_out(sealed, place).kept
    with tree.again(kept) as found:
        assert (found.folder / "run.sh").exists()
    assert [*place.iterdir()] == []


@pytest.mark.parametrize("name", ["CLAUDE.md", ".claude", "AGENTS.md", ".codex", "GEMINI.md"])
def test_refuses_a_place_below_a_memory_file_and_names_it(
    sealed: SealedTree, place: Path, name: str
) -> None:
    """Claude Code reads the memory of every folder above: a private one reached an actor once."""
    (place.parent / name).mkdir()

    with pytest.raises(WorkspaceError, match=str(place.parent / name)):
        laid_out(sealed, place)


def test_refuses_a_place_inside_the_operators_home(sealed: SealedTree, place: Path) -> None:
    """The same memory, by the other way."""
    with pytest.raises(WorkspaceError, match="lies in the home"):
        laid_out(sealed, place, home=place.parent)


def test_refuses_a_place_inside_a_checkout(place: Path) -> None:
    """Git would find the outer repository."""
    (place.parent / ".git").mkdir()

    with pytest.raises(WorkspaceError, match="checkout"):
        neutral.place(place)


def test_the_set_up_runs_in_the_tree_with_a_home_of_its_own(
    sealed: SealedTree, place: Path
) -> None:
    """A set-up that wrote into the operator's home would reach every later run."""
    code = "import os, pathlib; pathlib.Path('made').write_text(os.environ['HOME'])"
    made = laid_out(dataclasses.replace(sealed, setup=((sys.executable, "-c", code),)), place)

    assert (made.folder / "made").read_text(encoding="utf-8") == str(made.surroundings.home)
    assert str(made.surroundings.home) != os.environ.get("HOME")
    assert len(made.setup) == 1


def test_a_set_up_that_fails_is_no_tree(sealed: SealedTree, place: Path) -> None:
    """An agent in half a project would be measured on the other half."""
    failing = dataclasses.replace(sealed, setup=((sys.executable, "-c", "raise SystemExit(3)"),))

    with pytest.raises(WorkspaceError, match="ended with 3"):
        laid_out(failing, place)
    assert [*place.iterdir()] == []


def test_other_project_settings_than_the_preflights_are_no_tree(
    sealed: SealedTree, place: Path
) -> None:
    """The digest of the project's settings must be equal across the arms."""
    named = dataclasses.replace(sealed, equal=("run.sh",))
    digest = laid_out(named, place).equal_digest
    laid_out(dataclasses.replace(named, equal_digest=digest), place)
    code = "import pathlib; pathlib.Path('run.sh').write_text('other')"
    differing = dataclasses.replace(
        named, equal_digest=digest, setup=((sys.executable, "-c", code),)
    )

    with pytest.raises(WorkspaceError, match=r"other files than the preflight's did: run\.sh"):
        laid_out(differing, place)


def test_the_stop_hook_is_added_behind_the_hooks_of_the_project(
    sealed: SealedTree, place: Path
) -> None:
    """The product's own hooks are what is tried; ours only watches."""
    code = (
        "import json, pathlib; p = pathlib.Path('.claude'); p.mkdir();"
        "(p / 'settings.json').write_text(json.dumps({'hooks': {'Stop': [{'hooks': []}]}}))"
    )
    hooked = dataclasses.replace(sealed, stop_snapshots=True, setup=((sys.executable, "-c", code),))
    made = laid_out(hooked, place)

    settings = json.loads((made.folder / tree.SETTINGS).read_text(encoding="utf-8"))
    assert [len(entry["hooks"]) for entry in settings["hooks"]["Stop"]] == [0, 1]
    assert settings["hooks"]["Stop"][1]["hooks"][0]["command"] == "workspace-snapshot"


def test_the_stop_hook_copies_what_git_sees_and_each_state_is_taken_once(
    sealed: SealedTree, place: Path
) -> None:
    """Snapshots of the first turn are not those of the second."""
    made = laid_out(sealed, place)
    (made.folder / "ignored").mkdir()
    (made.folder / "ignored" / "x").write_text("x", encoding="utf-8")
    (made.folder / "new.py").write_text("new", encoding="utf-8")
    for _ in range(2):
        subprocess.run(
            [made.surroundings.programs / "workspace-snapshot"],
            input=b'{"stop_hook_active": true}',
            cwd=made.folder,
            env={
                "PATH": os.environ["PATH"],
                "WORKSPACE_SNAPSHOTS": str(made.surroundings.snapshots),
            },
            check=True,
        )
        (made.folder / "new.py").write_text("newer", encoding="utf-8")

    now, stops = made.states()

    assert [stop.files["new.py"][0] for stop in stops] == [b"new", b"newer"]
    assert all("ignored/x" not in stop.files for stop in stops)
    assert [stop.facts["stopHookActive"] for stop in stops] == [True, True]
    assert now.digest == stops[1].digest != stops[0].digest
    assert made.states()[1] == ()


def test_a_packed_tree_unpacks_to_the_same_state(sealed: SealedTree, place: Path) -> None:
    """A checker must be able to look at a stop afterwards, from the ledger's artifacts alone."""
    state = snapshots.of_tree(laid_out(sealed, place).folder)
    target = place / "unpacked"
    target.mkdir()
    snapshots.unpack(snapshots.pack([("", state)]), target)

    assert (target / "run.sh").stat().st_mode & 0o100
    files = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert files == set(state.files)


def test_refuses_a_starter_with_a_dot_name(tmp_path: Path) -> None:
    """The freeze does not cover it, so that it could be changed unseen."""
    folder = tmp_path / "starter"
    folder.mkdir()
    (folder / ".gitignore").write_text("x", encoding="utf-8")

    with pytest.raises(WorkspaceError, match="call it dot_gitignore"):
        starter.read(folder)


def test_an_overlay_replaces_adds_and_deletes(tmp_path: Path) -> None:
    """A reference and its variants are written as what differs."""
    folder = tmp_path / "overlay"
    folder.mkdir()
    (folder / "_delete.txt").write_text("gone\n", encoding="utf-8")
    (folder / "kept").write_text("new", encoding="utf-8")
    below = {"gone": (b"", False), "kept": (b"old", False), "same": (b"same", False)}

    found = starter.overlaid(below, folder)

    assert {name: data for name, (data, _) in found.items()} == {"kept": b"new", "same": b"same"}
