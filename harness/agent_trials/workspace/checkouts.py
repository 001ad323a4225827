"""Tells what hinders a checkout from standing for a repository at its pin.

The rules, each with its problem and the way out:
    the folder is there and is the top of a git checkout
    HEAD is the pin
    the tree is clean, the declared generated paths apart
    every authoritative source is a file of the pin, readable, and passes the corpus filter
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from agent_trials import canonical
from agent_trials.errors import Problem, WorkspaceError
from agent_trials.study.corpus import refusal
from agent_trials.workspace import blobs, git

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent_trials.study.settings import CorpusFilter

_NAMED_AT_MOST = 5


def check_checkout(
    name: str,
    path: Path,
    *,
    pin: str,
    generated_paths: Sequence[str],
    sources: Iterable[str],
    rules: CorpusFilter,
) -> list[Problem]:
    """Return everything that is wrong with a checkout; nothing is written to it.

    Args:
        name: the study's name of the repository.
        path: where the operator says that it is.
        pin: the full commit id that the study names.
        generated_paths: what may differ from the pin: files or folders, relative to the checkout.
        sources: the files that the answer key relies on.
        rules: the corpus filter.
    """
    where = f"--root {name}={path}"
    if not path.is_dir():
        return [Problem(where, "there is no such folder", _PREPARE)]
    if not (path / ".git").exists():
        return [Problem(where, "it is not the top folder of a git checkout", _PREPARE)]
    found = git.head(path)
    if found is None:
        return [Problem(where, "it has no commit", _PREPARE)]
    rules_in_turn = (
        lambda: _wrong_head(where, found, pin),
        lambda: _bad_paths(where, generated_paths),
        lambda: _dirt(where, path, generated_paths),
        lambda: _source_problems(name, path, pin, sources, rules),
    )
    problems: list[Problem] = []
    for rule in rules_in_turn:
        try:
            problems += rule()
        except WorkspaceError as error:
            problems.append(Problem(where, str(error), _PREPARE))
    return problems


_PREPARE = "agent-trials prepare STUDY --into DIR makes clean checkouts at the pins"


def _wrong_head(where: str, found: str, pin: str) -> Iterator[Problem]:
    if found != pin:
        what = f"HEAD is {found} and the study's pin is {pin}"
        yield Problem(where, what, f"git checkout --detach {pin} there")


def _bad_paths(where: str, generated_paths: Iterable[str]) -> Iterator[Problem]:
    """Yield a problem for each path that would excuse the whole tree, or nothing in it."""
    for each in generated_paths:
        parts = PurePosixPath(each).parts
        if not parts or each.startswith("/") or ".." in parts:
            what = f"the generated path {each!r} is none inside the checkout"
            yield Problem(where, what, "name a file or folder relative to the checkout")


def _dirt(where: str, path: Path, generated_paths: Sequence[str]) -> Iterator[Problem]:
    dirt = [each for each in git.changes(path) if not is_below(each, generated_paths)]
    if dirt:
        more = f" and {len(dirt) - _NAMED_AT_MOST} more" if len(dirt) > _NAMED_AT_MOST else ""
        what = f"the tree is not clean: {', '.join(dirt[:_NAMED_AT_MOST])}{more}"
        yield Problem(
            where, what, "restore or remove these, or declare them in the study's generated_paths"
        )


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Tell whether a path is one of these paths or inside one, by whole parts."""
    parts = PurePosixPath(path).parts
    tops = (PurePosixPath(folder).parts for folder in folders)
    return any(parts[: len(top)] == top for top in tops if top)


def _source_problems(
    name: str, path: Path, pin: str, sources: Iterable[str], rules: CorpusFilter
) -> list[Problem]:
    entries = {entry.path: entry for entry in blobs.tree(path, pin)}
    problems: list[Problem] = []
    readable = []
    for source in sources:
        entry = entries.get(source)
        where = f"{name}:{source}"
        if entry is None or entry.size is None:
            problems.append(Problem(where, "the pin has no such file", _nearest(source, entries)))
            continue
        readable.append(entry)
        if reason := refusal(source, mode=entry.mode, size=entry.size, rules=rules):
            what = f"the agent cannot read this source: {reason}"
            problems.append(Problem(where, what, "widen [workspace.filter] or name another source"))
    for _ in blobs.read(path, readable):
        pass
    return problems


def _nearest(source: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(source, known, n=1)
    return f"did you mean {near[0]}?" if near else "correct the source in key.toml"


def generated_digest(path: Path, generated_paths: Iterable[str]) -> str:
    """Return the digest of what lies under the generated paths, as it is on disk now.

    It is that of the canonical JSON of the sorted entries ``[path, "file", digest of the bytes]``
    and ``[path, "link", target]``; a path that does not exist has no entry, links are not followed.
    """
    entries = {tuple(entry) for each in generated_paths for entry in _entries(path, path / each)}
    return canonical.digest_of(sorted(list(entry) for entry in entries))


def _entries(top: Path, path: Path) -> Iterator[list[str]]:
    name = path.relative_to(top).as_posix()
    if path.is_symlink():
        yield [name, "link", str(path.readlink())]
    elif path.is_file():
        yield [name, "file", canonical.digest(path.read_bytes())]
    elif path.is_dir():
        for inner in os.scandir(path):
            yield from _entries(top, Path(inner.path))
