"""What an agent changed, as one patch against the commit that it began with.

The repository in the workspace is the agent's, who may have committed, reset or removed it. So the
work tree is compared by a repository of the harness's own: its objects are borrowed from the sealed
one, its index is new, and nothing of the workspace's ``.git`` is read. In order:
    nested    repositories that the agent made below the work tree are put aside meanwhile: git
              would record such a folder as a link, which nobody can apply
    add       everything that git would add (``git add --all``): ignored files stay out
    known     files that the arm's set-up made are left out, whatever became of them; files that it
              changed are left out where the agent left them alone
    diff      binary-safe, with full ids, no renames, no configuration of anybody's
    text      predictions are text: a file whose lines are no UTF-8 goes in as a binary one
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent_trials import canonical
from agent_trials.errors import PatchTooLargeError, WorkspaceError
from agent_trials.workspace import hardened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_DIFF = (
    "diff", "--cached", "--binary", "--full-index", "--no-color", "--no-ext-diff",
    "--no-textconv", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/", "HEAD", "--",
)  # fmt: skip
_GIT = ".git"


@dataclass(frozen=True)
class Known:
    """What the arm's set-up did to the work tree: paths it made, and what it changed others to.

    ``changed`` has mode and object id of each file after the set-up, None for one it removed.
    """

    made: frozenset[str] = frozenset()
    changed: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Patch:
    """A patch and what is public of it.

    ``files`` counts the files in it, ``left_out`` those of the set-up, ``nested`` the repositories
    that the agent made in the work tree.
    """

    content: bytes
    files: int
    left_out: int
    nested: int

    @property
    def digest(self) -> str:
        """Return the digest of the patch's bytes."""
        return canonical.digest(self.content)


def after_set_up(sealed: Path, folder: Path) -> Known:
    """Return what the set-up did to a work tree that was as the sealed repository has it.

    Raises:
        WorkspaceError: git cannot tell.
    """
    with _compared(sealed, folder) as comparison:
        rows = comparison.changes()
    made = frozenset(row.path for row in rows if row.before is None)
    return Known(made, {row.path: row.after for row in rows if row.before is not None})


def make(sealed: Path, folder: Path, known: Known, *, most_bytes: int) -> Patch:
    """Return the patch of a work tree against the sealed repository's commit.

    Args:
        sealed: the folder of the sealed repository.
        folder: the work tree, as the agent left it.
        known: what the set-up did.
        most_bytes: how large a patch may be.

    Raises:
        PatchTooLargeError: the patch is larger than that.
        WorkspaceError: git failed.
    """
    with _compared(sealed, folder) as comparison:
        rows = comparison.changes()
        left_out = [row for row in rows if _is_set_up(row, known)]
        comparison.restore(left_out)
        content = comparison.diff(row.path for row in rows if row not in left_out)
    if len(content) > most_bytes:
        raise PatchTooLargeError(
            f"the patch has {len(content):,} bytes of at most {most_bytes:,}; the study may allow"
            " more with workspace.checkout.patch_bytes"
        )
    return Patch(content, len(rows) - len(left_out), len(left_out), comparison.nested)


@dataclass(frozen=True)
class _Row:
    """One path that differs: ``mode id`` of it before and after, None where it was or is not."""

    path: str
    before: str | None
    after: str | None


def _is_set_up(row: _Row, known: Known) -> bool:
    if row.path in known.made:
        return True
    return row.path in known.changed and known.changed[row.path] == row.after


@contextmanager
def _compared(sealed: Path, folder: Path) -> Iterator[_Comparison]:
    with tempfile.TemporaryDirectory() as place:
        there = folder
        if not folder.is_dir():  # the agent removed it: every file is deleted
            there = Path(place, "empty")
            there.mkdir()
        with _put_aside(there, Path(place)) as nested:
            comparison = _Comparison(there, Path(place, "git"), nested)
            comparison.begin(sealed)
            yield comparison


class _Comparison:
    """A repository of the harness's own over somebody's work tree."""

    def __init__(self, folder: Path, git_dir: Path, nested: int) -> None:
        self.nested = nested
        self._folder = folder
        self._git_dir = git_dir

    def begin(self, sealed: Path) -> None:
        """Take over the sealed repository's commit, and add what lies in the work tree."""
        self._git("init", "--quiet", "--template=", "--object-format=sha1")
        borrowed = self._git_dir / "objects" / "info" / "alternates"
        borrowed.parent.mkdir(exist_ok=True)
        borrowed.write_bytes(os.fsencode(sealed.absolute() / _GIT / "objects") + b"\n")
        commit = hardened.run(sealed, "rev-parse", "HEAD").decode().strip()
        self._git("update-ref", "HEAD", commit)
        self._git("read-tree", "HEAD")
        self._git("add", "--all")

    def changes(self) -> list[_Row]:
        """Return the paths whose content or mode is not that of the commit."""
        raw = self._git("diff-index", "--cached", "-z", "--no-renames", "--abbrev=40", "HEAD")
        fields = raw.split(b"\0")[:-1]
        rows = []
        for facts, path in zip(fields[::2], fields[1::2], strict=True):
            old_mode, mode, old, new, status = facts.decode("ascii").removeprefix(":").split()
            before = None if status == "A" else f"{old_mode} {old}"
            after = None if status == "D" else f"{mode} {new}"
            rows.append(_Row(os.fsdecode(path), before, after))
        return rows

    def restore(self, rows: Iterable[_Row]) -> None:
        """Have the index hold these paths as the commit does."""
        gone = f"0 {'0' * 40}"
        lines = (f"{row.before or gone}\t".encode() + os.fsencode(row.path) + b"\0" for row in rows)
        self._git("update-index", "-z", "--index-info", given=b"".join(lines))

    def diff(self, paths: Iterable[str]) -> bytes:
        """Return the patch of the index; all of it is UTF-8."""
        content = self._git(*_DIFF)
        if _is_text(content):
            return content
        foreign = [path for path in paths if not _is_text(self._git(*_DIFF, path))]
        attributes = self._git_dir / "info" / "attributes"
        attributes.parent.mkdir(exist_ok=True)
        attributes.write_bytes(b"".join(_as_binary(path) for path in foreign))
        content = self._git(*_DIFF)
        if _is_text(content):
            return content
        names = ", ".join(map(ascii, foreign))
        raise WorkspaceError(f"git cannot write the changes of {names} as text")

    def _git(self, *words: str, given: bytes = b"") -> bytes:
        return hardened.run(self._folder, *words, git_dir=self._git_dir, given=given)


@contextmanager
def _put_aside(folder: Path, place: Path) -> Iterator[int]:
    """Move the repositories below a folder away for a while; the folder's own one stays."""
    moved: list[tuple[Path, Path]] = []
    try:
        for top, folders, files in os.walk(folder):
            if _GIT in folders:
                folders.remove(_GIT)
            elif _GIT not in files:
                continue
            if Path(top) != folder:
                aside = place / f"nested-{len(moved)}"
                Path(top, _GIT).rename(aside)
                moved.append((Path(top, _GIT), aside))
        yield len(moved)
    finally:
        for was, aside in moved:
            aside.rename(was)


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _as_binary(path: str) -> bytes:
    """Return the line of git's attributes that has a file's patch written as a binary one."""
    pattern = b"".join(
        b"\\" + bytes([byte]) if byte in b"*?[]\\" else bytes([byte]) for byte in os.fsencode(path)
    )
    quoted = "".join(f"\\{byte:03o}" for byte in pattern)
    return f'"/{quoted}" -diff\n'.encode("ascii")
