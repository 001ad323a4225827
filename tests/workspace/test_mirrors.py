"""A cache of mirrors holds the pins of studies, and nothing that came after them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import repositories
from agent_trials.errors import WorkspaceError
from agent_trials.workspace import hardened, mirrors, single_commit

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def upstream(tmp_path: Path) -> tuple[Path, tuple[str, ...]]:
    """Return a repository and its three commits in order."""
    folder = tmp_path / "upstream"
    found = tuple(repositories.commit(folder, {"a.txt": f"{number}\n"}) for number in range(3))
    return folder, found


def objects(mirror: Path) -> str:
    """Return kind and id of everything in a bare repository."""
    return hardened.run(
        mirror, "cat-file", "--batch-all-objects", "--batch-check", git_dir=mirror
    ).decode()


def test_holds_each_pin_alone(upstream: tuple[Path, tuple[str, ...]], tmp_path: Path) -> None:
    """The mend of a bug is a commit after its pin."""
    folder, commits = upstream
    cache = tmp_path / "cache"

    assert mirrors.fill(cache, str(folder), commits[:1]) == [commits[0]]
    mirror = mirrors.place(cache, str(folder))
    assert objects(mirror).count(" commit ") == 1
    assert mirrors.has(mirror, commits[0])
    assert not mirrors.has(mirror, commits[2])
    assert [path.name for path in cache.iterdir()] == [mirror.name]


def test_fetches_only_what_it_lacks(upstream: tuple[Path, tuple[str, ...]], tmp_path: Path) -> None:
    """A benchmark's repository is large, and another study may have been there before."""
    folder, commits = upstream
    cache = tmp_path / "cache"
    mirrors.fill(cache, str(folder), commits[:1])

    assert mirrors.fill(cache, str(folder), [*commits[:2], commits[1]]) == [commits[1]]
    folder.rename(tmp_path / "away")
    assert mirrors.fill(cache, str(folder), commits[:2]) == []


def test_a_commit_is_sealed_from_a_mirror(
    upstream: tuple[Path, tuple[str, ...]], tmp_path: Path
) -> None:
    folder, commits = upstream
    mirrors.fill(tmp_path / "cache", str(folder), commits)

    single_commit.seal(
        mirrors.place(tmp_path / "cache", str(folder)), commits[1], tmp_path / "sealed"
    )

    made = hardened.run(tmp_path / "sealed", "show", "HEAD:a.txt")
    assert made == b"1\n"


def test_says_which_pin_is_not_to_be_had(
    upstream: tuple[Path, tuple[str, ...]], tmp_path: Path
) -> None:
    folder, commits = upstream
    cache = tmp_path / "cache"

    with pytest.raises(WorkspaceError, match=f"has no commit {'0' * 40}"):
        mirrors.fill(cache, str(folder), [commits[0], "0" * 40])

    assert mirrors.has(mirrors.place(cache, str(folder)), commits[0])


@pytest.mark.parametrize(
    ("address", "begins"),
    [
        ("https://github.com/django/django", "github-com-django-django-"),
        ("/srv/repositories/one", "srv-repositories-one-"),
    ],
)
def test_the_name_of_a_mirror_is_readable_and_its_own(
    address: str, begins: str, tmp_path: Path
) -> None:
    """Two addresses that read alike are two repositories."""
    found = mirrors.place(tmp_path, address)

    assert found.name.startswith(begins)
    assert found != mirrors.place(tmp_path, address.replace("/one", "-one").replace("o/d", "o-d"))


def test_uses_nothing_of_the_operators_configuration(
    upstream: tuple[Path, tuple[str, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address could be rewritten there to another place."""
    folder, commits = upstream
    configuration = tmp_path / "gitconfig"
    configuration.write_text(f'[url "/nowhere/"]\n\tinsteadOf = {folder}\n', encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    monkeypatch.setenv("HOME", str(tmp_path))

    assert mirrors.fill(tmp_path / "cache", str(folder), commits[:1]) == [commits[0]]
