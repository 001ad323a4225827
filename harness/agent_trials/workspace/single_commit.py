"""A repository that holds one tree as one commit, and nothing else of the history it comes from.

An agent that is to mend a bug must not find the mend: in a clone, later commits are a ``git log
--all`` away, and the remote's address names where they are. So the objects of the base commit's
tree are copied alone, under a new commit with a fixed author, date and message. The tree's id is
the base commit's own, which proves that nothing was added, lost or converted.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from agent_trials.errors import WorkspaceError
from agent_trials.workspace import hardened

if TYPE_CHECKING:
    from pathlib import Path

BRANCH = "main"
_AUTHOR = {"user.name": "dev", "user.email": "dev@example.invalid"}
_DATE = "2026-01-01T00:00:00Z"
_DATES = {"GIT_AUTHOR_DATE": _DATE, "GIT_COMMITTER_DATE": _DATE}
_NO_LOG = {"core.logAllRefUpdates": "false"}


def seal(source: Path, pin: str, into: Path) -> str:
    """Make a repository with the tree of one commit, and return the tree's id.

    Args:
        source: a repository that has the commit: bare, or the ``.git`` of a checkout.
        pin: the full id of the base commit.
        into: a new folder; the repository is its ``.git``, and no file is checked out.

    Raises:
        WorkspaceError: the source lacks the commit or something of its tree.
    """
    into.mkdir(parents=True)
    tree = _ask(source, into, "rev-parse", "--verify", "--end-of-options", f"{pin}^{{tree}}")
    names = hardened.run(into, "rev-list", "--objects", "--no-object-names", tree, git_dir=source)
    pack = hardened.run(
        into, "pack-objects", "--quiet", "--stdout", "--delta-base-offset",
        git_dir=source, given=names,
    )  # fmt: skip
    hardened.run(
        into, "init", "--quiet", "--template=", f"--initial-branch={BRANCH}",
        "--object-format=sha1",
    )  # fmt: skip
    hardened.run(into, "index-pack", "--stdin", given=pack)
    commit = hardened.run(
        into, "commit-tree", tree, "-m", "initial", settings=_AUTHOR, further=_DATES
    )
    reference = f"refs/heads/{BRANCH}"
    hardened.run(into, "update-ref", reference, commit.decode().strip(), settings=_NO_LOG)
    if (made := _ask(into / ".git", into, "rev-parse", "HEAD^{tree}")) != tree:
        raise WorkspaceError(f"the commit made of {pin} has the tree {made}, not {tree}")
    return tree


def lay_out(sealed: Path, folder: Path) -> None:
    """Give an empty folder a copy of a sealed repository, with its files checked out.

    Raises:
        WorkspaceError: git cannot.
    """
    shutil.copytree(sealed / ".git", folder / ".git")
    for path in (folder / ".git").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for name, value in _AUTHOR.items():
        hardened.run(folder, "config", name, value)
    hardened.run(folder, "read-tree", "HEAD")
    hardened.run(folder, "checkout-index", "--all", "--force")
    hardened.run(folder, "update-index", "-q", "--refresh")


def _ask(repository: Path, folder: Path, *words: str) -> str:
    return hardened.run(folder, *words, git_dir=repository).decode().strip()
