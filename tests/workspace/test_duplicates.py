"""Duplicates are made in the cheapest way that keeps one attempt's writes from another's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_trials.workspace import duplicates

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    duplicates.write(str(path), b"bytes" * 10_000)
    return path


def test_shared_blocks_are_no_shared_file(source: Path, tmp_path: Path) -> None:
    """Where the file system cannot do it, nothing is left half made."""
    target = tmp_path / "target"
    try:
        duplicates.share_blocks(str(source), str(target))
    except OSError:
        assert not target.exists()
        return

    assert target.read_bytes() == source.read_bytes()
    assert target.stat().st_mode & 0o777 == 0o444
    target.chmod(0o644)
    target.write_bytes(b"other")
    assert source.read_bytes() == b"bytes" * 10_000


@pytest.mark.parametrize("may_link", [True, False])
def test_falls_back_to_what_the_file_system_can_do(
    source: Path, tmp_path: Path, *, may_link: bool
) -> None:
    targets = [tmp_path / f"target{number}" for number in range(3)]
    duplicates.duplicate([(str(source), str(target)) for target in targets], may_link=may_link)

    assert all(target.read_bytes() == source.read_bytes() for target in targets)
    assert may_link or source.stat().st_nlink == 1


def test_never_overwrites(source: Path, tmp_path: Path) -> None:
    """An attacker who guesses the path could put a link there."""
    target = tmp_path / "target"
    target.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        duplicates.duplicate([(str(source), str(target))], may_link=True)

    assert not (tmp_path / "elsewhere").exists()
