"""Where a ledger may lie: nowhere that an agent, a commit or another user could reach it.

Rules, each one a Problem:
    its folder exists, and nobody else may write to it (a sticky /tmp apart)
    it is inside no checkout, root or project of the run, and in no git work tree at all
    a new ledger's path, and the paths beside it, do not exist; an existing one is a regular file
Symlinks are resolved first, also for a path that does not exist yet.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from agent_trials.errors import Problem
from agent_trials.ledger.locks import run_file
from agent_trials.ledger.private import private_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

OPTION = "--ledger"


def check_new(path: Path, *, checkouts: Iterable[Path], project: Path | None) -> list[Problem]:
    """Return what forbids a new ledger at the path.

    Args:
        path: where it would be made.
        checkouts: every checkout, root and study folder of the run.
        project: pytest's root folder; None where the ledger may lie in it.
    """
    problems = [
        Problem(f"{OPTION} {taken}", "it exists", "give a new path; a ledger is never overwritten")
        for taken in (path, run_file(path), private_folder(path))
        if os.path.lexists(taken)
    ]
    return problems + list(_check_folder(path, _parent(path), checkouts, project))


def check_existing(path: Path, *, checkouts: Iterable[Path], project: Path | None) -> list[Problem]:
    """Return what forbids appending to a ledger at the path; arguments as ``check_new``."""
    real = path.resolve()
    if not real.is_file():
        what = "it is no regular file" if real.exists() else "it does not exist"
        return [Problem(f"{OPTION} {path}", what, "give the ledger of the attempts")]
    problems = []
    if not os.access(real, os.R_OK | os.W_OK):
        problems.append(Problem(f"{OPTION} {path}", "it cannot be written to", "give one of yours"))
    return problems + list(_check_folder(path, real.parent, checkouts, project))


def _parent(path: Path) -> Path:
    return path.absolute().parent.resolve()


def _check_folder(
    path: Path, folder: Path, checkouts: Iterable[Path], project: Path | None
) -> Iterator[Problem]:
    where = f"{OPTION} {path}"
    if not folder.is_dir():
        yield Problem(where, f"the folder {folder} does not exist", "make it first")
        return
    outside = "give a path outside the project and every checkout"
    real = folder / path.name
    for inside in _containing(real, checkouts, project):
        yield Problem(where, f"it lies inside {inside}", outside)
        break  # the project's own checkout would be named twice
    facts = folder.stat()
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not facts.st_mode & stat.S_ISVTX:
        yield Problem(
            where,
            f"others may write to its folder {folder} (mode {stat.S_IMODE(facts.st_mode):04o})",
            "take their right away (chmod go-w), or give a path in a folder of yours",
        )
    elif os.geteuid() and facts.st_uid not in (0, os.geteuid()):
        yield Problem(where, f"its folder {folder} belongs to another user", "use one of yours")


def _containing(real: Path, checkouts: Iterable[Path], project: Path | None) -> Iterator[str]:
    above = {_identity(folder) for folder in real.parents}
    for checkout in checkouts:
        if _identity(checkout) in above:
            yield f"the checkout {checkout}"
    if project is not None and _identity(project) in above:
        yield f"the project {project}"
    for folder in real.parents:
        if os.path.lexists(folder / ".git"):
            yield f"the git work tree {folder}"


def _identity(folder: Path) -> tuple[int, int] | Path:
    """Return what two names of one folder have in common, however they are spelled."""
    try:
        facts = folder.stat()
    except OSError:
        return folder.absolute()
    return facts.st_dev, facts.st_ino
