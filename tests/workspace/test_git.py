"""What a checkout differs in, and how a plain folder becomes one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import repositories
from agent_trials.errors import WorkspaceError
from agent_trials.workspace import blobs, git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = {"README.md": "one\n", "docs/a.md": "two\n", "run.sh": "#!/bin/sh\n"}
COMMIT = "11b913137515a9ca0a0d0fbf41eff3c979306f16"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    repositories.commit(folder, FILES)
    return folder


def test_a_fresh_checkout_has_no_changes(checkout: Path) -> None:
    assert git.changes(checkout) == ()


def test_names_what_is_changed_removed_added_and_staged(checkout: Path) -> None:
    repositories.write(checkout, {"README.md": "other", "new/deep/b.md": "", "ü \n.md": ""})
    (checkout / "docs/a.md").unlink()
    repositories.write(checkout, {"staged.md": ""})
    repositories.git(checkout, "add", "staged.md")
    (checkout / "run.sh").chmod(0o755)

    assert git.changes(checkout) == (
        "README.md", "docs/a.md", "new/deep/b.md", "run.sh", "staged.md", "ü \n.md",
    )  # fmt: skip


def assume_unchanged(checkout: Path) -> None:
    repositories.git(checkout, "update-index", "--assume-unchanged", "README.md")
    repositories.write(checkout, {"README.md": "changed"})


def skip_worktree(checkout: Path) -> None:
    repositories.git(checkout, "update-index", "--skip-worktree", "README.md")
    repositories.write(checkout, {"README.md": "changed"})


def sparse_checkout(checkout: Path) -> None:
    repositories.git(checkout, "sparse-checkout", "set", "--no-cone", "/*", "!/README.md")
    assert not (checkout / "README.md").exists()


def forge_the_time(checkout: Path) -> None:
    readme = checkout / "README.md"
    os.utime(readme, (1_000_000_000, 1_000_000_000))
    repositories.git(checkout, "status")
    repositories.git(checkout, "config", "core.trustctime", "false")
    repositories.git(checkout, "config", "core.checkStat", "minimal")
    readme.write_bytes(b"two\n")
    os.utime(readme, (1_000_000_000, 1_000_000_000))


def another_work_tree(checkout: Path) -> None:
    elsewhere = checkout.parent / "elsewhere"
    repositories.write(elsewhere, FILES)
    repositories.git(checkout, "config", "core.worktree", str(elsewhere))
    repositories.write(checkout, {"README.md": "changed"})


def untracked_unseen(checkout: Path) -> None:
    repositories.git(checkout, "config", "status.showUntrackedFiles", "no")
    repositories.write(checkout, {"README.md.orig": ""})


def excluded_by_the_operator(checkout: Path) -> None:
    (checkout.parent / "ignore").write_text("*\n", encoding="utf-8")
    repositories.git(checkout, "config", "core.excludesFile", str(checkout.parent / "ignore"))
    repositories.write(checkout, {"extra.md": ""})


def filtered_away(checkout: Path) -> None:
    repositories.git(checkout, "config", "filter.same.clean", "echo one; #")
    (checkout / ".git/info").mkdir(exist_ok=True)
    repositories.write(checkout, {".git/info/attributes": "README.md filter=same\n"})
    repositories.write(checkout, {"README.md": "two\n"})


def line_ends(checkout: Path) -> None:
    repositories.git(checkout, "config", "core.autocrlf", "true")
    (checkout / "README.md").unlink()
    repositories.git(checkout, "checkout", "--", "README.md")
    assert (checkout / "README.md").read_bytes() == b"one\r\n"


@pytest.mark.parametrize(
    "hide",
    [
        assume_unchanged,
        skip_worktree,
        sparse_checkout,
        forge_the_time,
        another_work_tree,
        untracked_unseen,
        excluded_by_the_operator,
        filtered_away,
        line_ends,
    ],
)
def test_finds_a_change_that_plain_git_does_not_show(
    checkout: Path, hide: Callable[[Path], None]
) -> None:
    """The MCP server reads the tree; the other arm reads the pin."""
    hide(checkout)

    assert repositories.git(checkout, "status", "--porcelain") == ""
    assert len(git.changes(checkout)) == 1


def test_finds_what_is_only_staged(checkout: Path) -> None:
    """The files are those of the pin again, but somebody is at work here."""
    repositories.write(checkout, {"README.md": "changed"})
    repositories.git(checkout, "add", "README.md")
    repositories.write(checkout, {"README.md": "one\n"})

    assert git.changes(checkout) == ("README.md",)


def test_finds_a_change_inside_a_submodule(checkout: Path) -> None:
    inner = checkout / "inner"
    repositories.commit(inner, FILES)
    repositories.commit(checkout, {})
    assert git.changes(checkout) == ()
    repositories.write(inner, {"README.md": "changed"})

    assert git.changes(checkout) == ("inner/README.md",)
    repositories.git(inner, "commit", "--all", "--quiet", "--message=other")
    assert git.changes(checkout) == ("inner",)


def test_a_linked_work_tree_is_a_checkout(checkout: Path, tmp_path: Path) -> None:
    """``git worktree add`` makes checkouts whose .git is a file."""
    linked = tmp_path / "linked"
    repositories.git(checkout, "worktree", "add", "--detach", str(linked), "HEAD")
    repositories.write(linked, {"README.md": "changed"})

    assert (linked / ".git").is_file()
    assert git.head(linked) == git.head(checkout)
    assert (git.changes(linked), git.changes(checkout)) == (("README.md",), ())


def test_tells_the_commit_around_a_folder(checkout: Path, tmp_path: Path) -> None:
    """The revision of an engine that lies in a folder of its repository."""
    assert git.head(checkout / "docs") == repositories.git(checkout, "rev-parse", "HEAD")
    assert git.root_of(checkout / "docs") == checkout.resolve()
    assert not git.is_dirty(checkout / "docs")
    repositories.write(checkout, {"README.md": "changed"})
    assert git.is_dirty(checkout / "docs")
    (tmp_path / "plain").mkdir()
    assert git.head(tmp_path / "plain") is None
    with pytest.raises(WorkspaceError, match="is in no git checkout"):
        git.is_dirty(tmp_path / "plain")


def test_a_repository_without_a_commit_has_no_head(tmp_path: Path) -> None:
    repositories.git(tmp_path, "init", "--quiet")

    assert git.head(tmp_path) is None


def test_follows_no_replacement_of_a_commit(checkout: Path) -> None:
    """``git replace`` shows another commit, or tree, or blob, under the id of the pinned one."""
    pin = repositories.git(checkout, "rev-parse", "HEAD")
    repositories.write(checkout, {"README.md": "forged\n"})
    repositories.git(checkout, "commit", "--all", "--quiet", "--message=other")
    forged = repositories.git(checkout, "rev-parse", "HEAD")
    repositories.git(checkout, "reset", "--quiet", "--hard", pin)
    repositories.git(checkout, "replace", pin, forged)
    assert repositories.git(checkout, "show", f"{pin}:README.md") == "forged"

    entries = [entry for entry in blobs.tree(checkout, pin) if entry.path == "README.md"]
    assert next(blobs.read(checkout, entries)) == b"one\n"


def test_commits_a_folder_to_the_same_id_everywhere(tmp_path: Path) -> None:
    """The pin of a rehearsal's corpus is in its frozen study; the constant was computed once."""
    corpus = tmp_path / "corpus"
    repositories.write(corpus, {**FILES, 'ü/"quoted" \\ \n.md': "x", "bin": bytes(range(256))})
    before = os.umask(0o077)
    try:
        (corpus / "run.sh").chmod(0o700)
        pin = git.commit_folder(corpus, tmp_path / "into")
    finally:
        os.umask(before)

    assert pin == COMMIT
    assert git.changes(tmp_path / "into") == ()
    assert git.head(tmp_path / "into") == pin
    assert {entry.mode for entry in blobs.tree(tmp_path / "into", pin)} == {"100644"}
    assert (tmp_path / "into/run.sh").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "into/docs").stat().st_mode & 0o777 == 0o755


def test_a_committed_folder_is_what_plain_git_would_have_made(tmp_path: Path) -> None:
    """So that anybody can compute the pin of a corpus without this package."""
    corpus = tmp_path / "corpus"
    date = "2026-01-01T00:00:00Z"
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (
            ("NAME", "pytest-agent-trials"), ("EMAIL", "corpus@example.invalid"), ("DATE", date),
        )
    }  # fmt: skip
    repositories.write(corpus, FILES)
    pin = git.commit_folder(corpus, tmp_path / "into")
    repositories.git(corpus, "init", "--quiet")
    repositories.git(corpus, "add", ".")
    repositories.git(corpus, "commit", "--quiet", "--message=corpus", **who)

    assert repositories.git(corpus, "rev-parse", "HEAD") == pin


def test_leaves_out_what_machines_leave_behind(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    repositories.write(corpus, FILES)
    pin = git.commit_folder(corpus, tmp_path / "one")
    repositories.write(
        corpus, {".DS_Store": "", "docs/__pycache__/a.cpython-311.pyc": "", "b.pyc": ""}
    )

    assert git.commit_folder(corpus, tmp_path / "two") == pin


def test_applies_no_attribute_of_the_folder(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    repositories.write(
        corpus, {".gitattributes": "* ident working-tree-encoding=UTF-16\n", "a": "$Id$"}
    )
    pin = git.commit_folder(corpus, tmp_path / "into")
    entries = [entry for entry in blobs.tree(tmp_path / "into", pin) if entry.path == "a"]

    assert list(blobs.read(tmp_path / "into", entries)) == [b"$Id$"]


def link_out(folder: Path) -> None:
    (folder / "link.md").symlink_to("/etc/passwd")


def link_to_a_folder(folder: Path) -> None:
    (folder / "link").symlink_to(folder.parent, target_is_directory=True)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (link_out, "is a symbolic link"),
        (link_to_a_folder, "is a symbolic link"),
        (lambda folder: (folder / "docs/.git").mkdir(), "is a repository of its own"),
        (lambda folder: (folder / ".GIT").write_text(""), "is a repository of its own"),
        (lambda folder: os.mkfifo(folder / "pipe"), "is no regular file"),
    ],
    ids=["link", "link-to-a-folder", "dot-git", "dot-git-in-capitals", "pipe"],
)
def test_refuses_to_commit(tmp_path: Path, spoil: Callable[[Path], object], says: str) -> None:
    corpus = tmp_path / "corpus"
    repositories.write(corpus, FILES)
    spoil(corpus)
    with pytest.raises(WorkspaceError, match=says):
        git.commit_folder(corpus, tmp_path / "into")

    assert not (tmp_path / "into").exists()


def test_refuses_folders_that_are_not_what_they_should_be(tmp_path: Path) -> None:
    empty, full = tmp_path / "empty", tmp_path / "full"
    empty.mkdir()
    repositories.write(full, FILES)
    with pytest.raises(WorkspaceError, match="holds no file to commit"):
        git.commit_folder(empty, tmp_path / "into")
    with pytest.raises(WorkspaceError, match="cannot be read: No such file"):
        git.commit_folder(tmp_path / "absent", tmp_path / "into")
    with pytest.raises(WorkspaceError, match="is not empty"):
        git.commit_folder(full, full)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.dictionaries(
        st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1)
        .filter(lambda name: name not in {".", "..", ".DS_Store", "__pycache__"})
        .filter(lambda name: not name.casefold().startswith(".git") and len(name.encode()) < 200)
        .filter(lambda name: not name.endswith(".pyc")),
        st.binary(max_size=50),
        min_size=1,
        max_size=5,
    )
)
def test_whatever_is_committed_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    repositories.write(folder / "corpus", files)
    pin = git.commit_folder(folder / "corpus", folder / "into")
    entries = blobs.tree(folder / "into", pin)

    assert (
        dict(zip((e.path for e in entries), blobs.read(folder / "into", entries), strict=True))
        == files
    )
