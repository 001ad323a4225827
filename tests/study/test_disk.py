"""What stands on disk is the old file or the new one."""

from __future__ import annotations

import fcntl
import os
import resource
from typing import TYPE_CHECKING

import pytest

from agent_trials.study import disk

if TYPE_CHECKING:
    from pathlib import Path


def test_replaces_a_file_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    disk.replace(tmp_path / "a", b"1")
    disk.replace(tmp_path / "a", b"2")

    assert (tmp_path / "a").read_bytes() == b"2"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_a_failed_replacement_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()

    with pytest.raises(OSError, match="directory"):
        disk.replace(tmp_path / "a", b"2")
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_only_one_command_at_a_time_holds_a_folder(tmp_path: Path) -> None:
    """Two amendments at once would be one amendment too few."""
    other = os.open(tmp_path, os.O_RDONLY)
    try:
        with disk.locked(tmp_path), pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(other)


def test_a_line_that_does_not_fit_on_the_disk_leaves_the_lines_before_it(tmp_path: Path) -> None:
    """A record of a run that was then refused would count a cap that nobody spent."""
    path = tmp_path / "a"
    disk.append_line(path, b"first")
    was = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, was[1]))
    try:
        with pytest.raises(OSError, match="No space"):
            disk.append_line(path, b"second")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, was)

    assert path.read_bytes() == b"first\n"
