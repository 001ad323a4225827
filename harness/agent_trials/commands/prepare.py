"""agent-trials prepare."""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent_trials.commands import examples
from agent_trials.errors import PrepareRefusedError, Problem, WorkspaceError
from agent_trials.study import manifest
from agent_trials.study.settings import IndexFreshness
from agent_trials.workspace import commits, mirrors, prepare
from agent_trials.workspace.checkouts import check_checkout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_trials.study.manifest import Study


@click.command(
    short_help="Make clean checkouts of a study's repositories at their pins.",
    epilog=examples("agent-trials prepare evals/doc_bridge --into ../checkouts"),
)
@click.argument("study", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--into",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Each checkout becomes DIR/NAME, by the repository's name in the study; the folder of a"
    " cache where agents work in checkouts.",
)
def command(study: Path, into: Path) -> None:
    """Make a clean, detached checkout of each repository of STUDY (its folder) at its pin.

    For a study whose agents work in checkouts, DIR becomes a cache instead: one bare repository for
    each address, with the pins alone. What it holds already is not fetched again, and several
    studies may share it.

    An https:// address and a repository on this machine are fetched, the pin alone; a plain folder
    is committed as a rehearsal does it. git uses neither your configuration nor your credentials,
    only proxy and certificate variables. A checkout that is there and right is left as it is;
    anything else in its place is refused. All are made, or none.
    """
    loaded = manifest.load(study)
    if loaded.manifest.checkout is not None:
        _fill(loaded, into)
        return
    missing = _missing(loaded, into)
    _make(loaded, missing, into)
    for line in _said(loaded, missing, into):
        click.echo(line)


def _fill(study: Study, into: Path) -> None:
    """Fill the cache of mirrors, and say what came of it.

    Raises:
        PrepareRefusedError: with every pin that is not to be had; the others are in the cache.
    """
    problems = list(_misplaced(study, into))
    if problems:
        raise PrepareRefusedError(problems)
    for address, pins in commits.addresses(study).items():
        try:
            fetched = mirrors.fill(into, address, pins)
        except WorkspaceError as error:
            remedy = "correct url or pin in the study (agent-trials amend, once it is frozen)"
            problems.append(Problem(address, str(error), remedy))
            continue
        click.echo(f"{address}: {len(fetched)} of {len(pins)} pins fetched, the others were there")
    if problems:
        raise PrepareRefusedError(problems)
    click.echo("give this to pytest:")
    click.echo(f"--mirrors {shlex.quote(str(into))}")


def _missing(study: Study, into: Path) -> tuple[str, ...]:
    """Return the repositories that have no checkout yet; refuse what stands in a place of theirs.

    Raises:
        PrepareRefusedError: with everything that is in the way.
    """
    problems = list(_misplaced(study, into))
    missing = []
    for name in study.manifest.repositories:
        if os.path.lexists(into / name):
            problems += [
                Problem(str(into / name), each.what, "remove it, or name another folder")
                for each in _wrong(study, name, into / name)
            ]
        else:
            missing.append(name)
    if problems:
        raise PrepareRefusedError(problems)
    return tuple(missing)


def _misplaced(study: Study, into: Path) -> Iterator[Problem]:
    """Yield a problem for each folder of the study that the checkouts would become part of."""
    place = into.resolve()
    corpora = [manifest.local_corpus(study, name) for name in study.manifest.repositories]
    for folder in (study.folder.resolve(), *filter(None, corpora)):
        if place.is_relative_to(folder):
            yield Problem(f"--into {into}", f"it lies in {folder}", "name a folder outside of it")


def _wrong(study: Study, name: str, path: Path) -> list[Problem]:
    repository = study.manifest.repositories[name]
    return check_checkout(
        name,
        path,
        pin=repository.pin,
        generated_paths=repository.generated_paths,
        sources=(),
        rules=study.manifest.workspace.filter,
    )


def _make(study: Study, names: tuple[str, ...], into: Path) -> None:
    """Make the checkouts beside their places, and move them there when all are right."""
    if not names:
        return
    was_there = into.exists()
    into.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix=".prepare-", dir=into) as scratch:
            _make_all(study, names, Path(scratch))
            for name in names:
                (Path(scratch) / name).rename(into / name)
    except BaseException:
        if not was_there:
            into.rmdir()
        raise


def _make_all(study: Study, names: tuple[str, ...], scratch: Path) -> None:
    problems = [each for name in names for each in _made(study, name, scratch / name)]
    if problems:
        raise PrepareRefusedError(problems)


def _made(study: Study, name: str, path: Path) -> list[Problem]:
    """Make one checkout and return why it is none."""
    repository = study.manifest.repositories[name]
    local = manifest.local_corpus(study, name)
    started = time.monotonic()
    try:
        prepare.make(repository.url, repository.pin, path.resolve(), local=local)
        prepare.note(path, round((time.monotonic() - started) * 1000))
    except WorkspaceError as error:
        remedy = "correct url or pin in the study (agent-trials amend, once it is frozen)"
        return [Problem(f"repository {name}", str(error), remedy)]
    return [
        Problem(f"repository {name}", each.what, "choose a pin that git checks out as it is")
        for each in _wrong(study, name, path)
    ]


def _said(study: Study, made: tuple[str, ...], into: Path) -> Iterator[str]:
    for name, repository in study.manifest.repositories.items():
        how = f"made from {repository.url}" if name in made else "was there already, and is right"
        yield f"{into / name}: {how}; {repository.pin}"
    for arm in study.manifest.arms:
        for server in arm.mcp_servers.values():
            if isinstance(server.freshness, IndexFreshness):
                yield (
                    f"arm {arm.id} answers from {server.freshness.path}: make that index in each"
                    f" checkout, as PROTOCOL.md says"
                )
    yield "give these to pytest:"
    yield " ".join(
        f"--root {name}={shlex.quote(str(into / name))}" for name in study.manifest.repositories
    )
