"""A folder goes whatever was done to it, and nothing outside it goes along."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agent_trials.errors import WorkspaceError
from agent_trials.workspace.removal import remove

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def fill(folder: Path) -> None:
    (folder / "a/b").mkdir(parents=True)
    (folder / "a/b/file").write_text("x", encoding="utf-8")


def lock(folder: Path) -> None:
    """Take away every right."""
    fill(folder)
    for path in (folder / "a/b/file", folder / "a/b", folder / "a", folder):
        path.chmod(0)


def link_out(folder: Path) -> None:
    fill(folder)
    (folder / "a/folder").symlink_to(folder.parent / "precious", target_is_directory=True)
    (folder / "file").symlink_to(folder.parent / "precious/file")
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "dangling").symlink_to("/absent")


def link_hard(folder: Path) -> None:
    os.link(folder.parent / "precious/file", folder / "file")


def nest(folder: Path) -> None:
    """Go deeper than any path can name, and deeper than Python recurses."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("deep", dir_fd=here)
        inner = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


def special(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "-rf \n*").write_text("x", encoding="utf-8")
    (folder / "\udcff").mkdir()


@pytest.mark.parametrize("prepare", [fill, lock, link_out, link_hard, nest, special])
def test_removes_a_folder_and_nothing_else(
    unprivileged: Path, prepare: Callable[[Path], None]
) -> None:
    precious, folder = unprivileged / "precious", unprivileged / "folder"
    for each in (precious, folder):
        each.mkdir()
    (precious / "file").write_text("x", encoding="utf-8")
    (precious / "file").chmod(0o640)
    precious.chmod(0o750)
    prepare(folder)
    remove(folder)

    assert [path.name for path in unprivileged.iterdir()] == ["precious"]
    assert (precious / "file").read_text(encoding="utf-8") == "x"
    assert (precious / "file").stat().st_mode & 0o777 == 0o640
    assert precious.stat().st_mode & 0o777 == 0o750


def test_does_not_remove_what_a_link_points_to(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir(mode=0o750)
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    with pytest.raises(WorkspaceError, match=r"link cannot be removed: .*; remove it by hand"):
        remove(tmp_path / "link")

    assert (tmp_path / "precious").stat().st_mode & 0o777 == 0o750
