"""What an agent changed comes out as a patch that applies, whatever it did to its repository."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import repositories
from agent_trials.errors import WorkspaceError
from agent_trials.workspace import hardened, patch, single_commit
from agent_trials.workspace.patch import Known, Patch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = {"README.md": "one\n", "src/a.py": "x = 1\n", "gone.txt": "bye\n", ".gitignore": "*.log\n"}
LATER = "the mend\n"
MOST = 100_000


@pytest.fixture
def source(tmp_path: Path) -> tuple[Path, str]:
    """Return a repository with a later commit that an agent must not find, and the base commit."""
    folder = tmp_path / "upstream"
    base = repositories.commit(folder, FILES)
    repositories.write(folder, {"src/a.py": LATER})
    repositories.git(folder, "commit", "--quiet", "-am", "mend it")
    return folder, base


@pytest.fixture
def sealed(source: tuple[Path, str], tmp_path: Path) -> Path:
    single_commit.seal(source[0] / ".git", source[1], tmp_path / "sealed")
    return tmp_path / "sealed"


@pytest.fixture
def work(sealed: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    single_commit.lay_out(sealed, folder)
    return folder


def made(sealed: Path, work: Path, known: Known | None = None) -> Patch:
    return patch.make(sealed, work, known or Known(), most_bytes=MOST)


def applied(sealed: Path, content: bytes, into: Path) -> dict[str, bytes]:
    """Return every file of a fresh work tree after the patch was applied as its reader would."""
    into.mkdir()
    single_commit.lay_out(sealed, into)
    if content:
        hardened.run(into, "apply", "--index", "-", given=content)
    return contents(into)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(each.relative_to(folder)): each.read_bytes()
        for each in sorted(folder.rglob("*"))
        if each.is_file() and ".git" not in each.relative_to(folder).parts
    }


def test_a_sealed_repository_has_one_commit_and_no_way_to_later_ones(
    source: tuple[Path, str], work: Path
) -> None:
    """In a clone, the mend is a ``git log --all`` away."""
    objects = repositories.git(work, "cat-file", "--batch-all-objects", "--batch-check")

    assert contents(work) == {name: text.encode() for name, text in FILES.items()}
    assert repositories.git(work, "log", "--all", "--format=%an %s").strip() == "dev initial"
    assert repositories.git(work, "remote").strip() == ""
    assert repositories.git(work, "status", "--porcelain").strip() == ""
    assert repositories.git(work, "rev-parse", "HEAD^{tree}") == repositories.git(
        source[0], "rev-parse", f"{source[1]}^{{tree}}"
    )
    assert source[1] not in objects
    assert not (work / ".git" / "logs").exists()
    assert str(source[0]) not in "".join(
        each.read_text("latin-1") for each in (work / ".git").rglob("*") if each.is_file()
    )


def test_a_commit_that_is_not_there_is_refused(source: tuple[Path, str], tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="git rev-parse failed"):
        single_commit.seal(source[0] / ".git", "0" * 40, tmp_path / "other")


def test_nothing_changed_is_an_empty_patch(sealed: Path, work: Path) -> None:
    assert made(sealed, work) == Patch(b"", 0, 0, 0)


def commit_all(work: Path) -> None:
    repositories.git(work, "add", "--all")
    repositories.git(work, "commit", "--quiet", "-m", "done")


def hide_in_config(work: Path) -> None:
    (work / ".git" / "info").mkdir(exist_ok=True)
    (work / ".git" / "info" / "exclude").write_text("*\n", "utf-8")
    repositories.git(work, "config", "diff.noprefix", "true")


def remove_repository(work: Path) -> None:
    shutil.rmtree(work / ".git")


def begin_anew(work: Path) -> None:
    remove_repository(work)
    repositories.git(work, "init", "--quiet")
    commit_all(work)


def nothing(work: Path) -> None:
    del work


@pytest.mark.parametrize(
    "afterwards", [nothing, commit_all, hide_in_config, remove_repository, begin_anew]
)
def test_changes_come_out_whatever_the_agent_did_to_its_repository(
    sealed: Path, work: Path, tmp_path: Path, afterwards: Callable[[Path], None]
) -> None:
    repositories.write(work, {"src/a.py": "x = 2\n", "new/ü b.txt": "new\n", "noise.log": "x"})
    (work / "gone.txt").unlink()
    (work / "README.md").chmod(0o755)
    afterwards(work)
    found = made(sealed, work)
    expected = {name: data for name, data in contents(work).items() if name != "noise.log"}

    assert applied(sealed, found.content, tmp_path / "fresh") == expected
    assert os.access(tmp_path / "fresh" / "README.md", os.X_OK)
    assert found.files == 4
    assert b"noise.log" not in found.content


NAME = st.text('ab "\\*?[]!#-ü\n\t\udc80', min_size=1, max_size=6).filter(
    lambda name: name not in {".", ".."} and not name.endswith(" ")
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=6)
@given(st.dictionaries(NAME, st.binary(max_size=40), max_size=8))
def test_any_bytes_under_any_name_come_out_as_text(
    sealed: Path, work: Path, tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    """The official format is JSON text, and a patch with foreign bytes would be lost in it."""
    for left in contents(work).keys() - FILES.keys():
        (work / left).unlink()
    for name, data in files.items():
        (work / name).write_bytes(data)
    found = made(sealed, work)
    fresh = tmp_path_factory.mktemp("fresh") / "work"

    found.content.decode("utf-8")
    assert applied(sealed, found.content, fresh) == contents(work)


def test_changed_lines_that_are_no_utf_8_stay_a_patch(
    source: tuple[Path, str], tmp_path: Path
) -> None:
    (source[0] / "latin.txt").write_bytes(b"caf\xe9\n" * 3)
    repositories.git(source[0], "add", "latin.txt")
    repositories.git(source[0], "commit", "--quiet", "-m", "latin")
    base = repositories.git(source[0], "rev-parse", "HEAD").strip()
    single_commit.seal(source[0] / ".git", base, tmp_path / "sealed")
    work = tmp_path / "work"
    work.mkdir()
    single_commit.lay_out(tmp_path / "sealed", work)
    (work / "latin.txt").write_bytes(b"caf\xe9\ncaf\xe8\n")
    (work / "README.md").write_text("two\n", "utf-8")
    found = made(tmp_path / "sealed", work)

    assert "-one\n+two\n" in found.content.decode("utf-8")
    assert applied(tmp_path / "sealed", found.content, tmp_path / "fresh") == contents(work)


def test_a_repository_inside_the_work_tree_loses_no_file(
    sealed: Path, work: Path, tmp_path: Path
) -> None:
    """As a link, which git makes of it, it would to a commit that nobody else has."""
    repositories.write(work, {"inner/deep/b.py": "y = 1\n", "empty/c.py": "z = 1\n"})
    repositories.git(work / "empty", "init", "--quiet")
    repositories.git(work / "inner", "init", "--quiet")
    commit_all(work / "inner")
    found = made(sealed, work)

    assert found.nested == 2
    assert (work / "inner" / ".git").is_dir()
    assert applied(sealed, found.content, tmp_path / "fresh") == contents(work)


def test_a_work_tree_that_the_agent_removed_is_every_file_deleted(
    sealed: Path, work: Path, tmp_path: Path
) -> None:
    """It is what the agent did, and no failure of the ground that would end the run."""
    shutil.rmtree(work)
    found = made(sealed, work)

    assert found.files == len(FILES)
    assert applied(sealed, found.content, tmp_path / "fresh") == {}


def test_what_the_set_up_made_is_left_out_whatever_became_of_it(sealed: Path, work: Path) -> None:
    """Else the treatment's patch would hold the treatment, and fail to apply for it."""
    repositories.write(work, {"RULES.md": "use it\n", ".tool.json": "{}\n", "README.md": "tool\n"})
    known = patch.after_set_up(sealed, work)
    repositories.write(work, {"RULES.md": "changed by the agent\n", "src/a.py": "x = 2\n"})
    (work / ".tool.json").unlink()
    found = made(sealed, work, known)

    assert known.made == {"RULES.md", ".tool.json"}
    assert known.changed.keys() == {"README.md"}
    assert (found.files, found.left_out) == (1, 2)
    assert b"RULES" not in found.content
    assert b"README" not in found.content


def test_a_file_that_both_changed_counts_as_the_agents(sealed: Path, work: Path) -> None:
    repositories.write(work, {"README.md": "tool\n"})
    known = patch.after_set_up(sealed, work)
    repositories.write(work, {"README.md": "tool and agent\n"})

    assert b"+tool and agent\n" in made(sealed, work, known).content


def test_a_patch_that_is_too_large_is_refused_with_its_size(sealed: Path, work: Path) -> None:
    (work / "big.txt").write_text("x" * 200_000, "utf-8")

    with pytest.raises(WorkspaceError, match=r"has 200,\d+ bytes of at most 100,000"):
        made(sealed, work)
